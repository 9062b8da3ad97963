"""The store contract: where an agent has answered before, which makes a thread one that it follows."""

from __future__ import annotations

from memory.base import ANSWERED_REACH, Store
from memory.key import Scope, encode_conversation, scope_of
from tests.contracts.store import HOSTILE, NOW, key, opened, put, replied, rule, said, talk

THERE = {"room": "r", "thread": "t", "chat_type": "group"}


def scope(*, mode: str = "conversation", **parts: str) -> Scope:
    return scope_of(key(**(THERE | parts)), mode=mode)  # type: ignore[arg-type]


class AnsweredContract:
    """`Store.answered`."""

    async def test_only_an_answer_counts(self, store: Store) -> None:
        """Not what was said, not what was observed; and asking opens nothing."""
        assert not await store.answered(scope(), None)
        there = await opened(store, **THERE)
        await put(store, there.id, said("q", 1), turn_id=1)
        assert not await store.answered(scope(), None)

        await put(store, there.id, replied("a", 1), turn_id=1)

        assert await store.answered(scope(), None)
        assert not await store.answered(scope(thread="other"), None)
        assert not await store.answered(scope(room="other"), None)
        assert 1 == (await store.size())["scopes"]

    async def test_whichever_agent_answered(self, store: Store) -> None:
        """The thread goes on when its room gets another agent."""
        await talk(store, (await opened(store, agent="old", **THERE)).id, 1)

        assert await store.answered(scope(agent="new"), None)

    async def test_a_thread_of_a_room_that_moved(self, store: Store) -> None:
        await talk(store, (await opened(store, **THERE)).id, 1)

        await store.move_room("web", "r", "新", now_ms=NOW)

        assert await store.answered(scope(room="新"), None)

    async def test_each_speaker_has_threads_of_his_own(self, store: Store) -> None:
        """Where nobody shares a memory, nobody's talk is followed because of another's."""
        await talk(store, (await opened(store, mode="speaker", user="ann", **THERE)).id, 1)

        assert await store.answered(scope(mode="speaker", user="ann"), None)
        assert not await store.answered(scope(mode="speaker", user="bob"), None)

    async def test_threads_that_share_a_memory_are_told_apart(self, store: Store) -> None:
        """By the place where the answer stands, among the newest messages."""
        shared = await opened(store, mode="room", **THERE)
        other = key(**(THERE | {"thread": "other"}))
        await put(store, shared.id, replied("a", 1, key=key(**THERE)), turn_id=1)

        assert await store.answered(scope(mode="room"), encode_conversation("r", "t"))
        assert not await store.answered(scope(mode="room"), encode_conversation("r", "other"))

        for n in range(2, ANSWERED_REACH + 2):
            await put(store, shared.id, replied("a", n, key=other), turn_id=n)

        assert await store.answered(scope(mode="room"), encode_conversation("r", "other"))
        assert not await store.answered(scope(mode="room"), encode_conversation("r", "t"))

    async def test_hostile_places(self, store: Store) -> None:
        for number, hostile in enumerate(HOSTILE):
            place = THERE | {"room": hostile, "thread": hostile}
            there = await opened(store, **place)
            await put(store, there.id, replied("a", 1), turn_id=1, session=rule(f"s-{number}"))

            assert await store.answered(scope(**place), None)
