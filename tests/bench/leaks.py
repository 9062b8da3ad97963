"""Whether anything of somebody else, or of another place, is in a prompt: `python -m tests.bench.leaks [SPEAKERS]`.

Thousands of hostile keys and accounts that nearly are each other (case, composition, separators that move between parts,
wildcards, escapes, invisible marks, lengths) each say words that nobody else says, in every way that memory keeps: as talk, as
facts, as profile items, as pinned constraints, and for the index. Then each asks for all of it, also by another's own words.
Every canary in a prompt must be of this prompt's scope, or of its person where the rules allow that: a rule of this file's own,
by the texts that went in (C18, C19, F10). Goal of engines.md B.1: 0.
"""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from memory.key import ChatType, ConversationKey, Scope, scope_of
from memory.turn import Prepared
from tests.bench.core import HOUR_MS, Core, opened, print_on_all
from tests.contracts.columns import Column

NAMES = (
    "a", "A", "ａ", "a ", " a", "a:b", "a/b", "a%3Ab", "a%3ab", "a%2Fb", "a%", "%", "%%", "%25", "*", "a*", "a_b",
    "a-b", "a\\b", "a'b", 'a"b', "a;b", "a'; DROP TABLE messages; --", "$1", "?", "{0}", "%s", "a\nb", "a\tb",
    "a\x00b", "\x00", "null", "None", "0", "00", "1e0", "..", "../a", "é", "e\u0301", "ß", "ss", "ı", "i", "İ", "Ω",
    "Ω", "ﬁ", "fi", "а", "α", "\u202ea", "a\u200b", "a\u2060", "\ufeffa", "ｱ", "ア", "中文", "中文 ", "中文:房间/一",
    "中", "文", "🧑‍🚀", "🧑", "👍🏽", "👍", "שלום", "مرحبا", "x" * 190 + "1", "x" * 190 + "2", "helper", "web",
    "group", "private", "r1", "u1", "web:r1", "U1:web:r1:private:helper", "r1/t1", "t1",
)  # fmt: skip
"""One list for every part, so that one part's name is another's too."""

