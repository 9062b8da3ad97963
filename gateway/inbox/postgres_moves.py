"""What moves on PostgreSQL: waiting messages to another lane, waiting chunks to another room, or nowhere any more. Rare, so one
by one. Locks as in `postgres_events`: lanes by name, queues by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.inbox.base import Claim, Redirect
from gateway.inbox.postgres_events import HELD, Connection, held, lost
from gateway.inbox.postgres_outbox import END_TURNS
from gateway.inbox.rows import LIVE, UNSAID, WAITING, dedupe_digests, outcome_text, storable, undeliverable

_MESSAGES = f"lane = %(lane)s AND {WAITING} AND kind = 'message'"
_PLACES = f"SELECT DISTINCT queue, address FROM outbox_chunks WHERE channel = %s AND {LIVE}"
_TARGET = f"""
INSERT INTO inbox_lanes (lane, since_ms) SELECT %(to)s, coalesce(min(accepted_ms), 0) FROM inbox_events WHERE {_MESSAGES}
ON CONFLICT (lane) DO UPDATE SET since_ms = 0 WHERE false"""


async def move_messages(db: Connection, claim: Claim, *, to: str, owner: int) -> None:
    """Put what waits in a held lane into another. Raises `LeaseLost`."""
    parameters = {**held([claim]), "owner": owner, "lane": claim.lane, "to": to}
    async with db.transaction():
        if to < claim.lane:
            await db.execute(_TARGET, parameters)
        cursor = await db.execute(f"WITH {HELD} SELECT lane FROM held", parameters)
        if await cursor.fetchone() is None:
            raise lost(claim.fence)
        if to > claim.lane:
            await db.execute(_TARGET, parameters)
        await db.execute(
            f"UPDATE inbox_events SET lane = %(to)s, attempts = attempts - (state = 'running')::int WHERE {_MESSAGES}",
            parameters,
        )


async def move_chunks(db: Connection, channel: str, redirect: Redirect) -> None:
    """Do what `Outbox.redirect` promises."""
    async with db.transaction():
        cursor = await db.execute(_PLACES, (channel,))
        targets = [
            (queue, address, storable(target.queue), target.address)
            for queue, address in await cursor.fetchall()
            if (target := redirect(address)) is not None
        ]
        free = await locked(db, {name for queue, _, to, _ in targets for name in (queue, to)})
        for queue, address, to, new_address in targets:
            if {queue, to} <= free:
                await db.execute(
                    "UPDATE outbox_chunks SET queue = %s, address = %b, shown = NULL"
                    f" WHERE queue = %s AND address = %b AND {LIVE}",
                    (to, new_address, queue, address),
                )
        await due_again(db, sorted(free))


async def drop_chunks(
    db: Connection, channel: str, gone: Callable[[bytes], bool], *, error: str, now_ms: int
) -> list[int]:
    """Do what `Outbox.give_up` promises."""
    turns: set[int] = set()
    async with db.transaction():
        cursor = await db.execute(_PLACES, (channel,))
        places = [(queue, address) for queue, address in await cursor.fetchall() if gone(address)]
        free = await locked(db, {queue for queue, _ in places})
        for queue, address in places:
            if queue in free:
                dropped = await db.execute(
                    "UPDATE outbox_chunks SET state = 'dead', error = %s, settled_ms = %s"
                    f" WHERE queue = %s AND address = %b AND {LIVE} RETURNING turn_id",
                    (storable(error), now_ms, queue, address),
                )
                turns.update(turn_id for (turn_id,) in await dropped.fetchall())
        ended = sorted(turns)
        outcomes = [outcome_text(undeliverable(error)) for _ in ended]
        await db.execute(END_TURNS, {"over": ended, "outcomes": outcomes})
        await due_again(db, sorted(free))
    return ended


async def take_back(db: Connection, channel: str, name: str, *, former: Sequence[str]) -> bool:
    """Do what `Outbox.take_back` promises."""
    digests = dedupe_digests(channel, [name, *former])
    async with db.transaction():
        cursor = await db.execute(
            "SELECT DISTINCT c.queue, c.turn_id FROM outbox_announced n JOIN outbox_chunks c USING (turn_id)"
            " WHERE n.digest = %s AND EXISTS (SELECT 1 FROM outbox_announced a"
            f" WHERE a.digest = ANY(%s::bytea[]) AND NOT {UNSAID})",
            (digests[0], digests[1:]),
        )
        found = await cursor.fetchall()
        free = await locked(db, {queue for queue, _ in found})
        # Looked at under the locks: somebody may have sent a part meanwhile.
        cursor = await db.execute(
            "SELECT bool_and(state = 'waiting' AND queue = ANY(%s::text[])) FROM outbox_chunks"
            " WHERE turn_id = ANY(%s::bigint[])",
            (sorted(free), [turn_id for _, turn_id in found]),
        )
        unsent = bool((await cursor.fetchall())[0][0])
        if unsent:
            await db.execute(
                "DELETE FROM outbox_chunks WHERE turn_id = ANY(%s::bigint[])", ([turn_id for _, turn_id in found],)
            )
        await due_again(db, sorted(free))
    return unsent


async def locked(db: Connection, queues: set[str]) -> set[str]:
    """Lock the queues' rows, made where they are missing; return those that nobody sends from."""
    names = sorted(queues, key=str.encode)
    await db.execute(
        "INSERT INTO outbox_queues (queue, due_ms) SELECT queue, 0 FROM unnest(%s::text[]) AS q (queue)"
        ' ORDER BY queue COLLATE "C" ON CONFLICT (queue) DO UPDATE SET due_ms = 0 WHERE false',
        (names,),
    )
    # A statement of its own: the one above may have waited for whoever has just begun to send.
    cursor = await db.execute(
        "SELECT queue FROM outbox_queues q WHERE queue = ANY(%s::text[]) AND owner IS NULL AND NOT EXISTS ("
        f"SELECT 1 FROM outbox_chunks c WHERE c.queue = q.queue AND c.{LIVE} AND state = 'sending')",
        (names,),
    )
    return {queue for (queue,) in await cursor.fetchall()}


async def due_again(db: Connection, queues: list[str]) -> None:
    """Let each queue be due when its head is; one in which nothing waits any more goes. Their rows are locked."""
    head = f"(SELECT due_ms FROM outbox_chunks c WHERE c.queue = q.queue AND c.{LIVE} ORDER BY id LIMIT 1)"
    await db.execute(f"DELETE FROM outbox_queues q WHERE queue = ANY(%s::text[]) AND {head} IS NULL", (queues,))
    await db.execute(f"UPDATE outbox_queues q SET due_ms = {head} WHERE queue = ANY(%s::text[])", (queues,))
