"""What single Slack events mean, beyond the recorded ones."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import DeleteEvent, EditEvent, MessageEvent, MoveEvent, PresenceEvent, Quote
from adapters.problems import Problem
from adapters.slack.authors import Identity
from adapters.slack.parse import Ignored, parse, slash
from gateway.commands import Command, parse_command
from tests.unit.slack.samples import ME, TS, callback, message, read


def said(event: dict[str, Any], **more: Any) -> MessageEvent:
    found = read(event, **more)
    assert isinstance(found, MessageEvent)
    return found


def test_the_two_events_of_one_mention_meet_in_one_id() -> None:
    """`message` and `app_mention` differ in event id, meet in (team, channel, ts, author) (slackapi/bolt-python#941)."""
    first = said(message("<@UBOT> hi"), event_id="Ev1")
    second = said({**message("<@UBOT> hi"), "type": "app_mention", "channel_type": None}, event_id="Ev2")

    assert first.dedupe_ids[0] != second.dedupe_ids[0]
    assert first.dedupe_ids[1] == second.dedupe_ids[1]
    assert (first.room, first.thread, first.text) == (second.room, second.thread, second.text)


def test_a_retry_has_the_same_ids() -> None:
    """Slack sends the same event id again; nothing else of the delivery counts (vercel/chat#667)."""
    assert said(message(), event_id="Ev1").dedupe_ids == said(message(), event_id="Ev1").dedupe_ids


def test_messages_of_two_channels_differ_though_their_ts_is_the_same() -> None:
    """`ts` is unique in its channel only."""
    assert not {*said(message(), event_id="").dedupe_ids} & {*said(message(channel="C2"), event_id="").dedupe_ids}


@pytest.mark.parametrize(
    ("fields", "thread"),
    [
        ({"text": "<@UBOT> hi"}, TS),
        ({"text": "hi <@UBOT>"}, TS),
        ({"text": "hi"}, None),
        ({"text": "<@UBOT> hi", "thread_ts": "1600000000.000001"}, "1600000000.000001"),
        ({"text": "hi", "thread_ts": "1600000000.000001"}, "1600000000.000001"),
        ({"text": "<@UBOT> hi", "channel": "D1", "channel_type": "im"}, None),
        ({"text": "hi", "channel": "D1", "channel_type": "im", "thread_ts": "1600000000.000001"}, "1600000000.000001"),
        ({"text": "<@UBOT> hi", "channel_type": "mpim"}, TS),
        ({"text": "<@UBOT> hi", "thread_ts": ""}, TS),
    ],
    ids=["mention", "inside", "talk", "in-thread", "follow-up", "dm", "dm-thread", "mpim", "empty-thread"],
)
def test_a_mention_begins_a_thread_and_its_follow_ups_share_it(fields: dict[str, Any], thread: str | None) -> None:
    """A top-level mention takes its own ts, as the answers to it will (openclaw/openclaw#23103)."""
    assert thread == said(message(**fields)).thread


@pytest.mark.parametrize(
    "thread", ["soon", "1600000000", "1600000000.000001 ", "../C2", 1600000000.000001, ["x"], "1.1/2.2"]
)
def test_what_is_no_thread_is_refused(thread: Any) -> None:
    """It would name a memory of its own, or, read as none, put a thread's talk into the channel's."""
    edited = message("b", thread_ts=thread, **EDITED)
    for event in (message("<@UBOT> hi", thread_ts=thread), changed(message("a"), edited)):
        with pytest.raises(Problem, match=r"event\.thread_ts"):
            read(event)


@pytest.mark.parametrize("ts", ["soon", "1700000000", "1700000000.0001000001", ""])
def test_what_is_no_message_s_id_is_refused(ts: str) -> None:
    """A mention's own names the thread that it begins."""
    with pytest.raises(Problem, match=r"event\.ts"):
        read(message("<@UBOT> hi", ts=ts))


def test_without_reply_in_thread_the_open_channel_is_the_conversation() -> None:
    assert said(message("<@UBOT> hi"), reply_in_thread=False).thread is None


@pytest.mark.parametrize(
    ("fields", "chat_type"),
    [
        ({"channel_type": "im", "channel": "D1"}, "private"),
        ({"channel_type": "im", "channel": "C1"}, "private"),
        ({"channel_type": None, "channel": "D1"}, "private"),
        ({"channel_type": "mpim", "channel": "G1"}, "group"),
        ({"channel_type": "group", "channel": "C1"}, "group"),
        ({"channel_type": None, "channel": "C1"}, "group"),
    ],
)
def test_only_a_direct_message_is_private(fields: dict[str, Any], chat_type: str) -> None:
    """`app_mention` has no channel type; the id's first letter tells then."""
    assert chat_type == said(message(**fields)).chat_type


@pytest.mark.parametrize(
    ("text", "mentioned", "heard"),
    [
        ("<@UBOT> hi", True, "hi"),
        ("  <@UBOT>, hi", True, "hi"),
        ("<@UBOT>：你好", True, "你好"),
        ("<@UBOT|clew> hi", True, "hi"),
        ("hi <@UBOT> there", True, "hi <@UBOT> there"),
        ("<@UBOT> ask <@UBOT>", True, "ask <@UBOT>"),
        ("`<@UBOT>` hi", False, "`<@UBOT>` hi"),
        ("```\n<@UBOT>\n``` hi", False, "```\n<@UBOT>\n``` hi"),
        ("<@UBOTHER> hi", False, "<@UBOTHER> hi"),
        ("@clew hi", False, "@clew hi"),
    ],
)
def test_a_mention_is_our_own_account_outside_code(text: str, mentioned: bool, heard: str) -> None:
    """Anywhere in the text; only the leading one is an address and goes. (A12: what others are asked is not our business.)"""
    event = said(message(text))

    assert mentioned == event.mentions_bot
    assert heard == event.text


def _rich(*elements: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(elements)}]}]


