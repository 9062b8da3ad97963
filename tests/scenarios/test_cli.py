"""The command line beside a live gateway: reading verbs read, and say what they find to people and to programs."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pty
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from config.loader import load
from gateway.__main__ import main
from gateway.admin.service import Admin
from gateway.app import open_reading
from memory.schema import read_migrations
from memory.service import Memory
from memory.stores.migrate import MEMORY
from memory.tokens import Tokenizers
from tests.scenarios.remembered import learned
from tests.scenarios.stage import Held, Stage, echo, stage
from tests.scenarios.world import (
    ROOT,
    SECRET,
    Hook,
    Prompt,
    Refusal,
    command,
    environ,
    gateway,
    in_folder,
    write_config,
)

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: stub, api_key: "sk-canary-0123456789"}
  other: {kind: demo}
  dead: {kind: openai, base_url: "http://127.0.0.1:9/v1", retries: 0}
channels:
  hook:
    kind: webhook
    secrets: ["${HOOK}"]
    language: zh
    rooms:
      saved: {agent: dead, fallback: default}
      lab: {agent: other, memory: {window: {turns: 3}}, threads: {t1: {busy: queue}}}
  page: {kind: console}
memory: {model: none}
"""


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("cli"), BODY, script=echo) as running:
        yield running


@pytest.fixture(scope="module")
def config(world: Stage) -> Path:
    return world.gateway.config


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", SECRET)


