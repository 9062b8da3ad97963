"""When a human is asked for, where a take-over counts, and until when."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.base import EditEvent, MessageEvent, Sender
from config.channels.base import TakeoverSettings
from config.loader import Configuration, load
from gateway.admin.takeovers import Place
from gateway.desk import last_route
from gateway.human_lane import acted, by_human, places_answered, wordless
from gateway.human_notices import HUMAN_NOTICES, told
from gateway.inbox.base import Event
from gateway.routing import Route, encode, route
from gateway.taking_over import (
    complains,
    deadline_ms,
    place_for,
    places_of,
    rule_of,
    settings_of,
    silent,
    turns_of,
    wish_in,
)
from memory.base import Message
from tests.contracts.test_takeover_rows import NOW, takeover

SETTINGS = """
agents: {default: {kind: demo}}
channels:
  page:
    kind: console
    takeover: {wait_s: 10, timeout_s: 20}
    rooms: {"r 1": {takeover: {timeout_s: 30}, threads: {"t/1": {takeover: {timeout_s: 40}}}}}
"""


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    (tmp_path / "clew.yaml").write_text(SETTINGS, "utf-8")
    return load(tmp_path / "clew.yaml", {})


def said(configuration: Configuration, **changes: object) -> Route:
    event = MessageEvent(
        channel="page", room="r 1", chat_type="group", sender=Sender(user="T1.U:1", tenant="T1", account="U:1", name="Zoe"),
        dedupe_ids=("d",), message_id="m1", text="订单 5512",
    )  # fmt: skip
    return route(msgspec.structs.replace(event, **changes), configuration=configuration, chosen_agent=None)


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({}, [("r%201", "*")]),
        ({"thread": "t/1"}, [("r%201/t%2F1", "*")]),
        ({"thread": "m1"}, [("r%201/m1", "*"), ("r%201", "*")]),  # begins it: at the room's top people call the bot so
        ({"chat_type": "private"}, [("r%201", "T1.U%3A1")]),
        ({"chat_type": "private", "thread": "t"}, [("r%201/t", "T1.U%3A1"), ("r%201", "T1.U%3A1")]),
    ],
)
def test_where_a_take_over_counts(
    changes: dict[str, object], places: list[tuple[str, str]], configuration: Configuration
) -> None:
    """The conversation itself first; no other person's, and no other thread's of a group."""
    found = said(configuration, **changes)

    assert [Place("page", conversation, user) for conversation, user in places] == list(places_of(found))
    assert places_of(found)[0] == place_for(found)


def test_each_place_has_its_own_patience(configuration: Configuration) -> None:
    """The most specific setting counts; a request waits by another one; what has no place any more has the defaults."""

    def due(**changes: object) -> int:
        of = msgspec.structs.replace(takeover(1, channel="page", conversation="r%201/t%2F1"), **changes)
        return deadline_ms(of, settings_of(of, configuration).takeover) - NOW

    assert [40_000, 30_000, 20_000, 10_000, 1_800_000, 1_800_000] == [
        due(state="active"),
        due(state="active", conversation="r%201"),
        due(state="active", conversation="other"),
        due(),
        due(state="active", channel="gone"),
        due(state="active", conversation=""),
    ]


@pytest.mark.parametrize(
    ("text", "complaints", "failures", "by"),
    [
        ("I want my LAWYER.", 0, 0, "words"),
        ("转接经理，谢谢", 0, 0, "words"),
        ("a manager", 3, 2, "failures"),
        ("a manager", 3, 1, "complaints"),
        ("a manager", 2, 1, None),
    ],
)
def test_what_asks_for_a_human(text: str, complaints: int, failures: int, by: str | None) -> None:
    settings = TakeoverSettings(words=("lawyer", "经理"), after_failures=2, after_complaints=3)

    wish = wish_in(text, settings, complaints=complaints, failures=failures)

    assert by == (wish.by if wish else None)
    assert wish_in(text, TakeoverSettings(), complaints=99, failures=99) is None


@pytest.mark.parametrize(
    "text",
    [
        "This is USELESS",
        "it doesn't work",
        "I want to complain",
        "wrong again",
        "what???!!!",
        "太差了",
        "我要投诉你们",
        "答非所问",
        "气死我了",
    ],
)
def test_complaints(text: str) -> None:
    assert complains(text)


@pytest.mark.parametrize(
    "text", ["Where is my order?", "thanks!", "不错，谢谢！", "Is the scampi fresh?", "我的订单", ""]
)
def test_no_complaints(text: str) -> None:
    assert not complains(text)


def test_who_answers_meanwhile() -> None:
    """The bot until a human has it, unless the room wants silence."""
    bot, quiet = TakeoverSettings(), TakeoverSettings(while_waiting="silent")
    asked = takeover(1)
    active, ended = (msgspec.structs.replace(asked, state=state) for state in ("active", "ended"))

    assert [False, True, True, True, False, False] == [
        silent(asked, bot), silent(asked, quiet), silent(active, bot), silent(active, quiet), silent(ended, quiet),
        silent(None, quiet),
    ]  # fmt: skip
    assert ("taken_over", "waiting_for_human") == (rule_of(active), rule_of(asked))


def test_turns_are_told_from_what_is_stored() -> None:
    """The last one first, with all that its speaker said in it; no other conversation's, no reply, and none that was part of what
    has ended."""

    def row(turn_id: int, text: str, **changes: Any) -> Message:
        of = Message(
            id=turn_id, scope_id=1, session_id="s", turn_id=turn_id, event_id=1, role="user", text=text, user="zoe",
            channel="page", conversation="r1", chat_type="private", agent="default",
        )  # fmt: skip
        return msgspec.structs.replace(of, **changes)

    rows = [
        row(1, "before"), row(2, "没用"), row(2, "at all"), row(2, "sorry", role="assistant"), row(3, "x", conversation="r2"),
        row(4, "last"),
    ]  # fmt: skip

    assert [(4, "last"), (2, "没用\n\nat all")] == turns_of(rows, conversation="r1", after=1)


def test_an_act_goes_where_somebody_last_spoke_without_their_words(configuration: Configuration) -> None:
    """To the same person, thread and agent; what they said is not in it, and what the human says is no message of theirs."""
    spoken = said(configuration, thread="t", in_reply_to="m0")
    of = msgspec.structs.replace(
        takeover(1), last=encode(wordless(spoken)), state="active", operator="user:1", operator_name="Ann"
    )

    kept = last_route(of)
    assert kept is not None
    act = acted(kept, of, "said", "hello 您好")

    assert "5512" not in of.last.decode()
    assert (spoken.key, spoken.scope, spoken.language) == (act.key, act.scope, act.language)
    assert act.human is not None
    assert ("hello 您好", "human", "said", "Ann", of.turn_id) == (
        act.event.text,  # type: ignore[union-attr]
        act.rule,
        act.human.act,
        act.human.name,
        act.human.turn_id,
    )
    assert (True, False) == (by_human(stored(act)), by_human(stored(spoken)))
    assert ((), places_of(spoken)) == (places_answered(stored(act)), places_answered(stored(spoken)))


def test_what_another_release_stored_is_nobodys(configuration: Configuration) -> None:
    broken = msgspec.structs.replace(stored(said(configuration)), body=b"\xff")

    assert (False, ()) == (by_human(broken), places_answered(broken))
    assert last_route(msgspec.structs.replace(takeover(1), last=b"")) is None


def test_an_edit_is_in_a_conversation_too(configuration: Configuration) -> None:
    event = said(configuration).event
    assert isinstance(event, MessageEvent)
    edit = EditEvent(
        channel="page", room="r", chat_type="group", sender=event.sender, dedupe_ids=("e",), message_id="m1", text="x",
        thread="m1",
    )  # fmt: skip

    assert [Place("page", "r/m1", "*")] == list(places_of(route(edit, configuration=configuration, chosen_agent=None)))


def stored(routed: Route) -> Event:
    return Event(
        id=1, turn_id=1, lane="l", channel="page", kind="message", speaker="u", body=encode(routed), token="t",
        fingerprint=None, state="accepted", outcome=None, attempts=0, accepted_ms=NOW,
    )  # fmt: skip


@pytest.mark.parametrize("name", HUMAN_NOTICES)
def test_every_text_has_both_languages(name: str) -> None:
    """With the same values in both; none of them is named twice over."""
    texts = HUMAN_NOTICES[name]
    fields = [{part[1] for part in string.Formatter().parse(texts[language])} - {None} for language in ("en", "zh")]  # type: ignore[index]

    assert {"en", "zh"} == set(texts)
    assert fields[0] == fields[1]
    assert told(name, "zh", **dict.fromkeys(fields[0], "{x}"))  # type: ignore[arg-type]
