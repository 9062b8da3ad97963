"""What counting costs a message: CPU of letting it in without quotas and with nine of them, of noting it with its call, and of
writing entries, off the answer path.

`python -m tests.bench.quotas`. On SQLite, one instance; what was used up is at hand, as it is from a person's second message on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.base import MessageEvent, Sender
from config.loader import Configuration, load
from gateway.admission import Verdict
from gateway.agent import Caller
from gateway.usage.parts import UsageParts
from memory.base import Call
from memory.ids import Ids
from memory.stores.sqlite import SqliteStore
from tests.usage import counting

MESSAGES = 5_000
PEOPLE = 500
SETTINGS = """
prices: {models: {m: {input: 0.25, cached_input: 0.025, output: 2}}}
agents: {default: {kind: demo, quota: {tokens: {day: 1000000000}, money: {month: 1000000}}}, free: {kind: demo}}
channels:
  free: {kind: webhook, secrets: [whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=], agent: free}
  full:
    kind: webhook
    secrets: [whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=]
    quota:
      person: {messages: {day: 100000000}, tokens: {day: 100000000}, money: {month: 100000}}
      room: {messages: {day: 100000000}, tokens: {day: 100000000}}
      channel: {messages: {month: 100000000}, money: {month: 100000}}
"""
ANSWER = Verdict("answer", "mention")
CALL = Call(agent="default", model="m", ms=900, finish="stop", prompt=5200, completion=410, cached=3000)


def said(channel: str, number: int) -> MessageEvent:
    user = f"u{number % PEOPLE}"
    return MessageEvent(
        channel=channel, room=f"r{number % 20}", chat_type="group", sender=Sender(user=user, tenant="t", account=user),
        message_id=f"m{number}", text="How much is the quince jelly, and is there any left?", dedupe_ids=(f"m{number}",),
    )  # fmt: skip


def caller(event: MessageEvent, person: int) -> Caller:
    return Caller(
        channel=event.channel, kind="webhook", tenant="t", account=event.sender.account, person_id=person, chat_type="group",
        room=event.room, thread=None, language="en",
    )  # fmt: skip


async def timed(work: Callable[[], Awaitable[None]]) -> float:
    """Return microseconds of CPU for each of the messages."""
    began = time.process_time()
    await work()
    return (time.process_time() - began) / MESSAGES * 1e6


async def admitted(usage: UsageParts, configuration: Configuration, channel: str, agent: str) -> float:
    """Return what letting messages in takes."""
    settings, ids = configuration.effective(channel), Ids(5)
    events = [said(channel, number) for number in range(MESSAGES)]
    for event in events[:PEOPLE]:  # everybody's first message
        await usage.quotas.admit(event, settings, agent=agent, verdict=ANSWER)

    async def let_in() -> None:
        for event in events:
            found = await usage.quotas.admit(event, settings, agent=agent, verdict=ANSWER)
            if found.held is not None:
                usage.quotas.stored(found.held, ids.next())

    took = await timed(let_in)
    while usage.meter.waiting:
        await usage.meter.write()
    return took


async def noted(usage: UsageParts) -> tuple[float, float]:
    """Return what noting a message and its call takes, and writing both."""
    ids = Ids(6)
    turns = [(ids.next(), caller(said("full", number), number % PEOPLE + 1)) for number in range(MESSAGES)]

    async def note() -> None:
        for turn, who in turns:
            usage.spending.answering([turn], caller=who, agent="default")
            usage.spending.answered(CALL, turn_id=turn, caller=who, prompt_tokens=5200, text="")

    async def write() -> None:
        while usage.meter.waiting:
            await usage.meter.write()

    return await timed(note), await timed(write)


async def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "clew.yaml").write_text(SETTINGS, "utf-8")
        configuration = load(folder / "clew.yaml", {})
        async with (
            SqliteStore(folder / "m.db", ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=10) as store,
            counting(folder, store=store, configuration=lambda: configuration) as usage,
        ):
            free = await admitted(usage, configuration, "free", "free")
            full = await admitted(usage, configuration, "full", "default")
            note, write = await noted(usage)
    print("| CPU of a message | µs |\n| --- | --- |")
    print(f"| let in, no quota set | {free:.1f} |\n| let in, nine quotas of four subjects | {full:.1f} |")
    print(f"| noted, with its call | {note:.1f} |\n| both written, off the answer path | {write:.1f} |")


if __name__ == "__main__":
    asyncio.run(main())
