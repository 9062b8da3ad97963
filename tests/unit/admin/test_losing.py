"""What is taken away ends what is under way: streams, on whatever instance they run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from config.admin import AdminSettings
from gateway.admin.acts.access import USERS_GRANT, USERS_PASSWORD, USERS_REMOVE, USERS_REVOKE
from gateway.admin.acts.credentials import SESSIONS_END, SESSIONS_LIST, TOKENS_CREATE, TOKENS_REVOKE
from gateway.admin.rights import Actor
from gateway.errors import StoreBusy
from tests.contracts.admin_database import open_admin_database
from tests.scenarios.world import locked
from tests.unit.admin.access_world import World, number, world

TakeAway = Callable[[World, Actor, Actor], Awaitable[object]]


async def ended(access: World, owner: Actor, wen: Actor) -> None:
    (sitting,) = (await access.do(owner, SESSIONS_LIST, user=number(wen))).sessions
    await access.do(owner, SESSIONS_END, session=sitting.id)


TAKEN: dict[str, TakeAway] = {
    "removed": lambda access, owner, wen: access.do(owner, USERS_REMOVE, user=number(wen)),
    "revoked": lambda access, owner, wen: access.do(owner, USERS_REVOKE, user=number(wen)),
    "lowered": lambda access, owner, wen: access.do(owner, USERS_GRANT, user=number(wen), role="viewer"),
    "another password": lambda access, owner, wen: access.do(owner, USERS_PASSWORD, user=number(wen)),
    "session ended": ended,
}


@pytest.mark.parametrize("how", TAKEN)
async def test_a_session_that_loses_something_is_told_at_once(access: World, how: str) -> None:
    """Whoever follows the live tail is sent away within two seconds of losing the right to; who lost nothing stays."""
    owner, wen = await access.user("owner", "owner"), await access.user("wen", "admin")
    secret = await access.sessions.begin(int(number(wen)), address="", browser="")

    async def look() -> Actor | None:
        session = await access.sessions.current(secret, rests=True)
        return None if session is None else session.actor

    async def owner_again() -> Actor:
        return owner

    losing = asyncio.create_task(access.entrance.lost(look, wen))
    staying = asyncio.create_task(access.entrance.lost(owner_again, owner))
    await asyncio.sleep(0)
    await TAKEN[how](access, owner, wen)
    async with asyncio.timeout(2):
        await losing

    assert not staying.done()
    staying.cancel()


async def test_a_token_revoked_on_one_instance_ends_on_another(postgres_url: str) -> None:
    """Nothing of it is kept in a process: it opens nothing at once, and streams end within two seconds."""
    async with world(postgres_url) as one, world(postgres_url) as other:
        owner = await one.user("owner", "owner")
        token = await one.do(owner, TOKENS_CREATE, name="ci")
        actor = await other.acting(token.secret)
        losing = asyncio.create_task(other.entrance.lost(lambda: other.tokens.actor(token.secret), actor))
        await asyncio.sleep(0)
        await one.do(owner, TOKENS_REVOKE, token=token.id)

        assert await other.tokens.actor(token.secret) is None
        async with asyncio.timeout(2):
            await losing


async def test_a_store_that_is_away_ends_it(access: World) -> None:
    """Who can't be told to be still allowed is not shown more."""
    owner = await access.user("owner", "owner")

    async def away() -> Actor | None:
        raise StoreBusy("away", retry_after_s=1)

    await access.database.tell("access")
    async with asyncio.timeout(2):
        await access.entrance.lost(away, owner)


async def test_looking_whether_a_session_is_good_is_no_use_of_it(access: World) -> None:
    """A page left open does not keep its session awake."""
    owner = await access.user("owner", "owner")
    secret = await access.sessions.begin(int(number(owner)), address="", browser="")
    idle_ms = int(access.settings.session_idle_s * 1000)
    access.now_ms += idle_ms - 1
    assert await access.sessions.current(secret, rests=True) is not None
    access.now_ms += 1

    assert await access.sessions.current(secret, rests=True) is None


async def test_who_can_not_be_noted_as_seen_comes_in_all_the_same(tmp_path: Path) -> None:
    """Another program holds the file: sessions and tokens are read and work, and only the times of their last use are old."""
    path = tmp_path / "admin.db"
    async with open_admin_database(f"sqlite:///{path}", timeout_s=0.1) as database:
        access = World(database, AdminSettings())
        owner = await access.user("owner", "owner")
        secret = await access.sessions.begin(int(number(owner)), address="", browser="")
        token = await access.do(owner, TOKENS_CREATE, name="ci")
        access.now_ms += 120_000
        with locked(path):
            session, actor = await access.sessions.current(secret), await access.tokens.actor(token.secret)

    assert session is not None
    assert actor is not None
