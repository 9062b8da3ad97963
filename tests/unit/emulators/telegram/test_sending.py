"""What a bot can do on the local Telegram: answers, edits, drafts, actions, reactions, commands; and flood control."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from telegram import (
    BotCommand,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram.error import BadRequest, NetworkError, RetryAfter

from tests.emulators.telegram import faults, rooms
from tests.emulators.telegram.clock import Bell, LoopClock, within
from tests.emulators.telegram.emulator import Telegram, telegram
from tests.emulators.telegram.flood import Limit
from tests.unit.emulators.telegram.bot_client import client, post

pytestmark = pytest.mark.filterwarnings("ignore:.*retry_after:telegram.warnings.PTBDeprecationWarning")


async def test_a_reply_needs_its_target_unless_it_may_go_without(tg: Telegram) -> None:
    """A deleted question kills the answer otherwise."""
    ann = tg.person("Ann")
    dm = tg.private(ann)
    question, gone = ann.says(dm, "what is 你好?"), ann.says(dm, "gone")
    ann.deletes(gone)

    async with client(tg) as bot:
        await bot.send_message(dm.id, "a", reply_parameters=ReplyParameters(question.id, quote="你好"))
        with pytest.raises(BadRequest, match="Message to be replied not found"):
            await bot.send_message(dm.id, "b", reply_parameters=ReplyParameters(gone.id))
        await bot.send_message(dm.id, "c", reply_parameters=ReplyParameters(gone.id, allow_sending_without_reply=True))
        with pytest.raises(BadRequest, match=r"(?i)quote_text_invalid"):
            await bot.send_message(dm.id, "d", reply_parameters=ReplyParameters(question.id, quote="nowhere"))

    assert [("a", question.id), ("c", None)] == [(message.text, message.reply_to) for message in dm.replies()]


async def test_an_edit_replaces_the_text_and_is_refused_for_what_it_can_not_change(tg: Telegram) -> None:
    """ "Not modified" is no failure (letta-ai/lettabot#254): the message already stands so."""
    ann = tg.person("Ann")
    dm = tg.private(ann)
    theirs = ann.says(dm, "mine")

    async with client(tg) as bot:
        sent = await bot.send_message(dm.id, "one", link_preview_options=LinkPreviewOptions(is_disabled=True))
        await bot.edit_message_text("two", dm.id, sent.message_id)
        with pytest.raises(BadRequest, match="Message is not modified"):
            await bot.edit_message_text("two ", dm.id, sent.message_id)
        with pytest.raises(BadRequest, match="Message can't be edited"):
            await bot.edit_message_text("x", dm.id, theirs.id)
        with pytest.raises(BadRequest, match="Message to edit not found"):
            await bot.edit_message_text("x", dm.id, 999)
        with pytest.raises(BadRequest, match="Chat_id is empty"):
            await bot.edit_message_text("x", inline_message_id="7")
        photo = ann.sends(dm, "photo")
        photo.bot = tg.bot
        with pytest.raises(BadRequest, match="There is no text in the message to edit"):
            await bot.edit_message_text("x", dm.id, photo.id)

    assert ["one", "two"] == dm.replies()[0].texts
    assert "link_preview_options" not in dm.replies()[0].body
    assert "<message" in repr(theirs)


async def test_a_bot_deletes_its_own_messages_for_two_days_and_others_as_an_admin(
    tg: Telegram, clock: LoopClock
) -> None:
    ann = tg.person("Ann")
    group = tg.group("Team", ann)
    theirs = ann.says(group, "theirs")

    async with client(tg) as bot:
        old = await bot.send_message(group.id, "old")
        await bot.delete_message(group.id, (await bot.send_message(group.id, "own")).message_id)
        with pytest.raises(BadRequest, match="Message can't be deleted"):
            await bot.delete_message(group.id, theirs.id)
        rooms.promote(group, tg.bot, by=ann)
        await bot.delete_message(group.id, theirs.id)
        with pytest.raises(BadRequest, match="Message to delete not found"):
            await bot.delete_message(group.id, theirs.id)
        clock.advance(49 * 3600)
        with pytest.raises(BadRequest, match="Message can't be deleted"):
            await bot.delete_message(group.id, old.message_id)

    assert ["old"] == [message.text for message in group.messages()]


async def test_a_draft_is_seen_in_private_for_half_a_minute_or_until_a_message(tg: Telegram, clock: LoopClock) -> None:
    """Nobody keeps it: finish by a real message (openclaw/openclaw#7803)."""
    ann = tg.person("Ann")
    dm = tg.private(ann)

    async with client(tg) as bot:
        await bot.send_message_draft(dm.id, 7, "Thin")
        await bot.send_message_draft(dm.id, 7, "*Thinking*", parse_mode="MarkdownV2")
        draft = dm.drafted()
        assert draft is not None
        assert (7, "Thinking") == (draft.id, draft.text)
        clock.advance(30)
        assert dm.drafted() is None
        await bot.send_message_draft(dm.id, 8, "again")
        await bot.send_message(dm.id, "done")
        assert dm.drafted() is None

    assert ["Thin", "Thinking", "again"] == [draft.text for draft in dm.drafts]
    assert ["done"] == [message.text for message in dm.replies()]


async def test_a_draft_is_refused_elsewhere_empty_before_api_10_and_without_an_id(tg: Telegram) -> None:
    """NousResearch/hermes-agent#17179, nullclaw/nullclaw#626."""
    ann = tg.person("Ann")
    dm, group = tg.private(ann), tg.group("Team", ann)

    async with client(tg) as bot:
        with pytest.raises(BadRequest, match=r"(?i)textdraft_peer_invalid"):
            await bot.send_message_draft(group.id, 1, "x")
        with pytest.raises(BadRequest, match="non-zero"):
            await bot.send_message_draft(dm.id, 0, "x")
        await bot.send_message_draft(dm.id, 1, "")
        tg.world.empty_drafts = False
        with pytest.raises(BadRequest, match="Text must be non-empty"):
            await bot.send_message_draft(dm.id, 1, "")
        tg.world.drafts_work = False
        with pytest.raises(BadRequest, match=r"(?i)textdraft_peer_invalid"):
            await bot.send_message_draft(dm.id, 1, "x")

    assert [""] == [draft.text for draft in dm.drafts]


async def test_an_action_is_seen_for_five_seconds_or_until_a_message(tg: Telegram, clock: LoopClock) -> None:
    dm = tg.private(tg.person("Ann"))

    async with client(tg) as bot:
        await bot.send_chat_action(dm.id, "typing")
        assert "typing" == dm.acting()
        clock.advance(5)
        assert dm.acting() is None
        await bot.send_chat_action(dm.id, "typing")
        await bot.send_message(dm.id, "x")
        assert dm.acting() is None
        with pytest.raises(BadRequest, match="Wrong parameter action in request"):
            await bot.send_chat_action(dm.id, "thinking")

    assert 2 == len(dm.actions)


async def test_a_bot_reacts_once_with_an_emoji_the_platform_has(tg: Telegram) -> None:
    ann = tg.person("Ann")
    dm = tg.private(ann)
    said = ann.says(dm, "x")

    async with client(tg) as bot:
        await bot.set_message_reaction(dm.id, said.id, "👀")
        assert [{"type": "emoji", "emoji": "👀"}] == said.reactions[tg.bot.id]
        with pytest.raises(BadRequest, match=r"(?i)reaction_invalid"):
            await bot.set_message_reaction(dm.id, said.id, "🧶")
        with pytest.raises(BadRequest, match=r"(?i)reactions_too_many"):
            await bot.set_message_reaction(dm.id, said.id, [ReactionTypeEmoji("👀"), ReactionTypeEmoji("👍")])
        with pytest.raises(BadRequest, match="Message to react not found"):
            await bot.set_message_reaction(dm.id, 99, "👀")


async def test_a_button_is_answered_once_and_within_seconds(tg: Telegram, clock: LoopClock) -> None:
    """It spins until then, and a query queued behind a turn is too old (openclaw/openclaw#42156)."""
    ann = tg.person("Ann")
    dm = tg.private(ann)

    async with client(tg) as bot:
        keys = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="好" * 21)]])
        await bot.send_message(dm.id, "?", reply_markup=keys)
        query = ann.presses(dm.replies()[0], "好")
        with pytest.raises(BadRequest, match=r"(?i)message_too_long"):
            await bot.answer_callback_query(query, "x" * 201)
        await bot.answer_callback_query(query, "ok")
        late = ann.presses(dm.replies()[0], "好")
        clock.advance(16)
        for stale in (query, late):
            with pytest.raises(BadRequest, match="Query is too old"):
                await bot.answer_callback_query(stale)
    bad = {"inline_keyboard": [[{"text": "x", "callback_data": "好" * 22}]]}
    status, body = await post(tg, "sendMessage", json={"chat_id": dm.id, "text": "x", "reply_markup": bad})
    assert (400, "Bad Request: BUTTON_DATA_INVALID") == (status, body["description"])