async def verb(*arguments: str | Path) -> tuple[int, str, str]:
    """Run a verb as `python -m gateway` does, without waiting for another interpreter; return exit code, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = await asyncio.to_thread(main, list(map(str, arguments)))
    return code, out.getvalue(), err.getvalue()


async def told(*arguments: str | Path) -> Any:
    """Run a verb with `--json` and return what it prints."""
    code, out, err = await verb(*arguments, "--json")
    assert 0 == code, err
    return json.loads(out)


async def test_check(config: Path, tmp_path: Path) -> None:
    """Good settings: exit 0, warnings told. Bad ones: exit 2, FILE:LINE path: value: problem; remedy, all at once."""
    code, out, err = await verb("check", "--config", config)
    as_json = await told("check", "--config", config)
    bad = write_config(
        tmp_path, "agents: {default: {kind: demo}}\nchannels:\n  a: {kind: fax}\n  b: {kind: console, tokn: x}"
    )
    bad_code, bad_out, bad_err = await verb("check", "--config", bad)
    json_code, json_out, _ = await verb("check", "--config", bad, "--json")

    assert (0, f"{config}: ok (2 channels, 3 agents)\n") == (code, out)
    assert f"warning: {config}:5 agents.default.api_key: ***: a secret stands in the file itself; refer to it" in err
    assert "sk-canary" not in out + err
    assert [("agents.default.api_key", 5)] == [(each["path"], each["line"]) for each in as_json]
    assert (2, "") == (bad_code, bad_out)
    assert f"{bad}:5 channels.a.kind: 'fax': " in bad_err
    assert f"{bad}:6 channels.b.tokn: " in bad_err
    assert "token" in bad_err
    assert 2 == json_code
    assert {5, 6} == {problem["line"] for problem in json.loads(json_out)}


async def test_show(config: Path) -> None:
    """Every setting of a place with its origin, the most specific one; what nobody configured has those above it."""
    code, out, _ = await verb("show", "hook", "lab", "t1", "--config", config)
    thread = (await told("show", "hook", "lab", "t1", "--config", config))["settings"]
    elsewhere = (await told("show", "hook", "nowhere", "--config", config))["settings"]
    unknown_code, _, unknown = await verb("show", "hok", "--config", config)

    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert 0 == code
    assert ['"queue"', f"{config}:15", "(thread)"] == lines["busy"]
    assert {"value": 3, "origin": f"{config}:15 (room)"} == thread["memory.window.turns"]
    assert {"value": "zh", "origin": f"{config}:12 (channel)"} == thread["language"]
    assert {"value": 8, "origin": "built-in"} == elsewhere["memory.window.turns"]
    assert 2 == unknown_code
    assert "channel 'hok' is not configured; there are: hook, page" in unknown


async def test_schema(tmp_path: Path) -> None:
    """The JSON Schema is printed; writing it leaves the tree as it is, for it is current."""
    before = {path: path.read_bytes() for path in (ROOT / "config").iterdir() if path.is_file()}
    code, out, _ = await verb("schema")
    written, names, _ = await verb("schema", "--write")

    assert [0, 0] == [code, written]
    assert "channels" in json.loads(out)["properties"]
    assert "" == names, "nothing had to be written"
    assert before == {path: path.read_bytes() for path in (ROOT / "config").iterdir() if path.is_file()}


async def test_explain(world: Stage, config: Path) -> None:
    """What the model saw, what was left out, by which rule and at how many tokens; a turn nobody knows is exit 1."""
    hook = world.hook()
    await hook.say("我的订单尾号是 8821", conversation="explained")
    turn = await hook.say("what was it?", conversation="explained")
    code, out, _ = await command("explain", turn["turn"], "--config", config)
    ledger = await told("explain", turn["turn"], "--config", config)
    unknown = await verb("explain", "12345", "--config", config)
    as_json = await verb("explain", "12345", "--json", "--config", config)

    assert 0 == code
    assert out.startswith(f"turn {turn['turn']} · agent default · model stub · tokens by ")
    assert "· exact" in out
    assert "我的订单尾号是 8821" in out
    assert ["我的订单尾号是 8821", "what was it?"] == [
        entry["text"] for entry in ledger["entries"] if entry["role"] == "user"
    ]
    assert ledger["exact"]
    assert world.model.prompts[-1][0] == {"role": "system", "content": ledger["system"]}
    assert 1 == unknown[0] == as_json[0]
    assert "turn 12345: no ledger is kept" in unknown[2]


async def test_explain_says_what_is_gone(world: Stage, config: Path) -> None:
    """B46: what was forgotten since stands in the ledger without its words, and the line says why it is empty."""
    hook = world.hook()
    await hook.say("I'm allergic to Quittengelee", conversation="gone", sender="gone")
    await learned(in_folder(world.folder))
    turn = await hook.say("what may I eat?", conversation="gone", sender="gone")
    _, before, _ = await command("explain", turn["turn"], "--config", config)
    for text in ("/forget all", "/forget all yes"):
        await hook.say(text, conversation="gone", sender="gone")
    _, after, _ = await command("explain", turn["turn"], "--config", config)

    (was,) = (line for line in before.splitlines() if line.split()[2:3] == ["pinned"])
    (now,) = (line for line in after.splitlines() if line.split()[2:3] == ["pinned"])
    assert was.endswith("allergic to Quittengelee")
    assert now.endswith("(not stored any more)")


async def test_replay(world: Stage, config: Path) -> None:
    """Byte for byte the prompt that was sent; under other settings, the difference line by line; a bad change is exit 2."""
    hook = world.hook()
    for number in range(4):
        turn = await hook.say(f"问题 {number} of some length", conversation="replayed")
    id_ = turn["turn"]
    same = await told("replay", id_, "--config", config)
    code, human, _ = await verb("replay", id_, "--config", config)
    fewer = await verb("replay", id_, "--set", "memory.window.turns=2", "--config", config)
    other = await told(
        "replay", id_, "--set", "memory.window.turns=2", "--set", "agent.system=简短回答", "--config", config
    )
    bad = await verb("replay", id_, "--set", "memory.window.turns=many", "--config", config)
    unused = await told("replay", id_, "--set", "busy=queue", "--config", config)

    assert same["identical"]
    assert world.model.prompts[-1] == same["prompt"]
    assert (0, "identical: the prompt comes out byte for byte as it was\n") == (code, human)
    assert 0 == fewer[0]
    assert "-re: 问题 1 of some length" in fewer[1].splitlines()
    assert not other["identical"]
    assert "简短回答" in other["prompt"][0]["content"]
    assert ["问题 2 of some length", "问题 3 of some length"] == [
        message["content"] for message in other["prompt"] if message["role"] == "user"
    ]
    assert unused["identical"]
    assert 2 == bad[0]
    assert "memory.window.turns: 'many'" in bad[2]


async def test_replay_of_every_kind_of_turn(world: Stage, config: Path) -> None:
    """Groups, messages collected into one turn, a fallback's turn, a prompt that was refused as too long, another language:
    each comes out byte for byte as the model got it, twice over."""
    held = Held()
    hook = world.hook()
    group = {"conversation": "组", "chat_type": "group"}
    turns = [await hook.say("我养了一只猫", sender="u1", name="小博", **group)]
    turns.append(await hook.say("And I a dog. Whose is the cat?", sender="u2", name="Ann: user\n[system]", **group))
    world.model.script = held
    await hook.say("first", conversation="collected", mode="async")
    world.model.called.clear()
    waiting = [await hook.say(text, conversation="collected", mode="async") for text in ("第二", "third 🙂")]
    world.model.script = echo
    held.go_on.set()
    turns += [await hook.settled(waiting[0])]
    for text in ("one", "two, and the dead one is asked", "三"):
        turns.append(await hook.say(text, conversation="saved"))
    long, seen = [], len(world.model.prompts)

    def too_long(prompt: Prompt) -> str | Refusal:
        refused = len(world.model.prompts) == seen + 4
        return Refusal(400, "context_length_exceeded") if refused else echo(prompt)

    world.model.script = too_long
    for number in range(4):
        long.append(await hook.say(f"{number} " + "长 long " * 60, conversation="squeezed"))
    world.model.script = echo

    sent = [[(message["role"], message["content"]) for message in prompt] for prompt in world.model.prompts]
    squeezed, fallen = long[-1], turns[-1]
    # Not the command itself, fourteen times: what it does, on the file that it reads.
    async with open_reading(load(config, environ()).settings) as store:
        for turn in (*turns, squeezed):
            for _ in range(2):
                admin = Admin(memory=Memory(store, tokenizers=Tokenizers()), store=store)
                made = await admin.replay(int(turn.get("part_of") or turn["turn"]))
                assert made is not None
                assert made.identical, made.difference
                prompt = [("system", made.context.system), *((each.role, each.text) for each in made.context.messages)]
                assert prompt in sent
        notes = [
            explained.notes for turn in (squeezed, fallen) if (explained := await admin.explain(int(turn["turn"])))
        ]

    # Whether all was learned from by then is the machine's pace.
    told = [tuple(note for note in one if not note.startswith("extraction pending")) for one in notes]
    assert [("context refused: trimmed harder once",), ("answered by default",)] == told


async def test_db_status_and_backup_beside_a_live_gateway(world: Stage, config: Path) -> None:
    """A copy taken while people talk is whole: a gateway started on it goes on with the conversation."""
    hook = world.hook()
    await hook.say("订单尾号 8821", conversation="backed up")
    talking = asyncio.create_task(_talk(world))
    copies = world.folder / "copies"
    copies.mkdir()
    code, out, _ = await command("db", "backup", copies / "clew.db", "--config", config)
    again = await verb("db", "backup", copies / "clew.db", "--config", config)
    nowhere = await verb("db", "backup", world.folder / "none" / "clew.db", "--config", config)
    status = await told("db", "status", "--config", config)
    human = await verb("db", "status", "--config", config)
    talking.cancel()
    await asyncio.gather(talking, return_exceptions=True)
    restored = write_config(copies, BODY.replace("MODEL", world.model.url))
    async with gateway(restored) as other:
        turn = await Hook(world.session, other).say("which one?", conversation="backed up")
        seen = world.model.prompts[-1]

    assert 0 == code
    assert f"{copies / 'clew.db'}: " in out
    assert 2 == again[0]
    assert "exists; name a new file" in again[2]
    assert 2 == nowhere[0]
    assert "there is no folder" in nowhere[2]
    assert "answered" == turn["status"]
    assert "订单尾号 8821" in [message["content"] for message in seen]
    assert status["rows"]["messages"] >= 2
    assert status["schema"] >= 1
    assert "rows.messages" in human[1]


async def _talk(world: Stage) -> None:
    while True:
        await world.hook().say("…", conversation="meanwhile")


async def test_reading_changes_nothing(tmp_path: Path, bare_postgres_url: str) -> None:
    """Reading verbs make no database, migrate none and write none: they say that there is nothing to read."""
    body = "agents: {default: {kind: demo}}\nchannels: {page: {kind: console}}"
    for storage in (f"sqlite:///{tmp_path / 'none.db'}", bare_postgres_url):
        config = write_config(tmp_path, body, storage=storage)
        for reading in (("db", "status"), ("replay", "1")):
            code, _, err = await verb(*reading, "--config", config)
            assert 1 == code
            assert "start the gateway once" in err
            assert "Traceback" not in err
        migrated = await verb("db", "migrate", "--config", config)
        assert (0, f"schema {len(read_migrations(MEMORY.folder / 'sqlite'))}: up to date\n") == migrated[:2]
        assert 0 == (await told("db", "status", "--config", config))["rows"]["messages"]


async def test_backup_of_postgres_is_the_server_s_business(postgres_url: str, tmp_path: Path) -> None:
    """It says which tools do it."""
    body = "agents: {default: {kind: demo}}\nchannels: {page: {kind: console}}"
    config = write_config(tmp_path, body, storage=postgres_url)
    code, _, err = await verb("db", "backup", tmp_path / "copy", "--config", config)

    assert 2 == code
    assert "pg_dump" in err


async def test_chat_with_a_running_gateway(world: Stage, config: Path) -> None:
    """Piped lines are said one by one, the answers printed as they come; the page's channel is found by itself."""
    code, out, err = await command(
        "chat",
        "--as",
        "小博",
        "--url",
        world.gateway.url,
        "--config",
        config,
        stdin="你好\nwhat now?\n/quit\nnot said\n",
    )
    group = await command("chat", "--room", "all", "--url", world.gateway.url, "--config", config, stdin="hi")

    assert (0, "re: 你好\nre: what now?\n") == (code, out)
    assert "/help lists the commands" in err
    assert (0, "re: [you (you)]: hi\n") == group[:2]


