"""The app manifest that a channel's settings need: exactly the scopes and events that Clew uses. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from config.channels.slack import SlackSettings

ROOMS = ("channels", "groups", "im", "mpim")

EVENTS = (
    "app_mention",
    *(f"message.{kind}" for kind in ROOMS),  # also edits and deletions, which must reach the memory
    "member_joined_channel",
    "member_left_channel",
    "channel_left",
    "group_left",
    "channel_id_changed",
)

SCOPES = (
    "app_mentions:read",
    *(
        f"{kind}:history" for kind in ROOMS
    ),  # what the message events ask for; also to find a message whose receipt was lost
    "channels:read",  # names of channels
    "groups:read",
    "users:read",  # names of people
    "chat:write",
)


def manifest(settings: SlackSettings, *, app_name: str, url: str | None, commands: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest. `url` is where Slack posts events (None: not public yet), `commands` what each slash command does,
    by its name without the slash."""
    socket = settings.mode == "socket"
    target = url or "https://REPLACE-WITH-YOUR-PUBLIC-URL"
    requests = {} if socket else {"request_url": target}
    slash = [
        {
            "command": f"/{settings.slash_prefix}{name}",
            "description": description,
            "should_escape": True,
            **({} if socket else {"url": target}),
        }
        for name, description in commands.items()
    ]
    return {
        "display_information": {"name": app_name},
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": app_name, "always_online": True},
            "slash_commands": slash,
        },
        "oauth_config": {"scopes": {"bot": [*SCOPES, "commands"]}},
        "settings": {
            "event_subscriptions": {**requests, "bot_events": list(EVENTS)},
            "socket_mode_enabled": socket,
            "org_deploy_enabled": False,
            "token_rotation_enabled": False,
        },
    }
