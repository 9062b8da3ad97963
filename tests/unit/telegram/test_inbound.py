"""Updates from a local Telegram through the real adapter, in both transports: accepted once, and confirmed only then."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.base import EditEvent, MoveEvent, PresenceEvent
from adapters.errors import AdapterFault, Overloaded
from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.receiving import STUCK
from config.channels.telegram import TelegramSettings
from tests.emulators.telegram import rooms
from tests.emulators.telegram.emulator import telegram
from tests.emulators.telegram.faults import Fault, conflicting, cut, html, lost, server_error, throttled
from tests.fakes import FakeIntake
from tests.pulling import receiving
from tests.unit.emulators.telegram.bot_client import client
from tests.unit.telegram.world import MENU, World, adapter, world

BOTH = pytest.mark.parametrize("mode", ["polling", "webhook"])
POISON = [{"message": 5}, {"message": {"chat": None}}, {"poll": {"id": "1"}}, {"of_2027": {}}, {"message": None}]


async def settled(there: World) -> None:
    """Return once the platform has nothing more to give."""
    updates = there.tg.bot.updates
    if updates.pushed:
        await there.tg.world.bell.until(lambda: not updates.waiting() or None)
    else:
        await updates.polled()


@BOTH
async def test_a_message_arrives_whole(mode: str) -> None:
    """Who, where, what, when, in which language; in the forms of the key."""
    async with world(mode=mode) as there:
        said = there.ann.says(there.dm, "你好 <world> & 👋")
        (event,) = await there.heard(1)

        assert ("acme", str(there.dm.id), None, "private") == (
            event.channel,
            event.room,
            event.thread,
            event.chat_type,
        )
        assert (str(there.ann.id), "Ann", "zh-hans") == (event.sender.user, event.sender.name, event.language)
        assert ("你好 <world> & 👋", str(said.id)) == (event.text, event.message_id)


@BOTH
async def test_no_bad_update_stops_those_behind_it(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    """In one batch or one queue with them (platform-facts 2.4; eternnoir/pyTelegramBotAPI#2178)."""
    async with world(mode=mode) as there:
        queue = ("messages", there.dm.id)
        for update in POISON:
            there.tg.inject(update, queue=queue)
        there.ann.says(there.dm, "behind them")
        await there.heard(1)
        await settled(there)

    assert ["behind them"] == there.texts
    assert "malformed" in {getattr(record, "rule", None) for record in caplog.records}


@BOTH
async def test_what_cannot_be_stored_is_not_confirmed_and_comes_again(mode: str) -> None:
    """In order; nothing is dropped (HKUDS/nanobot#2652)."""
    async with world(mode=mode) as there:
        there.intake.failures = [Overloaded("full", retry_after_s=0.01)]
        for text in ("one", "two"):
            there.ann.says(there.dm, text)
        await there.heard(2)
        await settled(there)

        assert ["one", "two"] == there.texts
        assert not there.intake.failures


@BOTH
async def test_a_message_that_fails_for_ever_holds_its_chat_for_a_while_only(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is wrong with it: it is left behind in sight, and what was said is in no log."""
    async with world(mode=mode) as there:
        there.intake.poison = {"poison 毒"}
        for text in ("poison 毒", "behind it"):
            there.ann.says(there.dm, text)
        await there.heard(1)
        await settled(there)

        assert ["behind it"] == there.texts
        assert ["acme"] == there.left
        assert there.adapter.problem is None
    assert "update left behind" in caplog.messages
    assert "毒" not in caplog.text


@BOTH
async def test_a_fault_in_every_update_throws_no_backlog_away(mode: str) -> None:
    """It shows instead, and once it is mended what waited is heard, the platform having kept it."""
    async with world(mode=mode) as there:
        people = [there.tg.person(f"P{number}") for number in range(6)]
        there.intake.poison = {person.first_name for person in people}
        for person in people:
            person.says(there.tg.private(person), person.first_name)
        async with asyncio.timeout(20):
            await there.intake.until(lambda: there.adapter.problem == STUCK)
        with pytest.raises(AdapterFault, match="none is given up"):
            await there.adapter.probe()
        there.intake.poison = set()
        await there.heard(3)
        await settled(there)

        assert 3 == len(there.left) == len(there.texts)
        assert there.adapter.problem is None


@BOTH
async def test_an_update_that_comes_twice_is_one_message(mode: str) -> None:
    """Polled again after a lost answer, or pushed again."""
    async with world(mode=mode) as there:
        said = there.ann.says(there.dm, "once")
        await there.heard(1)
        there.tg.inject({"message": said.body}, queue=("messages", there.dm.id))
        there.ann.says(there.dm, "later")
        await there.heard(2)

        assert ["once", "later"] == there.texts


async def test_a_restart_loses_nothing_and_hears_nothing_twice() -> None:
    """What was stored but not confirmed comes again and is known; what is said meanwhile waits, and is dropped neither at the
    end nor at the start (ClickHouse/nerve#171, python-telegram-bot#5329)."""
    async with telegram() as tg:
        ann, intake = tg.person("Ann"), FakeIntake()
        chat = tg.private(ann)
        async with receiving(adapter(tg), intake):
            await tg.bot.updates.polled()
            ann.says(chat, "one")
            async with asyncio.timeout(10):
                await intake.holding(1)
            tg.bot.updates.put_raw({"message": chat.messages()[-1].body}, queue="not confirmed")
        ann.says(chat, "two")
        ann.says(chat, "三")
        async with receiving(adapter(tg), intake), asyncio.timeout(10):
            await intake.holding(3)

        assert ["one", "two", "三"] == [event.text for event in intake.messages]
        assert not [call for call in tg.calls if call.params.get("drop_pending_updates")]


def test_two_pollers_of_one_bot_must_not_run_side_by_side() -> None:
    """A changed channel ends before the new one begins; webhooks may overlap."""
    settings = {"kind": "telegram", "token": "1:a", "secret_token": "s"}
    modes = ("polling", "webhook")
    made = [TelegramAdapter("acme", settings=TelegramSettings(**settings, mode=mode)) for mode in modes]

    assert [True, False] == [one.capabilities.exclusive for one in made]


async def test_a_webhook_left_behind_does_not_keep_the_poller_out() -> None:
    """And what waited for it is not dropped."""
    async with world(mode="webhook") as there:
        there.tg.hosts.clear()  # nobody home
        there.ann.says(there.dm, "waiting")
        intake = FakeIntake()
        async with receiving(adapter(there.tg), intake), asyncio.timeout(10):
            await intake.holding(1)

        assert ["waiting"] == [event.text for event in intake.messages]


@pytest.mark.parametrize(
    "fault",
    [server_error(), html(502), cut(done=False), cut(done=True), conflicting(), throttled(1)],
    ids=["500", "html", "cut", "cut-after", "409", "429"],
)
async def test_the_poller_outlives_what_the_platform_does(fault: Any) -> None:
    """aiogram/aiogram#1401; a 429 is waited for."""
    async with world(poll_s=1) as there:
        there.tg.faults.plan("getUpdates", fault, fault)
        there.ann.says(there.dm, "one")
        await there.heard(1)
        there.ann.says(there.dm, "two")
        await there.heard(2)

        assert ["one", "two"] == there.texts
        assert [] == there.tg.violations


async def test_silence_is_given_up_after_its_time() -> None:
    """A dead connection looks like a quiet night."""
    async with world(poll_s=1, timeout_s=0.2) as there:
        there.tg.faults.plan("getUpdates", lost(done=False))
        there.ann.says(there.dm, "one")
        await there.heard(1)

        assert ["one"] == there.texts


async def test_the_probe_tells_why_no_updates_come(caplog: pytest.LogCaptureFixture) -> None:
    """Another program with the same token takes them: what to do is in the line."""
    async with world(poll_s=1) as there:
        there.tg.faults.plan("getUpdates", *[conflicting()] * 1000)
        await there.tg.wait_called("getUpdates", times=len(there.tg.called("getUpdates")) + 3)
        with pytest.raises(AdapterFault, match="another program takes this bot's updates"):
            await there.adapter.probe()

    assert "no updates" in caplog.messages


@pytest.mark.parametrize("token", ["123:wrong", "no-token"])
@BOTH
async def test_a_wrong_token_keeps_the_channel_from_starting(mode: str, token: str) -> None:
    """Said in words, without the token; also where Telegram answers 404, as it does to what is not even like one."""
    async with world() as there:
        stranger = adapter(there.tg, mode=mode, token=token)
        with pytest.raises(AdapterFault, match="the token is wrong") as caught:
            async with receiving(stranger, FakeIntake()):
                pass
        assert token not in str(caught.value)
        with pytest.raises(AdapterFault, match="not open"):
            await stranger.probe()


@pytest.mark.parametrize("reads_all", [True, False])
async def test_privacy_mode_is_warned_of(reads_all: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A bot that is deaf to its name in groups looks broken (HKUDS/nanobot#449)."""
    async with world(bot={"reads_all": reads_all}) as there:
        told = there.adapter.warning

    warned = [message for message in caplog.messages if message.startswith("privacy mode is on")]
    assert (not reads_all) == bool(warned) == bool(told)
    assert there.adapter.warning is None


async def looked(there: World, *, times: int = 2) -> None:
    """Return once the bot has been looked at: after the second look the first one is over."""
    await there.tg.wait_called("getMe", times=len(there.tg.called("getMe")) + times)


@BOTH
async def test_another_name_of_the_bot_is_known_without_a_restart(mode: str) -> None:
    async with world(mode=mode, look_s=0.05, bot={"reads_all": True}) as there:
        group = there.tg.supergroup("Team", there.ann)
        there.tg.bot.username = "renamed_bot"
        await looked(there)
        there.ann.says(group, "@renamed_bot 你好")
        there.ann.says(group, "@clew_bot hi")
        events = await there.heard(2)

        assert [(True, "你好"), (False, "@clew_bot hi")] == [(event.mentions_bot, event.text) for event in events]


async def test_privacy_mode_that_changes_is_seen(caplog: pytest.LogCaptureFixture) -> None:
    """And told once, not at each look."""
    async with world(look_s=0.05, bot={"reads_all": True}) as there:
        assert there.adapter.warning is None
        there.tg.bot.reads_all = False
        await looked(there, times=3)

        assert "privacy mode is on" in (there.adapter.warning or "")
    assert 1 == len([one for one in caplog.messages if one.startswith("privacy mode is on")])


async def test_a_webhook_that_somebody_took_away_is_set_again() -> None:
    """A program that polls with our token deletes it, and no bot is told (platform-facts 2.2)."""
    async with world(mode="webhook", look_s=0.05) as there, client(there.tg) as somebody:
        await somebody.delete_webhook()
        there.ann.says(there.dm, "anybody home?")
        await there.heard(1)

        assert ["anybody home?"] == there.texts


async def test_a_webhook_of_somebody_else_is_told_and_left_alone() -> None:
    """Two programs would take turns for ever."""
    async with world(mode="webhook", look_s=0.05) as there, client(there.tg) as somebody:
        await somebody.set_webhook("https://other.example/hook")
        before = len(there.tg.called("setWebhook"))
        await there.tg.wait_called("getWebhookInfo", times=len(there.tg.called("getWebhookInfo")) + 2)

        with pytest.raises(AdapterFault, match="another program has set this bot's webhook"):
            await there.adapter.probe()
        assert before == len(there.tg.called("setWebhook"))


async def test_what_could_not_be_delivered_is_warned_of() -> None:
    """In the platform's own words (a wrong certificate, a proxy that drops the header); not of what was long ago."""
    async with world(mode="webhook", look_s=0.05, bot={"reads_all": True}) as there:
        webhook, now = there.tg.bot.webhook, there.tg.world.clock.now()
        told = []
        for webhook.last_error, webhook.last_error_at in (("Wrong response: 502", now + 60), ("SSL error", now - 60)):
            await looked(there)
            told.append(there.adapter.warning)

        assert ["Telegram could not deliver lately: Wrong response: 502", None] == told


async def test_a_token_that_was_revoked_is_seen_where_nothing_else_would_tell() -> None:
    """In webhook mode nothing comes in then, which looks like a quiet day; it is looked at again soon."""
    async with world(mode="webhook", look_s=0.05) as there:
        bots = there.tg.world.bots
        bot = bots.pop(there.tg.bot.token)
        async with asyncio.timeout(10):
            while there.adapter.problem is None:
                await asyncio.sleep(0)
        told = there.adapter.problem
        bots[bot.token] = bot
        await looked(there)

        assert "the token is wrong" in told
        assert there.adapter.problem is None


async def test_groups_topics_and_strangers_arrive_as_what_they_are() -> None:
    """A forum's topic is a thread, a reply's thread id is none; an anonymous admin is nobody in particular."""
    async with world(bot={"reads_all": True}) as there:
        forum = there.tg.supergroup("Team", there.ann, there.bob, forum=True)
        topic = rooms.open_topic(forum, "Plans", by=there.ann)
        there.ann.says(forum, "@clew_bot in the topic", topic=topic)
        first = there.bob.says(forum, "in General")
        there.ann.says(forum, "a reply there", reply_to=first)
        there.ann.says(forum, "no name", as_=forum)
        events = await there.heard(4)

        assert [str(topic.id), None, None, None] == [event.thread for event in events]
        assert [True, False, False, False] == [event.mentions_bot for event in events]
        assert [True, True, True, False] == [event.sender.trusted for event in events]
        assert {"group"} == {event.chat_type for event in events}


async def test_edits_and_migrations_arrive() -> None:
    async with world(bot={"reads_all": True}) as there:
        group = there.tg.group("Team", there.ann)
        said = there.ann.says(group, "one")
        there.ann.edits(said, "two")
        rooms.migrate(group, by=there.ann)
        await settled(there)
        async with asyncio.timeout(10):
            await there.intake.holding(3)

        events = [turn.event for turn in there.intake.turns.values()]
        edits = [event for event in events if isinstance(event, EditEvent)]
        moves = [event for event in events if isinstance(event, MoveEvent)]
        assert [("two", str(said.id))] == [(edit.text, edit.message_id) for edit in edits]
        assert [str(group.id)] == [move.room for move in moves]


async def test_the_bot_being_thrown_out_is_handed_on() -> None:
    async with world() as there:
        there.ann.blocks(there.tg.bot)
        await there.heard(1)

        events = [turn.event for turn in there.intake.turns.values()]
        assert [(False, there.ann.id)] == [
            (event.present, int(event.room)) for event in events if isinstance(event, PresenceEvent)
        ]


async def test_only_what_is_used_is_asked_for() -> None:
    """The platform remembers it, so it is said each time."""
    async with world() as there:
        await there.tg.bot.updates.polled()

        assert {"edited_message", "message", "my_chat_member"} == set(there.tg.bot.updates.allowed)


async def test_the_webhook_is_set_where_it_differs_and_only_there() -> None:
    """Also where the secret changed, which the platform does not tell."""
    async with world(mode="webhook") as there:
        for secret in ("a-secret_Token", "a-secret_Token", "another"):
            async with receiving(adapter(there.tg, mode="webhook", secret_token=secret), FakeIntake()):
                pass
        calls = there.tg.called("setWebhook")

        assert ["a-secret_Token", "another"] == [call.params["secret_token"] for call in calls]
        assert all("a-secret_Token" not in call.params["url"] for call in calls)


@BOTH
async def test_the_menu_is_given_in_each_language_once(mode: str) -> None:
    async with world(mode=mode) as there:
        async with receiving(adapter(there.tg, there.tg.add_bot("other_bot")), FakeIntake()):
            await there.tg.wait_called("setMyCommands", times=6)
        before, looked_up = len(there.tg.called("setMyCommands")), len(there.tg.called("getMyCommands"))
        async with receiving(adapter(there.tg, mode="webhook"), FakeIntake()):
            await there.tg.wait_called("getMyCommands", times=looked_up + 3)
        kept = {language: menu for (_, language), menu in there.tg.bot.commands.items()}

        assert 6 == before == len(there.tg.called("setMyCommands"))
        assert {"", "en", "zh"} == set(kept)
        assert [{"command": name, "description": told["zh"]} for name, told in MENU.items()] == kept["zh"]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (server_error(), "getMyCommands: the answer was lost (NetworkError, NoneType)"),
        (html(200, page='{"result": [{"name": "new"}]}'), "TypeError"),
    ],
    ids=["error", "unreadable"],
)
async def test_a_menu_that_cannot_be_given_is_told_of(
    fault: Fault, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """And ends nothing."""
    async with world(commands=False) as there:
        assert not there.tg.called("getMyCommands")
        there.tg.faults.plan("getMyCommands", fault)
        bot, intake = there.tg.add_bot("other_bot"), FakeIntake()
        async with receiving(adapter(there.tg, bot), intake), asyncio.timeout(10):
            while "commands not registered" not in caplog.messages:
                await asyncio.sleep(0)
            there.ann.says(there.tg.private(there.ann, bot), "hi")
            await intake.holding(1)

    assert [reason] == [
        getattr(record, "reason", None) for record in caplog.records if record.message == "commands not registered"
    ]


async def test_a_menu_that_takes_its_time_keeps_nobody_waiting() -> None:
    """A channel has 20 seconds to open (`queue.start_s`), and the menu takes up to six calls."""
    async with world(commands=False) as there:
        there.tg.faults.plan("getMyCommands", lost(done=False))
        bot, intake = there.tg.add_bot("other_bot"), FakeIntake()
        async with asyncio.timeout(4), receiving(adapter(there.tg, bot), intake):
            there.ann.says(there.tg.private(there.ann, bot), "hi")
            await intake.holding(1)

        assert ["hi"] == [event.text for event in intake.messages]