_US, _SAID = {"type": "user", "user_id": "UBOT"}, {"type": "text", "text": " /new 换个话题"}
_MRKDWN = {"type": "mrkdwn", "text": "<@UBOT> /new 换个话题"}


@pytest.mark.parametrize(
    "blocks",
    [
        _rich(_US, _SAID),
        _rich({"type": "text", "text": " "}, _US, _SAID),
        [{"type": "section", "text": _MRKDWN}],
        [{"type": "section", "fields": [_MRKDWN]}],
        [{"type": "context", "elements": [_MRKDWN]}],
    ],
    ids=["rich", "rich-space", "section", "fields", "context"],
)
@pytest.mark.parametrize("text", ["", "<@UBOT> /new 换个话题"])
def test_a_mention_may_be_a_node_of_a_block(blocks: list[dict[str, Any]], text: str) -> None:
    """It calls us, goes from the front, and the command behind it is one, whether or not the text beside the blocks holds it
    (multica-ai/multica#7368, chenhg5/cc-connect#725: field report I89)."""
    event = said(message(text, blocks=blocks))

    assert event.mentions_bot
    assert "/new 换个话题" == event.text
    assert Command("new", "换个话题") == parse_command(event.text)


@pytest.mark.parametrize(
    "blocks",
    [
        _rich({"type": "broadcast", "range": "channel"}, _SAID),
        _rich({"type": "text", "text": "<@UBOT>", "style": {"code": True}}),
        [{"type": "section", "text": {"type": "plain_text", "text": "<@UBOT>"}}],
        [{"type": "section", "text": {"type": "mrkdwn", "text": "`<@UBOT>`"}}],
    ],
    ids=["everybody", "code", "plain", "mrkdwn-code"],
)
def test_a_block_that_calls_everybody_or_quotes_a_mention_does_not_call_us(blocks: list[dict[str, Any]]) -> None:
    """All-mentions are told apart from ours (larksuite/oapi-sdk-python#152: field report I89)."""
    assert not said(message("", blocks=blocks)).mentions_bot


