"""What a webhook's caller gets to see: its turn, whole or as it grows. Pure."""

from __future__ import annotations

import msgspec

from adapters.base import TERMINAL, StreamEvent, TurnView


def chunks(text: str) -> list[str]:
    """Return the reply in one piece, as it is: a program gets Markdown and no limit of ours."""
    return [text]


def turn_status(view: TurnView) -> int:
    """Return 200 for a turn that has ended, however it did; 202 for one that is still to be asked for."""
    return 200 if view.status in TERMINAL else 202


def turn_path(channel: str, turn: str) -> str:
    """Return where the turn can be asked for; channel names and turn ids need no escaping."""
    return f"/channels/{channel}/turns/{turn}"


def turn_body(view: TurnView, *, token: str | None) -> bytes:
    """Return the turn as JSON, with the token its caller needs to ask for it again."""
    return msgspec.json.encode(msgspec.structs.replace(view, token=token, duplicate=False))


def with_token(event: StreamEvent, *, token: str | None) -> StreamEvent:
    """Return the event with the token in its `turn`, so that a reader who is cut off can resume."""
    if event.name != "turn":
        return event
    view = msgspec.json.decode(event.data, type=TurnView)
    return msgspec.structs.replace(event, data=turn_body(view, token=token))
