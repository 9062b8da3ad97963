"""A person's end through the whole application: unique words in two languages go in by every way there is, the person is erased,
and then the raw bytes of the storage, of Redis and of every log line are searched for them. B46, E06; mem0ai/mem0#3245,
redis/agent-memory-server#184."""

from __future__ import annotations

import asyncio
import io
import json
import re
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.__main__ import main
from tests.forks import fork
from tests.residues import in_postgres, in_redis, in_sqlite, left_of
from tests.scenarios.kill_at import armed
from tests.scenarios.remembered import Change, condensed, learned, notes_of
from tests.scenarios.stage import Held, Stage, echo, said, stage
from tests.scenarios.world import SECRET, Gateway, Prompt, Refusal, gateway

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: stub, api_key: "key-0123456789"}
defaults:
  trigger: [always]
  memory: {window: {turns: 60, messages: 120}, summary: {start_turns: 61}}
channels:
  hook:
    kind: webhook
    secrets: ["${HOOK}"]
    limits: {per_minute: 1000}
    rooms:
      tight: {memory: {window: {turns: 1, keep_turns: 1}, summary: {start_turns: 2}}}
      quiet: {trigger: [prefix], prefix: ["bot "], observe: true}
      deaf: {trigger: [prefix], prefix: ["bot "]}
"""

ME, NAME = "Zwölfender-77", "Hieronymus Löwenzahn"
WORDS = (
    "Quittengelee", "琥珀色河马", "Seegurke🥒", "翡翠长颈鹿", "Glühwürmchen", "孔雀蓝的雨伞", "Pfefferminztee", "水晶刺猬",
    "Stachelbeere", "Sternfrucht", "杨桃", "Mitternachtsblau", ME, NAME,
)  # fmt: skip
NOTES: dict[str, Sequence[Change]] = {
    "Quittengelee": [("set", "likes", "Quittengelee"), ("set", "city", "琥珀色河马")],
    "Seegurke🥒": [("set", "likes", "Seegurke🥒")],
}


def refusing(prompt: Prompt) -> str | Refusal:
    """Answer as `echo` does, but for one question, whose turn fails."""
    return Refusal(400) if "Sternfrucht" in said(prompt) else echo(prompt)


@asynccontextmanager
async def world(folder: Path, storage: str) -> AsyncIterator[Stage]:
    async with stage(folder, BODY, storage=storage, script=refusing) as running:
        running.model.notes = lambda prompt: notes_of(NOTES, prompt)
        running.model.summary = condensed
        yield running


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", SECRET)


async def people(gateway: Gateway, *arguments: str) -> tuple[int, str, str]:
    """Run `python -m gateway people`, without waiting for another interpreter; return exit code, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = await asyncio.to_thread(main, ["people", *arguments, "--config", str(gateway.config)])
    return code, out.getvalue(), err.getvalue()


async def told(gateway: Gateway, *arguments: str) -> Any:
    code, out, err = await people(gateway, *arguments, "--json")
    assert 0 == code, err
    return json.loads(out)


async def person(gateway: Gateway, account: str = ME) -> str:
    """Return the number of the person with the account."""
    (found,) = [
        str(one["person"])
        for one in await told(gateway, "list")
        if account in [identity["account"] for identity in one["identities"]]
    ]
    return found


def residues(there: Stage, storage: str) -> list[str]:
    """Return what is left of the words in the storage, in Redis and in the log."""
    url, _, cache = storage.partition("\nredis: ")
    where = in_sqlite(there.database) if url.startswith("sqlite") else in_postgres(url)
    where += in_redis(cache) if cache else b""
    return left_of(WORDS, where + "\n".join(there.gateway.log).encode())


