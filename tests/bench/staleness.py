"""How often a value that is no longer true comes before the one that is: `python -m tests.bench.staleness`.

Our own set: people say something, later say that it has changed, and are asked about it in the words they used first, which is
what favours the old value. Through the whole memory on SQLite: learned by what a model would propose of each message, asked in
a session of its own, and read in the prompt. Beside it the same without the profile, by recalled talk alone. The goal of
engines.md B.1 is a rate of 0.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from memory.base import Identity
from memory.ids import Ids
from memory.key import ConversationKey, scope_of
from memory.labels import ENGLISH
from memory.learning import Learning, learn
from memory.policy import Policy
from memory.service import Memory
from memory.stores.sqlite import SqliteStore
from memory.tokens import Tokenizers
from memory.turn import Incoming, Prepared, Reply, TurnRequest

SESSION = 5  # turns
KEY = ConversationKey(user="U1", channel="web", room="r1", thread=None, chat_type="private", agent="helper")
SCOPE = scope_of(KEY, mode="conversation")

# The slot; the old and the new value; what was said first, and later; what is asked.
CHANGES = {
    "English": (
        ("city", "Lisbon", "Porto", "I live in Lisbon, near the river.", "We have moved, it is Porto now.", "Where do I live?"),
        ("employer", "Acme", "Globex", "I work at Acme.", "Last week I started at Globex.", "Which company do I work at?"),
        ("role", "nurse", "midwife", "I work as a nurse.", "I have become a midwife.", "What do I work as?"),
        ("department", "logistics", "sales", "My department is logistics.", "I went over to sales.", "What is my department?"),
        ("membership", "silver", "gold", "I am a silver member.", "I was upgraded to gold.", "What kind of member am I?"),
        ("birthday", "3 May", "4 May", "My birthday is on 3 May.", "I mistyped, it is 4 May.", "When is my birthday?"),
        ("shoe_size", "42", "43", "My shoe size is 42.", "They pinched, I need 43.", "What is my shoe size?"),
        ("clothes_size", "M", "L", "I wear size M.", "Too tight these days, L fits.", "Which size do I wear?"),
        ("like", "coffee", "", "I like coffee.", "I don't drink coffee any more.", "Which drinks do I like?"),
        ("name", "Dana Fox", "Dana Wolf", "My name is Dana Fox.", "I married, now Dana Wolf.", "What is my name?"),
    ),
    "Chinese": (
        ("city", "武汉", "南京", "我住在武汉，离江边很近。", "搬家了，如今在南京。", "我住在哪个城市？"),
        ("employer", "华信", "远景", "我在华信上班。", "上周跳槽去远景了。", "我在哪家公司上班？"),
        ("role", "护士", "药剂师", "我的职业是护士。", "我转行做药剂师了。", "我的职业是什么？"),
        ("department", "物流部", "销售部", "我的部门是物流部。", "调到销售部去了。", "我的部门是哪个？"),
        ("membership", "银卡", "金卡", "我是银卡会员。", "升级成金卡了。", "我是什么会员？"),
        ("birthday", "5月3日", "5月4日", "我的生日是5月3日。", "打错了，是5月4日。", "我的生日是哪天？"),
        ("shoe_size", "42", "43", "我的鞋码是42。", "太挤了，要43的。", "我的鞋码是多少？"),
        ("clothes_size", "M码", "L码", "我穿M码的衣服。", "最近紧了，L码正好。", "我的衣服尺码是多少？"),
        ("like", "咖啡", "", "我喜欢咖啡。", "我不再喜欢咖啡了。", "我喜欢喝什么？"),
        ("name", "王小磊", "王大磊", "我的姓名是王小磊。", "改名了，叫王大磊。", "我的姓名是什么？"),
    ),
}  # fmt: skip
BETWEEN = {
    "English": ("The weather is lovely today.", "Can you set a timer for eggs?", "That film was long."),
    "Chinese": ("今天天气真好，适合散步。", "帮我定个煮鸡蛋的闹钟。", "那部电影真长啊。"),
}


class Extractor:
    """Proposes what a model would of each of the set's messages, and nothing of others."""

    def __init__(self, language: str) -> None:
        self._changes: dict[str, tuple[str, str, str]] = {}
        for slot, old, new, first, later, _ in CHANGES[language]:
            self._changes[first] = ("set", slot, old)
            self._changes[later] = ("set", slot, new) if new else ("retract", slot, old)

    async def complete(self, *, system: str, prompt: str, schema: Mapping[str, object] | None, max_tokens: int) -> str:
        found = [change for text, change in self._changes.items() if f">{text}<" in prompt]
        changes = [{"op": op, "slot": slot, "value": value, "message": 1} for op, slot, value in found]
        return msgspec.json.encode({"changes": changes}).decode()


