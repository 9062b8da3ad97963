"""Which events are answered, observed, ignored, refused or applied, and by which rule."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import DeleteEvent, EditEvent, InboundEvent, MessageEvent, MoveEvent, PresenceEvent, Quote, Sender
from config.channels.base import RoomSettings, Trigger
from gateway.admission import Action, Verdict, admit

ANA = Sender(user="T1.U1", tenant="T1", account="U1", name="Ana")
QUOTE = Quote(name="Bo", text="Bonjour")


def said(text: str = "hello", *, chat_type: Literal["private", "group"] = "group", **fields: Any) -> MessageEvent:
    fields = {"sender": ANA, "message_id": "m1", "dedupe_ids": ("T1:m1",)} | fields
    return MessageEvent(channel="web", room="r", chat_type=chat_type, text=text, **fields)


def room(**values: Any) -> RoomSettings:
    return RoomSettings.model_validate(values)


def decide(
    event: InboundEvent, settings: RoomSettings, *, known_command: bool = False, over_limit: bool = False, **known: Any
) -> str:
    verdict = admit(event, settings, known_command=known_command, over_limit=over_limit, **known)
    return f"{verdict.action} {verdict.rule}"


@pytest.mark.parametrize("trigger", [[], ["mention"], ["always"]])
@pytest.mark.parametrize("text", ["hello", "你好", "👍", "/unknown"])
def test_what_is_said_in_private_is_answered(trigger: list[str], text: str) -> None:
    """Triggers are for groups."""
    assert decide(said(text, chat_type="private"), room(trigger=trigger)) == "answer private"


@pytest.mark.parametrize(
    ("fields", "trigger", "verdict"),
    [
        ({"mentions_bot": True}, ["mention"], "answer mention"),
        ({"reply_to_bot": True}, ["reply"], "answer reply"),
        ({"mentions_bot": True, "reply_to_bot": True}, ["reply", "mention"], "answer mention"),
        ({"mentions_bot": True}, ["reply"], "ignore not_addressed"),
        ({"reply_to_bot": True}, ["mention"], "ignore not_addressed"),
        ({}, ["mention", "reply", "command", "prefix"], "ignore not_addressed"),
        ({}, ["always"], "answer always"),
        ({"mentions_bot": True}, ["always"], "answer always"),
        ({"mentions_bot": True}, ["always", "mention"], "answer mention"),
        ({"mentions_bot": True, "reply_to_bot": True}, [], "ignore not_addressed"),
    ],
)
def test_a_group_message_is_answered_by_its_rooms_triggers_only(
    fields: dict[str, bool], trigger: list[str], verdict: str
) -> None:
    """One gate, tested with a message that is not addressed (nanobot#1380, NousResearch/hermes-agent#3979)."""
    assert verdict == decide(said(**fields), room(trigger=trigger))


def test_a_command_addresses_the_bot_where_the_room_says_so() -> None:
    """Only commands of ours; in the default room a bare command belongs to no bot in particular."""
    assert decide(said("/help"), room(trigger=["command"]), known_command=True) == "answer command"
    assert decide(said("/helpme"), room(trigger=["command"])) == "ignore not_addressed"
    assert decide(said("/help"), room(), known_command=True) == "ignore not_addressed"


@pytest.mark.parametrize(
    ("text", "answered"),
    [
        ("!bot what", True),
        ("  !BOT", True),
        ("!Bot了吗", True),
        ("机器人，你好", True),
        ("ẞtraße", True),
        ("say !bot", False),
        ("!bo t", False),
    ],
)
def test_a_prefix_addresses_the_bot(text: str, answered: bool) -> None:
    """At the beginning, whatever the case."""
    verdict = decide(said(text), room(trigger=["prefix"], prefix=["!bot", "机器人", "SSTRASSE"]))

    assert ("answer prefix" if answered else "ignore not_addressed") == verdict


def test_other_group_talk_is_observed_where_the_admin_wants_it() -> None:
    """As background, never as a turn; off by default."""
    assert decide(said(), room()) == "ignore not_addressed"
    assert decide(said(), room(observe=True)) == "observe observe"
    assert decide(said(mentions_bot=True), room(observe=True)) == "answer mention"
    assert decide(said("x" * 11), room(observe=True, limits={"message_chars": 10})) == "ignore too_long"


@pytest.mark.parametrize("chat_type", ["private", "group"])
def test_another_program_and_the_bot_itself_are_never_answered(chat_type: Literal["private", "group"]) -> None:
    """Nor are their edits applied: a bot that streams by editing would feed itself (openclaw#28834)."""
    bot = Sender(user="B1", tenant="T1", account="B1", is_bot=True)
    place: dict[str, Any] = {
        "channel": "web",
        "room": "r",
        "chat_type": chat_type,
        "sender": bot,
        "dedupe_ids": ("d",),
        "message_id": "m",
    }

    for event in (
        MessageEvent(text="x", mentions_bot=True, **place),
        EditEvent(text="y", **place),
        DeleteEvent(**place),
    ):
        assert decide(event, room(trigger=["always"])) == "ignore bot"


BOT = Sender(user="B1", tenant="T1", account="B1", is_bot=True)


@pytest.mark.parametrize(
    ("in_row", "verdict"),
    [(0, "answer mention"), (2, "answer mention"), (3, "ignore bot_depth"), (9, "ignore bot_depth")],
)
def test_bots_are_answered_where_the_admin_wants_it_up_to_a_depth(in_row: int, verdict: str) -> None:
    """Two bots must come to an end by themselves (NousResearch/hermes-agent#91481, slackapi/bolt-python#946); people are
    answered however many bots there are."""
    settings = room(bots="answer")

    assert verdict == decide(said(mentions_bot=True, sender=BOT), settings, bots_in_row=in_row)
    assert decide(said(sender=BOT), settings, bots_in_row=in_row) == "ignore not_addressed"
    assert decide(said(mentions_bot=True), settings, bots_in_row=in_row) == "answer mention"


def test_bots_that_are_heard_are_observed_edited_and_deleted_like_people() -> None:
    settings = room(bots="answer", observe=True)
    place: dict[str, Any] = {
        "channel": "web", "room": "r", "chat_type": "group", "sender": BOT, "dedupe_ids": ("d",), "message_id": "m",
    }  # fmt: skip

    assert decide(said(sender=BOT), settings, bots_in_row=9) == "observe observe"
    assert decide(EditEvent(text="y", **place), settings, bots_in_row=9) == "apply edit"
    assert decide(DeleteEvent(**place), settings) == "apply delete"


def test_no_notice_is_said_to_a_bot() -> None:
    """It might answer that."""
    settings = room(bots="answer", trigger=["always"], limits={"message_chars": 3})

    assert decide(said("long", sender=BOT), settings) == "ignore too_long"
    assert decide(said("hi", sender=BOT), settings, over_limit=True) == "ignore rate_limited"


@pytest.mark.parametrize(
    ("fields", "followed", "verdict"),
    [
        ({"thread": "t"}, True, "answer thread"),
        ({"thread": "t"}, False, "ignore not_addressed"),
        ({"thread": "t", "reply_to_bot": True}, False, "answer thread"),
        ({"thread": None, "reply_to_bot": True}, False, "ignore not_addressed"),
        ({"thread": None}, True, "ignore not_addressed"),
    ],
)
def test_a_thread_is_followed_once_the_bot_has_answered_or_begun_it(
    fields: dict[str, Any], followed: bool, verdict: str
) -> None:
    """Only where the room wants it: people in a thread may talk with each other."""
    assert verdict == decide(said(**fields), room(trigger=["mention", "thread"]), followed=followed)
    assert decide(said(thread="t"), room(), followed=True) == "ignore not_addressed"


def test_the_bots_own_coming_and_going_is_applied() -> None:
    """Whoever brought it, the bot itself included."""
    for sender in (ANA, BOT):
        for present, rule in ((True, "joined"), (False, "left")):
            event = PresenceEvent(
                channel="web", room="r", chat_type="group", sender=sender, dedupe_ids=("d",), present=present
            )

            assert f"apply {rule}" == decide(event, room(allow={"people": []}), over_limit=True)


@pytest.mark.parametrize("people", [None, [], ["someone"]])
def test_edits_and_deletions_are_applied_never_answered(people: list[str] | None) -> None:
    """They concern what was let in before, whatever the rules or the rate are now (openclaw#28834)."""
    place: dict[str, Any] = {
        "channel": "web",
        "room": "r",
        "chat_type": "private",
        "sender": ANA,
        "dedupe_ids": ("d",),
        "message_id": "m",
    }
    settings = room(allow={"people": people}, limits={"message_chars": 1})

    assert decide(EditEvent(text="/restart now", **place), settings, over_limit=True) == "apply edit"
    assert decide(DeleteEvent(**place), settings, over_limit=True) == "apply delete"


def test_a_room_that_moved_is_no_matter_of_who_said_so() -> None:
    """The platform's word names an anonymous admin, a bot or a channel as its sender; it counts all the same."""
    for sender in (ANA, Sender(user="B1", tenant="T1", account="B1", is_bot=True, trusted=False)):
        move = MoveEvent(channel="web", room="r", chat_type="group", sender=sender, dedupe_ids=("d",), new_room="r2")

        assert decide(move, room(allow={"people": []}), over_limit=True) == "apply move"


@pytest.mark.parametrize("text", ["", " \n\t", "\u3000"])
def test_an_empty_message_is_ignored(text: str) -> None:
    """There is nothing to answer, mentioned or not."""
    assert decide(said(text, mentions_bot=True), room(trigger=["always"])) == "ignore empty"
    assert decide(said(text, chat_type="private"), room()) == "ignore empty"


def test_a_reply_without_words_is_about_what_it_quotes() -> None:
    """Addressed comes before the empty-text check (nanobot#1875)."""
    assert decide(said("", quote=QUOTE, mentions_bot=True), room()) == "answer mention"
    assert decide(said("", quote=QUOTE), room()) == "ignore not_addressed"


@pytest.mark.parametrize("chat_type", ["private", "group"])
@pytest.mark.parametrize(
    ("people", "allowed"),
    [
        (None, True),
        (["T1.U1"], True),
        (["u", "T1.U1"], True),
        ([], False),
        (["U1"], False),
        (["t1.u1"], False),
        (["Ana"], False),
    ],
)
def test_an_allow_list_knows_accounts_as_they_stand_in_the_key(
    chat_type: Literal["private", "group"], people: list[str] | None, allowed: bool
) -> None:
    """Exactly: not by name, not by another tenant's account, not in another case; an empty list allows nobody."""
    verdict = decide(said(chat_type=chat_type), room(trigger=["always"], allow={"people": people}))

    assert allowed is verdict.startswith("answer")
    assert allowed or verdict == "ignore not_allowed"


def test_a_sender_nobody_vouches_for_is_answered_but_passes_no_allow_list() -> None:
    """He gets no personal memory, and can't prove to be on a list."""
    stranger = msgspec.structs.replace(ANA, trusted=False)

    assert decide(said(sender=stranger, chat_type="private"), room()) == "answer private"
    assert decide(said(sender=stranger), room(trigger=["always"])) == "answer always"
    assert decide(said(sender=stranger), room(trigger=["always"], allow={"people": ["T1.U1"]})) == "ignore not_allowed"


@pytest.mark.parametrize(
    ("length", "over", "verdict"),
    [
        (10, False, "answer private"),
        (11, False, "refuse too_long"),
        (10, True, "refuse rate_limited"),
        (11, True, "refuse too_long"),
    ],
)
@pytest.mark.parametrize("character", ["x", "字", "👪"])
def test_limits_refuse_what_would_be_answered(length: int, over: bool, verdict: str, character: str) -> None:
    """A character is a character in every script; the person gets a notice."""
    settings = room(limits={"message_chars": 10})

    assert verdict == decide(said(character * length, chat_type="private"), settings, over_limit=over)


def test_limits_say_nothing_to_who_asked_for_nothing() -> None:
    """No notice into a group for talk that wasn't meant for the bot."""
    assert decide(said("x" * 99), room(limits={"message_chars": 10}), over_limit=True) == "ignore not_addressed"


def test_only_a_refusal_is_refused() -> None:
    """The one action that owes a notice."""
    assert ["refuse"] == [action for action in get_args(Action) if Verdict(action, "x").refused]


@given(
    event=st.builds(
        said,
        st.text(max_size=20),
        chat_type=st.sampled_from(["private", "group"]),
        mentions_bot=st.booleans(),
        reply_to_bot=st.booleans(),
        quote=st.sampled_from([None, QUOTE]),
        sender=st.builds(
            Sender,
            user=st.text(min_size=1),
            tenant=st.just("t"),
            account=st.just("a"),
            trusted=st.booleans(),
            is_bot=st.booleans(),
        ),
    ),
    trigger=st.lists(st.sampled_from(get_args(Trigger))),
    observe=st.booleans(),
    people=st.sampled_from([None, [], ["a"]]),
    known_command=st.booleans(),
    over_limit=st.booleans(),
    bots=st.sampled_from(["ignore", "answer"]),
    known=st.fixed_dictionaries({"followed": st.booleans(), "bots_in_row": st.integers(0, 5)}),
)
def test_every_event_gets_exactly_one_verdict_with_its_rule(
    event: MessageEvent,
    trigger: list[Trigger],
    observe: bool,
    people: list[str] | None,
    known_command: bool,
    over_limit: bool,
    bots: str,
    known: dict[str, Any],
) -> None:
    """Whatever comes: a known action, a named rule, and the same again when asked again."""
    settings = RoomSettings.model_validate(
        {
            "trigger": trigger,
            "prefix": ["!"],
            "observe": observe,
            "allow": {"people": people},
            "limits": {"message_chars": 9},
            "bots": bots,
        }
    )
    verdict = admit(event, settings, known_command=known_command, over_limit=over_limit, **known)

    assert verdict == admit(event, settings, known_command=known_command, over_limit=over_limit, **known)
    assert verdict.action in get_args(Action)
    assert verdict.rule
    if event.sender.is_bot:
        assert verdict.action == "ignore" or (bots == "answer" and not verdict.refused)


@pytest.mark.parametrize(
    ("fields", "settings", "verdict"),
    [
        ({}, {}, "answer taken_over"),
        ({}, {"observe": True}, "answer taken_over"),
        ({"mentions_bot": True}, {}, "answer mention"),
        ({"text": " "}, {}, "ignore empty"),
        ({"sender": msgspec.structs.replace(ANA, is_bot=True)}, {}, "ignore bot"),
        ({}, {"allow": {"people": ["T1.U9"]}}, "ignore not_allowed"),
    ],
)
def test_a_human_who_has_the_conversation_hears_all_of_it(
    fields: dict[str, Any], settings: dict[str, Any], verdict: str
) -> None:
    """Nobody has to call the bot then, and nobody is let in who was not."""
    assert decide(said(**fields), room(**settings), taken_over=True) == verdict