def test_who_writes_an_account_id_out_has_not_mentioned_us() -> None:
    """What is escaped in the payload was typed; it becomes no token by being unescaped."""
    assert not said(message("&lt;@UBOT&gt; hi")).mentions_bot


def test_app_mention_is_believed_whatever_the_text_looks_like() -> None:
    assert said({**message("hi there"), "type": "app_mention"}).mentions_bot


def test_an_answer_in_a_thread_that_the_bot_began_is_a_reply_to_it() -> None:
    """For the trigger. As a quote the root would stand before every follow-up again: it is in the thread's memory."""
    event = said(message(thread_ts="1600000000.000001", parent_user_id="UBOT"))

    assert event.reply_to_bot
    assert event.in_reply_to is None


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"user": "UBOT"}, "own"),
        ({"user": None, "bot_id": "BBOT"}, "own"),
        ({"user": "UOTHER", "bot_id": "BOTHER", "app_id": "A1"}, "own"),
        ({"user": "UOTHER", "bot_profile": {"app_id": "A1"}}, "own"),
        ({"user": "USLACK"}, "system"),
        ({"user": "USLACKBOT"}, "system"),
        ({"user": None}, "no_sender"),
        ({"subtype": "channel_join"}, "service"),
        ({"subtype": "invented_tomorrow"}, "service"),
        ({"user": None, "message": {"user": "U1"}}, "service"),
    ],
    ids=str,
)
def test_what_nobody_said_to_us_is_ignored_by_a_rule(fields: dict[str, Any], rule: str) -> None:
    """Own messages also as seen through another workspace (slackapi/bolt-python#946); subtypes by allow-list."""
    assert Ignored(rule) == read(message(**fields))


@pytest.mark.parametrize("subtype", ["file_share", "me_message", "thread_broadcast", "bot_message", ""])
def test_what_somebody_said_is_read_whatever_its_subtype(subtype: str) -> None:
    """A filter on "has a subtype" would drop files and /me."""
    assert "hello" == said(message(subtype=subtype)).text


@pytest.mark.parametrize(
    "fields", [{"bot_id": "B2"}, {"bot_profile": {"name": "x"}}, {"subtype": "bot_message", "username": "x"}]
)
def test_other_programs_are_marked_as_such(fields: dict[str, Any]) -> None:
    """Modern bots post without a subtype; policy about them is the gateway's (slackapi/bolt-python#307)."""
    assert said(message(**fields)).sender.is_bot


def test_a_bot_without_account_is_known_by_its_bot_id_and_name() -> None:
    sender = said(message(user=None, bot_id="B2", bot_profile={"name": "Jira"})).sender

    assert ("T1.B2", "Jira") == (sender.user, sender.name)


@pytest.mark.parametrize(
    ("fields", "outer", "user"),
    [
        ({}, {}, "T1.U1"),
        ({"team": "T2"}, {}, "T2.U1"),
        ({"user_team": "T2"}, {"is_ext_shared_channel": True}, "T2.U1"),
        ({"user_team": "E2", "source_team": "T2"}, {"is_ext_shared_channel": True}, "T2.U1"),
        ({"user_team": "E2", "source_team": "E2"}, {"is_ext_shared_channel": True}, "E2.U1"),
        ({"user_team": "E2"}, {}, "T1.U1"),
        ({"team": None}, {"team_id": "T3"}, "T3.U1"),
        ({"team": None}, {"team_id": None}, "T1.U1"),
    ],
)
def test_a_person_belongs_to_the_workspace_he_comes_from(
    fields: dict[str, Any], outer: dict[str, Any], user: str
) -> None:
    """A stranger in a shared channel gets none of the host's rights (slackapi/bolt-python#767); equal accounts of two
    workspaces stay two."""
    assert user == said(message(**fields), **outer).sender.user


@pytest.mark.parametrize(
    "outer",
    [
        {"authorizations": [{"team_id": "T2", "user_id": "UBOT2", "is_bot": True}]},
        {"authorizations": [], "context_team_id": "T2"},
    ],
)
def test_an_event_for_another_installation_of_the_app_is_not_ours(outer: dict[str, Any]) -> None:
    """One app in two workspaces gets both workspaces' events at one URL."""
    assert Ignored("other_installation") == read(message(), **outer)


