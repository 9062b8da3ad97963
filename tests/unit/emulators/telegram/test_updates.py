"""The local Telegram hands out updates as the platform does: polling, retention, conflicts, webhooks and their retries."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from telegram import Update
from telegram.error import BadRequest, Conflict, RetryAfter

from tests.emulators.telegram import faults, rooms
from tests.emulators.telegram.clock import Bell, LoopClock
from tests.emulators.telegram.emulator import Telegram, telegram
from tests.emulators.telegram.updates import Updates
from tests.loopback import on_loopback
from tests.unit.emulators.telegram.bot_client import client, post

pytestmark = pytest.mark.filterwarnings("ignore:.*retry_after:telegram.warnings.PTBDeprecationWarning")

PAYLOADS = Path(__file__).parents[3] / "payloads" / "telegram"
DAY_S = 24 * 3600


def texts(updates: tuple[Update, ...]) -> list[str | None]:
    return [update.message.text if update.message else None for update in updates]


# Polling


async def test_an_update_stays_until_a_higher_offset_confirms_it(tg: Telegram) -> None:
    ann = tg.person("Ann")
    for text in ("one", "two", "three"):
        ann.says(tg.private(ann), text)

    async with client(tg) as bot:
        first = await bot.get_updates(timeout=0, limit=2)
        again = await bot.get_updates(timeout=0)
        rest = await bot.get_updates(timeout=0, offset=first[-1].update_id + 1)
        last = await bot.get_updates(timeout=0, offset=-1)

    assert ["one", "two"] == texts(first)
    assert ["one", "two", "three"] == texts(again)
    assert ["three"] == texts(rest) == texts(last)


async def test_a_negative_offset_forgets_what_is_before_it(tg: Telegram) -> None:
    ann = tg.person("Ann")
    for text in ("one", "two", "three"):
        ann.says(tg.private(ann), text)

    async with client(tg) as bot:
        assert ["three"] == texts(await bot.get_updates(timeout=0, offset=-1))
        assert ["three"] == texts(await bot.get_updates(timeout=0))
    assert 2 == len(tg.bot.updates.forgotten)


async def test_a_poll_waits_for_the_next_update_or_its_timeout(tg: Telegram, clock: LoopClock) -> None:
    ann = tg.person("Ann")

    async with client(tg) as bot, asyncio.TaskGroup() as tasks:
        poll = tasks.create_task(bot.get_updates(timeout=20))
        await tg.bot.updates.polled()
        ann.says(tg.private(ann), "awaited")
        assert ["awaited"] == texts(await poll)

        empty = tasks.create_task(bot.get_updates(timeout=20, offset=(await poll)[0].update_id + 1))
        await tg.bot.updates.polled()
        clock.advance(20)
        assert () == await empty


async def test_what_nobody_confirms_is_gone_after_a_day(tg: Telegram, clock: LoopClock) -> None:
    ann = tg.person("Ann")
    ann.says(tg.private(ann), "old")
    clock.advance(DAY_S - 1)
    ann.says(tg.private(ann), "newer")
    clock.advance(2)

    async with client(tg) as bot:
        assert ["newer"] == texts(await bot.get_updates(timeout=0))
    assert ["old"] == [update.body["message"]["text"] for update in tg.bot.updates.forgotten]


async def test_ids_jump_and_begin_anew_after_a_week_of_silence(tg: Telegram, clock: LoopClock) -> None:
    """An offset far above the new ids confirms none of them: a poller that rejects lower ids goes deaf."""
    ann = tg.person("Ann")
    ann.says(tg.private(ann), "a")
    tg.bot.updates.jump(1000)
    ann.says(tg.private(ann), "b")

    async with client(tg) as bot:
        a, b = await bot.get_updates(timeout=0)
        assert 1001 == b.update_id - a.update_id
        await bot.get_updates(timeout=0, offset=b.update_id + 1)
        clock.advance(8 * DAY_S)
        ann.says(tg.private(ann), "c")
        offset = max(b.update_id + 1, tg.bot.updates.waiting()[0].id + 1000)
        (c,) = await bot.get_updates(timeout=0, offset=offset)

    assert "c" == c.message.text if c.message else None
    assert c.update_id != b.update_id + 1


async def test_a_second_poller_ends_the_first_with_a_conflict(tg: Telegram, clock: LoopClock) -> None:
    async with client(tg) as one, client(tg) as two, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(_outcome(one.get_updates(timeout=20)))
        await tg.bot.updates.polled()
        second = tasks.create_task(_outcome(two.get_updates(timeout=20)))

        assert isinstance(await first, Conflict)
        await tg.bot.updates.polled()
        clock.advance(20)
        assert () == await second


async def test_polling_and_a_webhook_exclude_each_other(tg: Telegram) -> None:
    async with client(tg) as bot, client(tg) as other, asyncio.TaskGroup() as tasks:
        poll = tasks.create_task(_outcome(other.get_updates(timeout=20)))
        await tg.bot.updates.polled()
        await bot.set_webhook("https://bot.example/hook")

        assert isinstance(ended := await poll, Conflict)
        assert "terminated by setWebhook request" in str(ended)
        with pytest.raises(Conflict, match="can't use getUpdates method while webhook is active"):
            await bot.get_updates(timeout=0)
        await bot.set_webhook("")
        assert () == await bot.get_updates(timeout=0)


async def test_allowed_updates_are_remembered_and_leave_out_three_kinds_by_default(tg: Telegram) -> None:
    """Omitting them changes nothing on the server; a filtered update was never there."""
    ann = tg.person("Ann")
    dm = tg.private(ann)

    async with client(tg) as bot:
        said = ann.says(dm, "one")
        ann.reacts(said, "👍")
        assert ["one"] == texts(await bot.get_updates(timeout=0))

        await bot.get_updates(timeout=0, allowed_updates=["message_reaction", "no_such_kind"])
        ann.reacts(said, "❤")
        ann.says(dm, "unheard")
        one, reaction = await bot.get_updates(timeout=0)
        assert reaction.message_reaction is not None
        assert ("message_reaction",) == (await bot.get_webhook_info()).allowed_updates

        await bot.get_updates(timeout=0, offset=reaction.update_id + 1, allowed_updates=[])
        ann.says(dm, "heard")
        ann.reacts(said, "🔥")
        assert ["heard"] == texts(await bot.get_updates(timeout=0))
    assert one.message is not None


async def test_a_poll_can_be_sent_away_and_must_wait(tg: Telegram, clock: LoopClock) -> None:
    """Flood control on getUpdates itself (aiogram/aiogram#1401): coming back too early is noted."""
    tg.faults.plan("getUpdates", faults.throttled(5))

    async with client(tg) as bot:
        with pytest.raises(RetryAfter):
            await bot.get_updates(timeout=0)
        with pytest.raises(RetryAfter):
            await bot.get_updates(timeout=0)
        clock.advance(5)
        await bot.get_updates(timeout=0)

    assert [("retry_after", "clew_bot/getUpdates")] == [(v.rule, v.scope) for v in tg.violations]


def recorded() -> list[Any]:
    """Every recorded payload as an update."""
    found = []
    for path in sorted(PAYLOADS.rglob("*.json")):
        if path.name == "SOURCES.json" or path.parent.name == "Responses" or path.name.startswith("ResponseWith"):
            continue
        payload = json.loads(path.read_text())
        for number, item in enumerate(payload if isinstance(payload, list) else [payload]):
            body = item.get("payload", item)
            update = body if "update_id" in body else {"message": body}
            found.append(pytest.param(update, id=f"{path.parent.name}/{path.stem}-{number}"))
    return found


@pytest.mark.parametrize("update", recorded())
async def test_every_recorded_payload_can_be_injected_as_it_is(update: dict[str, Any]) -> None:
    waiting = Updates(LoopClock(scale=0), Bell())
    update_id = waiting.put_raw(update, queue=1)

    (fetched,) = await waiting.poll(offset=0, limit=100, timeout_s=0)
    assert update | {"update_id": update_id} == fetched


async def test_a_poison_update_is_delivered_with_those_behind_it(tg: Telegram) -> None:
    """What breaks a strict parser (python-telegram-bot/python-telegram-bot#1121) comes raw, in its place in the order."""
    ann = tg.person("Ann")
    tg.inject(json.loads((PAYLOADS / "nutgram" / "Updates" / "poll.json").read_text()))
    tg.inject({"new_update_kind": {"some_field_idk": 1}}, update_id=999_999_999)
    ann.says(tg.private(ann), "behind")

    async with client(tg) as bot:
        with pytest.raises(TypeError):
            await bot.get_updates(timeout=0)
    _, raw = await post(tg, "getUpdates")

    assert ["poll", "new_update_kind", "message"] == [list(update)[1] for update in raw["result"]]
    assert [999_999_999, 1_000_000_000] == [update["update_id"] for update in raw["result"][1:]]


# Webhook


class Hook:
    """A receiver that answers as told; what it got stands in `got`."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, Any], str | None]] = []
        self.answer: Callable[[dict[str, Any]], Awaitable[web.Response]] = self.fine
        self.url = ""

    async def fine(self, update: dict[str, Any]) -> web.Response:
        return web.Response()

    async def handle(self, request: web.Request) -> web.Response:
        update = await request.json()
        self.got.append((update, request.headers.get("X-Telegram-Bot-Api-Secret-Token")))
        return await self.answer(update)

    def texts(self) -> list[str]:
        bodies = [update.get("message") or update.get("edited_message") or {} for update, _ in self.got]
        return [body.get("text", "") for body in bodies]


@asynccontextmanager
async def receiving() -> AsyncIterator[Hook]:
    hook = Hook()
    app = web.Application()
    app.router.add_post("/hook", hook.handle)
    async with on_loopback(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None) as url:
        hook.url = f"{url}/hook"
        yield hook


async def delivered(tg: Telegram, count: int) -> None:
    """Return once the webhook was called that often."""
    await tg.world.bell.until(lambda: len(tg.bot.webhook.deliveries) >= count, timeout_s=10)


async def test_an_update_is_pushed_with_the_secret_to_where_the_public_address_leads(tg: Telegram) -> None:
    ann = tg.person("Ann")
    ann.says(tg.private(ann), "before")

    async with receiving() as hook, client(tg) as bot:
        tg.hosts["https://bot.example"] = hook.url.removesuffix("/hook")
        await bot.set_webhook("https://bot.example/hook", secret_token="s3cret_-", max_connections=500)
        ann.says(tg.private(ann), "after")
        await delivered(tg, 2)
        info = await bot.get_webhook_info()

    assert [("before", "s3cret_-"), ("after", "s3cret_-")] == [
        (text, secret) for text, (_, secret) in zip(hook.texts(), hook.got, strict=True)
    ]
    assert ("https://bot.example/hook", 0, 100) == (info.url, info.pending_update_count, info.max_connections)


async def test_a_failing_update_blocks_its_own_chat_and_no_other(tg: Telegram, clock: LoopClock) -> None:
    """Strictly in order within a chat, whatever it takes; an edit has a queue of its own and overtakes its message."""
    ann, bob = tg.person("Ann"), tg.person("Bob")

    async with receiving() as hook, client(tg) as bot:

        async def answer(update: dict[str, Any]) -> web.Response:
            return web.Response(status=500 if update.get("message", {}).get("text") == "stuck" else 200)

        hook.answer = answer
        await bot.set_webhook(hook.url)
        stuck = ann.says(tg.private(ann), "stuck")
        ann.says(tg.private(ann), "behind")
        bob.says(tg.private(bob), "elsewhere")
        ann.edits(stuck, "overtaking")
        await delivered(tg, 4)  # twice for the stuck one: the first retry comes at once
        blocked = hook.texts()
        hook.answer = hook.fine
        clock.advance(2)
        await delivered(tg, 6)

    assert {"stuck", "elsewhere", "overtaking"} == set(blocked)
    assert ["stuck", "behind"] == hook.texts()[-2:]


async def test_retries_come_at_once_then_ever_later_until_the_day_is_over(tg: Telegram, clock: LoopClock) -> None:
    ann = tg.person("Ann")

    async def refuse(update: dict[str, Any]) -> web.Response:
        return web.Response(status=503)

    async with receiving() as hook, client(tg) as bot:
        hook.answer = refuse
        await bot.set_webhook(hook.url)
        ann.says(tg.private(ann), "x")
        await delivered(tg, 2)
        for number, wait in enumerate((2, 4, 8, 16, 32, 60, 60), start=3):
            clock.advance(wait)
            await delivered(tg, number)
        info = await bot.get_webhook_info()
        clock.advance(DAY_S)
        await tg.world.bell.until(lambda: tg.bot.updates.forgotten, timeout_s=10)

    assert "Wrong response from the webhook: 503" == info.last_error_message
    assert 1 == info.pending_update_count
    began = tg.bot.webhook.deliveries[0].at
    assert [0, 0, 2, 6, 14, 30, 62, 122, 182] == [round(d.at - began) for d in tg.bot.webhook.deliveries[:9]]
    assert 9 == len(hook.got)


async def test_a_retry_waits_as_long_as_the_receiver_asks(tg: Telegram, clock: LoopClock) -> None:
    ann = tg.person("Ann")

    async def later(update: dict[str, Any]) -> web.Response:
        return web.Response(status=503, headers={"Retry-After": "100"})

    async with receiving() as hook, client(tg) as bot:
        hook.answer = later
        await bot.set_webhook(hook.url)
        ann.says(tg.private(ann), "x")
        await delivered(tg, 1)
        hook.answer = hook.fine
        clock.advance(99)
        await bot.get_me()
        assert 1 == len(hook.got)
        clock.advance(1)
        await delivered(tg, 2)

    assert [] == tg.bot.updates.waiting()


async def test_silence_for_a_minute_a_redirect_and_a_closed_port_are_failures(tg: Telegram, clock: LoopClock) -> None:
    ann = tg.person("Ann")
    asked = asyncio.Event()

    async def silent(update: dict[str, Any]) -> web.Response:
        asked.set()
        await asyncio.Event().wait()
        return web.Response()

    async def elsewhere(update: dict[str, Any]) -> web.Response:
        return web.Response(status=302, headers={"Location": hook.url})

    async with client(tg) as bot:
        async with receiving() as hook:
            hook.answer = silent
            await bot.set_webhook(hook.url)
            ann.says(tg.private(ann), "x")
            await asked.wait()
            hook.answer = elsewhere
            clock.advance(60)
            await delivered(tg, 2)
        clock.advance(2)
        await delivered(tg, 3)
        info = await bot.get_webhook_info()

    assert [None, 302, None] == [delivery.status for delivery in tg.bot.webhook.deliveries]
    assert "Connection refused" == info.last_error_message


async def test_a_webhook_that_is_gone_for_a_day_is_removed(tg: Telegram, clock: LoopClock) -> None:
    ann = tg.person("Ann")

    async def gone(update: dict[str, Any]) -> web.Response:
        return web.Response(status=410, headers={"Retry-After": "3600"})

    async with receiving() as hook, client(tg) as bot:
        hook.answer = gone
        await bot.set_webhook(hook.url)
        ann.says(tg.private(ann), "x")
        for attempts in range(1, 25):
            await delivered(tg, attempts)
            assert tg.bot.webhook.url
            clock.advance(3600)
        await tg.world.bell.until(lambda: not tg.bot.webhook.url, timeout_s=10)

        assert await bot.get_updates(timeout=0)


async def test_an_answer_that_names_a_method_is_carried_out_but_for_some(tg: Telegram) -> None:
    """A framework's JSON reply becomes a message of the bot: answer with an empty body."""
    ann = tg.person("Ann")
    dm = tg.private(ann)
    answers: list[web.Response] = [
        web.json_response({"method": "sendmessage", "chat_id": dm.id, "text": "by answer"}),
        web.json_response({"method": "sendMessage", "chat_id": 1, "text": "to nobody"}),
        web.json_response({"method": "deleteWebhook"}),
        web.Response(text="{", content_type="application/json"),
        web.json_response(["method"]),
        web.Response(text="ok"),
    ]

    async def answer(update: dict[str, Any]) -> web.Response:
        return answers.pop(0)

    async with receiving() as hook, client(tg) as bot:
        hook.answer = answer
        await bot.set_webhook(hook.url)
        for number in range(6):
            ann.says(dm, str(number))
        await delivered(tg, 6)
        await tg.world.bell.until(lambda: not tg.bot.updates.waiting(), timeout_s=10)

    assert ["by answer"] == [message.text for message in dm.replies()]
    assert [200, 400] == [call.status for call in tg.called("sendMessage")]
    assert hook.url == tg.bot.webhook.url


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"url": "http://bot.example/hook"}, "(?i)an HTTPS URL must be provided"),
        ({"url": "https://bot.example:8080/hook"}, "ports 80, 88, 443 or 8443"),
        ({"url": "https://bot.example/", "secret_token": "no spaces"}, "unallowed characters"),
        ({"url": "https://bot.example/", "secret_token": "x" * 257}, "too long"),
    ],
)
async def test_a_webhook_the_platform_would_not_call_is_refused(
    tg: Telegram, settings: dict[str, Any], text: str
) -> None:
    async with client(tg) as bot:
        with pytest.raises(BadRequest, match=text):
            await bot.set_webhook(**settings)


