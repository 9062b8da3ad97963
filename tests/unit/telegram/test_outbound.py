"""Replies through the real adapter into a local Telegram: sent, edited, shown; and what each failure means."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator
from typing import Any

import pytest
from telegram.error import BadRequest, Conflict, Forbidden, InvalidToken, NetworkError, TelegramError, TimedOut
from telegram.request import HTTPXRequest

from adapters.base import Adapter, Address, Paced, Quote, Rate, Shows
from adapters.errors import Moved, Refused, SendFailed, Throttled, Unknown, Unreachable
from adapters.telegram.posting import REFUSED_S, Posting, rates
from adapters.telegram.web import clients, translated
from config.channels.telegram import TelegramSettings
from tests.emulators.telegram import rooms
from tests.emulators.telegram.errors import bad_request, forbidden
from tests.emulators.telegram.faults import Fault, cut, dripping, html, lost, server_error, throttled
from tests.unit.telegram.world import World, adapter, world


@pytest.fixture
async def there() -> AsyncIterator[World]:
    async with world(timeout_s=0.4, connect_s=0.4) as opened:
        yield opened


def refused(text: str) -> Fault:
    return Fault(error=bad_request(text))


async def test_it_is_a_channel_that_shows_and_is_paced(there: World) -> None:
    """Static and at run time. It can't find what it sent: the platform has no way to ask."""
    channel: Adapter = there.adapter

    assert isinstance(channel, Paced)
    assert isinstance(channel, Shows)


async def test_a_reply_stands_in_its_chat_with_its_marks(there: World) -> None:
    receipt = await there.adapter.send(there.to(), "👋 **粗：**x `c`\n\n> q\n\n```py\ny\n```", chunk_id="1")
    (reply,) = there.dm.replies()

    assert receipt.message_id == str(reply.id)
    assert "👋 粗：x c\n\nq\n\ny" == reply.text
    assert ["bold", "code", "blockquote", "pre"] == [mark["type"] for mark in reply.body["entities"]]
    assert {"is_disabled": True} == reply.body["link_preview_options"]


async def test_names_in_an_answer_call_nobody_in_a_group(there: World) -> None:
    """Nor while it is made, nor when it is edited; in private nobody can be called, and a name may be pressed."""
    group = there.tg.group("Team", there.ann)
    shown = await there.adapter.show(there.to(group), "ask @bob_lee", turn="7", shown=None)
    (growing,) = group.replies()
    kinds = [[mark["type"] for mark in growing.entities]]
    await there.adapter.send(there.to(group), "ask @bob_lee 吧", chunk_id="1", shown=shown)
    await there.adapter.send(there.to(), "ask @BotFather", chunk_id="2")
    kinds += [[mark["type"] for mark in reply.entities] for reply in (*group.replies(), *there.dm.replies())]

    assert [["code"], ["code"], ["mention"]] == kinds


async def test_names_call_nobody_where_marks_are_refused(there: World) -> None:
    """What is left without its marks has no name in it that the platform would find, and no more room to grow."""
    group, no_marks = there.tg.group("Team", there.ann), refused("can't parse entities: x")
    there.tg.faults.plan("sendMessage", no_marks)
    shown = await there.adapter.show(there.to(group), "ask @bob_lee", turn="7", shown=None)
    (growing,) = group.replies()
    kinds = [[mark["type"] for mark in growing.entities]]
    there.tg.faults.plan("sendMessage", no_marks)
    there.tg.faults.plan("editMessageText", no_marks)
    await there.adapter.send(there.to(group), "ask @bob_lee, 李@ann_li or a@b.example", chunk_id="1", shown=shown)
    await there.adapter.send(there.to(), "**ask** @BotFather", chunk_id="2")
    kinds += [[mark["type"] for mark in reply.entities] for reply in (*group.replies(), *there.dm.replies())]

    assert [[], ["email"], ["mention"]] == kinds
    assert ["ask ＠bob_lee, 李@ann_li or a@b.example"] == [reply.text for reply in group.replies()]


async def test_what_is_answered_is_shown_only_where_others_spoke_between(there: World) -> None:
    """And the answer comes though the question is gone."""
    question = there.ann.says(there.dm, "question")
    quoted = Quote(name="Ann", text="question")
    await there.adapter.send(there.to(reply_to=str(question.id)), "one", chunk_id="1")
    await there.adapter.send(there.to(reply_to=str(question.id), quoted=quoted), "two", chunk_id="2")
    there.ann.deletes(question)
    await there.adapter.send(there.to(reply_to=str(question.id), quoted=quoted), "three", chunk_id="3")

    replies = there.dm.replies()
    assert [None, question.id, None] == [reply.body.get("reply_to_message", {}).get("message_id") for reply in replies]