async def live(there: Stage, storage: str) -> list[dict[str, Any]]:
    """Talk as the person in every way that there is; return the turns."""
    hook = there.hook()
    turns = []

    async def say(text: str, **fields: Any) -> None:
        turns.append(await hook.say(text, **({"sender": ME, "name": NAME} | fields)))

    for number in range(6):  # long enough for a window that is cached
        await say(f"{number}: my jam is Quittengelee, my city is 琥珀色河马")
    for _ in range(3):
        await say("we said Glühwürmchen and 孔雀蓝的雨伞", conversation="tight")
    group = {"conversation": "g1", "chat_type": "group"}
    for number in range(6):
        await say(f"{number}: I like Seegurke🥒 and 翡翠长颈鹿", **group)
    await hook.say("good morning", sender="other", name="Otto", **group)
    await say("only Pfefferminztee 水晶刺猬 talk", conversation="quiet", chat_type="group")
    await say("nobody heard Stachelbeere", conversation="deaf", chat_type="group")
    await say("what is Sternfrucht, 杨桃?", conversation="failing")
    assert there.model.script is echo or turns[-1]["status"] == "failed"
    await say("/new 孔雀蓝的雨伞")
    await say("/memory")
    return turns


async def test_nothing_is_left_of_a_person_anywhere(tmp_path: Path, storage: str) -> None:
    """Neither in files nor in caches nor in logs; and others keep what is theirs."""
    async with world(tmp_path, storage) as there:
        turns = await live(there, storage)
        await learned(storage)
        me = await person(there.gateway)
        shown = await told(there.gateway, "show", me)
        assert {"Quittengelee", "琥珀色河马"} <= set(left_of(WORDS, json.dumps(shown, ensure_ascii=False).encode()))
        before = set(residues(there, storage))
        assert {*WORDS} - {"Mitternachtsblau"} == before
        assert "redis" not in storage or left_of(WORDS, in_redis(storage.partition("redis: ")[2]))
        assert [("summaries",)] == there.rows("SELECT 'summaries' FROM summaries LIMIT 1")

        code, out, err = await people(there.gateway, "erase", me, "--json")
        assert 0 == code, err
        receipt = json.loads(out)

        assert [] == residues(there, storage)
        assert me == receipt["person"]
        counts = receipt["erased"]
        wanted = ("messages", "ledgers", "summaries", "sessions", "scopes", "observed", "identities", "inbox_events")
        assert [] == [kind for kind in wanted if not counts[kind]]
        assert not any((await told(there.gateway, "erase", me))["erased"].values())
        again = await there.hook().turn(turns[0])
        assert ("answered", "") == (again["status"], again["reply"]["text"])
        # On a file the command has asked the gateway; elsewhere it did the work itself, and logs it alike.
        log = there.gateway.log if storage.startswith("sqlite") else err.splitlines()
        (audit,) = [json.loads(line) for line in log if "person erased" in line][:1]
        assert receipt == {name: audit[name] for name in ("person", "erased")}
        assert ("info", "gateway.admin.people") == (audit["level"], audit["logger"])

        heard = await there.hook().say("and you?", sender="other", name="Otto", conversation="g1", chat_type="group")
        assert "re: [Otto]: and you?" == heard["reply"]["text"]
        prompt = json.dumps(there.model.prompts[-1], ensure_ascii=False)
        assert "good morning" in prompt
        assert [] == left_of(WORDS, prompt.encode())


async def test_who_comes_again_is_a_new_person_with_nothing(tmp_path: Path, storage: str) -> None:
    """Who goes on in the same rooms is known by nothing that was before."""
    async with world(tmp_path, storage) as there:
        await live(there, storage)
        await learned(storage)
        me = await person(there.gateway)
        await told(there.gateway, "erase", me)

        for fields in ({}, {"conversation": "g1", "chat_type": "group"}):
            turn = await there.hook().say("hello", sender=ME, name=NAME, **fields)
            assert turn["reply"]["text"].endswith(": hello")
            prompt = json.dumps(there.model.prompts[-1], ensure_ascii=False).replace(NAME, "")
            assert [] == left_of(WORDS, prompt.encode())

        assert me != await person(there.gateway)
        known = await told(there.gateway, "show", await person(there.gateway))
        assert ([], []) == (known["profile"], known["facts"])