async def test_commands_are_kept_by_scope_and_language(tg: Telegram) -> None:
    dm = tg.private(tg.person("Ann"))
    everywhere = BotCommandScopeAllPrivateChats()

    async with client(tg) as bot:
        await bot.set_my_commands([("help", "What I can do")])
        await bot.set_my_commands([("help", "我能做什么")], language_code="zh")
        await bot.set_my_commands([("new", "Begin anew")], scope=BotCommandScopeChat(dm.id))
        assert (BotCommand("help", "What I can do"),) == await bot.get_my_commands()
        assert (BotCommand("help", "我能做什么"),) == await bot.get_my_commands(language_code="zh")
        assert (BotCommand("new", "Begin anew"),) == await bot.get_my_commands(scope=BotCommandScopeChat(dm.id))
        assert () == await bot.get_my_commands(scope=everywhere)
        await bot.delete_my_commands(language_code="zh")
        assert () == await bot.get_my_commands(language_code="zh")

        for commands, language, problem in (
            ([("Help", "x")], None, "(?i)bot_command_invalid"),
            ([("help", " ")], None, "description must be non-empty"),
            ([("help", "x" * 257)], None, "must not exceed 256"),
            ([(f"c{n}", "x") for n in range(101)], None, "(?i)bot_commands_too_much"),
            ([("help", "x")], "zh-hans", "(?i)invalid language code"),
        ):
            with pytest.raises(BadRequest, match=problem):
                await bot.set_my_commands(commands, language_code=language)
        with pytest.raises(BadRequest, match="Chat not found"):
            await bot.set_my_commands([("help", "x")], scope=BotCommandScopeChat(1))