@pytest.mark.parametrize("outer", [{"authorizations": []}, {"authorizations": [], "context_team_id": "T1"}])
def test_an_event_that_names_no_other_installation_is_ours(outer: dict[str, Any]) -> None:
    assert isinstance(read(message(), **outer), MessageEvent)


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "message", "subtype": "message_changed", "hidden": True, "channel": "C1", "channel_type": "channel",
        "ts": "1700000099.000000", "message": after, "previous_message": before,
    }  # fmt: skip


EDITED = {"edited": {"user": "U1", "ts": "1700000050.000000"}}


def test_an_edit_brings_the_new_text() -> None:
    event = read(changed(message("old"), message("new", **EDITED)))

    assert isinstance(event, EditEvent)
    assert ("new", TS, "T1.U1") == (event.text, event.message_id, event.sender.user)


def test_an_edit_quotes_what_its_message_does() -> None:
    """A message of nothing but what it shares asks about that, and is not emptied."""
    shared = {
        "is_share": True,
        "is_msg_unfurl": True,
        "author_name": "Ann",
        "text": "Rome is old",
        "from_url": "https://a",
    }
    event = read(changed(message("look"), message("<@U0BOT>", attachments=[shared], **EDITED)))

    assert isinstance(event, EditEvent)
    assert Quote(name="Ann", text="Rome is old") == event.quote


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (message("same"), message("same", **EDITED)),
        (message("a"), message("b")),
        (message("a", **EDITED), message("b", **EDITED)),
        (message("same"), message("same", reply_count=3)),
    ],
    ids=["same-text", "unfurl", "edited-before", "reply-counter"],
)
def test_what_nobody_edited_is_no_edit(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Link previews and reply counters change a message too (openclaw/openclaw#28834)."""
    assert Ignored("phantom_edit") == read(changed(before, after))


ROOT = {"thread_ts": TS, "reply_count": 2}  # a message that others have answered in a thread


@pytest.mark.parametrize(
    ("fields", "in_thread", "thread"),
    [
        ({}, True, None),
        ({"channel": "D1", "channel_type": "im"}, True, None),
        ({"text": "<@UBOT> 你好"}, True, TS),
        ({"text": "<@UBOT> 你好"}, False, None),
    ],
    ids=["talk", "dm", "mention", "mention-open"],
)
def test_what_began_a_thread_later_is_changed_where_it_was_said(
    fields: dict[str, Any], in_thread: bool, thread: str | None
) -> None:
    """Once it has replies, a message names itself as its thread's root (slack-go/slack#1256): what is forgotten of it must not
    be looked for in that thread."""
    first = said(message(**fields), reply_in_thread=in_thread)
    before, where = (
        message(**fields, **ROOT),
        {key: fields[key] for key in ("channel", "channel_type") if key in fields},
    )
    tombstone = {"subtype": "tombstone", "ts": TS, "thread_ts": TS, "user": "USLACKBOT"}
    for event in (
        {**changed(before, {**before, "text": "new", **EDITED}), **where},
        {**changed(before, tombstone), **where},
        {**changed(before, {}), **where, "subtype": "message_deleted", "deleted_ts": TS},
    ):
        found = read(event, reply_in_thread=in_thread)
        assert isinstance(found, EditEvent | DeleteEvent)
        assert (first.room, thread, TS) == (found.room, found.thread, found.message_id)
        assert thread == first.thread


def test_a_mention_that_is_told_of_again_because_it_was_edited_is_no_question() -> None:
    """Slack calls us at every edit of a message that names us; the edit itself comes besides. An old one would be answered a
    second time, and one edited into a mention would be asked by its edit (PostHog/posthog#59517, slackapi/bolt-js#960)."""
    again = {**message("<@UBOT> hi", channel_type=None, **EDITED), "type": "app_mention"}

    assert Ignored("edited") == read(again)
    assert "hi" == said(message("<@UBOT> hi", **EDITED)).text


def test_own_edits_are_not_heard() -> None:
    """A reply shown by editing comes back at every step (openclaw/openclaw#25495)."""
    assert Ignored("own") == read(changed(message("a", user="UBOT"), message("b", user="UBOT", **EDITED)))


def test_two_edits_of_one_message_are_two_events_and_each_is_one() -> None:
    later = {"edited": {"user": "U1", "ts": "1700000060.000000"}}
    ids = [
        read(changed(message("old"), message(text, **edited)), event_id="")
        for text, edited in (("new", EDITED), ("newer", later), ("newer", later))
    ]
    first, second, again = [event.dedupe_ids for event in ids if isinstance(event, EditEvent)]

    assert first != second
    assert second == again


def test_a_deletion_names_the_message_that_is_gone() -> None:
    """Also that of a thread's root, which leaves a tombstone; both are one event."""
    fields = {"channel": "C1", "channel_type": "channel", "previous_message": message("x"), "type": "message"}
    gone = read(
        {**fields, "subtype": "message_deleted", "deleted_ts": TS, "event_ts": "1700000090.000000"}, event_id=""
    )
    tombstone = read(changed(message("x"), {"subtype": "tombstone", "ts": TS, "user": "USLACKBOT"}), event_id="")

    assert isinstance(gone, DeleteEvent)
    assert isinstance(tombstone, DeleteEvent)
    assert (TS, "T1.U1") == (gone.message_id, gone.sender.user)
    assert gone.dedupe_ids == tombstone.dedupe_ids


@pytest.mark.parametrize("fields", [{"previous_message": None}, {"previous_message": message(user="UBOT")}])
def test_a_deletion_of_what_we_never_heard_is_ignored(fields: dict[str, Any]) -> None:
    gone = {"type": "message", "subtype": "message_deleted", "channel": "C1", "deleted_ts": TS, **fields}

    assert isinstance(read(gone), Ignored)


@pytest.mark.parametrize(
    ("event", "present", "by"),
    [
        ({"type": "member_joined_channel", "user": "UBOT", "inviter": "U1"}, True, "T1.U1"),
        ({"type": "member_joined_channel", "user": "UBOT"}, True, "T1.UBOT"),
        ({"type": "member_left_channel", "user": "UBOT"}, False, "T1.UBOT"),
        ({"type": "channel_left"}, False, "T1.UBOT"),
        ({"type": "group_left"}, False, "T1.UBOT"),
    ],
)
def test_the_bot_s_own_coming_and_going_is_told(event: dict[str, Any], present: bool, by: str) -> None:
    """Bolt's self filter keeps these two as well."""
    found = read({"channel": "C1", "team": "T1", "event_ts": TS, **event})

    assert isinstance(found, PresenceEvent)
    assert (present, by, "C1") == (found.present, found.sender.user, found.room)


def test_other_people_s_coming_and_going_is_not() -> None:
    assert Ignored("membership") == read({"type": "member_joined_channel", "user": "U1", "channel": "C1"})


def test_a_channel_that_gets_another_id_is_told_of_with_both() -> None:
    """It may, when it is shared with another workspace (platform-facts 1.9)."""
    event = read({"type": "channel_id_changed", "old_channel_id": "C1", "new_channel_id": "C2", "event_ts": TS})

    assert isinstance(event, MoveEvent)
    assert ("C1", "C2") == (event.room, event.new_room)


def test_a_shared_message_is_what_is_quoted() -> None:
    """A forwarded message is an attachment; a question about it may be empty of words."""
    shared = {"is_share": True, "is_msg_unfurl": True, "author_id": "U9", "text": "the &lt;plan&gt;"}
    event = said(message("", attachments=[shared]))

    assert Quote(name="<@U9>", text="the <plan>") == event.quote
    assert event.text == ""


def test_a_reply_that_was_also_sent_to_the_channel_quotes_its_root() -> None:
    root = {"user": "U9", "text": "When?", "ts": "1600000000.000001"}
    event = said(message(subtype="thread_broadcast", thread_ts="1600000000.000001", root=root))

    assert Quote(name="<@U9>", text="When?") == event.quote


def commanded(form: dict[str, Any], **more: Any) -> MessageEvent:
    found = slash(form, channel="acme", me=ME, **more)
    assert isinstance(found, MessageEvent)
    return found


def test_a_slash_command_is_its_text_said_to_us() -> None:
    form = {
        "command": "/clew-new", "text": "a &amp; b <@U9|zoe>", "team_id": "T1", "user_id": "U1",
        "channel_id": "C1", "trigger_id": "1.2.x",
    }  # fmt: skip
    event = commanded(form, prefix="clew-")

    assert ("/new a & b <@U9>", "T1.U1", "group", None) == (
        event.text,
        event.sender.user,
        event.chat_type,
        event.thread,
    )
    assert event.mentions_bot


def test_a_slash_command_clicked_once_is_one_however_often_it_comes() -> None:
    form = {"command": "/new", "team_id": "T1", "user_id": "U1", "channel_id": "D1", "trigger_id": "1.2.x"}
    first, again = commanded(form), commanded(form)
    other = commanded({**form, "trigger_id": "1.3.x"})

    assert first.dedupe_ids == again.dedupe_ids
    assert first.dedupe_ids != other.dedupe_ids
    assert "private" == first.chat_type


@pytest.mark.parametrize(
    ("team", "company", "ours"),
    [("T1", None, True), ("T2", None, False), ("T2", "E1", True), ("T2", "E2", False)],
    ids=["ours", "another", "our-company", "another-company"],
)
def test_a_slash_command_for_another_installation_of_the_app_is_not_ours(
    team: str, company: str | None, ours: bool
) -> None:
    """As with events: both workspaces' commands come to one URL, signed with one secret; our token can't answer the other's."""
    form = {"command": "/new", "team_id": team, "user_id": "U1", "channel_id": "C9", "trigger_id": "1.2.x"}
    me = msgspec.structs.replace(ME, enterprise="E1" if company else None)
    found = slash({**form, "enterprise_id": company}, channel="acme", me=me)

    assert ours is isinstance(found, MessageEvent)
    assert ours or Ignored("other_installation") == found


@pytest.mark.parametrize(
    "payload",
    [
        callback(message(channel=None)),
        callback(message(ts=None)),
        callback(message(channel="C\x00")),
        callback(message(user="U\u2028")),
        {"command": "/new", "team_id": "T1", "user_id": "U1", "channel_id": "C1"},
    ],
)
def test_what_cannot_come_from_slack_is_refused_by_its_field(payload: dict[str, Any]) -> None:
    """slackapi/slack-api-docs#27: no KeyError for what is missing."""
    with pytest.raises(Problem) as refused:
        slash(payload, channel="acme", me=ME) if "command" in payload else parse(payload, channel="acme", me=ME)

    assert 400 == refused.value.status


def test_a_text_keeps_no_character_that_stores_refuse() -> None:
    assert "ab" == said(message("a\x00b")).text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = (
    "subtype", "user", "bot_id", "text", "blocks", "attachments", "files", "message", "previous_message", "thread_ts",
    "channel", "ts", "bot_profile", "user_profile", "root", "edited", "team", "deleted_ts", "channel_type",
)  # fmt: skip


@given(
    fields=st.dictionaries(st.sampled_from(_FIELDS), _JSON),
    subtype=st.sampled_from(["", "message_changed", "message_deleted"]),
)
def test_no_shape_of_an_event_trips_the_parser(fields: dict[str, Any], subtype: str) -> None:
    """Whatever stands in a field: an event, a rule, or a refusal that names the field."""
    event = {**message(), "subtype": subtype, **fields}
    found: object
    try:
        found = parse(callback(event), channel="acme", me=Identity(team="T1", user="UBOT", bot="", name=""))
    except Problem as problem:
        found = problem
    assert not isinstance(found, Problem) or found.status == 400
