"""The conversation key and the scope: one codec, and nothing ever meets that should not."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.key import (
    ANY,
    ChatType,
    ConversationKey,
    InvalidKey,
    Scope,
    ScopeMode,
    decode_part,
    encode_conversation,
    encode_part,
    mode_of,
    scope_of,
    shared_as,
    whereabouts,
)

KEY = ConversationKey(user="U7", channel="acme", room="C1", thread="171.5", chat_type="group", agent="shop")

HOSTILE = [
    ":",
    "/",
    "*",
    "%",
    "%3A",
    "%253A",
    "a:b",
    "a/b",
    "a/*",
    "..",
    " ",
    "\n",
    "\x00",
    "\u2028",
    "\u202e",
    "_",
    "-",
    "'",
    "\\",
]
LOOKALIKES = [
    "a",
    "A",
    "à",
    unicodedata.normalize("NFD", "à"),
    "ａ",
    "а",
    "1",
    "１",
    "²",
    "İ",
    "i",
    "ss",
    "ß",
    "群",
    "群️",
    "👪",
    "👨‍👩‍👦",
]

parts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.sampled_from(HOSTILE + LOOKALIKES),
    st.lists(st.sampled_from(HOSTILE + LOOKALIKES), min_size=1, max_size=3).map("".join),
)
keys = st.builds(
    ConversationKey,
    user=parts,
    channel=parts,
    room=parts,
    thread=st.none() | parts,
    chat_type=st.sampled_from(get_args(ChatType)),
    agent=parts,
)
modes = st.sampled_from(get_args(ScopeMode))


@given(keys)
def test_a_key_comes_back_from_its_text(key: ConversationKey) -> None:
    """For all of Unicode, whatever the parts hold (F10)."""
    assert key == ConversationKey.parse(str(key))


@given(keys)
def test_a_keys_text_has_five_parts_on_one_line(key: ConversationKey) -> None:
    """It may stand in a log line, a Redis name and a URL's path: no blank, no control, no other separator."""
    text = str(key)

    assert len(text.split(":")) == 5
    assert text.split(":") == list(key.columns())
    assert len(text.splitlines()) == 1
    assert not any(char.isspace() and char < "\x80" for char in text)
    assert ANY not in text
    assert text.count("/") == (key.thread is not None)


@given(keys, keys)
@example(replace(KEY, user="a", channel="b:c"), replace(KEY, user="a:b", channel="c"))
@example(replace(KEY, room="a", thread="b"), replace(KEY, room="a/b", thread=None))
@example(replace(KEY, user="%3A"), replace(KEY, user=":"))
def test_different_keys_have_different_texts(one: ConversationKey, other: ConversationKey) -> None:
    """No two keys meet, in their text or in their columns (langchain-ai/langgraphjs#2721: ["a", "b:c"] met ["a", "b", "c"])."""
    assert (one == other) is (str(one) == str(other)) is (one.columns() == other.columns())


@given(keys, modes, keys, modes)
@example(replace(KEY, user="*"), "speaker", KEY, "conversation")
@example(replace(KEY, thread="*"), "conversation", KEY, "room")
@example(replace(KEY, room="C1/*", thread=None), "conversation", KEY, "room")
@example(replace(KEY, thread=None), "conversation", KEY, "room")
def test_scopes_meet_only_where_the_rules_say_so(
    one: ConversationKey, one_mode: ScopeMode, other: ConversationKey, other_mode: ScopeMode
) -> None:
    """Two scopes are the same exactly when everything they don't share on purpose is the same; an id that looks like the sign
    for "everybody" is an id."""
    first, second = scope_of(one, mode=one_mode), scope_of(other, mode=other_mode)

    assert (_what(one, one_mode) == _what(other, other_mode)) is (first == second) is (str(first) == str(second))


