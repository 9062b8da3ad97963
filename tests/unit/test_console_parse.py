"""The chat page's JSON: what becomes an event, and what is refused with its field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import MessageEvent, Sender
from adapters.console.parse import Person, Post, Said, event_of, fingerprint, parse
from adapters.problems import Problem

ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


def body(**changes: Any) -> bytes:
    post = {
        "room": "group",
        "chat_type": "group",
        "person": {"id": "alice", "name": "小艾"},
        "message": {"id": "m1", "text": "你好 🧶"},
    }
    return json.dumps(post | changes).encode()


def test_a_message_becomes_an_event_of_its_person() -> None:
    """What the page says is an event whose sender belongs to this channel alone."""
    event = event_of(parse(body(language="zh-Hans")), channel="console")

    expected = MessageEvent(
        channel="console",
        room="group",
        chat_type="group",
        sender=Sender(user="alice", tenant="console", account="alice", name="小艾"),
        dedupe_ids=event.dedupe_ids,
        message_id="m1",
        text="你好 🧶",
        language="zh-Hans",
    )
    assert expected == event
    assert 1 == len(event.dedupe_ids)


def test_a_person_without_a_name_is_called_by_id() -> None:
    """Nobody is shown nameless to the other speakers."""
    assert event_of(parse(body(person={"id": "bob", "name": "  "})), channel="console").sender.name == "bob"


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (body(room=""), "room"),
        (body(room=7), "room"),
        (body(room="r" * 129), "room"),
        (body(chat_type="channel"), "chat_type"),
        (body(person={"id": ""}), "person.id"),
        (body(person={"id": "a", "name": ["x"]}), "person.name"),
        (body(person="alice"), "person"),
        (body(message={"id": "m1", "text": ""}), "message.text"),
        (body(message={"id": None, "text": "x"}), "message.id"),
        (body(language="<b>"), "language"),
        (body(room="a\x00"), "room"),
        (body(message={"id": "m1", "text": "a\x00"}), "message.text"),
    ],
)
def test_a_wrong_field_is_named(raw: bytes, field: str) -> None:
    """A field that is not what it should be gives a 422 with its path."""
    with pytest.raises(Problem) as caught:
        parse(raw)

    assert (422, "bad_field", field) == (caught.value.status, caught.value.code, caught.value.field)


@pytest.mark.parametrize("raw", [body(agent="x"), body(person={"id": "a", "admin": True}), b"{}", b"[]", b"null"])
def test_what_is_unknown_or_missing_is_refused(raw: bytes) -> None:
    """Unknown fields and missing ones are a 422 as well."""
    with pytest.raises(Problem) as caught:
        parse(raw)

    assert caught.value.status == 422


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff",
        b'{"room": NaN}',
        body().replace(b'"m1"', b'"\\ud800"'),
        body().replace(b"m1", b"\xed\xa0\x80"),
    ],
)
def test_what_is_not_json_in_utf8_is_refused(raw: bytes) -> None:
    """Broken JSON, NaN and lone surrogates are a 400, never a 500."""
    with pytest.raises(Problem) as caught:
        parse(raw)

    assert caught.value.status == 400


@given(st.tuples(ids, ids), st.tuples(ids, ids))
def test_dedupe_ids_never_meet(one: tuple[str, str], other: tuple[str, str]) -> None:
    """However hostile the ids, two persons' messages never share a dedupe id."""

    def dedupe(ids: tuple[str, str]) -> tuple[str, ...]:
        post = Post(room="r", chat_type="group", person=Person(id=ids[0]), message=Said(id=ids[1], text="x"))
        return event_of(post, channel="console").dedupe_ids

    assert (one == other) == (dedupe(one) == dedupe(other))


def test_the_fingerprint_is_of_what_was_said() -> None:
    """Another name or page language is the same message; another text, room or person is not."""
    first = fingerprint(parse(body()))

    assert first == fingerprint(parse(body(language="en", person={"id": "alice", "name": "Alice"})))
    assert first != fingerprint(parse(body(room="other")))
    assert first != fingerprint(parse(body(person={"id": "bob"})))
    assert first != fingerprint(parse(body(message={"id": "m1", "text": "你好"})))
