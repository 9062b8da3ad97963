"""The audit log, over both databases."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from gateway.admin.acts.access import USERS_ADD, USERS_GRANT, USERS_LIST
from gateway.admin.acts.audit import AUDIT_EXPORT, AUDIT_LIST
from gateway.admin.audit import LONGEST, OLD, Audit
from gateway.admin.operations import Acting, Refused, Stream
from gateway.admin.rights import Actor, Grant
from tests.unit.admin.access_world import World, number


async def exported(access: World, actor: Actor, **fields: object) -> list[dict[str, object]]:
    stream = await access.do(actor, AUDIT_EXPORT, **fields)
    assert isinstance(stream, Stream)
    assert "application/x-ndjson" == stream.media
    return [msgspec.json.decode(line) for line in b"".join([piece async for piece in stream.pieces]).splitlines()]


async def test_what_was_done_and_refused_is_in_the_log(access: World) -> None:
    """Who, by which door, what, with which ids; the newest first. No name, no password: names are looked up when read."""
    owner, wen = await access.user("owner", "owner"), await access.user("wen", "admin")
    await access.do(owner, USERS_ADD, name="李雷", password="a password that is long", grants=[{"role": "viewer"}])
    access.now_ms += 1
    with pytest.raises(Refused):
        await access.do(wen, USERS_LIST)
    page = await access.do(owner, AUDIT_LIST)

    assert [
        ("users.list", "refused", "no", wen.id, {}),
        ("users.add", "done", "act", owner.id, {"user": 3, "grants": "viewer@*"}),
    ] == [(one.operation, one.outcome, one.audited, one.actor, one.about) for one in page.entries]
    assert {owner.id: "owner", wen.id: "wen"} == page.names
    async with access.database.reading() as db:
        stored = repr([tuple(row) for row in await db.rows("SELECT * FROM admin_audit")])
    assert not [word for word in ("李雷", "a password", "wen", "owner") if word in stored]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE admin_audit SET actor = 'local'",
        "UPDATE admin_audit SET outcome = 'done' WHERE id = 1",
        "DELETE FROM admin_audit",
    ],
)
async def test_the_database_itself_refuses_to_change_an_entry(access: World, statement: str) -> None:
    """Append-only for whoever writes SQL too; nothing is changed by trying."""
    owner = await access.user("owner", "owner")
    await access.do(owner, USERS_ADD, name="wen")
    before = await exported(access, owner, operation="users")
    with pytest.raises(ValueError, match="refuses"):
        async with access.database.writing() as db:
            await db.run(statement)

    assert before == await exported(access, owner, operation="users")


async def test_postgresql_refuses_to_empty_the_log(access: World, admin_url: str) -> None:
    """TRUNCATE passes row triggers by; SQLite has none."""
    if admin_url.startswith("postgresql"):
        with pytest.raises(ValueError, match="refuses"):
            async with access.database.writing() as db:
                await db.run("TRUNCATE admin_audit")


async def test_what_the_settings_no_longer_keep_goes(access: World) -> None:
    """Only what is older, in pieces; what is kept stays append-only."""
    owner = await access.user("owner", "owner")
    acting = Acting(actor=owner, operation=USERS_ADD)
    await asyncio.gather(*(access.audit.write(acting, outcome="done") for _ in range(20)))
    access.now_ms += 1000
    await access.audit.write(acting, outcome="failed")
    limit = access.now_ms

    assert 20 == await access.audit.expire(limit)
    assert 0 == await access.audit.expire(limit - 500)
    assert ["failed"] == [entry["outcome"] for entry in await exported(access, owner, operation="users.add")]
    with pytest.raises(ValueError, match="refuses"):
        async with access.database.writing() as db:
            await db.run("DELETE FROM admin_audit")


async def test_pages_and_conditions(access: World) -> None:
    """By actor, act or part, outcome, channel and time; pages meet without a gap. Wildcards are letters."""
    owner, wen = await access.user("owner", "owner"), await access.user("wen")
    for n, channel in enumerate(["shop", "help", "shop"]):
        access.now_ms += 10
        await access.do(owner, USERS_GRANT, user=number(wen), role="viewer", channel=channel)
        assert n < 3
    access.now_ms += 10
    await access.do(owner, USERS_ADD, name="new")
    now = access.now_ms

    async def count(**asked: object) -> int:
        return len((await access.do(owner, AUDIT_LIST, **asked)).entries)

    assert [4, 4, 3, 0, 0, 0, 0] == [
        await count(**asked)
        for asked in (
            {},
            {"operation": "users"},
            {"operation": "users.grant"},
            {"operation": "user_"},
            {"operation": "%"},
            {"actor": "local"},
            {"outcome": "refused"},
        )
    ]
    assert [2, 1, 3, 1] == [
        await count(**asked)
        for asked in ({"channel": "shop"}, {"from_ms": now}, {"until_ms": now}, {"from_ms": now - 10, "until_ms": now})
    ]
    seen, after = [], None
    while True:
        page = await access.do(owner, AUDIT_LIST, limit=3, after=after)
        seen += [entry.id for entry in page.entries]
        if (after := page.next) is None:
            break
    assert 4 == len(set(seen))
    assert seen == sorted(seen, key=int, reverse=True)


async def test_a_channels_admin_reads_of_that_channel(access: World) -> None:
    """Neither of others, nor of what was done to the gateway as a whole; who may read no log reads none."""
    owner, wen = await access.user("owner", "owner"), await access.user("wen")
    mine = await access.user("mine", "admin", "shop")
    both = msgspec.structs.replace(mine, grants=(*mine.grants, Grant(role="admin", channel="shop-2")))
    await access.audit.write(Acting(actor=owner, operation=USERS_GRANT, channel="%"), outcome="refused")
    for channel in ("shop", "shop-2", "shop-22"):
        await access.do(owner, USERS_GRANT, user=number(wen), role="viewer", channel=channel)
    await access.do(owner, USERS_ADD, name="new")

    assert ["shop"] == [entry.channel for entry in (await access.do(mine, AUDIT_LIST)).entries]
    assert ["shop", "shop-2"] == [entry["channel"] for entry in await exported(access, both)]
    assert () == (await access.do(mine, AUDIT_LIST, channel="shop-22")).entries
    with pytest.raises(Refused):
        await access.do(await access.user("op", "operator"), AUDIT_EXPORT)


async def test_the_export_is_whole(access: World) -> None:
    """However many there are; what is written meanwhile waits for the next one."""
    owner = await access.user("owner", "owner")
    async with access.database.writing() as db:
        for n in range(1100):
            await db.run(
                """INSERT INTO admin_audit (at_ms, actor, door, operation, audited, outcome, about)
                VALUES (:at, 'local', 'cli', 'users.add', 'act', 'done', :about)""",
                at=access.now_ms,
                about=f'{{"n":{n}}}',
            )
    stream = await access.do(owner, AUDIT_EXPORT, operation="users.add")
    pieces = [await anext(stream.pieces)]
    access.now_ms += 1
    await access.do(owner, USERS_ADD, name="late")
    pieces += [piece async for piece in stream.pieces]

    lines = [msgspec.json.decode(line) for line in b"".join(pieces).splitlines()]
    assert list(range(1100)) == [line["about"]["n"] for line in lines]


async def test_long_words_are_cut(access: World) -> None:
    """An entry has a bound, whatever a part notes."""
    owner = await access.user("owner", "owner")
    acting = Acting(actor=owner, operation=USERS_ADD)
    acting.note(path="x" * (LONGEST + 1), count=3, none=None)
    await access.audit.write(acting, outcome="done")

    assert {"path": "x" * LONGEST, "count": 3, "none": None} == (await exported(access, owner))[0]["about"]


async def test_old_entries_are_found_without_reading_the_log(access: World, admin_url: str) -> None:
    """The clean-up looks every hour, on SQLite while nobody else may write."""
    if admin_url.startswith("sqlite"):
        async with access.database.reading() as db:
            plan = await db.rows(f"EXPLAIN QUERY PLAN {OLD}", before=5, most=500)
        assert "admin_audit_at" in repr(plan)


async def test_an_entry_that_cannot_be_written_is_counted(access: World) -> None:
    """Somebody is woken for it: an act without an entry is one that nobody can answer for."""
    failures: list[None] = []
    owner = await access.user("owner", "owner")
    audit = Audit(access.database, clock=lambda: 0, failed=lambda: failures.append(None))
    acting = Acting(actor=owner, operation=USERS_ADD)
    await audit.write(acting, outcome="done")
    assert [] == failures

    acting.about["broken"] = object()  # type: ignore[assignment]  # no JSON has it: the entry can't be made
    with pytest.raises(TypeError):
        await audit.write(acting, outcome="done")
    assert 1 == len(failures)