def _what(key: ConversationKey, mode: ScopeMode) -> tuple[object, ...]:
    """Return what a scope stands for, in other words than the code's."""
    place: tuple[object, ...] = (key.channel, key.room, key.chat_type, key.agent)
    if key.chat_type == "private" or mode == "speaker":
        return (*place, "one", key.user, "thread", key.thread)
    return (*place, "all", "threads") if mode == "room" else (*place, "all", "thread", key.thread)


@pytest.mark.parametrize("field", ["user", "channel", "room", "thread", "agent"])
def test_parts_that_look_alike_stay_apart(field: str) -> None:
    """No case folding, no normalising: ids that differ in a byte are two ids."""
    fields: list[dict[str, Any]] = [{field: part} for part in LOOKALIKES]

    assert len(set(LOOKALIKES)) == len({str(replace(KEY, **values)) for values in fields})


@pytest.mark.parametrize(
    ("one", "other"), [("john-doe", "john_doe"), ("foo", "foobar"), ("acme", "acme-corp"), ("a%", "ab")]
)
def test_names_that_a_pattern_would_confuse_stay_apart(one: str, other: str) -> None:
    """No column is a pattern or a prefix of another; compared by equality they are two (langchain-ai/langgraph#8300)."""
    for field in ("user", "channel", "agent"):
        first, second = (replace(KEY, **{field: value}) for value in (one, other))

        assert first.columns() != second.columns()
        assert scope_of(first, mode="speaker").columns() != scope_of(second, mode="speaker").columns()


@pytest.mark.parametrize("mode", get_args(ScopeMode))
@pytest.mark.parametrize("chat_type", get_args(ChatType))
def test_two_channels_never_share_a_scope(mode: ScopeMode, chat_type: ChatType) -> None:
    """The same person in a room of the same id on two connections (C18, C19)."""
    one = replace(KEY, chat_type=chat_type)

    assert scope_of(one, mode=mode) != scope_of(replace(one, channel="other"), mode=mode)


@pytest.mark.parametrize("mode", get_args(ScopeMode))
@pytest.mark.parametrize("chat_type", get_args(ChatType))
def test_two_agents_never_share_a_scope(mode: ScopeMode, chat_type: ChatType) -> None:
    """Whatever the admin lets people share, agents share nothing (C18, C19)."""
    one = replace(KEY, chat_type=chat_type)

    assert scope_of(one, mode=mode) != scope_of(replace(one, agent="other"), mode=mode)


@pytest.mark.parametrize("mode", get_args(ScopeMode))
def test_private_and_group_never_share_a_scope(mode: ScopeMode) -> None:
    """Not even when a platform gives both the same id (C18, C19)."""
    private = replace(KEY, chat_type="private")

    assert scope_of(private, mode=mode) != scope_of(KEY, mode=mode)


@pytest.mark.parametrize("mode", get_args(ScopeMode))
def test_two_users_never_share_a_private_scope(mode: ScopeMode) -> None:
    """The room's setting is for groups; one session per account and bot in private (C18, C19; openclaw#7215)."""
    private = replace(KEY, chat_type="private")

    assert scope_of(private, mode=mode) != scope_of(replace(private, user="U8"), mode=mode)


def test_two_users_share_a_group_scope_unless_the_room_says_speaker() -> None:
    """The scope is the room's choice (C18, C19; AstrBot#978)."""
    other = replace(KEY, user="U8")

    assert {"conversation": True, "room": True, "speaker": False} == {
        mode: scope_of(KEY, mode=mode) == scope_of(other, mode=mode) for mode in get_args(ScopeMode)
    }


def test_threads_share_a_scope_only_where_the_room_says_room() -> None:
    """Two topics of a group are two conversations (nanobot#1482)."""
    others = [replace(KEY, thread="172.0"), replace(KEY, thread=None)]

    assert {"conversation": [False, False], "room": [True, True], "speaker": [False, False]} == {
        mode: [scope_of(KEY, mode=mode) == scope_of(other, mode=mode) for other in others]
        for mode in get_args(ScopeMode)
    }


