"""What a webhook's body may say, and what becomes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Sender
from adapters.problems import Problem
from adapters.webhook.parse import fingerprint, parse_body, to_event
from tests.serving import message

ALICE = Sender(user="alice", tenant="shop", account="alice", name="Alice")


def raw(**changes: Any) -> bytes:
    return json.dumps(message(**changes)).encode()


def refused(body: bytes) -> Problem:
    with pytest.raises(Problem) as caught:
        parse_body(body)
    return caught.value


def test_a_whole_call_becomes_a_message_event() -> None:
    """Every field of the body arrives where the gateway looks for it (DESIGN 9, B34)."""
    said = {"id": "m-1", "text": "你好 👋", "in_reply_to": "m-0"}
    body = parse_body(raw(thread="t/1", message=said, session="s-9", mode="stream", chat_type="group"))

    event = to_event(body, ALICE, channel="shop", delivery="msg_1")

    assert ("room-7", "t/1", "group") == (event.room, event.thread, event.chat_type)
    assert ("m-1", "你好 👋", "m-0", "s-9") == (event.message_id, event.text, event.in_reply_to, event.session)
    assert ALICE == event.sender
    assert "stream" == body.mode


def test_sync_is_the_default_and_null_means_left_out() -> None:
    """A client that writes `null` for what it does not have is understood."""
    body = parse_body(raw()[:-1] + b', "thread": null, "session": null}')

    assert ("sync", None, None) == (body.mode, body.thread, body.session)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"conversation": None}, "conversation"),
        ({"conversation": ""}, "conversation"),
        ({"conversation": 7}, "conversation"),
        ({"conversation": 123456789012345678901234567890}, "conversation"),
        ({"conversation": "x" * 129}, "conversation"),
        ({"conversation": "a\u2028b"}, "conversation"),
        ({"conversation": "a\x00"}, "conversation"),
        ({"chat_type": "channel"}, "chat_type"),
        ({"thread": "\ufeff"}, "thread"),
        ({"thread_id": "t"}, "thread_id"),
        ({"mode": "callback"}, "mode"),
        ({"mode": True}, "mode"),
        ({"session": []}, "session"),
        ({"sender": "alice"}, "sender"),
        ({"sender": {"id": 1}}, "sender.id"),
        ({"sender": {"id": "a\tb"}}, "sender.id"),
        ({"sender": {"id": "alice", "admin": True}}, "sender.admin"),
        ({"sender": {"id": "alice", "name": "x" * 201}}, "sender.name"),
        ({"sender": {"id": "alice", "name": "\x00"}}, "sender.name"),
        ({"message": None}, "message"),
        ({"message": {"id": "m"}}, "message.text"),
        ({"message": {"text": "hi"}}, "message.id"),
        ({"message": {"id": "m", "text": ""}}, "message.text"),
        ({"message": {"id": "m", "text": "a\x00b"}}, "message.text"),
        ({"message": {"id": "m", "text": 1e400}}, None),
        ({"message": {"id": "m", "text": "x", "in_reply_to": ""}}, "message.in_reply_to"),
    ],
)
def test_a_field_that_cannot_stand_is_a_422_that_names_it(changes: dict[str, Any], field: str | None) -> None:
    """The caller learns which field is wrong, for missing, unknown, mistyped and hostile values alike."""
    problem = refused(raw(**changes))

    assert ((422, field) if field else (400, None)) == (problem.status, problem.field)
    assert field is None or problem.detail.startswith(field)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"hello",
        b"{",
        b'{"conversation": NaN}',
        b'{"conversation": -Infinity}',
        b'{"conversation": "a", "conversation": "b"}',
        b'{"message": {"id": "1", "id": "2"}}',
        b'{"conversation": "\\ud83d"}',
        b'{"\\udc00": 1}',
        b"\xff\xfe{\x00}\x00",
        b'{"conversation": "\xe4"}',
        b"\xef\xbb\xbf{}",
        b'{"conversation": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"conversation": "a\nb"}',
    ],
)
def test_what_is_not_strict_json_is_a_400(body: bytes) -> None:
    """NaN, duplicate names, lone surrogates, other encodings, bottomless nesting: refused, never a crash."""
    assert 400 == refused(body).status


@pytest.mark.parametrize("body", [b"[]", b"null", b'"text"', b"7"])
def test_json_that_is_no_object_is_a_422(body: bytes) -> None:
    """The problem speaks of the body as a whole."""
    problem = refused(body)

    assert (422, None) == (problem.status, problem.field)


def test_a_problem_never_repeats_content() -> None:
    """What people write stays out of errors, and so out of logs."""
    problem = refused(raw(message={"id": "m", "text": "my secret", "extra": "another secret"}))

    assert "secret" not in problem.detail


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: json.dumps({"conversation": text}).encode()))
def test_no_bytes_whatever_raise_anything_but_a_4xx(body: bytes) -> None:
    """One malformed event never stops the ones behind it (platform-facts 0.10)."""
    problem = None
    try:
        parse_body(body)
    except Problem as exc:
        problem = exc

    assert problem is None or problem.status in (400, 422)


def test_the_fingerprint_is_of_what_is_said_not_of_how_it_is_written() -> None:
    """Spaces, key order, escapes and `mode` don't make another message (DESIGN 9: mode is not part of it)."""
    once = parse_body(raw(message={"id": "m-1", "text": "你好"}))
    shuffled = json.dumps(dict(reversed(message("你好", mode="stream").items())), ensure_ascii=False, indent=2)

    assert fingerprint(once, user="alice") == fingerprint(parse_body(shuffled.encode()), user="alice")


@pytest.mark.parametrize(
    "changes",
    [
        {"conversation": "room-8"},
        {"thread": "t"},
        {"chat_type": "group"},
        {"session": "s"},
        {"sender": {"id": "alice", "name": "Bob"}},
        {"message": {"id": "m-2", "text": "hello"}},
        {"message": {"id": "m-1", "text": "hello "}},
        {"message": {"id": "m-1", "text": "hello", "in_reply_to": "m-0"}},
    ],
)
def test_every_other_field_is_part_of_the_fingerprint(changes: dict[str, Any]) -> None:
    """The same message id with anything else changed is another body."""
    assert fingerprint(parse_body(raw()), user="alice") != fingerprint(parse_body(raw(**changes)), user="alice")


def test_dedupe_ids_hold_channel_and_sender() -> None:
    """Nobody can occupy another sender's message ids, and no length of id breaks an index."""
    body = parse_body(raw())
    bob = Sender(user="bob", tenant="shop", account="bob")

    ids = {
        to_event(body, sender, channel=channel, delivery="msg_1").dedupe_ids
        for sender in (ALICE, bob)
        for channel in ("shop", "help")
    }

    assert 4 == len(ids)
    assert 8 == len({one for pair in ids for one in pair})
    assert all(len(one) < 50 for pair in ids for one in pair)


def test_the_delivery_id_is_a_second_dedupe_id_only_where_there_is_one() -> None:
    """Bearer callers have no `webhook-id`; a signer's retry is known by it."""
    body = parse_body(raw())

    assert 1 == len(to_event(body, ALICE, channel="shop", delivery=None).dedupe_ids)
    assert 2 == len(to_event(body, ALICE, channel="shop", delivery="msg_1").dedupe_ids)