async def test_a_receipt_is_read_whatever_else_the_platform_tells_of_the_message(there: World) -> None:
    """The SDK reads all of it and fails at one field it misses (platform-facts 2.4); the message stands there then, and what
    shows an answer would be left behind, half made."""
    group = there.tg.group("Team", there.ann)
    question = there.ann.says(group, "question")
    question.body["poll"] = {"id": "1", "question": "?", "options": []}
    to = there.to(group, reply_to=str(question.id), quoted=Quote(name="Ann", text="question"))
    shown = await there.adapter.show(to, "so far", turn="7", shown=None)
    receipt = await there.adapter.send(to, "done", chunk_id="1", shown=shown)

    assert [("done", receipt.message_id)] == [(reply.text, str(reply.id)) for reply in group.replies()]


async def test_a_reply_goes_to_its_topic_and_to_the_chat_when_that_is_gone(there: World) -> None:
    """tdlib/telegram-bot-api#854; General is not named (python-telegram-bot#4739)."""
    forum = there.tg.supergroup("Team", there.ann, forum=True)
    topic = rooms.open_topic(forum, "Plans", by=there.ann)
    await there.adapter.send(there.to(forum, topic=topic), "one", chunk_id="1")
    rooms.delete_topic(topic)
    await there.adapter.send(there.to(forum, topic=topic), "two", chunk_id="2")
    await there.adapter.send(Address(channel="acme", room=str(forum.id), thread="1"), "three", chunk_id="3")

    sent = [call.params.get("message_thread_id") for call in there.tg.called("sendMessage") if call.status == 200]
    assert [topic.id, None, None] == [int(one) if one is not None else None for one in sent]


async def test_text_whose_marks_are_refused_goes_out_without_them(there: World) -> None:
    """Once, and only for that reason (NousResearch/hermes-agent#105340)."""
    group, no_marks = there.tg.group("Team", there.ann), refused("can't parse entities: x")
    there.tg.faults.plan("sendMessage", no_marks)
    shown = await there.adapter.show(there.to(group), "**b**", turn="1", shown=None)
    there.tg.faults.plan("editMessageText", no_marks)
    await there.adapter.send(there.to(group), "**c**", chunk_id="1", shown=shown)

    assert [("c", None)] == [(reply.text, reply.body.get("entities")) for reply in group.replies()]
    there.tg.faults.plan("sendMessage", no_marks)
    with pytest.raises(Refused, match="an't parse"):
        await there.adapter.send(there.to(), "no marks", chunk_id="1")


async def test_in_private_the_answer_grows_in_a_draft(there: World) -> None:
    """Finished by a real message, which dismisses it (openclaw/openclaw#7803)."""
    assert await there.adapter.show(there.to(), "so **far", turn="7", shown=None) is None
    assert await there.adapter.show(there.to(), "so **far** so", turn="7", shown=None) is None
    drafts = list(there.dm.drafts)
    await there.adapter.send(there.to(), "so far so good", chunk_id="1")

    assert ["so far", "so far so"] == [draft.text for draft in drafts]
    assert 1 == len({draft.id for draft in drafts})
    assert 0 not in {draft.id for draft in drafts}
    assert there.dm.drafted() is None
    assert ["so far so good"] == [reply.text for reply in there.dm.replies()]


async def test_where_drafts_are_refused_a_message_is_edited(there: World) -> None:
    """Remembered for the chat: nullclaw/nullclaw#626."""
    there.tg.world.drafts_work = False
    assert await there.adapter.show(there.to(), "one", turn="7", shown=None) is None
    shown = await there.adapter.show(there.to(), "one two", turn="7", shown=None)
    again = await there.adapter.show(there.to(), "one two three", turn="7", shown=shown)
    receipt = await there.adapter.send(there.to(), "done", chunk_id="1", shown=again)

    assert 1 == len(there.tg.called("sendMessageDraft"))
    assert shown == again == f"{there.dm.id}/{receipt.message_id}"
    assert ["done"] == [reply.text for reply in there.dm.replies()]