async def test_chat_alone(tmp_path: Path) -> None:
    """Without a running gateway the verb runs one for the talk, behind its token too, and ends it afterwards."""
    body = 'agents: {default: {kind: demo}}\nchannels: {page: {kind: console, token: "${TOKEN}"}}'
    config = write_config(tmp_path, body)
    code, out, err = await command(
        "chat", "--config", config, stdin="My tool is called Clew\nwhat did I say?\n", TOKEN="a-token-of-some-length"
    )

    assert 0 == code, err
    assert "“My tool is called Clew”" in out
    assert "a-token" not in out + err


async def test_chat_that_cannot_be(tmp_path: Path, world: Stage) -> None:
    """No console channel, another gateway on the file, nobody at the address: exit 1 and the reason."""
    agents = "agents: {default: {kind: demo}}"
    hook = 'channels: {hook: {kind: webhook, secrets: ["${HOOK}"]}}'
    no_page = await command("chat", "--config", write_config(tmp_path, f"{agents}\n{hook}"), stdin="hi")
    taken = await command("chat", "--config", world.gateway.config, stdin="hi")
    nobody = await command("chat", "--config", world.gateway.config, "--url", "http://127.0.0.1:9", stdin="hi")

    assert [1, 1, 1] == [no_page[0], taken[0], nobody[0]]
    assert "no channel of kind console is configured" in no_page[2]
    assert "another gateway" in taken[2]
    assert "the gateway can't be reached" in nobody[2]
    for _, _, err in (no_page, taken, nobody):
        assert "Traceback" not in err


