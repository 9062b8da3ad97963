"""From an event and the settings to the agent, the key, the scope, the lane and the address."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Address, DeleteEvent, EditEvent, InboundEvent, MessageEvent, Sender
from config.channels.base import RoomSettings
from config.loader import Configuration, load
from gateway.routing import agent_for, decode, encode, language_of, route
from memory.key import InvalidKey, scope_of

SETTINGS = """\
agents: {default: {}, shop: {}, night: {}}
defaults: {agents: [night]}
channels:
  console: {kind: console}
  web:
    kind: webhook
    secrets: ["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    rooms:
      r1: {agent: shop, agents: [], scope: room}
      r2: {scope: speaker, language: zh, threads: {t1: {agent: night, agents: [shop, default]}}}
"""


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Configuration:
    file: Path = tmp_path_factory.mktemp("settings") / "my.yaml"
    file.write_text(SETTINGS, "utf-8")
    return load(file, {})


def said(
    text: str = "hello",
    *,
    room: str = "r",
    thread: str | None = None,
    chat_type: Literal["private", "group"] = "group",
    user: str = "U1",
    channel: str = "web",
    **fields: Any,
) -> MessageEvent:
    return MessageEvent(
        channel=channel,
        room=room,
        thread=thread,
        chat_type=chat_type,
        sender=Sender(user=user, tenant="T", account=user),
        dedupe_ids=("T:m1",),
        message_id="m1",
        text=text,
        **fields,
    )


@pytest.mark.parametrize(
    ("place", "chosen", "agent"),
    [
        (("web", "r", None), None, "default"),
        (("web", "r", None), "night", "night"),
        (("web", "r", None), "shop", "default"),
        (("web", "r", None), "nonsense", "default"),
        (("web", "r1", None), None, "shop"),
        (("web", "r1", None), "night", "shop"),
        (("web", "r1", "any"), None, "shop"),
        (("web", "r2", "t1"), None, "night"),
        (("web", "r2", "t1"), "shop", "shop"),
        (("web", "r2", "t2"), None, "default"),
        (("console", "r1", None), None, "default"),
    ],
)
def test_the_configured_agent_answers(
    configuration: Configuration, place: tuple[str, str, str | None], chosen: str | None, agent: str
) -> None:
    """By channel, room or thread; a person's choice counts only where the admin lists it."""
    channel, room, thread = place
    routed = route(said(channel=channel, room=room, thread=thread), configuration=configuration, chosen_agent=chosen)

    assert agent == routed.agent == routed.conversation_key().agent
    assert routed.agent in configuration.settings.agents


def test_a_route_says_everything_that_must_not_be_decided_anew(configuration: Configuration) -> None:
    """Key, scope, lane and revision stand in the row; the address is the event's own place, never looked up at send time
    (openclaw#77292, openclaw#29301, AstrBot#1766)."""
    event = said("你好", room="r:2", thread="t/1", user="T.U*")
    routed = route(event, configuration=configuration, chosen_agent=None, rule="mention", now_ms=1_790_000_000_000)
    key = routed.conversation_key()

    assert event == routed.event
    assert routed.key == "T.U%2A:web:r%3A2/t%2F1:group:default"
    assert ("T.U*", "web", "r:2", "t/1", "group", "default") == (
        key.user,
        key.channel,
        key.room,
        key.thread,
        key.chat_type,
        key.agent,
    )
    assert routed.memory_scope() == scope_of(key, mode="conversation")
    assert routed.scope == ("*", "web", "r%3A2/t%2F1", "group", "default")
    assert Address(channel="web", room="r:2", thread="t/1", reply_to="m1", since_ms=1_790_000_000_000) == routed.address
    assert (configuration.revision, "zh", "mention", False) == (
        routed.revision,
        routed.language,
        routed.rule,
        routed.refused,
    )


@pytest.mark.parametrize(
    ("room", "chat_type", "scope"),
    [
        ("r", "group", "*:web:r/t:group:default"),
        ("r1", "group", "*:web:r1/*:group:shop"),
        ("r2", "group", "U1:web:r2/t:group:default"),
        ("r1", "private", "U1:web:r1/t:private:shop"),
    ],
)
def test_the_rooms_setting_says_who_shares_a_groups_memory(
    configuration: Configuration, room: str, chat_type: Literal["private", "group"], scope: str
) -> None:
    """Everybody here, everybody in the room, nobody (AstrBot#978); in private always nobody."""
    routed = route(said(room=room, thread="t", chat_type=chat_type), configuration=configuration, chosen_agent=None)

    assert scope == str(routed.memory_scope())


def test_edits_and_deletions_go_the_way_of_their_message_and_answer_nothing(configuration: Configuration) -> None:
    """Same key and scope, no message to reply to."""
    message = said(room="r1", thread="t")
    place = {
        name: getattr(message, name) for name in ("channel", "room", "thread", "chat_type", "sender", "dedupe_ids")
    }
    events: list[InboundEvent] = [
        message,
        EditEvent(message_id="m1", text="new", **place),
        DeleteEvent(message_id="m1", **place),
    ]
    routes = [route(event, configuration=configuration, chosen_agent=None) for event in events]

    assert 1 == len({routed.key for routed in routes}) == len({routed.scope for routed in routes})
    assert ["m1", None, None] == [routed.address.reply_to for routed in routes]


@pytest.mark.parametrize("part", ["user", "room", "thread"])
@pytest.mark.parametrize("bad", ["", "a\ud800"])
def test_an_event_whose_place_or_sender_is_no_text_has_no_route(
    configuration: Configuration, part: str, bad: str
) -> None:
    """Fail loudly when an id is missing, never fall back to another one (nanobot#3546, LangBot#1822)."""
    fields: dict[str, Any] = {part: bad}
    with pytest.raises(InvalidKey, match=part):
        route(said(**fields), configuration=configuration, chosen_agent=None)


def test_a_channel_that_is_not_configured_has_no_route(configuration: Configuration) -> None:
    """It can only have gone a moment ago."""
    with pytest.raises(KeyError):
        route(said(channel="gone"), configuration=configuration, chosen_agent=None)


@pytest.mark.parametrize(
    ("text", "hint", "setting", "language"),
    [
        ("hello", None, "zh", "zh"),
        ("你好", "zh", "en", "en"),
        ("hello", "zh-Hans-CN", "auto", "zh"),
        ("hello", "ZH_TW", "auto", "zh"),
        ("hello", "yue", "auto", "zh"),
        ("你好", "en-US", "auto", "en"),
        ("你好", "de", "auto", "en"),
        ("你好", "und", "auto", "zh"),
        ("你好", "", "auto", "zh"),
        ("你好", "!", "auto", "zh"),
        ("", None, "auto", "en"),
        ("👍👍", None, "auto", "en"),
        ("12345", None, "auto", "en"),
        ("hello 你好吗", None, "auto", "zh"),
        ("帮我 deploy 一下 kubernetes cluster", None, "auto", "zh"),
        ("What does 你好 mean in English?", None, "auto", "en"),
        ("好 ok", None, "auto", "zh"),
        ("𠮷野家", None, "auto", "zh"),
        ("今日はいい天気ですね", None, "auto", "en"),
        ("안녕하세요 서울", None, "auto", "en"),
        ("Привет, как дела", None, "auto", "en"),
        ("美の味，我很喜欢这家店", None, "auto", "zh"),
        ("word " * 2000 + "你" * 9000, None, "auto", "en"),
    ],
)
def test_the_language_is_the_admins_the_platforms_or_the_texts(
    text: str, hint: str | None, setting: Literal["auto", "en", "zh"], language: str
) -> None:
    """In this order; a text is judged by its beginning."""
    assert language == language_of(text, hint=hint, setting=setting)


@pytest.mark.parametrize(
    ("text", "hint", "language"),
    [
        ("/memory", None, "zh"), ("/forget all yes", None, "zh"), ("ok", None, "zh"), ("8812", None, "zh"),
        ("what do you know?", None, "en"), ("/memory", "en-US", "en"),
    ],
)  # fmt: skip
def test_what_shows_no_language_is_answered_in_that_of_the_talk(text: str, hint: str | None, language: str) -> None:
    """Commands have English names for those who write Chinese, too."""
    assert language == language_of(text, hint=hint, setting="auto", spoken="zh")


def test_a_choice_that_the_admin_withdrew_no_longer_counts() -> None:
    """The list is read at each message (openclaw#70524)."""
    assert agent_for(RoomSettings(agent="a", agents=("b",)), chosen="b") == "b"
    assert agent_for(RoomSettings(agent="a", agents=()), chosen="b") == "a"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(
    event=st.builds(
        said,
        TEXT,
        room=TEXT,
        thread=st.none() | TEXT,
        chat_type=st.sampled_from(["private", "group"]),
        user=TEXT,
        language=st.none() | TEXT,
        mentions_bot=st.booleans(),
    ),
    refused=st.booleans(),
)
def test_a_stored_route_comes_back_as_it_was(configuration: Configuration, event: MessageEvent, refused: bool) -> None:
    """For all of Unicode in every field."""
    routed = route(event, configuration=configuration, chosen_agent=None, rule="x", refused=refused)

    assert routed == decode(encode(routed))


def test_a_route_of_another_release_can_be_read(configuration: Configuration) -> None:
    """Fields that this release does not know, or no longer, are passed over; a body that is no route is an error."""
    routed = route(said(), configuration=configuration, chosen_agent=None)
    other = msgspec.json.decode(encode(routed)) | {"later": 1}
    other["event"]["sent_ms"] = 1_700_000_000_000
    other["address"]["asker"] = "U1"

    assert routed == decode(msgspec.json.encode(other))
    with pytest.raises(msgspec.ValidationError):
        decode(b"{}")