async def test_what_a_place_refuses_is_asked_for_again_after_a_while() -> None:
    """Not before: what a bot may do somewhere changes, and nobody tells it."""
    now = 0.0
    async with world() as there:
        there.tg.world.drafts_work = False
        there.tg.faults.plan("sendChatAction", refused("not enough rights"))
        chosen = {"kind": "telegram", "token": there.tg.bot.token, "api_url": there.tg.url}
        settings = TelegramSettings.model_validate(chosen)
        async with clients(settings) as (bot, _):
            posting = Posting("acme", bot, settings=settings, clock=lambda: now)
            calls = []
            for now, first in ((0.0, True), (REFUSED_S - 1, False), (REFUSED_S, False)):
                await posting.show(there.to(), f"at {now}", turn="7", shown=None)
                if first:
                    with pytest.raises(Refused):
                        await posting.sign(there.to())
                else:
                    await posting.sign(there.to())
                calls.append((len(there.tg.called("sendMessageDraft")), len(there.tg.called("sendChatAction"))))

    assert [(1, 1), (1, 1), (2, 2)] == calls


async def test_in_groups_one_message_is_edited_and_then_replaced(there: World) -> None:
    group = there.tg.group("Team", there.ann)
    shown = await there.adapter.show(there.to(group), "so far", turn="7", shown=None)
    assert shown == await there.adapter.show(there.to(group), "so far", turn="7", shown=shown)
    assert shown == await there.adapter.show(there.to(group), "so far so", turn="7", shown=shown)
    await there.adapter.send(there.to(group), "done", chunk_id="1", shown=shown)

    assert not there.tg.called("sendMessageDraft")
    assert 2 == len(there.tg.called("editMessageText"))
    assert ["done"] == [reply.text for reply in group.replies()]


async def test_what_shows_nothing_new_is_not_sent(there: World) -> None:
    for nothing in ("  ", "\u200b\u2060", "\u2800"):
        assert await there.adapter.show(there.to(), nothing, turn="7", shown=None) is None
    assert [] == there.tg.called("sendMessageDraft")


@pytest.mark.parametrize("answer", ["\u200b", "\u200d\u2060\ufeff", "[\u200b](https://x.example)"])
async def test_an_answer_that_nobody_would_see_is_no_empty_message(there: World, answer: str) -> None:
    await there.adapter.send(there.to(), answer, chunk_id="1")

    assert 1 == len(there.dm.replies())


async def test_an_unchanged_message_is_a_sent_one(there: World) -> None:
    """letta-ai/lettabot#254: "not modified" is no failure."""
    group = there.tg.group("Team", there.ann)
    shown = await there.adapter.show(there.to(group), "done", turn="7", shown=None)
    receipt = await there.adapter.send(there.to(group), "done", chunk_id="1", shown=shown)

    assert shown == f"{group.id}/{receipt.message_id}"
    assert 1 == len(group.replies())


@pytest.mark.parametrize("text", ["message to edit not found", "message can't be edited"])
async def test_what_cannot_be_edited_any_more_goes_out_as_a_new_message(there: World, text: str) -> None:
    group = there.tg.group("Team", there.ann)
    shown = await there.adapter.show(there.to(group), "so far", turn="7", shown=None)
    there.tg.faults.plan("editMessageText", refused(text))
    await there.adapter.send(there.to(group), "done", chunk_id="1", shown=shown)

    assert ["so far", "done"] == [reply.text for reply in group.replies()]


async def test_an_edit_refused_for_another_reason_is_refused(there: World) -> None:
    group = there.tg.group("Team", there.ann)
    shown = await there.adapter.show(there.to(group), "so far", turn="7", shown=None)
    there.tg.faults.plan("editMessageText", refused("something new"))

    with pytest.raises(Refused, match="omething new"):
        await there.adapter.send(there.to(group), "done", chunk_id="1", shown=shown)


async def test_a_message_of_another_room_is_never_edited(there: World) -> None:
    """A group that became a supergroup counts anew: the same number is another message."""
    old, new = there.tg.group("Team", there.ann), there.tg.supergroup("Team", there.ann)
    shown = await there.adapter.show(there.to(old), "so far", turn="7", shown=None)
    await there.adapter.send(there.to(new), "mine", chunk_id="1")
    await there.adapter.send(there.to(new), "done", chunk_id="2", shown=shown)

    assert ["mine", "done"] == [reply.text for reply in new.replies()]