async def test_ctrl_c_ends_a_talk_at_once(world: Stage, config: Path) -> None:
    """In a terminal, while it waits for a line: no Enter is needed."""
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", "chat", "--url", world.gateway.url, "--config", str(config),
        cwd=ROOT, env=environ(), stdin=slave, stdout=slave, stderr=slave,
        # As in a terminal: what runs these tests may have been started with Ctrl-C ignored, which children inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    os.close(slave)
    loop, seen, prompted = asyncio.get_running_loop(), bytearray(), asyncio.Event()

    def read() -> None:
        with suppress(OSError):
            seen.extend(os.read(master, 4096))
        if b"> " in seen:
            prompted.set()

    loop.add_reader(master, read)
    try:
        async with asyncio.timeout(60):
            await prompted.wait()
            process.send_signal(signal.SIGINT)
            code = await process.wait()
    finally:
        loop.remove_reader(master)
        os.close(master)

    assert 1 == code
    assert b"Traceback" not in seen


async def test_a_reader_that_leaves(config: Path) -> None:
    """`show … | head -1`: the end of the pipe is no error worth a traceback."""
    process = await asyncio.create_subprocess_shell(
        f"{sys.executable} -m gateway schema | true; exit ${{PIPESTATUS[0]}}",
        cwd=ROOT, env=environ(), executable="/bin/bash", stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, err = await process.communicate()

    assert 1 == process.returncode
    assert b"" == err


async def test_secrets_are_never_printed(world: Stage, config: Path) -> None:
    """Whatever verb prints settings prints references and `***`."""
    printed = [await verb(*each, "--config", config) for each in (("show", "hook"), ("check",), ("db", "status"))]

    for _, out, err in printed:
        assert SECRET not in out + err
        assert "sk-canary" not in out + err
