"""What the console said over the file, and the secrets it refers to: kept in both databases, exactly and safely."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from config.overlay import Overlay
from config.problems import Fault
from config.vault_key import check_vault_key, keys_of
from gateway.admin.database import Database, Transaction
from gateway.admin.operations import Disagrees, Invalid
from gateway.admin.revisions import TOPIC, Revisions
from gateway.admin.rights import Actor, local
from gateway.admin.vault import Vault
from tests.contracts.admin_database import URLS, open_admin_database

KEY, OLD_KEY = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
SECRET = "xoxb-geheim-秘密-🔑"
ACTOR = Actor(id="user:7", name="Ána 安娜", grants=local().grants, door="console")
NOW = 1_790_000_000_000


@pytest.fixture(params=URLS.values(), ids=URLS)
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    make: Callable[[pytest.FixtureRequest], str] = request.param
    async with open_admin_database(make(request)) as opened:
        yield opened


def revisions_of(database: Database) -> Revisions:
    return Revisions(database, clock=lambda: NOW)


def vault_of(database: Database, *keys: str) -> Vault:
    held = keys_of(SecretStr(",".join(keys))) if keys else ()
    return Vault(database, keys=lambda: held, clock=lambda: NOW)


async def nothing(_: Transaction, ms: int) -> None:
    """Nothing is written beside it."""


async def put(revisions: Revisions, tree: dict[str, Any], *, expected: int) -> int:
    made = await revisions.put(
        tree, expected=expected, actor=ACTOR, reason="Größe 大小", digest=f"d{expected}", beside=nothing
    )
    return made.number


async def test_revisions_are_kept_as_they_were_said(database: Database) -> None:
    """Any text comes back exactly, newest first, with who and when and why."""
    revisions = revisions_of(database)
    trees: list[dict[str, Any]] = [{"a": None}, {"订单": {"=": {"😀\x00": [1.5, True, "${X}"]}}}, {}]
    for number, tree in enumerate(trees):
        assert number + 1 == await put(revisions, tree, expected=number)

    found = await revisions.before(None, limit=2)

    assert [3, 2] == [revision.number for revision in found]
    assert [1] == [revision.number for revision in await revisions.before(2, limit=9)]
    assert ("user:7", "Ána 安娜", NOW, "Größe 大小", "d2") == (
        found[0].author,
        found[0].name,
        found[0].ms,
        found[0].reason,
        found[0].digest,
    )
    assert Overlay(number=3, tree={}) == await revisions.newest()
    assert trees == [getattr(await revisions.overlay(number), "tree", None) for number in (1, 2, 3)]
    assert found[1] == await revisions.revision(2)


async def test_before_the_first_revision_nothing_is_said(database: Database) -> None:
    """None is the newest, revision 0 says nothing, and others are unknown."""
    revisions = revisions_of(database)

    assert (None, None, None) == (await revisions.newest(), await revisions.overlay(4), await revisions.revision(4))
    assert Overlay(number=0, tree={}) == await revisions.overlay(0)


async def test_of_two_changes_decided_on_one_revision_one_is_made(database: Database) -> None:
    """The other is told to look again, at once or later, and leaves nothing behind, not beside it either."""
    revisions, vault = revisions_of(database), vault_of(database, KEY)

    async def beside(transaction: Transaction, ms: int) -> None:
        await vault.write(transaction, vault.seal({"late": SECRET}), actor=ACTOR, ms=ms)

    outcomes = await asyncio.gather(*(put(revisions, {"n": n}, expected=0) for n in range(5)), return_exceptions=True)
    with pytest.raises(Disagrees, match="since revision 0"):
        await revisions.put({}, expected=0, actor=ACTOR, reason="", digest="", beside=beside)

    assert [1] == [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert 4 == sum(isinstance(outcome, Disagrees) for outcome in outcomes)
    assert 1 == len(await revisions.before(None, limit=9))
    assert [] == await vault.kept()


async def test_what_a_revision_refers_to_is_known(database: Database) -> None:
    """Of every revision there ever was: the way back to it needs the secret."""
    revisions = revisions_of(database)
    await put(revisions, {"channels": {"a": {"=": {"token": "vault:channels.a.token"}}}}, expected=0)
    await put(revisions, {}, expected=1)

    assert await revisions.refers("channels.a.token")
    assert not await revisions.refers("channels.a.tok")
    assert not await revisions.refers("token")


async def test_secrets_are_told_apart_by_when_they_were_stored(database: Database) -> None:
    """Up to a moment, itself included; stored again is stored later."""
    vault = vault_of(database, KEY)
    await vault.put("one", SECRET, actor=ACTOR)

    assert {"one"} == await vault.names() == await vault.names(until_ms=NOW)
    assert set() == await vault.names(until_ms=NOW - 1)


async def test_all_are_told_of_a_revision(database: Database) -> None:
    """Whoever follows the settings hears within a second."""
    revisions = revisions_of(database)
    hearing = asyncio.create_task(database.changed(TOPIC, 0))
    await put(revisions, {}, expected=0)

    async with asyncio.timeout(5):
        assert 1 == await hearing


async def test_a_secret_comes_back_to_the_loader_alone(database: Database) -> None:
    """It is listed by name, time and author; what lies in the database is not it; the newest of a name counts."""
    vault = vault_of(database, KEY)
    await vault.put("hook.key", "before", actor=local())
    await vault.put("hook.key", SECRET, actor=ACTOR)

    kept = await vault.kept()

    assert [("hook.key", NOW, "user:7", "Ána 安娜", True)] == [
        (one.name, one.ms, one.author, one.author_name, one.readable) for one in kept
    ]
    assert SECRET not in repr(kept)
    assert {"hook.key": SECRET} == await vault.opened()
    assert await vault.remove("hook.key")
    assert not await vault.remove("hook.key")
    assert {} == await vault.opened()


async def test_no_byte_of_a_secret_is_in_the_file(tmp_path: Path) -> None:
    """Whoever has the database has no secret of it, whatever part of the file they look at."""
    path = tmp_path / "admin.db"
    async with open_admin_database(f"sqlite:///{path}") as database:
        await vault_of(database, KEY).put("hook.key", SECRET, actor=ACTOR)
        raw = b"".join(file.read_bytes() for file in tmp_path.iterdir())

    assert b"hook.key" in raw
    assert SECRET.encode() not in raw
    assert b"geheim" not in raw
    assert base64.b64decode(KEY) not in raw


async def test_a_new_key_takes_over(database: Database) -> None:
    """Under both keys old secrets are read and put under the first one; then the old key can go."""
    await vault_of(database, OLD_KEY).put("one", SECRET, actor=ACTOR)
    both = vault_of(database, KEY, OLD_KEY)
    await both.put("two", SECRET, actor=ACTOR)

    assert {"one": SECRET, "two": SECRET} == await both.opened()
    assert 1 == await both.reseal()
    assert 0 == await both.reseal()
    assert {"one": SECRET, "two": SECRET} == await vault_of(database, KEY).opened()


async def test_without_its_key_a_secret_is_known_by_name_only(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are read; the log names it, and a list says so. Without any key nothing can be put in."""
    await vault_of(database, OLD_KEY).put("one", SECRET, actor=ACTOR)
    other, none = vault_of(database, KEY), vault_of(database)

    with caplog.at_level(logging.WARNING):
        assert {} == await other.opened()
    assert ["a secret can't be opened: its key is not here"] == [record.message for record in caplog.records]
    assert [False] == [one.readable for one in await other.kept()]
    assert 0 == await other.reseal()
    assert 0 == await none.reseal()
    with pytest.raises(Invalid, match="set CLEW_SECRET_KEY and start again"):
        await none.put("two", SECRET, actor=ACTOR)