async def test_the_bot_is_seen_writing(there: World) -> None:
    forum = there.tg.supergroup("Team", there.ann, forum=True)
    topic = rooms.open_topic(forum, "Plans", by=there.ann)
    await there.adapter.sign(there.to(forum, topic=topic), on=True)
    await there.adapter.sign(there.to(forum, topic=topic), on=False)

    assert [("typing", topic.id)] == [(action.action, action.topic) for action in forum.actions]
    rooms.delete_topic(topic)
    with pytest.raises(Refused):
        await there.adapter.sign(there.to(forum, topic=topic), on=True)
    await there.adapter.sign(there.to(forum, topic=topic), on=True)
    assert 2 == len(there.tg.called("sendChatAction"))


async def test_signs_and_streams_can_be_switched_off() -> None:
    async with world(typing=False, stream=False) as there:
        await there.adapter.sign(there.to(), on=True)

        assert [] == there.tg.called("sendChatAction")
        assert there.adapter.show_every_s is None


@pytest.mark.parametrize(
    ("fault", "kind", "told"),
    [
        (throttled(222), Throttled, "222 s"),
        (Fault(error=forbidden("bot was blocked by the user")), Refused, "unblock"),
        (Fault(error=forbidden("bot was kicked from the supergroup chat")), Refused, "add the bot"),
        (Fault(error=forbidden("user is deactivated")), Refused, "gone"),
        (refused("not enough rights to send text messages to the chat"), Refused, "let the bot write"),
        (refused("message is too long"), Refused, "too long"),
        (server_error(401, "Unauthorized"), Unreachable, "the token is wrong"),
        (server_error(404, "Not Found"), Unreachable, "api_url"),
        (server_error(404, "Not Found: method not found"), Refused, "too old"),
        (server_error(429, "Too Many Requests"), Throttled, "wait"),
        (server_error(), Unknown, "lost"),
        (server_error(done=True), Unknown, "lost"),
        (html(502), Unknown, "lost"),
        (html(400), Unreachable, "before Telegram"),
        (html(403), Unreachable, "before Telegram"),
        (html(404), Unreachable, "before Telegram"),
        (html(409), Unreachable, "before Telegram"),
        (html(403, page='{"error": "blocked by policy"}'), Unreachable, "before Telegram"),
        (html(400, page='["no"]'), Unreachable, "before Telegram"),
        (html(200, page='{"status": "up"}'), Unknown, "lost"),
        (html(200, page='"welcome"'), Unknown, "lost"),
        (html(503, page="null"), Unknown, "lost"),
        (cut(done=True), Unknown, "lost"),
        (lost(done=True), Unknown, "TimedOut"),
        (dripping(0.1), Unknown, "TimedOut"),
        (Fault(error=bad_request("group chat was upgraded", migrate_to_chat_id=-1009)), Moved, "supergroup"),
    ],
)
async def test_what_a_failed_send_means(there: World, fault: Fault, kind: type[SendFailed], told: str) -> None:
    """Never sent again blindly (python-telegram-bot#1045, NousResearch/hermes-agent#3899); what an admin can do is said."""
    there.tg.faults.plan("sendMessage", fault)
    with pytest.raises(kind, match=told) as caught:
        await there.adapter.send(there.to(), "x", chunk_id="1")

    assert type(caught.value) in (kind, *kind.__subclasses__())
    assert there.tg.bot.token not in str(caught.value)
    if isinstance(caught.value, Throttled):
        assert f"acme {there.dm.id}" == caught.value.scope
    if isinstance(caught.value, Moved):
        assert "-1009" == caught.value.new_room


@pytest.mark.parametrize("fault", [server_error(), html(502), cut(done=True), lost(done=True)])
async def test_an_edit_whose_answer_was_lost_may_be_made_again(there: World, fault: Fault) -> None:
    """sipeed/picoclaw#2092: not by a new message."""
    group = there.tg.group("Team", there.ann)
    shown = await there.adapter.show(there.to(group), "so far", turn="7", shown=None)
    there.tg.faults.plan("editMessageText", fault)
    with pytest.raises(Unreachable):
        await there.adapter.send(there.to(group), "done", chunk_id="1", shown=shown)
    await there.adapter.send(there.to(group), "done", chunk_id="1", shown=shown)

    assert ["done"] == [reply.text for reply in group.replies()]