async def test_dropping_pending_updates_loses_them(tg: Telegram) -> None:
    """The switch that many frameworks set at start (HKUDS/nanobot#2652): what it loses can be seen."""
    ann = tg.person("Ann")
    ann.says(tg.private(ann), "lost")

    async with client(tg) as bot:
        await bot.delete_webhook(drop_pending_updates=True)
        ann.says(tg.private(ann), "lost too")
        await bot.set_webhook("https://bot.example/", drop_pending_updates=True)
        await bot.delete_webhook()
        assert () == await bot.get_updates(timeout=0)

    assert ["lost", "lost too"] == [update.body["message"]["text"] for update in tg.bot.updates.forgotten]


async def test_a_scaled_clock_makes_an_hour_short() -> None:
    async with telegram(clock=LoopClock(scale=36_000)) as tg:
        ann = tg.person("Ann")
        began = tg.clock.now()
        await ann.sends_album(tg.private(ann), 3, caption="三张", every_s=1800)

        assert 3600 <= tg.clock.now() - began
        album = tg.private(ann).messages()
        assert ["三张", "", ""] == [message.text for message in album]
        assert 1 == len({message.body["media_group_id"] for message in album})
        rooms.phantom_edit(album[0])
        assert 4 == len(tg.bot.updates.waiting())


async def _outcome(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except Conflict as error:
        return error
