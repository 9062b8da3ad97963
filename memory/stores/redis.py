"""Long windows kept in Redis, in front of any store that counts generations: a store around a store.

What must be true of every turn (that the message is stored, which session it is in, whose facts and profile enter) only
the database can say, so a turn still asks it. It is asked for the newest few messages only, while Redis is asked for the
rest at the same time; the newest few prove that the rest is the same conversation, unbroken and unchanged. Appends never
touch Redis. A Redis that is gone, frozen, emptied, full or filled with something else costs speed only.

It buys the database's work, never time: measured per turn, a third less at windows of 200 messages, a seventh at 100,
nothing at 40, for 0.4 ms more of the gateway's own CPU (`tests/bench/stores_postgres.py`). So short windows, the default
ones among them, are not kept at all.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType

import msgspec
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from memory.base import Load, Loaded, Message, NewMessage, SessionRule
from memory.derived import FullStore
from memory.errors import StoreUnavailable
from memory.key import ConversationKey
from memory.redis_client import redis_client
from memory.stores.redis_persons import ForgettingPersons

logger = logging.getLogger(__name__)

TAIL = 8
"""How many of the newest messages always come from the database."""
WORTH = 64
"""Windows of up to so many messages are read from the database whole."""
REST_S = 5.0
"""How long Redis is left alone after it failed, so that a frozen one does not cost every turn its timeout."""


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """The end of a session's history as it was at one generation of its scope. `more`: older messages exist."""

    scope_id: int
    session_id: str
    generation: int
    more: bool
    messages: tuple[Message, ...]


_decode = msgspec.msgpack.Decoder(Kept).decode
_encode = msgspec.msgpack.Encoder().encode
# Messages lie there as arrays of their fields: another release's fields are another release's keys.
_WINDOWS = "clew:window:"
_PREFIX = f"{_WINDOWS}{hashlib.sha256(' '.join(Message.__struct_fields__).encode()).hexdigest()[:8]}:"


