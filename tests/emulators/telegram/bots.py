"""A bot account: its token, what it may see, and what it has set up with the platform."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.emulators.telegram.pusher import Webhook
from tests.emulators.telegram.updates import Updates


@dataclass(eq=False, kw_only=True)
class Bot:
    """`reads_all` False is privacy mode, the platform's default. A change counts in a group once the bot is added anew."""

    token: str
    username: str
    name: str
    updates: Updates
    reads_all: bool = False
    topics: bool = False  # private chats have topics
    guest: bool = False
    talks_to_bots: bool = False
    webhook: Webhook = field(default_factory=Webhook)
    commands: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)  # by (scope as JSON, language)

    @property
    def id(self) -> int:
        return int(self.token.partition(":")[0])

    def user(self) -> dict[str, Any]:
        """The `User` object as others see it."""
        return {"id": self.id, "is_bot": True, "first_name": self.name, "username": self.username}

    def me(self) -> dict[str, Any]:
        """The `User` object of getMe."""
        return self.user() | {
            "can_join_groups": True,
            "can_read_all_group_messages": self.reads_all,
            "supports_inline_queries": False,
            "supports_guest_queries": self.guest,
            "can_connect_to_business": False,
            "has_main_web_app": False,
            "has_topics_enabled": self.topics,
        }
