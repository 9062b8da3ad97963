"""All parts of the console whose pages need nothing but the service, in the order of the navigation."""

from __future__ import annotations

from gateway.admin.console import help, shell, start, usage
from gateway.admin.console.part import Part

PARTS: tuple[Part, ...] = (
    shell.PART,
    start.PART,
    usage.PART,
    help.PART,
)