@pytest.mark.parametrize("fault", [cut(done=True), lost(done=True), dripping(0.1), server_error(), html(502)])
async def test_a_state_without_an_answer_may_come_late(there: World, fault: Fault) -> None:
    """Where the last text may simply be sent again, a state may overtake it: its message can be taken away."""
    group = there.tg.group("Team", there.ann)
    shown = await there.adapter.show(there.to(group), "so far", turn="7", shown=None)
    assert shown is not None
    there.tg.faults.plan("editMessageText", fault)
    with pytest.raises(Unknown):
        await there.adapter.show(there.to(group), "so far so", turn="7", shown=shown)
    await there.adapter.remove(there.to(group), shown)
    assert [] == group.replies()

    with pytest.raises(Refused, match="not found"):
        await there.adapter.remove(there.to(group), shown)
    await there.adapter.send(there.to(), "an other room's", chunk_id="1")
    await there.adapter.remove(there.to(), shown)
    assert 2 == len(there.tg.called("deleteMessage")), "in the room that it is in alone"


async def test_what_never_left_is_not_in_doubt() -> None:
    """Nobody listens there; nor may a channel send that is not open."""
    async with world(timeout_s=0.4) as there:
        closed = adapter(there.tg)
        with pytest.raises(Unreachable, match="opened or closed"):
            await closed.send(there.to(), "x", chunk_id="1")
        with pytest.raises(Refused, match="no id"):
            await there.adapter.send(Address(channel="acme", room="1", thread="x"), "x", chunk_id="1")
    nowhere = TelegramSettings.model_validate({"kind": "telegram", "token": "1:a", "api_url": "http://127.0.0.1:9"})
    with pytest.raises(Unreachable, match="can't be reached"):
        async with type(there.adapter)("acme", settings=nowhere).running(there.intake):
            pass


async def test_a_group_that_moved_says_where(there: World) -> None:
    group = there.tg.group("Team", there.ann)
    new = rooms.migrate(group, by=there.ann)
    with pytest.raises(Moved) as caught:
        await there.adapter.send(there.to(group), "x", chunk_id="1")

    assert str(new.id) == caught.value.new_room


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (TimedOut("Pool timeout"), Unknown),
        (NetworkError("x"), Unknown),
        (TelegramError("x"), Unknown),
    ],
)
def test_faults_of_the_sdk_are_told_apart(fault: Any, kind: type[SendFailed]) -> None:
    """`TimedOut` and `BadRequest` are both a `NetworkError` to it (platform-facts 2.5)."""
    with pytest.raises(kind), translated("sendMessage"):
        raise fault


@pytest.mark.parametrize("kind", [BadRequest, Forbidden, Conflict, InvalidToken, NetworkError])
def test_a_page_that_is_no_answer_is_quoted_nowhere(
    kind: type[TelegramError], caplog: pytest.LogCaptureFixture
) -> None:
    """Proxies name the address that was asked for, and the token stands in it; half an answer holds what people said. The
    SDK has both in the texts of its errors, and in its log."""
    page = b"<html>no way to https://api.telegram.org/bot1:SECRET/sendMessage</html>"

    def read() -> None:
        try:
            HTTPXRequest.parse_json_payload(page)
        except TelegramError as unread:
            raise kind(f"Parsing the server response {page!r} failed") from unread

    with pytest.raises(SendFailed) as caught, translated("sendMessage"):
        read()

    assert "SECRET" not in caplog.text
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))


def test_a_full_pool_means_that_nothing_was_sent() -> None:
    """NousResearch/hermes-agent#35664: safe to try again."""

    class PoolTimeout(Exception):
        """Named as the HTTP client's."""

    with pytest.raises(Unreachable), translated("sendMessage"):
        raise TimedOut("Pool timeout") from PoolTimeout()


@pytest.mark.parametrize(
    ("room", "first"),
    [
        ("5", Rate(scope="acme 5", count=3, per_s=3, of_room=True)),
        ("-1005", Rate(scope="acme -1005", count=20, per_s=60)),
    ],
)
def test_every_call_takes_from_its_chats_budget_and_the_bots(room: str, first: Rate) -> None:
    """Edits, drafts and actions too (anything-llm#5447)."""
    found = {rates("acme", Address(channel="acme", room=room), call) for call in ("send", "edit", "sign")}

    assert {(first, Rate(scope="acme", count=30, per_s=1))} == found


async def test_no_proxy_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bot's token would travel through it."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with world() as there:
        await there.adapter.send(there.to(), "hi", chunk_id="1")

    assert ["hi"] == [reply.text for reply in there.dm.replies()]
