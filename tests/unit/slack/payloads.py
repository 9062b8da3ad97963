"""The recorded payloads of `tests/payloads/slack`, each with its name and the installation it was sent to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adapters.base import DeleteEvent, EditEvent, InboundEvent, MessageEvent, MoveEvent, PresenceEvent
from adapters.slack.authors import Identity
from adapters.slack.parse import Ignored

ROOT = Path(__file__).parents[2] / "payloads" / "slack"

Payload = dict[str, Any]


def recorded(folder: str) -> dict[str, Payload]:
    """Return the payloads of a folder by `file/name`; of several bodies with one name the later ones are numbered."""
    found: dict[str, Payload] = {}
    for path in sorted((ROOT / folder).glob("*.json")):
        for name, body in _bodies(json.loads(path.read_text())):
            full = f"{path.stem}/{name}".removesuffix("/")
            count = sum(1 for known in found if known == full or known.startswith(f"{full}#"))
            found[f"{full}#{count + 1}" if count else full] = body
    return found


def _bodies(document: Any) -> Iterator[tuple[str, Payload]]:
    if isinstance(document, list):
        for number, entry in enumerate(document):
            body = entry.get("payload", entry)  # bolt-python's entries have a name beside the payload
            yield (
                entry.get("name", str(number)).removeprefix("slack_connect_events_api_"),
                body.get("payload", body) if "envelope_id" in body else body,
            )
    elif "type" in document:
        yield "", document
    else:
        yield from ((name, body) for name, body in document.items() if isinstance(body, dict))


def installation(payload: Payload) -> Identity:
    """Return the identity that the payload was meant for; where it does not say, a bot named as in the recordings."""
    first = next(iter(payload.get("authorizations") or []), {})
    user = first.get("user_id") or "U00FAKEBOT01"
    team = first.get("team_id") or payload.get("team_id") or "T00FAKE00AA"
    return Identity(team=team, user=user, bot="B00FAKEBOT01", name="clew", enterprise=first.get("enterprise_id"))


def outcome(event: InboundEvent | Ignored) -> str:
    """Return what became of a payload in one line; a text by its beginning."""
    match event:
        case Ignored(rule=rule):
            return f"ignored: {rule}"
        case MessageEvent():
            what = "command" if event.dedupe_ids[0].startswith("command:") else "message"
            flags = [*(["mention"] if event.mentions_bot else []), *(["bot"] if event.sender.is_bot else [])]
            told = f": {event.text[:24]}"
        case EditEvent():
            what, flags, told = "edit", [], f": {event.text}"
        case DeleteEvent():
            what, flags, told = "deletion", [], ""
        case MoveEvent(new_room=room):
            return f"move {event.room} to {room}"
        case PresenceEvent(present=present):
            return f"presence {'come' if present else 'gone'}, by {event.sender.user}"
    place = "dm" if event.chat_type == "private" else "group"
    place += "" if event.thread is None else " thread"
    return " ".join([what, place, *flags, event.sender.user]) + told
