"""Hand-made Slack payloads, for what no recording holds; shapes as in the recordings."""

from __future__ import annotations

from typing import Any

from adapters.base import InboundEvent
from adapters.slack.authors import Identity
from adapters.slack.parse import Ignored, parse

ME = Identity(team="T1", user="UBOT", bot="BBOT", name="clew")
TS = "1700000000.000100"


def callback(event: dict[str, Any], **outer: Any) -> dict[str, Any]:
    """An event callback for the installation `ME`."""
    authorizations = [{"team_id": "T1", "user_id": "UBOT", "is_bot": True, "enterprise_id": None}]
    body = {"type": "event_callback", "team_id": "T1", "api_app_id": "A1", "event_id": "Ev1", "event": event}
    return {**body, "authorizations": authorizations, **outer}


def message(text: str = "hello", **fields: Any) -> dict[str, Any]:
    """A message of Ann's in an open channel."""
    said = {"type": "message", "user": "U1", "team": "T1", "text": text, "ts": TS}
    return {**said, "channel": "C1", "channel_type": "channel", **fields}


def read(event: dict[str, Any], *, reply_in_thread: bool = True, **outer: Any) -> InboundEvent | Ignored:
    """Parse an event as the channel `acme` does."""
    return parse(callback(event, **outer), channel="acme", me=ME, reply_in_thread=reply_in_thread)
