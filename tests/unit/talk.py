"""Builders of stored talk for the tests of trimming and context: rows as a store would return them."""

from __future__ import annotations

from typing import Any

from memory.base import Context, Fact, Frame, Loaded, Message, Observed, ProfileItem, Summary
from memory.context import Inputs, assemble
from memory.policy import Policy
from memory.tokens import Estimate, estimate

NOW = 1_790_000_000_000  # 2026-09-21 14:13 UTC


def row(id: int, role: str, text: str, turn: int, **fields: Any) -> Message:
    """Return a stored message of Alice's (or the reply to her) in a private talk; `fields` replace."""
    defaults: dict[str, Any] = {
        "id": id, "scope_id": 1, "session_id": "s-1", "turn_id": turn, "event_id": id, "role": role, "text": text,
        "user": "U1", "channel": "web", "conversation": "r1", "chat_type": "private", "agent": "helper",
        "speaker_name": "Alice" if role == "user" else "", "tokens": estimate(text), "created_ms": NOW,
    }  # fmt: skip
    return Message(**(defaults | fields))


def talk(count: int, *, tokens: int | None = None, **fields: Any) -> list[Message]:
    """Return `count` whole turns: "question 1", "answer 1", "question 2", …; `tokens` sets each message's stored count."""
    rows = []
    for turn in range(1, count + 1):
        extra = fields | ({} if tokens is None else {"tokens": tokens})
        rows += [
            row(2 * turn, "user", f"question {turn}", turn, **extra),
            row(2 * turn + 1, "assistant", f"answer {turn}", turn, **extra),
        ]
    return rows


def asked(turn: int, text: str | None = None, **fields: Any) -> Message:
    """Return the message to answer, as the last one of `turn - 1` turns of `talk`."""
    return row(2 * turn, "user", text if text is not None else f"question {turn}", turn, **fields)


def inputs(window: list[Message], appended: list[Message], **fields: Any) -> Inputs:
    """Return the inputs of a prompt: private talk in English, past replies unmarked; `fields` replace those of `Inputs`,
    `Loaded`, `Frame` and `Policy` by their names."""
    by_struct: list[dict[str, Any]] = []
    for struct in (Loaded, Frame, Policy):
        by_struct.append({name: fields.pop(name) for name in list(fields) if name in struct.__struct_fields__})
    loaded, frame, policy = by_struct
    defaults: dict[str, Any] = {
        "turn_id": appended[-1].turn_id, "scope_id": 1, "person_id": 1, "revision": "rev", "now_ms": NOW,
        "policy": Policy(**({"down_weight": "none", "system": "You are a shop's assistant."} | policy)),
        "frame": Frame(**({"channel": "web", "conversation": "r1"} | frame)),
        "loaded": Loaded(session_id="s-1", window=tuple(window), appended=tuple(appended), **loaded),
        "tokenizer": Estimate(),
    }  # fmt: skip
    return Inputs(**(defaults | fields))


def observed(id: int, text: str, **fields: Any) -> Observed:
    """Return a background message of Zed's; `fields` replace."""
    defaults: dict[str, Any] = {
        "id": id, "scope_id": 1, "event_id": 1_000 + id, "user": "U9", "speaker_name": "Zed", "text": text,
        "tokens": estimate(text), "created_ms": NOW,
    }  # fmt: skip
    return Observed(**(defaults | fields))


def summary(text: str, id: int = 70) -> Summary:
    """Return a summary of the session."""
    return Summary(
        id=id, scope_id=1, session_id="s-1", text=text, first_id=1, last_id=2, digest="", tokens=1, created_ms=NOW
    )


def fact(id: int, slot: str, value: str, **fields: Any) -> Fact:
    """Return a fact of Alice's; `fields` replace."""
    defaults: dict[str, Any] = {
        "id": id, "scope_id": 1, "session_id": "s-1", "person_id": 1, "speaker_name": "Alice", "slot": slot,
        "value": value, "source_ids": (2,), "status": "active", "created_ms": NOW, "expires_ms": NOW + 1,
    }  # fmt: skip
    return Fact(**(defaults | fields))


def item(id: int, text: str, *, pinned: bool = False, **fields: Any) -> ProfileItem:
    """Return a profile item of Alice's; `fields` replace."""
    defaults: dict[str, Any] = {
        "id": id, "person_id": 1, "namespace": "shared", "kind": "constraint" if pinned else "preference", "slot": "",
        "text": text, "pinned": pinned, "chat_type": "private", "source_ids": (2,), "status": "active",
        "valid_from_ms": NOW, "valid_to_ms": None,
    }  # fmt: skip
    return ProfileItem(**(defaults | fields))


def prompt(window: list[Message], appended: list[Message], **fields: Any) -> Context:
    """Return the prompt of `inputs`."""
    return assemble(inputs(window, appended, **fields))[0]


def array(context: Context) -> list[tuple[str, str]]:
    """Return the messages as the model gets them."""
    return [(message.role, message.text) for message in context.messages]