SPEAKERS = 900
ASKING = (
    "What is my name, my city, my order number, what do I like, what am I allergic to? {0}",
    "我叫什么？我住在哪里？订单号是多少？我喜欢什么？我对什么过敏？{0}",
)
_CANARY = re.compile(r"zq[a-z]+qz")
_SECTION = re.compile(r'<memory section="(\w+)">\n(.*?)\n</memory>', re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Somebody somewhere: an account, and the key under which it speaks."""

    account: str
    tenant: str
    key: ConversationKey

    @property
    def identity(self) -> tuple[str, str]:
        return self.tenant, self.account

    @property
    def scope(self) -> Scope:
        return scope_of(self.key, mode="conversation")


@dataclass
class Figures:
    """`foreign`: canaries in a prompt that it must not hold, by section; `own`: those of the prompt's own that came back, by
    section: without them an empty memory would pass."""

    speakers: int = 0
    prompts: int = 0
    planted: int = 0
    foreign: Counter[str] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        back = ", ".join(f"{name} {count}" for name, count in sorted(self.own.items()))
        return (
            f"{self.speakers} | {self.planted} | {self.prompts} | {self.planted * self.prompts:,} | "
            f"{self.foreign.total()} | {back}"
        )


def speakers(count: int, seed: int = 1) -> list[Speaker]:
    """Return that many different speakers: first all that differ in one part only, then by chance, half of them one part away
    from another one."""
    chance = random.Random(seed)
    found: dict[tuple[str, ConversationKey], Speaker] = {}
    for one in itertools.chain(_one_part_apart(), _by_chance(chance)):
        found.setdefault((one.tenant, one.key), one)
        if len(found) == count:
            return list(found.values())
    raise AssertionError("there are always more")


def _speaker(parts: Sequence[str], *, chat_type: ChatType) -> Speaker:
    user, channel, room, thread, agent, tenant = parts
    key = ConversationKey(
        user=user, channel=channel, room=room, thread=thread or None, chat_type=chat_type, agent=agent
    )
    return Speaker(account=user, tenant=tenant, key=key)


def _one_part_apart() -> Iterator[Speaker]:
    base = ("u1", "web", "r1", "", "helper", "acme")
    for place, name in itertools.product(range(6), NAMES):
        for chat_type in ("private", "group"):
            yield _speaker([*base[:place], name, *base[place + 1 :]], chat_type=chat_type)  # type: ignore[arg-type]


def _by_chance(chance: random.Random) -> Iterator[Speaker]:
    parts = ["u1", "web", "r1", "", "helper", "acme"]
    while True:
        if chance.random() < 0.5:
            parts = [chance.choice(NAMES) for _ in parts]
            parts[3] = chance.choice(("", parts[3]))
        else:
            parts[chance.randrange(6)] = chance.choice(NAMES)
        yield _speaker(parts, chat_type="private" if chance.random() < 0.6 else "group")


class Leaks:
    """The talk, and what went in: whose each canary is and where it was said."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._said: dict[str, Speaker] = {}
        self.figures = Figures()

    async def run(self, everybody: Sequence[Speaker]) -> Figures:
        """Let everybody say their words; then, sessions later, ask for them; count what comes."""
        self.figures.speakers += len(everybody)
        for one in everybody:
            await self._tells(one)
        await self._core.learn()
        for number, one in enumerate(everybody):
            await self._asks(one, number)
        self._core.clock.now += 3 * HOUR_MS  # what was said is recalled now, and in no window any more
        for number, one in enumerate(everybody):
            await self._asks(one, number)
        return self.figures

    async def _tells(self, one: Speaker) -> None:
        name, city, order, like, allergy, plain = (self._canary(one) for _ in range(6))
        await self._says(one, f"My name is {name}. I live in {city}. My order number is {order}.")
        await self._says(one, f"我对{allergy}过敏。我喜欢{like}。{plain}")

    def _canary(self, one: Speaker) -> str:
        number, word = len(self._said), ""
        for _ in range(4):
            number, letter = divmod(number, 16)
            word += "bcdfghjklmnprstv"[letter]
        canary = f"zq{word}qz"
        self._said[canary] = one
        self.figures.planted += 1
        return canary

    async def _asks(self, one: Speaker, number: int) -> None:
        stranger = list(self._said)[number * 7919 % len(self._said)]
        for asking in ASKING:
            prepared = await self._says(one, asking.format(stranger))
            self._look(one, prepared, asked=stranger)

    async def _says(self, one: Speaker, text: str) -> Prepared:
        person = await self._core.person(one.account, tenant=one.tenant)
        return await self._core.say(one.key, text, person=person, name=one.account)

    def _look(self, one: Speaker, prepared: Prepared, *, asked: str) -> None:
        self.figures.prompts += 1
        seen = dict(_SECTION.findall(prepared.context.system))
        seen["window"] = "\n".join(message.text for message in prepared.context.messages)
        seen["role"] = _SECTION.sub("", prepared.context.system)
        for section, text in seen.items():
            for canary in set(_CANARY.findall(text)):
                if self._may_see(one, self._said[canary], section):
                    self.figures.own[section] += canary != asked
                elif not (section in ("window", "recalled") and self._asked_here(one, canary, text)):
                    self.figures.foreign[section] += 1

    @staticmethod
    def _may_see(one: Speaker, other: Speaker, section: str) -> bool:
        """Talk is the scope's. What a person is known by goes along with the person: not from private talk into groups; talk
        only with the same agent, in a group only what was said there; facts only in their scope."""
        here = one.scope == other.scope
        same = one.identity == other.identity
        group = one.key.chat_type == "group"
        if section == "window":
            return here
        if section == "facts":
            return here and same
        if section == "recalled":
            return same and (here or (not group and one.key.agent == other.key.agent))
        if section in ("pinned", "profile"):
            return same and not (group and other.key.chat_type == "private")
        return False

    @staticmethod
    def _asked_here(one: Speaker, canary: str, text: str) -> bool:
        """Somebody else's word that this place itself asked about: it stands where it was asked, behind the question."""
        return any(asking.format(canary) in text for asking in ASKING)


async def rows(column: Column, *, count: int) -> AsyncIterator[str]:
    """Yield the one line of a database."""
    async with opened(column) as core:
        yield (await Leaks(core).run(speakers(count))).line()


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else SPEAKERS
    print_on_all(
        "database | speakers | canaries | prompts | pairs | foreign canaries in prompts | own ones that came back, by section",
        partial(rows, count=count),
    )
