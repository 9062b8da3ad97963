"""What is bent: the payloads that were recorded from the real platforms (`tests/payloads`, with their licences), made to be of
the accounts that the fuzzed gateway has; and what is sent to our own doors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

Tree = Any
PAYLOADS = Path(__file__).parents[2] / "payloads"


@cache
def slack_events() -> dict[str, Tree]:
    """Whole bodies of events, by file and place in it; skeletons of single events in an envelope."""
    found: dict[str, Tree] = {}
    for file in sorted((PAYLOADS / "slack").rglob("*.json")):
        tree = json.loads(file.read_text("utf-8"))
        name = f"{file.parent.name}/{file.stem}"
        if file.parent.name == "events" and isinstance(tree, dict) and "type" in tree:
            found[name] = _enveloped(tree)
        for place, body in enumerate(_dicts(tree)):
            if body.get("type") in ("event_callback", "url_verification", "app_rate_limited"):
                found[f"{name}#{place}"] = body
    return found


@cache
def slack_forms() -> dict[str, Tree]:
    """Slash commands as their fields, and buttons' and dialogs' payloads as the one field `payload`."""
    found: dict[str, Tree] = {}
    for file in sorted((PAYLOADS / "slack").rglob("*.json")):
        for place, body in enumerate(_dicts(json.loads(file.read_text("utf-8")))):
            name = f"{file.parent.name}/{file.stem}#{place}"
            if "command" in body and "trigger_id" in body:
                found[name] = {key: value for key, value in body.items() if isinstance(value, str)}
            elif body.get("type") in ("block_actions", "view_submission", "view_closed", "shortcut", "message_action"):
                found[name] = {"payload": body}
    return found


@cache
def telegram_updates() -> dict[str, Tree]:
    """Whole updates, by file and place in it."""
    return {
        f"{file.parent.name}/{file.stem}#{place}": body
        for file in sorted((PAYLOADS / "telegram").rglob("*.json"))
        for place, body in enumerate(_dicts(json.loads(file.read_text("utf-8"))))
        if "update_id" in body
    }


def says_something(tree: Tree) -> bool:
    """Whether a payload is a message that would be taken in: what becomes of one that is bent is worth a look most often."""
    payload = tree.get("payload", tree) if isinstance(tree, dict) else {}
    event = payload.get("event", {}) if isinstance(payload, dict) else {}
    if isinstance(event, dict) and event.get("type") in ("message", "app_mention"):
        return not event.get("bot_id")
    message = payload.get("message", payload.get("edited_message")) if isinstance(payload, dict) else None
    return isinstance(message, dict) and bool({"text", "caption", "photo"} & set(message)) and "from" in message


def _dicts(tree: Tree) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _dicts(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _dicts(value)


def _enveloped(event: Tree) -> Tree:
    return {
        "token": "x", "team_id": "T", "api_app_id": "A", "event": event, "type": "event_callback", "event_id": "Ev1",
        "event_time": 1_790_000_000, "authorizations": [{"enterprise_id": None, "team_id": "T", "user_id": "U", "is_bot": True}],
    }  # fmt: skip


def of_workspace(body: Tree, *, team: str, app: str, bot: str, number: int) -> Tree:
    """Return an event as if it came from this workspace, with ids of its own: else it would be nothing for us."""
    event = body.get("event")
    own = {"event_id": f"Ev{number}", "team_id": team, "api_app_id": app}
    own["authorizations"] = [{"enterprise_id": None, "team_id": team, "user_id": bot, "is_bot": True}]
    if isinstance(event, dict):
        event = {key: value for key, value in event.items() if key not in ("team", "user_team", "source_team")}
        stamp = f"17900{number:05d}.000100"
        event |= {key: stamp for key in ("ts", "event_ts") if key in event}
        if event.get("type") == "message":
            event["channel_type"] = "im"
        own["event"] = event
    return {key: value for key, value in (body | own).items() if key != "enterprise_id"}


def of_chat(update: Tree, *, number: int) -> Tree:
    """Return an update with a number of its own, and its message too."""
    renewed = update | {"update_id": 1_000_000 + number}
    for kind, inside in update.items():
        if isinstance(inside, dict) and "message_id" in inside:
            renewed[kind] = inside | {"message_id": 1_000_000 + number}
    return renewed


SPOKEN: dict[str, Tree] = {
    "private": {"chat_type": "private", "mode": "async"},
    "group": {"chat_type": "group", "thread": "t1", "mode": "async"},
    "waited for": {"chat_type": "private", "mode": "sync", "session": None},
    "streamed": {"chat_type": "group", "mode": "stream", "session": "s-1"},
}
"""What a program sends to a webhook channel, beside what `spoken` fills in."""


def spoken(beside: Tree, number: int) -> Tree:
    """Return a message of its own to a webhook channel."""
    return {
        "conversation": f"c{number % 7}", "sender": {"id": f"u{number % 5}", "name": "Ann 安"},
        "message": {"id": f"m{number}", "text": "hello 你好 🥒", "in_reply_to": "m1"}, **beside,
    }  # fmt: skip


TYPED: dict[str, Tree] = {
    "private": {"chat_type": "private", "language": "zh-CN"},
    "group": {"chat_type": "group"},
}
"""What the chat page sends, beside what `typed` fills in."""


def typed(beside: Tree, number: int) -> Tree:
    """Return a message of its own from the chat page."""
    return {
        "room": f"r{number % 5}", "person": {"id": "alice", "name": "Alice"},
        "message": {"id": f"p{number}", "text": "hello 你好"}, **beside,
    }  # fmt: skip
