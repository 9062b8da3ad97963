"""What memory's small model costs beside the answers, in tokens: the questions about turns and for summaries, with their answers.

`python -m tests.bench.cost`; `LOCOMO=SET.json` and `TEAM_CHATS=A.json:B.json` add the talk of those sets, read where it lies.
Goal of engines.md B.1: at most 5 % of the answering model's tokens on an ordinary shop dialogue. Counted in o200k, by the whole
memory core on SQLite: what the agent is sent and says, and what the small model is sent (without the schema that goes with it)
and says. No language model: replies are the other side's words, and the small model notes what the rules find.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.key import ChatType, ConversationKey
from memory.summary import Summarising
from memory.tokens import MESSAGE_OVERHEAD, Tokenizer, Tokenizers
from tests.bench.core import POLICY, opened
from tests.contracts.columns import SqliteColumn

OWN = Path(__file__).parent / "dialogues"
REPLY = {"en": "Noted. I'll come back to you once I know more about it.", "zh": "好的，已记录，有进展会告诉您。"}
_NOTHING = '{"changes": []}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What somebody said, and the reply to it."""

    speaker: str
    text: str
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """A talk with an assistant, of one session."""

    name: str
    language: str
    chat_type: ChatType
    turns: Sequence[Turn]


@dataclass
class Costs:
    """Tokens, and how often the small model was asked. `saved`: turns about which it was not."""

    turns: int = 0
    answers: int = 0
    notes: int = 0
    summaries: int = 0
    asked: int = 0
    condensed: int = 0

    @property
    def share(self) -> float:
        """Memory's part of the answers' tokens."""
        return (self.notes + self.summaries) / self.answers if self.answers else 0.0

    def line(self, name: str) -> str:
        return (
            f"{name} | {self.turns} | {self.answers / self.turns:.0f} | {self.notes / self.turns:.0f} | "
            f"{self.summaries / self.turns:.0f} | {self.asked / self.turns:.0%} | {self.condensed} | {self.share:.1%}"
        )


@dataclass
class Counted:
    """A small model that notes nothing and condenses to as much as it may, and counts what that takes."""

    tokenizer: Tokenizer
    max_chars: int
    costs: Costs = field(default_factory=Costs)

    async def complete(self, *, system: str, prompt: str, schema: Mapping[str, object] | None, max_tokens: int) -> str:
        sent = sum(self.tokenizer.count(text) + MESSAGE_OVERHEAD for text in (system, prompt))
        if schema is not None:
            answer = _NOTHING
            self.costs.notes += sent + self.tokenizer.count(answer)
            self.costs.asked += 1
        else:
            answer = prompt[-self.max_chars :]
            self.costs.summaries += sent + self.tokenizer.count(answer)
            self.costs.condensed += 1
        return answer


async def measure(dialogue: Dialogue, folder: Path) -> Costs:
    """Have the dialogue, and learn from each turn right after its reply."""
    tokenizer = Tokenizers().pick("o200k", POLICY.model)
    summarising = Summarising(language=dialogue.language, group=dialogue.chat_type == "group")
    model = Counted(tokenizer, summarising.max_chars)
    costs = model.costs
    async with opened(SqliteColumn(folder)) as core:
        for turn in dialogue.turns:
            key = ConversationKey(
                user=turn.speaker, channel="web", room="r1", thread=None, chat_type=dialogue.chat_type, agent="helper"
            )
            prepared = await core.say(
                key, turn.text, reply=turn.reply, person=await core.person(turn.speaker), name=turn.speaker,
                language=dialogue.language,
            )  # fmt: skip
            context = prepared.context
            sent = (context.system, *(message.text for message in context.messages))
            costs.answers += sum(tokenizer.count(text) + MESSAGE_OVERHEAD for text in sent) + tokenizer.count(
                turn.reply
            )
            costs.turns += 1
            await core.learn(model=model, summarising=summarising)
    return costs


def shop(language: str) -> Dialogue:
    """Return the shop dialogue of our own, in "english" or "chinese"."""
    lines = (OWN / f"shop_{language}.txt").read_text("utf-8").splitlines()
    turns = [Turn(speaker="ada", text=said, reply=reply) for said, reply in zip(lines[::2], lines[1::2], strict=True)]
    return Dialogue(name=f"shop, {language}", language=_code(language), chat_type="private", turns=turns)


def locomo(raw: bytes) -> Iterator[Dialogue]:
    """Yield each conversation of the set: one side asks, what the other says up to the next question is the reply."""
    for entry in json.loads(raw):
        talk = entry["conversation"]
        numbers = range(1, 1 + sum(name.endswith("_date_time") for name in talk))
        said = [turn for number in numbers for turn in talk.get(f"session_{number}", ())]
        turns = _paired((turn["speaker"] == talk["speaker_a"], "ada", turn["text"]) for turn in said)
        yield Dialogue(name=f"LoCoMo {entry['sample_id']}", language="en", chat_type="private", turns=turns)


def team(raw: bytes) -> Dialogue:
    """Return a team's chat as talk with an assistant that has little to say to it."""
    chat = json.loads(raw)
    said = chat["conversation_list"]
    chinese = any("\u4e00" <= letter <= "\u9fff" for letter in said[0]["content"])
    language = _code("chinese" if chinese else "english")
    turns = [Turn(speaker=one["sender_name"], text=one["content"], reply=REPLY[language]) for one in said]
    return Dialogue(name=f"team chat, {language}", language=language, chat_type="group", turns=turns)


def _code(language: str) -> str:
    return "zh" if language == "chinese" else "en"


def _paired(said: Iterable[tuple[bool, str, str]]) -> list[Turn]:
    """Merge neighbours of one side; what has no reply is left out."""
    turns: list[Turn] = []
    sides: list[tuple[bool, str, list[str]]] = []
    for asks, speaker, text in said:
        if sides and sides[-1][0] == asks:
            sides[-1][2].append(text)
        else:
            sides.append((asks, speaker, [text]))
    for (asks, speaker, texts), (_, _, replies) in pairwise(sides):
        if asks:
            turns.append(Turn(speaker=speaker, text="\n".join(texts), reply="\n".join(replies)))
    return turns


def report(dialogues: Iterable[Dialogue]) -> Iterator[str]:
    """Yield the table."""
    yield "dialogue | turns | answer's tokens a turn | questions' | summaries' | turns asked about | summaries | share"
    for dialogue in dialogues:
        with TemporaryDirectory(prefix="clew-bench-") as folder:
            yield asyncio.run(measure(dialogue, Path(folder))).line(dialogue.name)


def given(environ: Mapping[str, str]) -> Iterator[Dialogue]:
    """Yield our own dialogues, and those of the sets that are named."""
    yield shop("english")
    yield shop("chinese")
    for path in filter(None, environ.get("TEAM_CHATS", "").split(os.pathsep)):
        yield team(Path(path).read_bytes())
    if path := environ.get("LOCOMO"):
        yield from locomo(Path(path).read_bytes())


if __name__ == "__main__":
    for line in report(given(os.environ)):
        print(line, flush=True)
