"""How long people wait for the first word they can see, beside the model's own: the whole gateway on local platforms.

The model says its first words after 0.3 s and goes on for a second. On Slack the answer is a message that is posted
and edited, in a private chat of Telegram a draft, in a group of Telegram a message. A person and a place for each round.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.emulators.slack.server import slack
from tests.emulators.telegram.emulator import telegram
from tests.scenarios.world import Prompt, gateway, model_server, write_config

ROUNDS = 10
THINKS_S, PIECES, PIECE_S = 0.3, 20, 0.05
FIRST = "word 0"

Ask = Callable[[int], Awaitable[float]]
"""Let somebody ask; return when the first words were to be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Medians and the worst round, in milliseconds since the person spoke."""

    where: str
    model_ms: float
    seen_ms: float
    later_ms: float
    worst_later_ms: float


@dataclass
class Model:
    """A script that speaks slowly and notes when it began."""

    began: list[float] = field(default_factory=list)

    async def __call__(self, prompt: Prompt) -> AsyncIterator[str]:
        return self._pieces()

    async def _pieces(self) -> AsyncIterator[str]:
        await asyncio.sleep(THINKS_S)
        self.began.append(time.perf_counter())
        for number in range(PIECES):
            yield f"word {number} 词 "
            await asyncio.sleep(PIECE_S)


def measure() -> list[Figure]:
    """Return the figures of one run."""
    return [asyncio.run(_on_slack()), asyncio.run(_on_telegram("draft")), asyncio.run(_on_telegram("group"))]


async def _on_slack() -> Figure:
    async with slack() as platform:
        acme, app = platform.workspace("Acme"), platform.app()
        bot = acme.install(app)
        secrets = f"bot_token: {bot.token}, signing_secrets: [{app.signing_secret}]"
        channel = f"{{kind: slack, {secrets}, api_url: '{platform.api_url}', first_use_notice: false}}"
        async with _running(channel) as (model, url):
            app.events_url = f"{url}/channels/here"

            async def ask(number: int) -> float:
                person = acme.person(f"Ann {number}")
                room = acme.channel(f"room-{number}", members=[person, bot])
                await person.says(room, f"{bot.mention} hi")
                await room.wait_for(
                    lambda messages: any(FIRST in one.shown and one.author is bot.user for one in messages)
                )
                return time.perf_counter()

            return await _rounds("Slack, post and edit", model, ask)


async def _on_telegram(how: str) -> Figure:
    async with telegram(reads_all=True) as tg:
        channel = f"{{kind: telegram, token: '{tg.bot.token}', api_url: '{tg.url}', first_use_notice: false}}"

        async def ask(number: int) -> float:
            person = tg.person(f"Ann {number}")
            chat = tg.private(person) if how == "draft" else tg.supergroup(f"Room {number}", person)
            person.says(chat, "hi" if how == "draft" else f"@{tg.bot.username} hi")
            if how == "draft":
                await chat.until(lambda chat: chat.drafted() is not None)
            else:
                await chat.wait_for(lambda message: message.bot is tg.bot and FIRST in (message.text or ""))
            return time.perf_counter()

        async with _running(channel) as (model, _):
            return await _rounds(f"Telegram, {how}", model, ask)


@asynccontextmanager
async def _running(channel: str) -> AsyncIterator[tuple[Model, str]]:
    model = Model()
    with tempfile.TemporaryDirectory(prefix="clew-bench-") as folder:
        async with model_server(model) as server:
            agents = f"agents: {{default: {{kind: openai, base_url: '{server.url}', model: stub}}}}\n"
            config = write_config(Path(folder), f"{agents}channels:\n  here: {channel}\n")
            async with gateway(config) as process:
                yield model, process.url


async def _rounds(where: str, model: Model, ask: Ask) -> Figure:
    """Ask several times, the first time for warmth, each after the answer before is over."""
    spans = []
    for number in range(ROUNDS + 1):
        asked = time.perf_counter()
        seen = await ask(number)
        spans.append((model.began[-1] - asked, seen - asked))
        await asyncio.sleep(PIECES * PIECE_S + 0.5)
    of_model, of_people = ([1000 * span[n] for span in spans[1:]] for n in (0, 1))
    later = [seen - began for began, seen in zip(of_model, of_people, strict=True)]
    return Figure(
        where=where,
        model_ms=statistics.median(of_model),
        seen_ms=statistics.median(of_people),
        later_ms=statistics.median(later),
        worst_later_ms=max(later),
    )


def report(figures: list[Figure]) -> str:
    """Return the table."""
    lines = ["where | model's first words ms | first words seen ms | ratio | later by ms, median / worst"]
    lines += [
        f"{f.where} | {f.model_ms:.0f} | {f.seen_ms:.0f} | {f.seen_ms / f.model_ms:.2f} | "
        f"{f.later_ms:.1f} / {f.worst_later_ms:.1f}"
        for f in figures
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(measure()))