async def test_a_secret_under_another_name_or_changed_is_not_believed(database: Database) -> None:
    """Who can write to the database can't give one channel another's secret, nor alter one."""
    vault = vault_of(database, KEY)
    await vault.put("one", SECRET, actor=ACTOR)
    await vault.put("two", "other", actor=ACTOR)
    async with database.writing() as db:
        ((sealed,),) = await db.rows("SELECT sealed FROM vault WHERE name = :name", name="one")
        await db.run("UPDATE vault SET sealed = :sealed WHERE name = :name", sealed=bytes(sealed), name="two")
        await db.run(
            "UPDATE vault SET sealed = :sealed WHERE name = :name", sealed=bytes(sealed)[:-1] + b"\x00", name="one"
        )

    assert {} == await vault.opened()


async def test_there_is_room_for_so_many_secrets_only(database: Database) -> None:
    """One too many is refused, and says what to do."""
    vault = vault_of(database, KEY)
    async with database.writing() as db:
        await vault.write(db, dict.fromkeys((f"n{n}" for n in range(1000)), b"x"), actor=ACTOR, ms=NOW)

    with pytest.raises(Invalid, match="there are 1000 secrets; remove those"):
        await vault.put("more", SECRET, actor=ACTOR)
    assert 1000 == len(await vault.kept())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("not base64!", "is not base64"),
        ("c2hvcnQ=", "holds 5 bytes, not 32"),
        (f"{KEY},c2hvcnQ=", "holds 5 bytes, not 32"),
    ],
)
def test_a_key_that_is_none_is_met_at_the_load(text: str, problem: str) -> None:
    """Its problem does not quote it, and says how to make one."""
    faults: list[Fault] = list(check_vault_key(("admin", "secret_key"), SecretStr(text)))

    assert [problem] == [fault[1] for fault in faults]
    assert all("head -c 32" in fault[2] for fault in faults)


def test_a_key_may_be_written_either_way() -> None:
    """Base64 as of URLs or not, several by commas or blanks; none is fine too."""
    key = bytes(range(224, 256))
    texts = (base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode())

    assert (key, key) == keys_of(SecretStr(" ,\n".join(texts)))
    assert [] == list(check_vault_key((), SecretStr(KEY)))
    assert [] == list(check_vault_key((), None))
