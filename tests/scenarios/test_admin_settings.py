"""Settings in an admin's hands, through the real process: tried, changed live, told in full, taken back exactly, exported; and
secrets that go in and never come out."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.loader import load
from tests.scenarios.admins import Admins, Answer
from tests.scenarios.stage import Stage, echo, stage
from tests.scenarios.world import SECRET, command, environ

KEY = base64.b64encode(b"k" * 32).decode()
ROOM = "C07.群"
BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: one}
  second: {kind: openai, base_url: "MODEL", model: two}
defaults: {agent: default, limits: {per_minute: 100000}}
channels:
  chat: {kind: console}
  hook: {kind: webhook, secrets: ["${HOOK}"], sync_s: 20}
  other: {kind: webhook, secrets: ["${HOOK}"], sync_s: 20}
"""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path, BODY, script=echo, environ={"CLEW_SECRET_KEY": KEY}) as running:
        yield running


@pytest.fixture
def admins(world: Stage) -> Admins:
    return Admins(world)


def edit(path: str, value: Any = None, act: str = "set") -> dict[str, Any]:
    return {"path": path, "act": act, "value": value}


async def change(admins: Admins, *edits: dict[str, Any], **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = await admins.local("POST", "/settings/revisions", changes=list(edits), **more)
    return told


async def in_force(admins: Admins, number: int) -> float:
    """Wait until a revision is in force; return the seconds that took."""
    began = time.monotonic()
    async with asyncio.timeout(10):
        while number != (await admins.local("GET", "/settings"))["number"]:
            await asyncio.sleep(0.02)  # looked at from outside: nothing tells it there
    return time.monotonic() - began


async def asked(
    admins: Admins, method: str, path: str, body: Any = None, *, role: str = "admin", channel: str | None = None
) -> Answer:
    return await admins.ask(await admins.token(role, channel), method, path, body)  # type: ignore[arg-type]


async def test_a_room_gets_another_agent_and_a_smaller_window(world: Stage, admins: Admins) -> None:
    """Tried first, which changes nothing and tells everything; then in force within two seconds, for this room alone, without a
    connection touched; each value tells that the revision says it."""
    hook = world.hook()
    await hook.say("before", conversation=ROOM, chat_type="group")
    edits = [
        edit(f'channels.hook.rooms."{ROOM}".agent', "second"),
        edit(f'channels.hook.rooms."{ROOM}".memory.window.turns', 3),
    ]
    tried = await change(admins, *edits, dry_run=True)
    seen = len(world.gateway.log)
    done = await change(admins, *edits, reason="kürzer 更短", expected=0)
    took = await in_force(admins, 1)
    await hook.say("after", conversation=ROOM, chat_type="group")
    shown = await admins.local("GET", f"/channels/hook/settings?room={ROOM}")
    elsewhere = await admins.local("GET", "/channels/hook/settings")
    _, by_command, _ = await command("show", "hook", ROOM, "--json", "--config", world.gateway.config)
    told = json.loads(by_command)
    values = {one["path"]: (one["value"], one["origin"]) for one in shown["settings"]}

    assert took < 5  # two seconds on a machine that does nothing else
    assert tried == done | {"dry_run": True, "in_force": False}
    assert done["in_force"]
    assert [
        (f'channels.hook.rooms."{ROOM}".agent', None, '"second"'),
        (f'channels.hook.rooms."{ROOM}".memory.window.turns', None, "3"),
    ] == [(one["path"], one["was"], one["now"]) for one in done["changes"]]
    assert [("hook", ROOM, "agent", "default", "second", "fresh")] == [
        (one["channel"], one["room"], one["setting"], one["was"], one["now"], one["becomes"]) for one in done["fresh"]
    ]
    assert {"value": 3, "origin": "revision 1 (room)"} == told["settings"]["memory.window.turns"]
    assert done["digest"] == told["revision"] == shown["digest"]
    assert [] == done["touched"] == done["waits"] == done["warnings"]
    assert ["one", "two"] == world.model.models
    assert ("second", "revision 1 (room)") == values["agent"]
    assert (3, "revision 1 (room)") == values["memory.window.turns"]
    assert 8 == next(one["value"] for one in elsewhere["settings"] if one["path"] == "memory.window.turns")
    assert not any("replaced" in line for line in world.gateway.log[seen:])


async def test_what_is_invalid_is_refused_and_nothing_changes(world: Stage, admins: Admins) -> None:
    """Each field at fault is named with its value and the remedy, as the file's would be; so is a change decided on what is not
    the newest any more."""
    await change(admins, edit("memory.window.turns", 4))
    bad = await asked(
        admins,
        "POST",
        "/settings/revisions",
        {"changes": [edit("memory.window.turns", 0), edit("channels.hook.agent", "gone")]},
    )
    late = await asked(
        admins, "POST", "/settings/revisions", {"changes": [edit("memory.window.turns", 5)], "expected": 0}
    )
    fixed = await asked(admins, "POST", "/settings/revisions", {"changes": [edit("server.port", 1)]})

    assert (422, 409, 422) == (bad.status, late.status, fixed.status)
    assert [
        {
            "path": "channels.hook.agent",
            "value": "'gone'",
            "problem": "is no configured agent",
            "remedy": "use default or second",
        },
        {"path": "memory.window.turns", "value": "'0'", "problem": "is less than 1", "remedy": "use 1 or more"},
    ] == sorted(bad.body["problems"], key=lambda one: one["path"])
    assert "server.port: can be set in the settings file only; write it there" == fixed.body["detail"]
    assert 1 == (await admins.local("GET", "/settings"))["newest"]


async def test_history_difference_and_the_exact_way_back(world: Stage, admins: Admins) -> None:
    """Who changed what when and why; what differs between any two; going back is a new revision that says just what the old one
    said, and 0 is the file alone."""
    await change(admins, edit("memory.window.turns", 4), edit("defaults.busy", "queue"), reason="one")
    await change(admins, edit("memory.window.turns", 5), edit("defaults.busy", act="reset"), reason="two")
    await in_force(admins, 2)
    first = await admins.local("GET", "/settings/revisions/1")
    back = await admins.local("POST", "/settings/rollbacks", number=1, reason="back")
    await in_force(admins, 3)
    history = await admins.local("GET", "/settings/revisions?limit=2")
    rest = await admins.local("GET", f"/settings/revisions?after={history['next']}")
    compared = await admins.local("GET", "/settings/comparison?old=2&new=3")
    same = await admins.local("GET", "/settings/comparison?old=1&new=3")
    again = await admins.local("GET", "/settings/revisions/3")
    nothing = await admins.local("POST", "/settings/rollbacks", number=0)
    await in_force(admins, 4)
    status = await admins.local("GET", "/settings")

    assert [("memory.window.turns", "5", "4"), ("defaults.busy", None, '"queue"')] == sorted(
        ((one["path"], one["was"], one["now"]) for one in back["changes"]), reverse=True
    )
    assert [(3, "back"), (2, "two"), (1, "one")] == [
        (one["number"], one["reason"]) for one in history["revisions"] + rest["revisions"]
    ]
    assert None is rest["next"]
    assert ["defaults.busy", "memory.window.turns"] == history["revisions"][0]["paths"]
    assert "local" == history["revisions"][0]["author"]
    assert [("defaults.busy", None, '"queue"'), ("memory.window.turns", "5", "4")] == [
        (one["path"], one["was"], one["now"]) for one in compared["changes"]
    ]
    assert [] == same["changes"]
    assert first["settings"] == again["settings"]
    assert 4 == nothing["number"]
    assert load(world.gateway.config, world.gateway.environ).revision == status["digest"]


async def test_what_is_exported_starts_another_gateway(world: Stage, admins: Admins, tmp_path: Path) -> None:
    """One YAML text with file and revision in it, references as such; `check` takes it, also under the revision."""
    await change(admins, edit("memory.window.turns", 4), edit("channels.other", act="remove"))
    await in_force(admins, 1)
    answer = await asked(admins, "GET", "/settings/export")
    target = tmp_path / "again.yaml"
    target.write_text(answer.text, "utf-8")
    code, out, err = await command("check", "--config", target)

    assert (0, "") == (code, err)
    assert f"{target}: ok (2 channels, 2 agents)\nrevision 1 over it: ok (2 channels, 2 agents)\n" == out
    assert ["${HOOK}"] == yaml.safe_load(answer.text)["channels"]["hook"]["secrets"]
    assert 'attachment; filename="clew.yaml"' == answer.headers["Content-Disposition"]
    assert (await admins.local("GET", "/settings"))["digest"] == load(target, environ()).revision


async def test_check_looks_at_the_revision_in_force(world: Stage, admins: Admins) -> None:
    """A file that is valid by itself, and does not go with what the console says over it, is no good file; secrets are looked at
    where their key is."""
    config = world.gateway.config
    await change(admins, edit("channels.third", {"kind": "webhook", "secrets": [SECRET]}))
    fine = await command("check", "--config", config, CLEW_SECRET_KEY=KEY)
    keyless = await command("check", "--config", config)
    lost = await command("check", "--config", config, CLEW_SECRET_KEY=base64.b64encode(b"o" * 32).decode())
    await change(admins, edit("channels.hook.agent", "second"))
    config.write_text(config.read_text("utf-8").replace("  second: {", "  third: {"), "utf-8")
    broken = await command("check", "--config", config)
    as_json = await command("check", "--json", "--config", config)

    told = f"{config}: ok (3 channels, 2 agents)\nrevision 1 over it: ok (4 channels, 2 agents)\n"
    assert (0, told) == fine[:2] == keyless[:2]
    assert 2 == lost[0]
    assert "revision 1: channels.third.secrets[0]: ***: there is no secret 'channels.third.secrets.0'" in lost[2]
    assert (2, "") == broken[:2]
    assert "revision 2: channels.hook.agent: 'second': is no configured agent; use default or third" in broken[2]
    assert ["channels.hook.agent"] == [one["path"] for one in json.loads(as_json[1])]


async def test_changes_can_be_checked_while_they_are_entered(world: Stage, admins: Admins) -> None:
    """What is wrong is told as it would be refused, and leaves no trace in history or audit log; what may not be changed is not
    looked at."""
    body = {"changes": [edit("channels.hook.memory.window.turns", 0), edit("channels.hook.agent", "gone")]}
    wrong = await asked(admins, "POST", "/settings/checks", body, channel="hook")
    odd = await asked(admins, "POST", "/settings/checks", {"changes": [edit("a..b", 1)]})
    right = await asked(admins, "POST", "/settings/checks", {"changes": [edit("memory.window.turns", 4)]})
    others = await asked(
        admins, "POST", "/settings/checks", {"changes": [edit("memory.window.turns", 4)]}, channel="hook"
    )
    audit = await asked(admins, "GET", "/audit", role="owner")

    assert {"channels.hook.agent", "channels.hook.memory.window.turns"} == {
        one["path"] for one in wrong.body["problems"]
    }
    assert "is no path" in odd.body["problems"][0]["problem"]
    assert {"problems": []} == right.body
    assert 403 == others.status
    assert ["refused"] == [one["outcome"] for one in audit.body["entries"] if one["operation"] == "settings.check"]
    assert 0 == (await admins.local("GET", "/settings"))["newest"]


async def test_who_holds_one_channel_changes_that_channel_only(world: Stage, admins: Admins) -> None:
    """Its rooms and settings, tried and done; no other channel's (not even to what it is), none of the gateway's, not what
    says who its people are or where its secrets go; and sees no other in history and comparison. A viewer changes nothing."""

    async def tries(*edits: dict[str, Any], role: str = "admin") -> int:
        body = {"changes": list(edits)}
        return (await asked(admins, "POST", "/settings/revisions", body, role=role, channel="hook")).status

    await change(admins, edit("channels.other.busy", "queue"))
    assert 200 == await tries(edit("channels.hook.busy", "queue"))
    assert 200 == await tries(edit("channels.hook.rooms.R.agent", "second"))
    for path, value in [
        ("channels.other.busy", "queue"),
        ("memory.window.turns", 4),
        ("agents.second.system", "x"),
        ("channels.new", {"kind": "console"}),
        ("channels.hook", {"kind": "webhook"}),
        ("channels.hook.tenant", "other"),
        ("channels.hook.kind", "console"),
        ("channels.hook.secrets", [SECRET]),
        ("channels.hook.secrets", ["vault:agents.default.api_key"]),
        ("channels.hook.secrets", ["vault:channels.other.secrets.0"]),
    ]:
        assert 403 == await tries(edit(path, value)), path
    assert 403 == await tries(edit("channels.hook.busy", "collect"), edit("channels.other.busy", "collect"))
    assert 403 == await tries(edit("channels.hook.busy", "collect"), role="viewer")
    history = await asked(admins, "GET", "/settings/revisions", role="viewer", channel="hook")
    compared = await asked(admins, "GET", "/settings/comparison?old=0&new=3", role="viewer", channel="hook")
    first = await asked(admins, "GET", "/settings/revisions/1", role="viewer", channel="hook")
    form = await asked(admins, "GET", "/settings/form?path=channels.other", role="admin", channel="hook")
    back = await asked(admins, "POST", "/settings/rollbacks", {"number": 0}, channel="hook")
    status = await asked(admins, "GET", "/settings", role="viewer", channel="hook")

    assert [3, 2] == [one["number"] for one in history.body["revisions"]]
    assert {"channels.hook.busy", "channels.hook.rooms.R.agent"} == {one["path"] for one in compared.body["changes"]}
    assert (404, 403, 403) == (first.status, form.status, back.status)
    assert {"hook": "webhook"} == status.body["channels"]


async def test_a_secret_goes_in_and_never_comes_out(world: Stage, admins: Admins, tmp_path: Path) -> None:
    """Given in a change it lies sealed in the vault, under a name that the revision refers to; it works, and no list, form,
    revision, difference, export, log, audit entry or byte of the database holds it."""
    secret = "whsec_" + base64.b64encode(b"not to be seen anywhere at all!!").decode()
    told = await change(admins, edit("channels.third", {"kind": "webhook", "secrets": [secret, SECRET], "sync_s": 20}))
    await in_force(admins, 1)
    turn = await world.hook("third").say("hello")
    await admins.local("PUT", "/secrets/later", value=secret)
    refused = await asked(admins, "DELETE", "/secrets/channels.third.secrets.0")
    wrong = await asked(
        admins, "POST", "/settings/revisions", {"changes": [edit("channels.third.secrets", [secret[:-9]])]}
    )
    listed = await admins.local("GET", "/secrets")
    pages = [told, turn, listed, refused.text, wrong.text]
    for path in (
        "/settings/form?path=channels.third",
        "/settings/revisions/1",
        "/settings/comparison?old=0&new=1",
        "/settings/export",
        "/settings/revisions",
        "/channels/third/settings",
        "/audit",
    ):
        pages.append((await asked(admins, "GET", path, role="owner")).text)
    shown = await command("show", "third", "--json", "--config", world.gateway.config, CLEW_SECRET_KEY=KEY)
    seen = json.dumps([pages, shown, world.gateway.log], ensure_ascii=False)
    raw = b"".join(file.read_bytes() for file in world.folder.glob("clew.db*"))

    assert "answered" == turn["status"]
    assert "vault:channels.third.secrets.1" in seen
    assert [
        ("channels.third.secrets.0", ["channels.third.secrets"]),
        ("channels.third.secrets.1", ["channels.third.secrets"]),
        ("later", []),
    ] == [(one["name"], one["used"]) for one in listed["secrets"]]
    assert (409, 422) == (refused.status, wrong.status)
    for hidden in (secret, secret[:-9], SECRET, KEY):
        assert hidden not in seen
        assert hidden.encode() not in raw


async def test_no_address_gets_a_secret_that_was_not_entered_for_it(world: Stage, admins: Admins) -> None:
    """Who may set addresses can't have a secret sent to one of theirs, in one step or in several; entering it again is what it
    takes."""
    await change(
        admins, edit("agents.paid", {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "api_key": "sk-1"})
    )
    evil = "http://127.0.0.1:2/v1"

    async def tries(*edits: dict[str, Any]) -> int:
        return (await asked(admins, "POST", "/settings/revisions", {"changes": list(edits)})).status

    assert 422 == await tries(edit("agents.paid.base_url", evil))
    assert 422 == await tries(
        edit("agents.evil", {"kind": "openai", "base_url": evil, "api_key": "vault:agents.paid.api_key"})
    )
    assert 200 == await tries(edit("agents.evil", {"kind": "openai", "base_url": evil, "api_key": "sk-2"}))
    assert 422 == await tries(edit("agents.evil.api_key", "vault:agents.paid.api_key"))
    assert 422 == await tries(edit("agents.paid.base_url", "http://user:geheim@127.0.0.1:2/v1"))
    assert 200 == await tries(edit("agents.paid.base_url", evil), edit("agents.paid.api_key", "sk-3"))


async def test_without_a_key_no_secret_is_taken(tmp_path: Path) -> None:
    """And it is said what to set, by a trial already."""
    async with stage(tmp_path, BODY) as world:
        admins = Admins(world)
        answer = await asked(admins, "PUT", "/secrets/one", {"value": "s"})
        status = await admins.local("GET", "/settings")
        body = {"changes": [edit("channels.third", {"kind": "webhook", "secrets": [SECRET]})], "dry_run": True}
        tried = await asked(admins, "POST", "/settings/revisions", body)

    assert (422, 422) == (answer.status, tried.status)
    assert "set CLEW_SECRET_KEY and start again" in answer.body["detail"]
    assert answer.body["detail"] == status["secrets"]


async def test_a_file_that_does_not_go_with_the_revision_is_refused(world: Stage, admins: Admins) -> None:
    """The last good settings stay; log, readiness and status say why. A start takes what goes: an older revision, or the file
    alone, and says so, until file or revision is mended."""
    await change(admins, edit("learning.tasks", 5))
    await change(admins, edit("channels.hook.agent", "second"))
    await in_force(admins, 2)
    seen = len(world.gateway.log)
    config = world.gateway.config
    config.write_text(config.read_text("utf-8").replace("  second: {", "  third: {"), "utf-8")
    await world.gateway.logged("settings refused; the last good ones stay", after=seen)
    status = await admins.local("GET", "/settings")
    turn = await world.hook().say("still there")
    await world.gateway.stop()
    await world.gateway.start()
    started = await admins.local("GET", "/settings")
    async with world.session.get(f"{world.gateway.url}/readyz") as response:
        ready = await response.json()
    await change(admins, edit("channels.hook.agent", "third"))
    await in_force(admins, 3)
    mended = await admins.local("GET", "/settings")

    problem = "revision 2: channels.hook.agent: 'second': is no configured agent; use default or third"
    assert problem in status["problem"]
    assert (2, 2) == (status["number"], status["newest"])
    assert "answered" == turn["status"]
    assert (1, 2) == (started["number"], started["newest"])
    assert problem in started["problem"]
    assert "settings refused, older ones are in force" in ready["warnings"]["settings"]
    assert "second" not in ready["warnings"]["settings"]
    assert (3, None) == (mended["number"], mended["problem"])


async def test_who_mends_one_channel_is_told_of_that_one_only(world: Stage, admins: Admins) -> None:
    """What else a revision says that is not in force, and what is wrong with the file elsewhere, is for who sees everything."""
    await change(admins, edit("learning.tasks", 5))
    await change(admins, edit("channels.hook.agent", "second"), edit("channels.other.busy", "queue"))
    await in_force(admins, 2)
    config = world.gateway.config
    written = config.read_text("utf-8").replace("  second: {", "  third: {")
    await world.gateway.stop()
    config.write_text(written, "utf-8")
    await world.gateway.start()
    body = {"changes": [edit("channels.hook.agent", "default")], "dry_run": True}
    mended = await asked(admins, "POST", "/settings/revisions", body, channel="hook")
    everything = await asked(admins, "POST", "/settings/revisions", body)
    config.write_text(written.replace("  other: {", "  other: {busy: 从不, "), "utf-8")
    refused = await asked(admins, "POST", "/settings/revisions", body, channel="hook")
    named = await asked(admins, "POST", "/settings/revisions", body)

    assert {"channels.hook.agent"} == {one["path"] for one in mended.body["changes"]}
    assert "channels.other.busy" in {one["path"] for one in everything.body["changes"]}
    assert (422, True, False) == (refused.status, "a problem elsewhere" in refused.text, "从不" in refused.text)
    assert (422, True) == (named.status, "从不" in named.text)


async def test_all_that_a_change_brings_about_is_told(world: Stage, admins: Admins) -> None:
    """Who shares a group's memory, who answers in all rooms, what waits for a start, what the file says otherwise: in the trial,
    before anything is done."""
    for thread in ("T1", "T2"):
        await world.hook().say("hello", conversation="R", thread=thread, chat_type="group")
    narrower = await change(admins, edit("channels.hook.rooms.R.scope", "speaker"), dry_run=True)
    wider = await change(admins, edit("channels.hook.rooms.R.scope", "room"), dry_run=True)
    other = await change(
        admins,
        edit("defaults.agent", "second"),
        edit("defaults.agent_change", "carry"),
        edit("embedder.question_s", 1),
        edit("agents.default.model", "new"),
        dry_run=True,
    )

    def fresh(told: dict[str, Any]) -> set[tuple[Any, ...]]:
        return {
            (one["channel"], one["room"], one["setting"], one["was"], one["now"], one["becomes"])
            for one in told["fresh"]
        }

    assert {("hook", "R", "scope", "conversation", "speaker", "fresh")} == fresh(narrower)
    assert {("hook", "R", "scope", "conversation", "room", "shared")} == fresh(wider)
    assert {(channel, None, "agent", "default", "second", "carry") for channel in ("chat", "hook", "other")} == fresh(
        other
    )
    assert ["embedder"] == other["waits"]
    assert [{"what": "agent", "name": "default", "how": "restarted"}] == other["touched"]
    assert any("defaults.agent: " in one and "says otherwise; the revision wins" in one for one in other["warnings"])
    assert 0 == (await admins.local("GET", "/settings"))["newest"]
