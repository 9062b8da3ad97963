"""What is listed of a person, and which messages could bring something forgotten back. Pure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.base import Fact, Message, ProfileItem
from memory.forgetting import Entry, KnownEntry, Place, entries, reads, same_words, telling, wordless
from memory.links import CODE_CHARS, digest_of, new_code
from tests.contracts.store import NOW, fact, item

GROUP = Place(channel="web", conversation="g", chat_type="group")
PRIVATE = Place(channel="web", conversation="p", chat_type="private")


def like(id_: int, value: str, **fields: Any) -> ProfileItem:
    return item(id_, slot="like", text=f"likes {value}", value=value, **fields)


def liked(id_: int, scope_id: int, value: str, **fields: Any) -> Fact:
    return fact(id_, scope_id, slot="like", value=value, **fields)


def message(text: str) -> Message:
    return Message(
        id=1, scope_id=1, session_id="s", turn_id=1, event_id=1, role="user", text=text, user="u", channel="web",
        conversation="p", chat_type="private", agent="a", person_id=7, created_ms=NOW,
    )  # fmt: skip


def test_each_thing_is_listed_once() -> None:
    """An item, its facts in every session and the same in another namespace are one entry; what is pinned comes first, what only
    a session knows last."""
    found = entries(
        [like(1, "rye"), item(2, slot="allergy", value="nuts", text="allergic to nuts", pinned=True), like(3, "RYE ")],
        [liked(4, 1, "rye"), liked(5, 2, "ｒｙｅ"), fact(6, 1, slot="order", value="8821")],
        {1: PRIVATE, 2: PRIVATE},
    )

    assert ["allergic to nuts", "likes RYE ", "order 8821"] == [reads(entry, language="en") for entry in found]
    assert [Entry(items=(2,), facts=()), Entry(items=(1, 3), facts=(4, 5)), Entry(items=(), facts=(6,))] == [
        entry.rows for entry in found
    ]
    assert [True, False, False] == [entry.pinned for entry in found]


@pytest.mark.parametrize(
    ("items", "facts", "private"),
    [
        ([like(1, "rye")], [], True),
        ([like(1, "rye", chat_type="group")], [], False),
        ([like(1, "rye"), like(2, "rye", chat_type="group")], [], False),
        ([like(2, "rye", chat_type="group"), like(1, "rye")], [], False),
        ([like(1, "rye")], [liked(3, 2, "rye")], False),
        ([], [liked(3, 1, "rye")], True),
        ([], [liked(3, 2, "rye")], False),
        ([], [liked(3, 9, "rye")], True),
    ],
)
def test_what_was_said_in_a_group_may_be_shown_there(
    items: list[ProfileItem], facts: list[Fact], private: bool
) -> None:
    """Where it was said only in private, or nobody knows where, it stays private (NousResearch/hermes-agent#28279)."""
    assert [private] == [entry.private for entry in entries(items, facts, {1: PRIVATE, 2: GROUP})]


@pytest.mark.parametrize(
    ("slot", "value", "text", "language", "expected"),
    [
        ("city", "奥斯陆", "lives in 奥斯陆", "zh", "所在地：奥斯陆"),
        ("city", "Oslo", "所在地：Oslo", "en", "lives in Oslo"),
        ("", "", "a note 笔记", "zh", "a note 笔记"),
        ("shoe_width", "wide", "shoe width: wide", "en", "shoe width: wide"),
        ("Not A Slot", "x", "as it was", "en", "as it was"),
    ],
)
def test_an_entry_reads_in_the_askers_language(slot: str, value: str, text: str, language: str, expected: str) -> None:
    entry = KnownEntry(
        slot=slot,
        value=value,
        text=text,
        pinned=False,
        private=True,
        said_ms=NOW,
        scope_id=1,
        rows=Entry(items=(), facts=()),
    )

    assert expected == reads(entry, language=language)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("my order is 88-21", ["8821"], True),
        ("I like ＲＹＥ", ["rye"], True),
        ("我喜欢乌 龙 茶🍵", ["乌龙茶"], True),
        ("I like barley", ["rye"], False),
        ("anything", ["", "🙂"], False),
        ("anything", [], False),
    ],
)
def test_messages_that_could_bring_it_back(text: str, values: list[str], expected: bool) -> None:
    """Case, width, spaces and punctuation do not count: rather one message too many than one too few."""
    assert expected is bool(telling([message(text)], values))


@given(st.text(max_size=40), st.text(max_size=10), st.text(max_size=40))
def test_a_value_that_stands_in_a_message_is_found(before: str, value: str, after: str) -> None:
    """Whatever the words; a value without a letter or digit is in no message that anything is learned of."""
    alone = telling([message(value)], [value])

    assert len(alone) == len(telling([message(f"{before} {value} {after}")], [value]))


def test_values_that_are_written_alike() -> None:
    """Signs change what is meant: C is not C++."""
    assert same_words("Ｏolong  TEA", "oolong tea")
    assert not same_words("C", "C++")


def test_a_withheld_message_is_as_if_deleted() -> None:
    assert ("", NOW) == (wordless(message("rye")).text, wordless(message("rye")).deleted_ms)


def test_codes() -> None:
    """Eight characters that are not taken for each other, new each time; case, spaces and hyphens do not count; what is stored is
    no code."""
    codes = {new_code() for _ in range(200)}

    assert 200 == len(codes)
    assert {CODE_CHARS} == {len(code) for code in codes}
    assert set("01OIL").isdisjoint("".join(codes))
    for code in codes:
        assert digest_of(code) == digest_of(f" {code[:4].lower()}-{code[4:]}\n") != digest_of(code[:-1])
        assert code not in digest_of(code)
    assert digest_of("验证码🙂\ud800") != digest_of("")