class RedisCache:
    """`memory.base.Store` around `store`, whose opening and closing stay its owner's.

    `ttl_s`: how long a window stays without use. `timeout_s`: how long a turn waits for Redis at most. `worth`: the longest
    window that is not kept.
    """

    def __init__(
        self,
        store: FullStore,
        url: str,
        *,
        ttl_s: float,
        timeout_s: float,
        worth: int = WORTH,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._worth = max(worth, TAIL)
        self._ttl_ms = int(ttl_s * 1000)
        self._timeout_s = timeout_s
        self._clock = clock
        self._resting_until = 0.0
        self._redis = redis_client(url, timeout_s=timeout_s)
        # What touches no window goes straight through.
        self.derived = store.derived
        self.browsing = store.browsing
        self.forgetting = store.forgetting
        self.links = store.links
        self.persons = ForgettingPersons(store.persons, forget=self._forget, forget_all=self._forget_all)
        self.vectors = store.vectors
        self.open_scope = store.open_scope
        self.scope_in_place = store.scope_in_place
        self.alias_scope = store.alias_scope
        self.group_scopes = store.group_scopes
        self.move_room = store.move_room
        self.moved_rooms = store.moved_rooms
        self.answered = store.answered
        self.name_changes = store.name_changes
        self.append = store.append
        self.older = store.older
        self.turn_messages = store.turn_messages
        self.messages_by_id = store.messages_by_id
        self.observe = store.observe
        self.end_session = store.end_session
        self.put_summary = store.put_summary
        self.put_facts = store.put_facts
        self.put_profile = store.put_profile
        self.save_ledger = store.save_ledger
        self.ledger = store.ledger
        self.ledgers = store.ledgers
        self.person = store.person
        self.purge_ledgers = store.purge_ledgers
        self.purge_messages = store.purge_messages
        self.make_room = store.make_room
        self.wipe = store.wipe
        self.put_revision = store.put_revision
        self.revision = store.revision
        self.choose_agent = store.choose_agent
        self.chosen_agent = store.chosen_agent
        self.schema_version = store.schema_version
        self.size = store.size
        self.tables = store.tables
        self.ping = store.ping

    async def __aenter__(self) -> RedisCache:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._redis.aclose(close_connection_pool=True)

    async def load(self, load: Load, *, session_id: str | None = None) -> Loaded:
        if session_id is not None:  # not the session that is kept
            return await self._store.load(load, session_id=session_id)
        return await self._completed(load, self._store.load)

    async def append_and_load(
        self,
        scope_id: int,
        messages: Sequence[NewMessage],
        load: Load,
        *,
        turn_id: int,
        session: SessionRule,
        fence: int,
    ) -> Loaded:
        async def read(wish: Load) -> Loaded:
            return await self._store.append_and_load(
                scope_id, messages, wish, turn_id=turn_id, session=session, fence=fence
            )

        return await self._completed(load, read)

    async def edit(
        self,
        scope_id: int,
        platform_message_id: str,
        *,
        by: ConversationKey,
        text: str,
        tokens: int,
        low_value: bool,
        now_ms: int,
    ) -> bool:
        known = await self._store.edit(
            scope_id, platform_message_id, by=by, text=text, tokens=tokens, low_value=low_value, now_ms=now_ms
        )
        await self._forget(scope_id)
        return known

    async def delete(self, scope_id: int, platform_message_id: str, *, by: ConversationKey, now_ms: int) -> bool:
        known = await self._store.delete(scope_id, platform_message_id, by=by, now_ms=now_ms)
        await self._forget(scope_id)
        return known

    async def _completed(self, wish: Load, read: Callable[[Load], Awaitable[Loaded]]) -> Loaded:
        """Read with a short window and complete it: from Redis if that is the same window's past, else from the store."""
        if wish.page <= self._worth or self._resting:
            return await read(wish)
        kept, loaded = await asyncio.gather(
            self.kept(wish.owner.scope_id),
            read(msgspec.structs.replace(wish, page=TAIL)),
            return_exceptions=True,
        )
        if isinstance(loaded, BaseException):
            raise loaded
        if not loaded.more:
            return loaded
        known = kept if isinstance(kept, Kept) else None
        older = _past(known, loaded, page=wish.page)
        if older is None:
            try:
                older = await self._older(wish, loaded)
            except StoreUnavailable:
                return loaded  # a shorter window, and it says that there is more: what was appended stands
            known = None
        window = (*older, *loaded.window)
        more = len(window) > wish.page or (known is not None and known.more)
        window = window[-wish.page :]
        if loaded.generation is not None and _due(known, loaded):
            await self._keep(Kept(loaded.window[0].scope_id, loaded.session_id, loaded.generation, more, window))
        return msgspec.structs.replace(loaded, window=window, more=more)

    async def _older(self, wish: Load, loaded: Loaded) -> tuple[Message, ...]:
        """Read what the newest messages lack to fill the window, and one more."""
        return await self._store.older(
            wish.owner,
            session_id=loaded.session_id,
            before_id=loaded.window[0].id,
            limit=wish.page - len(loaded.window) + 1,
        )

    async def kept(self, scope_id: int) -> Kept | None:
        """Return the window that is kept for the scope, whatever it is worth; its life begins anew."""
        reply = await self._ask("GETEX", f"{_PREFIX}{scope_id}", "PX", self._ttl_ms)
        try:
            return _decode(reply) if isinstance(reply, bytes) else None
        except (msgspec.MsgspecError, ValueError):
            return None  # not ours, or torn: it is written anew at the end of this turn

    async def _keep(self, window: Kept) -> None:
        await self._ask("SET", f"{_PREFIX}{window.scope_id}", _encode(window), "PX", self._ttl_ms)

    async def _forget(self, scope_id: int) -> None:
        """Take the texts out of Redis. They are worthless there already: the scope's generation has grown."""
        await self._ask("DEL", f"{_PREFIX}{scope_id}")

    async def _forget_all(self) -> None:
        """Take every window out of Redis: a server that answers is asked until it has named them all."""
        cursor = 0
        while isinstance(reply := await self._ask("SCAN", cursor, "MATCH", f"{_WINDOWS}*", "COUNT", 1000), tuple):
            cursor, names = reply
            if names:
                await self._ask("DEL", *names)
            if not cursor:
                return

    @property
    def _resting(self) -> bool:
        return self._clock() < self._resting_until

    async def _ask(self, *command: str | bytes | int) -> object:
        """Return Redis's reply; None when it has none in time, or is left alone."""
        if self._resting:
            return None
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._redis.execute_command(*command)  # type: ignore[no-untyped-call]  # redis-py has no type for it
        except (RedisConnectionError, RedisTimeoutError, OSError, TimeoutError) as exc:
            self._resting_until = self._clock() + REST_S
            logger.warning("redis passed over", extra={"error": type(exc).__name__, "rest_s": REST_S})
        except RedisError as exc:  # it is there, and refuses: full, read-only, another kind of value under the key
            logger.warning("redis refuses", extra={"error": type(exc).__name__})
        return None


def _past(known: Kept | None, loaded: Loaded, *, page: int) -> tuple[Message, ...] | None:
    """Return what comes before the newest messages, None if `known` cannot say.

    It can if it is of the same session and generation, and its last message is, to the letter, one of the newest: so
    nothing is missing between them, and the database that wrote it is the one that answers now.
    """
    if known is None or loaded.generation is None:
        return None
    if (known.session_id, known.generation) != (loaded.session_id, loaded.generation):
        return None
    if not known.messages or known.messages[-1] not in loaded.window:
        return None
    older = tuple(row for row in known.messages if row.id < loaded.window[0].id)
    enough = len(older) + len(loaded.window) >= page or not known.more
    return older if enough else None


def _due(known: Kept | None, loaded: Loaded) -> bool:
    """Tell whether the window should be written anew: it was no help, or soon the newest messages would not reach it."""
    return known is None or known.messages[-1] in loaded.window[: TAIL // 2]