def test_the_columns_of_key_and_scope() -> None:
    """As they stand in databases and logs."""
    assert KEY.columns() == ("U7", "acme", "C1/171.5", "group", "shop")
    assert str(replace(KEY, user="2:x", room="群 1", thread=None)) == "2%3Ax:acme:群%201:group:shop"
    assert KEY.conversation == "C1/171.5" == encode_conversation("C1", "171.5")
    assert scope_of(KEY, mode="room") == Scope("*", "acme", "C1/*", "group", "shop")
    assert str(scope_of(KEY, mode="speaker")) == str(KEY)


@given(parts)
def test_a_part_comes_back_from_its_code(part: str) -> None:
    """And the code is pure text of its own: encoding it again changes it only where it holds a percent sign."""
    code = encode_part(part)

    assert part == decode_part(code)
    assert (encode_part(code) == code) is ("%" not in code)


@pytest.mark.parametrize("field", ["user", "channel", "room", "thread", "agent"])
@pytest.mark.parametrize("bad", ["", "\ud800", "a\udfffb", None, 7, b"x"])
def test_a_part_that_is_no_text_is_refused_by_name(field: str, bad: object) -> None:
    """Empty, half a surrogate pair, not text at all: fail loudly, never build a key around it (nanobot#3546)."""
    fields: dict[str, Any] = {field: bad}
    if field == "thread" and bad is None:
        return  # no thread is a thread's most common value
    with pytest.raises(InvalidKey, match=field):
        replace(KEY, **fields)


def test_a_chat_type_that_is_neither_is_refused() -> None:
    """Two kinds of chat, and no third."""
    with pytest.raises(InvalidKey, match="'channel' is neither"):
        replace(KEY, chat_type="channel")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a:b:c:group",
        "a:b:c:group:d:e",
        ":b:c:group:d",
        "a:b::group:d",
        "a:b:c/:group:d",
        "a:b:/c:group:d",
        "a:b:c/d/e:group:f",
        "a:b:c:both:d",
        "*:b:c:group:d",
        "a:b:c/*:group:d",
        "a b:b:c:group:d",
        "%3a:b:c:group:d",
        "%41:b:c:group:d",
        "%:b:c:group:d",
        "%ZZ:b:c:group:d",
        "%FF:b:c:group:d",
        "%ED%A0%80:b:c:group:d",
        "%C0%AF:b:c:group:d",
        "\ud800:b:c:group:d",
        "a\n:b:c:group:d",
    ],
)
def test_text_that_no_key_has_is_refused(text: str) -> None:
    """One key, one text: nothing but what `str` writes can be read, and a scope's text is no key."""
    with pytest.raises(InvalidKey):
        ConversationKey.parse(text)


@given(st.text(max_size=30))
def test_reading_any_text_gives_its_key_or_a_refusal(text: str) -> None:
    """Never another key, never another error."""
    try:
        key = ConversationKey.parse(text)
    except InvalidKey:
        return
    assert text == str(key)


MODES: list[ScopeMode] = ["speaker", "conversation", "room"]  # each shares at least as much as the one before


@pytest.mark.parametrize("thread", [None, "t/1", "*", "话题"])
def test_a_group_scope_tells_what_made_it(thread: str | None) -> None:
    """The setting, and the place: what a changed setting is compared with (AstrBot#4331)."""
    key = replace(KEY, room="r:/*", thread=thread)

    for mode in MODES:
        made = scope_of(key, mode=mode)
        assert mode == mode_of(made)
        assert ("acme", "r:/*", None if mode == "room" else thread) == whereabouts(made)


@pytest.mark.parametrize("thread", [None, "t/1", "*"])
def test_a_scope_becomes_part_of_a_wider_one(thread: str | None) -> None:
    """The scope under a setting that shares more is the one that the key would have under it."""
    key = replace(KEY, thread=thread)

    for n, narrow in enumerate(MODES):
        for wide in MODES[n:]:
            assert scope_of(key, mode=wide) == shared_as(scope_of(key, mode=narrow), mode=wide)