async def test_a_turn_under_way_ends_and_leaves_nothing(tmp_path: Path, storage: str) -> None:
    """What runs is cut short, what waits behind it ends in sight, and neither comes back by itself."""
    async with world(tmp_path, storage) as there:
        held = Held("Mitternachtsblau ")
        there.play(held)
        hook = there.hook()
        running = await hook.say("Quittengelee?", sender=ME, name=NAME, mode="async")
        await hook.shown(running, "Mitternachtsblau")
        waiting = await hook.say("/memory 翡翠长颈鹿", sender=ME, name=NAME, mode="async")
        in_group = {"conversation": "g1", "chat_type": "group"}
        grouped = await hook.say("Seegurke🥒", sender=ME, name=NAME, mode="async", **in_group)
        await hook.shown(grouped, "Mitternachtsblau")

        await told(there.gateway, "erase", await person(there.gateway))
        held.go_on.set()

        for turn in (running, waiting, grouped):
            ended = await hook.settled(turn)
            assert ("ignored", "person_erased") == (ended["status"], ended["rule"])
        there.play(echo)
        assert "re: [other]: hi" == (await hook.say("hi", sender="other", **in_group))["reply"]["text"]
        assert "re: hi" == (await hook.say("hi", sender="other"))["reply"]["text"]
        assert [] == residues(there, storage)


async def test_a_person_is_erased_without_a_gateway_too(tmp_path: Path) -> None:
    """Then the command takes the store's lock itself; numbers that name nobody say so."""
    async with world(tmp_path, f"sqlite:///{tmp_path / 'clew.db'}") as there:
        await live(there, there.storage or "")
        await learned(there.storage or "")
        me = await person(there.gateway)
        door = tmp_path / "clew.db.door"
        assert 0o600 == door.stat().st_mode & 0o777
        url = json.loads(door.read_text())["url"]
        async with there.session.post(f"{url}/people/{me}/erase", headers={"authorization": "Bearer x"}) as response:
            assert 401 == response.status
        code, out, _ = await people(there.gateway, "export", me)
        assert 0 == code
        code, shown, _ = await people(there.gateway, "show", me)
        assert 0 == code
        assert {"Quittengelee", "琥珀色河马", "(for this session)"} <= {
            word for word in (*WORDS, "(for this session)") if word in shown
        }
        told_where = door.read_text()
        assert all(
            re.match(r"  \d{4}-\d\d-\d\d  (constraint|preference|identity|service|fact|session) +\S", line)
            for line in shown.splitlines()[1:]
        )
        door.write_text("{}")
        code, _, why = await people(there.gateway, "erase", me)
        assert (1, True) == (code, "lock" in why or "process" in why), "another one has the file, and can't be reached"
        door.write_text(told_where)
        assert 0 == await there.gateway.stop()
        assert not door.exists()

        assert (1, "") == (await people(there.gateway, "erase", "404"))[:2]
        assert (1, "") == (await people(there.gateway, "show", "404"))[:2]
        assert (1, "") == (await people(there.gateway, "export", "404"))[:2]
        assert (2, "") == (await people(there.gateway, "erase", "me"))[:2]
        assert (
            2,
            "",
            "people show: name a PERSON by number or as KIND:TENANT:ACCOUNT, as `people list` tells them\n",
        ) == (await people(there.gateway, "show"))
        code, text, _ = await people(there.gateway, "erase", me)

        assert (0, f"person {me} is erased") == (code, text.splitlines()[0])
        assert [] == residues(there, there.storage or "")
        assert f"{me}  erased" in (await people(there.gateway, "list"))[1].splitlines()

    document = json.loads(out)
    assert [{"kind": "webhook", "tenant": "hook", "account": ME}] == document["identities"]
    assert {
        "Quittengelee",
        "琥珀色河马",
        "Seegurke🥒",
        "翡翠长颈鹿",
        "Glühwürmchen",
        "孔雀蓝的雨伞",
        "水晶刺猬",
        ME,
        NAME,
    } <= set(left_of(WORDS, out.encode()))
    ids = {row["id"] for row in document["messages"]}
    assert {"user", "assistant"} == {row["role"] for row in document["messages"]}
    derived = [*document["profile"], *document["facts"]]
    assert derived
    assert {source for row in derived for source in row["sources"]} <= ids
    assert document["summaries"]
    assert {"Otto", "other"} & {row["name"] for row in document["messages"]} == set()