class Talk:
    """One person's talk with a memory, a turn a message."""

    def __init__(self, store: SqliteStore, extractor: Extractor, policy: Policy, person_id: int) -> None:
        self._store = store
        self._memory = Memory(store, tokenizers=Tokenizers(), clock=self._clock)
        self._extractor = extractor
        self._policy = policy
        self._person_id = person_id
        self._now = 1_790_000_000_000
        self._turns = 0

    def _clock(self) -> int:
        self._now += 1_000
        return self._now

    async def ask(self, text: str) -> Prepared:
        self._turns += 1
        said = Incoming(key=KEY, event_id=self._turns, text=text, person_id=self._person_id)
        return await self._memory.load_and_append(
            TurnRequest(turn_id=self._turns, scope=SCOPE, messages=(said,), policy=self._policy, fence=1)
        )

    async def say(self, text: str) -> None:
        """Say something, get an answer, and be learned from; every few turns a session ends."""
        await self._memory.append(await self.ask(text), Reply(text="…"), fence=1)
        for due in await self._store.derived.claim(owner="bench", now_ms=self._now, lease_ms=0, limit=10):
            await learn(self._store.derived, due.ledger, Learning(), self._extractor, last_try=True)
        if self._turns % SESSION == 0:
            await self.part()

    async def part(self) -> None:
        await self._memory.end_session(SCOPE, agent_change="fresh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of so many questions: in how many prompts the old value came before the new one, or alone; in how many the new one was; in
    how many the old one stood without a mark that it has changed since."""

    questions: int
    stale_first: int
    found: int
    unmarked: int


async def measure(language: str, *, between: int, profile: bool) -> Figures:
    """Say all first values, `between` other messages and all later values, then ask about each. Without `profile` only
    recalled talk can tell."""
    policy = Policy(tokenizer="estimate", profile_items=3 if profile else 0)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "clew.db"
        async with SqliteStore(path, ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=10) as store:
            me = await store.person(Identity(kind="web", tenant="", account="U1"), now_ms=1)
            talk = Talk(store, Extractor(language), policy, me)
            changes = CHANGES[language]
            others = [BETWEEN[language][at % len(BETWEEN[language])] for at in range(between)]
            for text in (*(change[3] for change in changes), *others, *(change[4] for change in changes)):
                await talk.say(text)
            rows = []
            for _, old, new, _, later, asked in changes:
                await talk.part()
                system = (await talk.ask(asked)).context.system
                rows.append(_row(system if new else system.replace(later, ""), old, new))
    stale, found, unmarked = (sum(column) for column in zip(*rows, strict=True))
    return Figures(questions=len(rows), stale_first=stale, found=found, unmarked=unmarked)


def _row(system: str, old: str, new: str) -> Sequence[bool]:
    """Is the old value first, the new one there, the old one unmarked? What was only taken back has no new one, and
    may not be in the profile."""
    sections = dict(re.findall(r'<memory section="(\w+)">\n(.*?)</memory>', system, re.S))
    profile = sections.get("profile", "")
    told = profile + sections.get("recalled", "")
    before, now = _place(told, old), _place(told, new)
    unmarked = any(_place(line, old) < len(line) and ENGLISH.changed not in line for line in told.splitlines())
    if not new:
        return _place(profile, old) < len(profile), True, unmarked
    return before < now, now < len(told), unmarked


def _place(told: str, value: str) -> int:
    match = re.search(rf"(?<![A-Za-z0-9-]){re.escape(value)}(?![A-Za-z0-9-])", told) if value else None
    return match.start() if match else len(told)


async def report() -> list[str]:
    """Return a line for each language, distance between the values, and way."""
    lines = []
    for language in CHANGES:
        for between in (0, 40, 400):
            for profile in (False, True):
                figures = await measure(language, between=between, profile=profile)
                how = "with the profile" if profile else "recalled talk alone"
                lines.append(
                    f"{language}, {between:3} messages between, {how}: stale first {figures.stale_first} of "
                    f"{figures.questions}, new one there {figures.found}, old one unmarked {figures.unmarked}"
                )
    return lines


if __name__ == "__main__":
    print("\n".join(asyncio.run(report())))
