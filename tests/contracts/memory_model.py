"""A memory beside a simple model of it: each step does one thing to both, and holds the prompt that comes out against
`memory_rules.py`: what it must hold, and what it must never hold. `test_memory_model.py` drives it."""

from __future__ import annotations

import itertools
import re
from typing import Any

from memory.base import Identity, Message, ProfileItem
from memory.derived import FullStore
from memory.ids import Ids
from memory.key import ConversationKey, Scope, scope_of
from memory.learning import give_up
from memory.policy import Policy
from memory.service import Memory
from memory.tokens import Tokenizers
from memory.turn import Incoming, Prepared, Reply, TurnRequest
from tests.contracts.memory_rules import Room, Said, answered_only, carried, window

NOW = 1_790_000_000_000
HOUR = 3_600_000
POLICY = Policy(turns=3, keep_turns=1, messages=7, system="Be kind.", down_weight="auto", observed_messages=3)
NOISE = [
    "", "[Bob]: ", "【小博】：", "</memory>", "100%_ \\ ' \" ", "\u202e\u2066", "👩\u200d👩\u200d👧 ", "é", "\x00", "中文 ",
    "行首\n[agent helper]: ", '<memory section="facts">\n', "{n} {when} %s ",
]  # fmt: skip
NAMES = ["Alice", "alice", "Bob]: ok\n[Alice", "系统", "", "小明，回复小红", "\u202eBob", "Bob\u3164"]
USERS = ["u1", "u1 ", "U1", "a:b*%", "中文\x00"]
_ROOMS: list[dict[str, Any]] = [
    {"channel": "web", "room": "r", "chat_type": "private"},
    {"channel": "web", "room": "r", "chat_type": "group"},
    {"channel": "web", "room": "r", "thread": "r", "chat_type": "group"},
    {"channel": "web", "room": "r/r", "chat_type": "group"},
    {"channel": "web2", "room": "r", "chat_type": "private"},
]
_canaries = itertools.count(1)
_CANARY = re.compile(r"c\d+c")


def canaries(text: str) -> set[str]:
    return set(_CANARY.findall(text))


def told(number: int) -> str:
    """Return a text that occurs once, with something hostile around it."""
    return f"{NOISE[number % len(NOISE)]}c{next(_canaries)}c{NOISE[number * 7 % len(NOISE)]}"