async def test_who_never_asked_is_shown_exported_and_erased_by_account(tmp_path: Path, storage: str) -> None:
    """Also who spoke only where the bot does not listen: nobody is known by that account, and the words wait in the queue."""
    words = ("Pfefferminztee", "水晶刺猬", "Stachelbeere", "Lauscher:7", "Stummer-8")
    async with world(tmp_path, storage) as there:
        hook = there.hook()
        for number, (room, sender) in enumerate((("quiet", words[3]), ("deaf", words[4]))):
            text = "only Pfefferminztee 水晶刺猬" if number == 0 else "Stachelbeere"
            await hook.say(text, sender=sender, conversation=room, chat_type="group")
        accounts = [f"webhook:hook:{sender}" for sender in words[3:]]
        there.sql("DELETE FROM inbox_events WHERE state = 'observed'")  # its time in the queue is over
        assert [0, 1] == [(await people(there.gateway, "show", account))[0] for account in accounts]
        code, out, _ = await people(there.gateway, "export", accounts[0])
        assert (0, ["only Pfefferminztee 水晶刺猬"]) == (code, [row["text"] for row in json.loads(out)["observed"]])
        assert 1 == (await people(there.gateway, "export", accounts[1]))[0]
        assert 2 == (await people(there.gateway, "erase", "webhook:hook:"))[0]

        receipts = [await told(there.gateway, "erase", account) for account in accounts]

        where = in_sqlite(there.database) if storage.startswith("sqlite") else in_postgres(storage.partition("\n")[0])
        assert [] == left_of(words, where + "\n".join(there.gateway.log).encode())
        assert [1, 0] == [receipt["erased"]["observed"] for receipt in receipts]
        assert 1 == receipts[1]["erased"]["inbox_events"]
        assert 1 == (await people(there.gateway, "show", accounts[0]))[0]


ERASING = (
    ("queues.erase", "after"),
    ("persons.begin", "after"),
    ("persons.erase", "after"),
    ("persons.unlink", "before"),
)


async def test_a_kill_at_any_step_is_made_good_by_the_next_start(tmp_path: Path) -> None:
    """Each process goes on with the erasure that the one before broke off, and is killed one step later; nobody asks again."""
    storage = f"sqlite:///{tmp_path / 'clew.db'}"
    async with stage(tmp_path, BODY, storage=storage, script=echo, module="tests.scenarios.kill_at") as there:
        there.model.notes = lambda prompt: notes_of(NOTES, prompt)
        there.model.summary = condensed
        await live(there, storage)
        await learned(storage)
        me = await person(there.gateway)
        door = json.loads((tmp_path / "clew.db.door").read_text())
        await armed(there.gateway, "persons.ask", "after")
        with suppress(aiohttp.ClientError):
            await there.session.post(
                f"{door['url']}/people/{me}/erase", headers={"authorization": f"Bearer {door['token']}"}
            )
        await there.gateway.dead()
        assert {*WORDS} - {"Mitternachtsblau"} == {*residues(there, storage)}
        for step in ERASING:
            config = str(there.gateway.config)
            dying = await fork("tests.scenarios.kill_at", config, *step, env=there.gateway.environ)
            async with asyncio.timeout(60):
                assert -signal.SIGKILL == await dying.wait()
            assert residues(there, storage)
        async with gateway(there.gateway.config) as last:
            await last.logged("person erased", me)

            there.gateway.log += last.log
            assert [] == residues(there, storage)
            assert not any((await told(last, "erase", me))["erased"].values())


async def test_where_nothing_is_stored_the_command_says_so(tmp_path: Path) -> None:
    path = tmp_path / "clew.yaml"
    path.write_text(f"storage: sqlite:///{tmp_path / 'none.db'}\nagents: {{default: {{kind: demo}}}}\n", "utf-8")
    gateway = Gateway(path, {})

    assert [1, 1, 1] == [(await people(gateway, *act))[0] for act in (("list",), ("show", "1"), ("export", "1"))]


@pytest.mark.parametrize("note", ["{}", "not JSON", '{"url": "http://127.0.0.1:9", "token": "x"}'])
async def test_a_door_that_leads_nowhere_does_not_hold_up_the_command(tmp_path: Path, note: str) -> None:
    """Left behind by a gateway that was killed, or torn."""
    async with world(tmp_path, f"sqlite:///{tmp_path / 'clew.db'}") as there:
        await there.hook().say("hi", sender=ME)
        me = await person(there.gateway)
        await there.gateway.stop()
        (tmp_path / "clew.db.door").write_text(note)

        assert 0 == (await people(there.gateway, "erase", me))[0]