# Flood control


async def test_without_limits_anything_goes(tg: Telegram) -> None:
    dm = tg.private(tg.person("Ann"))

    async with client(tg) as bot:
        for number in range(40):
            await bot.send_message(dm.id, str(number))

    assert [] == tg.violations


def waits(fault: RetryAfter) -> float:
    """The seconds asked for, in either form that the SDK gives them (its PTB_TIMEDELTA)."""
    given = fault.retry_after
    return given.total_seconds() if isinstance(given, timedelta) else given


async def test_a_private_chat_bears_about_one_call_a_second_and_short_bursts(tg: Telegram, clock: LoopClock) -> None:
    """Edits, drafts and actions count; another chat has a budget of its own; a wait not kept is noted."""
    one, two = tg.private(tg.person("Ann")), tg.private(tg.person("Bob"))
    tg.flood.enforce()

    async with client(tg) as bot:
        sent = await bot.send_message(one.id, "x")
        await bot.edit_message_text("y", one.id, sent.message_id)
        await bot.send_chat_action(one.id, "typing")
        with pytest.raises(RetryAfter) as limited:
            await bot.send_message_draft(one.id, 1, "z")
        assert 3 == waits(limited.value)
        await bot.send_message(two.id, "free")
        await bot.get_chat(two.id)
        clock.advance(1)
        with pytest.raises(RetryAfter) as early:
            await bot.send_message(one.id, "early")
        assert 2 == waits(early.value)
        clock.advance(2)
        await bot.send_message(one.id, "kept")

    assert ["limit", "retry_after"] == [violation.rule for violation in tg.violations]
    assert {f"clew_bot/{one.id}"} == {violation.scope for violation in tg.violations}
    assert ["y", "kept"] == [message.text for message in one.replies()]


