"""All parts of the console whose pages need nothing but the service, in the order of the navigation."""

from __future__ import annotations

from gateway.admin.console import (
    account,
    audit,
    connect,
    conversations,
    health,
    help,
    instances,
    letters,
    people,
    secrets,
    settings,
    shell,
    start,
    takeovers,
    turns,
    usage,
    users,
)
from gateway.admin.console.part import Part

PARTS: tuple[Part, ...] = (
    shell.PART,
    start.PART,
    health.PART,
    instances.PART,
    turns.PART,
    conversations.PART,
    connect.PART,
    settings.PART,
    secrets.PART,
    takeovers.PART,
    letters.PART,
    people.PART,
    usage.PART,
    users.PART,
    audit.PART,
    account.PART,
    help.PART,
)