class Model:
    """A memory beside its model. Each verb takes a place and a number that varies what is done."""

    def __init__(self, store: FullStore, *, name: str) -> None:
        self.name = name
        self.now = NOW
        self.rooms: dict[Scope, Room] = {}
        self.profiles: dict[str, list[ProfileItem]] = {}
        # As of an instance of its own: on one database a row's id is one person's for ever.
        self.numbers = Ids(2 + int(name[1:]) % 1000, lambda: self.now)
        self.turns: list[int] = []
        self.gone: set[str] = set()  # from all prompts to come
        self.deleted: set[str] = set()  # from replays too
        self.restart(store)

    def restart(self, store: FullStore) -> None:
        """Go on as another process would: nothing remembered but the database."""
        self.store = store
        self.memory = Memory(store, tokenizers=Tokenizers(), clock=lambda: self.now)

    async def place(self, place: int, number: int) -> tuple[ConversationKey, Scope, Room]:
        user = USERS[number % len(USERS)]
        parts = {"thread": None} | _ROOMS[place % len(_ROOMS)]
        parts["channel"] = f"{self.name}-{parts['channel']}"
        agents = ("helper", "other") if place < len(_ROOMS) else ("other", "helper")
        key = ConversationKey(**parts, user=user, agent=agents[0])
        scope = scope_of(key, mode="conversation")
        room = self.rooms.setdefault(scope, Room())
        if room.carried is None:
            room.carried = carried(self.rooms.get(Scope(*scope.columns()[:4], agents[1])))
            await self.memory.load(scope, person_id=None, policy=POLICY, agent_change="carry")
        return key, scope, room

    async def person(self, user: str) -> int:
        person = await self.store.person(Identity(kind="web", tenant=self.name, account=user), now_ms=self.now)
        if user not in self.profiles:
            self.profiles[user] = [
                ProfileItem(
                    id=self.numbers.next(), person_id=person, namespace="shared", kind="constraint", slot="",
                    text=told(place + pinned), pinned=pinned, chat_type=chat_type, source_ids=(), status="active",
                    valid_from_ms=NOW, valid_to_ms=None,
                )
                for place, chat_type in enumerate(("private", "group"))
                for pinned in (True, False)
            ]  # fmt: skip
            await self.store.put_profile(self.profiles[user])
        return person

    async def say(self, place: int, number: int) -> None:
        """One to three messages and their reply."""
        prepared, room = await self.ask(place, number)
        await self.answer(prepared, room, number)

    async def unanswered(self, place: int, number: int) -> None:
        """A turn whose agent failed."""
        prepared, _ = await self.ask(place, number)
        await self.memory.record(prepared)

    async def overtaken(self, place: int, number: int) -> None:
        """A reply that comes after `/new`: it belongs to the talk of its question."""
        prepared, room = await self.ask(place, number)
        await self.new(place, number)
        await self.answer(prepared, room, number)

    async def twice(self, place: int, number: int) -> None:
        """A crash before the reply, another one after it: nothing is stored twice, nobody is asked twice."""
        prepared, room = await self.ask(place, number)
        again = await self.memory.load_and_append(prepared.turn)
        assert prepared.context == again.context
        assert again.stored_reply is None
        self.now += 1
        await self.answer(again, room, number)
        assert room.rows[-1].text == (await self.memory.load_and_append(prepared.turn)).stored_reply

    async def observe(self, place: int, number: int) -> None:
        """Talk that nobody asked the bot about."""
        key, scope, room = await self.place(place, number)
        if key.chat_type == "private":
            return
        said = self._incoming(key, told(number), NAMES[number % len(NAMES)], person=None)
        self.now += 1
        await self.memory.observe(scope, said, agent_change="carry")
        room.observed.append(Said(0, 0, "user", said.text, 0, name=said.platform_message_id))

    async def edit(self, place: int, number: int) -> None:
        """Somebody mends what they said; the old words are gone from all later prompts."""
        key, scope, room = await self.place(place, number)
        for row in self._live(room)[-1 - number % 4 :][:1]:
            self.gone |= canaries(row.text)
            row.text, row.filler = told(number), False
            self.now += 1
            assert row.name is not None
            assert await self.memory.edit(scope, row.name, by=key, text=row.text)

    async def delete(self, place: int, number: int) -> None:
        """Somebody takes back what they said."""
        key, scope, room = await self.place(place, number)
        for row in self._live(room)[-1 - number % 4 :][:1]:
            self.gone |= canaries(row.text)
            self.deleted |= canaries(row.text)
            row.text, row.deleted = "", True
            self.now += 1
            assert row.name is not None
            assert await self.memory.delete(scope, row.name, by=key)
            if row in room.observed:
                room.observed.remove(row)

    def _live(self, room: Room) -> list[Said]:
        return [row for row in (*room.rows, *room.observed) if row.name and not row.deleted]

    async def new(self, place: int, number: int) -> None:
        """`/new`."""
        _, scope, room = await self.place(place, number)
        self.now += 1
        assert room.active == await self.memory.end_session(scope, agent_change="carry")
        room.active = False

    async def wait(self, place: int, number: int) -> None:
        """Silence: an hour keeps a session, two end it."""
        self.now += (1 + number % 2) * HOUR

    async def ask(self, place: int, number: int) -> tuple[Prepared, Room]:
        """Say something and hold the prompt against what it must be."""
        key, scope, room = await self.place(place, number)
        person = await self.person(key.user)
        self.now += 1
        texts = ["ok" if number % 4 == 0 else told(number + i) for i in range(1 + number % 3)]
        pending = self._question_pending(room)
        messages = tuple(self._incoming(key, text, NAMES[number % len(NAMES)], person=person) for text in texts)
        request = TurnRequest(
            turn_id=messages[0].event_id, scope=scope, messages=messages, policy=POLICY, fence=1, agent_change="carry",
            revision="r", language="zh" if number % 2 else "en",
        )  # fmt: skip
        await self._forgo()
        prepared = await self.memory.load_and_append(request)
        if not room.active or self.now - room.last_ms >= POLICY.idle_ms:
            room.session, room.active = 1 + max((row.session for row in room.rows), default=0), True
        room.last_ms = self.now
        for said, row in zip(messages, prepared.inputs.loaded.appended, strict=True):
            filler = said.text == "ok" and not pending
            text = said.text.replace("\x00", "\ufffd")
            stored = Said(row.id, request.turn_id, "user", text, room.session, filler, name=said.platform_message_id)
            room.rows.append(stored)
        self._check(prepared, room, key)
        await self._check_replay(prepared)
        return prepared, room

    async def _forgo(self) -> None:
        """Learn nothing from the turns so far: while they are due, the window would reach back to them."""
        while due := await self.store.derived.claim(owner=self.name, now_ms=self.now, lease_ms=0, limit=100):
            for turn in due:
                await give_up(self.store.derived, turn.ledger)

    async def answer(self, prepared: Prepared, room: Room, number: int) -> None:
        """Store the reply; every other one asks something."""
        self.now += 1
        text = f"[Bob]: c{next(_canaries)}c{'？' if number % 2 else '。'}"
        stored: Message = await self.memory.append(prepared, Reply(text=text), fence=1)
        turn = prepared.turn.turn_id
        session = next(row.session for row in room.rows if row.turn == turn)
        room.rows.append(Said(stored.id, turn, "assistant", text, session))
        if session == room.session and room.active:
            room.last_ms = self.now
        self.turns.append(turn)

    def _incoming(self, key: ConversationKey, text: str, speaker: str, *, person: int | None) -> Incoming:
        number = self.numbers.next()
        return Incoming(
            key=key, event_id=number, text=text, speaker_name=speaker, person_id=person,
            platform_message_id=f"p{number % 7}%_{number}",
        )  # fmt: skip

    def _question_pending(self, room: Room) -> bool:
        rows = [row for row in room.rows if room.active and row.session == room.session][-10:]
        replies = [row.text for row in rows if row.role == "assistant"]
        return bool(replies) and replies[-1].endswith("？")

    def _check(self, prepared: Prepared, room: Room, key: ConversationKey) -> None:
        expected = window(room, prepared.turn.turn_id, POLICY)
        array = prepared.context.messages
        assert [(row.id, row.role) for row in expected] == [
            (said.id, message.role) for message in array for said in message.said
        ]
        roles = [message.role for message in array]
        assert ["user", "assistant"] * (len(roles) // 2) + ["user"] == roles

        session = [row.id for row in room.rows if row.session == room.session]
        listed = [e.ids[0] for e in prepared.ledger.entries if e.section in ("window", "message")]
        assert session[-len(listed) :] == listed
        assert len(listed) == len(session) or len(listed) > 2 * POLICY.turns

        seen = canaries(prepared.context.system + "".join(message.text for message in array))
        assert seen == self._promised(room, expected, key)
        assert not seen & self.gone

    def _promised(self, room: Room, expected: list[Said], key: ConversationKey) -> set[str]:
        """Return what must be in the prompt, and nothing else may."""
        background = room.observed[-POLICY.observed_messages :]
        first = all(row.session == room.session for row in room.rows)
        opening = answered_only(room.carried or []) if first else []
        shown = {
            item.text for item in self.profiles[key.user] if item.chat_type == "group" or key.chat_type == "private"
        }
        return canaries("|".join([*shown, *(row.text for row in (*expected, *background, *opening))]))

    async def _check_replay(self, prepared: Prepared) -> None:
        await self.store.save_ledger(prepared.ledger, fence=prepared.turn.fence)
        replay = await self.memory.replay(prepared.ledger.turn_id, POLICY, was=POLICY)
        assert replay is not None
        assert (True, ()) == (replay.identical, replay.difference)

    async def compare(self) -> None:
        """At the end: no replay of any turn shows what was taken back since."""
        for turn_id in self.turns:
            replay = await self.memory.replay(turn_id, POLICY)
            assert replay is None or not canaries(str(replay.context)) & self.deleted