async def test_a_group_bears_twenty_a_minute_and_can_send_away_for_minutes(tg: Telegram, clock: LoopClock) -> None:
    """222 s were seen (scmanjarrez/EdgeGPT-Telegram-Bot#83)."""
    group = tg.supergroup("Team", tg.person("Ann"))
    tg.flood.group, tg.flood.retry_after_s = Limit(20, 60), 222

    async with client(tg) as bot:
        for number in range(20):
            clock.advance(2)
            await bot.send_message(group.id, str(number))
        with pytest.raises(RetryAfter) as limited:
            await bot.send_message(group.id, "one too many")
        assert 222 == waits(limited.value)
        clock.advance(222)
        await bot.send_message(group.id, "kept")

    assert 21 == len(group.replies())


async def test_all_chats_together_bear_thirty_a_second(tg: Telegram, clock: LoopClock) -> None:
    tg.flood.overall = Limit(30, 1)
    chats = [tg.private(tg.person(str(number))) for number in range(31)]

    async with client(tg) as bot:
        for chat in chats[:30]:
            await bot.send_message(chat.id, "x")
        with pytest.raises(RetryAfter):
            await bot.send_message(chats[30].id, "x")
        with pytest.raises(RetryAfter):
            await bot.send_message(chats[0].id, "x")
        clock.advance(1)
        await bot.send_message(chats[30].id, "x")

    assert [("limit", "clew_bot"), ("retry_after", "clew_bot")] == [(v.rule, v.scope) for v in tg.violations]


async def test_a_planned_429_holds_its_chat_only(tg: Telegram, clock: LoopClock) -> None:
    one, two = tg.private(tg.person("Ann")), tg.private(tg.person("Bob"))
    tg.faults.plan("sendMessage", faults.throttled(222))

    async with client(tg) as bot:
        with pytest.raises(RetryAfter):
            await bot.send_message(one.id, "x")
        await bot.send_message(two.id, "x")
        clock.advance(221)
        with pytest.raises(RetryAfter):
            await bot.edit_message_text("y", one.id, 1)
        clock.advance(1)
        await bot.send_message(one.id, "x")

    assert ["retry_after"] == [violation.rule for violation in tg.violations]


# Waiting


async def test_a_test_waits_for_what_stands_in_a_chat(tg: Telegram) -> None:
    """A message may come later or be edited into what is awaited; patience ends in real seconds."""
    dm = tg.private(tg.person("Ann"))

    async with client(tg) as bot, asyncio.TaskGroup() as tasks:
        awaited = tasks.create_task(dm.wait_for(lambda message: message.text == "two"))
        several = tasks.create_task(dm.until(lambda chat: len(chat.replies()) == 2))
        sent = await bot.send_message(dm.id, "one")
        await bot.edit_message_text("two", dm.id, sent.message_id)
        await bot.send_message(dm.id, "three")
        assert sent.message_id == (await awaited).id
        await several
    with pytest.raises(TimeoutError):
        await dm.wait_for(lambda message: message.text == "never", timeout_s=0.01)


async def test_slow_is_late_whether_it_was_done_or_not() -> None:
    async with telegram(clock=LoopClock(scale=1000)) as tg, client(tg) as bot:
        dm = tg.private(tg.person("Ann"))
        tg.faults.plan("sendMessage", faults.Fault(delay_s=30, cut=True), faults.slow(30))
        began = tg.clock.now()

        with pytest.raises(NetworkError):
            await bot.send_message(dm.id, "undone")
        assert 30 <= tg.clock.now() - began
        await bot.send_message(dm.id, "done")
        assert 60 <= tg.clock.now() - began

        assert ["done"] == [message.text for message in dm.replies()]


async def test_time_runs_scaled_and_by_hand() -> None:
    fast, still = LoopClock(scale=1000, start=0.0), LoopClock(scale=0, start=5.0)
    await fast.sleep(10)
    assert 10 <= fast.now()
    assert 5.0 == still.now()
    with pytest.raises(TimeoutError):
        await within(fast, 1, Bell().until(lambda: None))
    still.advance(2)
    assert 7.0 == still.now()
