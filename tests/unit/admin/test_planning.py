"""What a change of settings would do, and what may not be changed: planned over the newest revision, on both databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from config.loader import load
from config.overlay import Overlay
from config.problems import InvalidSettings
from gateway.admin.acts.settings import CHANGE, Edit
from gateway.admin.operations import Acting, Disagrees, Invalid, Refused
from gateway.admin.own_settings import admitting
from gateway.admin.planning import channels_touched
from gateway.admin.rights import local
from gateway.live import replaced
from tests.unit.admin.acting import actor
from tests.unit.admin.settings_world import ENVIRON, FILE, HOOK, House, set_


async def test_a_plan_changes_nothing(house: House) -> None:
    """It holds what would be said and what that changes; neither revision nor secret is stored."""
    plan = await house.plan(
        set_("channels.hook.secrets", [HOOK]), Edit(path="channels.web", act="remove"), set_("memory.window.turns", 4)
    )

    assert (0, 1) == (plan.expected, plan.new.overlay and plan.new.overlay.number)
    assert {"channels.hook.secrets.0": HOOK} == plan.secrets
    assert [("channels", "hook", "secrets"), ("channels", "web", "kind"), ("memory", "window", "turns")] == [
        one.path for one in plan.differences
    ]
    assert [] == await house.layers.revisions.before(None, limit=9)
    assert [] == await house.layers.vault.kept()


async def test_plans_build_on_the_newest_revision(house: House) -> None:
    """What was said before stays; a word taken back leaves the file's; expected must be the newest."""
    await house.keep(await house.plan(set_("memory.window.turns", 4), set_("learning.tasks", 9)))
    plan = await house.plan(Edit(path="learning.tasks", act="reset"), expected=1)

    assert {"memory": {"window": {"turns": 4}}} == plan.tree
    assert [("learning", "tasks")] == list(plan.touched)
    with pytest.raises(Disagrees, match="revision 1 is the newest, not 0"):
        await house.plan(set_("learning.tasks", 2), expected=0)


async def test_what_is_not_in_force_is_mended_by_a_change(house: House) -> None:
    """The newest revision does not go with the file any more: a plan over it is compared with what runs."""
    await house.keep(await house.plan(set_("channels.hook.agent", "paid")))
    house.running = load(house.file, ENVIRON)
    house.file.write_text(FILE.replace("  paid:", "  other:"), "utf-8")

    plan = await house.plan(Edit(path="channels.hook.agent", act="reset"))

    assert {} == plan.tree
    assert isinstance(await house.layers.loader.load(), InvalidSettings)
    assert house.layers.loader.problem is not None
    assert "channels.hook.agent: 'paid'" in house.layers.loader.problem


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (set_("a..b", 1), "a..b: : is no path: write keys by name, lists whole, others in double quotes; such as"),
        (set_("server.port", 1), "server.port: : can be set in the settings file only; write it there"),
        (set_("retention", {}), "retention: : can be set in the settings file only; write it there"),
        (set_("x-mine.a", 1), "x-mine.a: : is no setting; name one that settings.describe shows"),
        (set_('memory."="', 1), 'memory."=": : is no setting; name one that settings.describe shows'),
        (set_("memory.window.turns", "x"), "memory.window.turns: 'x': is not a whole number; write digits only"),
        (
            set_("agents.new", {"base_url": "https://u:p@host"}),
            "agents.new.base_url: : holds a password; write it into the settings file, as ${NAME}",
        ),
        (
            set_("channels.hook.secrets", ["vault:none"]),
            "channels.hook.secrets[0]: ***: there is no secret 'none' that can be read; store it under this name",
        ),
    ],
)
async def test_what_can_t_be_is_told_by_its_field(house: House, edit: Edit, problem: str) -> None:
    """Path, value as it may be shown, problem and remedy."""
    (told,) = await house.problems(edit)

    assert told.startswith(problem)


async def test_a_problem_of_the_file_s_names_its_line(house: House) -> None:
    """What a change makes wrong may stand in the file."""
    (told,) = await house.problems(Edit(path="agents.paid", act="remove"), set_("channels.hook.rooms.R.agent", "paid"))
    assert told.startswith("channels.hook.rooms.R.agent: 'paid': is no configured agent")
    house.file.write_text(FILE.replace("observe: true", "agent: paid"), "utf-8")

    (told,) = await house.problems(Edit(path="agents.paid", act="remove"))

    assert f"is no configured agent ({house.file}:7)" in told


async def test_addresses_get_only_secrets_that_were_entered_for_them(house: House) -> None:
    """A changed address, another secret at a known one, a new section: each needs its secret again; an address that was there
    before with its secret, and the default one, do not."""
    evil = "http://127.0.0.1:2/v1"
    (moved,) = await house.problems(set_("agents.paid.base_url", evil))
    (new,) = await house.problems(set_("agents.evil", {"base_url": evil, "api_key": "vault:agents.paid.api_key"}))
    await house.keep(await house.plan(set_("agents.mine", {"base_url": evil, "api_key": "sk-mine"})))
    await house.layers.vault.put("others", "sk-others", actor=local())
    (swapped,) = await house.problems(set_("agents.mine.api_key", "vault:others"))

    assert moved.startswith("agents.paid.base_url: : would get api_key, which was not entered for this address")
    assert new.startswith("agents.evil.api_key: ***: there is no secret")
    assert swapped.startswith("agents.mine.base_url: : would get api_key")
    await house.plan(set_("agents.mine.model", "other"))
    await house.plan(set_("agents.plain", {"api_key": "vault:others"}))
    await house.plan(set_("agents.paid.base_url", evil), set_("agents.paid.api_key", "sk-new"))


async def test_what_is_nested_beyond_reason_is_not_walked_through(house: House) -> None:
    """However deep it is, it is told in words."""
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]

    (told,) = await house.problems(set_("learning.tasks", deep))

    assert told.startswith("learning.tasks: : is nested more than ")


async def test_what_was_removed_comes_back_with_its_secret(house: House) -> None:
    """An address of one's own and the secret entered for it, by the way back: as long as nobody has stored another under its name
    since, which was not entered for that address."""
    await house.keep(
        await house.plan(
            set_("agents.mine", {"base_url": "http://127.0.0.1:2/v1", "api_key": "sk-mine", "kind": "openai"})
        )
    )
    await house.keep(await house.plan(Edit(path="agents.mine", act="remove")))
    back = await house.back_to(1)
    await house.keep(await house.plan(set_("agents.mine", {"api_key": "sk-of-openai", "kind": "openai"})))
    await house.keep(await house.plan(Edit(path="agents.mine", act="remove")))

    assert "http://127.0.0.1:2/v1" == back.new.settings.agents["mine"].base_url
    with pytest.raises(Invalid, match="would get api_key"):
        await house.back_to(1)


async def test_a_file_that_can_t_be_read_is_told(house: House) -> None:
    """Whatever is to be changed."""
    house.file.write_text("agents: [", "utf-8")

    (told,) = await house.problems(Edit(path="channels.web", act="remove"))

    assert str(house.file) in told


QUOTA = "rooms: {R: {observe: true, quota: {room: {messages: {day: 5}}}, threads: {'7': {quota: {soft: 1}}}}}"


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(path="channels.hook.rooms.R", act="remove")],
        [Edit(path="channels.hook.rooms", act="remove")],
        [set_("channels.hook.rooms.R", {"observe": True})],
        [set_("channels.hook.rooms.R.threads", {})],
    ],
    ids=["removed", "all removed", "replaced", "threads replaced"],
)
async def test_a_room_s_quota_in_the_file_goes_with_no_room(house: House, edits: list[Edit]) -> None:
    """Who configures one channel takes no quota away by saying something of the section that it stands in, nor brings one back;
    what else the room says is theirs."""
    house.file.write_text(FILE.replace("rooms: {R: {observe: true}}", QUOTA), "utf-8")

    with pytest.raises(Refused, match="the whole gateway"):
        await house.planner.edited(edits, expected=None, admit=admitting(acting("hook")))
    await house.planner.edited(
        [set_("channels.hook.rooms.R.busy", "queue")], expected=None, admit=admitting(acting("hook"))
    )
    await house.keep(await house.plan(*edits))
    back = [Edit(path=edit.path, act="reset") for edit in edits]
    with pytest.raises(Refused, match="the whole gateway"):
        await house.planner.edited(back, expected=None, admit=admitting(acting("hook")))


async def test_a_room_without_a_quota_is_its_channel_s_own(house: House) -> None:
    """It comes and goes as its admins like."""
    edits = [Edit(path="channels.hook.rooms.R", act="remove")]

    plan = await house.planner.edited(edits, expected=None, admit=admitting(acting("hook")))

    assert not plan.new.settings.channels["hook"].rooms


async def test_a_plan_larger_than_revisions_may_be_is_refused(house: House) -> None:
    with pytest.raises(Invalid, match="1,048,576 bytes at most"):
        await house.plan(set_("agents.default.system", "x" * 1_100_000))


def test_whose_a_setting_is() -> None:
    """A channel's own rooms and habits are its admins', and what its bot signs in with; its being, its people, what proves them
    and where its words go are the gateway's."""
    own = [("channels", "a", "busy"), ("channels", "a", "rooms", "R", "agent"), ("channels", "a", "bot_token")]
    others = [
        ("channels", "a"),
        ("channels", "a", "kind"),
        ("channels", "a", "api_url"),
        ("channels", "a", "jwt", "issuer"),
        ("channels", "a", "secrets"),
        ("channels", "a", "signing_secrets"),
        ("channels", "a", "secret_token"),
    ]

    assert ["a"] * 3 == list(channels_touched(own))
    assert [None] * 8 == list(channels_touched([*others, ("memory", "window")]))


def test_quotas_of_a_channel_are_the_gateways_wherever_they_stand() -> None:
    """Who looks after a channel does not raise what it may cost; a room that is called so is a room."""
    quotas = [
        ("channels", "a", "quota", "room"),
        ("channels", "a", "rooms", "r", "quota"),
        ("channels", "a", "rooms", "r", "threads", "t", "quota", "soft"),
    ]

    assert [None] * 3 == list(channels_touched(quotas))
    assert ["a"] == list(channels_touched([("channels", "a", "rooms", "quota", "agent")]))


def acting(*channels: str) -> Acting:
    """An admin of these channels only, about to change settings."""
    return Acting(actor=actor(*(("admin", channel) for channel in channels)), operation=CHANGE)


@pytest.mark.parametrize(
    "edit",
    [
        set_("channels.hook.takeover.desk", "chat/staff"),
        set_("channels.hook.rooms.R", {"threads": {"7": {"takeover": {"desk": "chat/员工"}}}}),
    ],
    ids=["setting", "section"],
)
async def test_staff_are_told_in_one_s_own_channel_s_rooms(house: House, edit: Edit) -> None:
    """Who configures one channel lets the gateway speak in no room of another: the staff's room is there for who configures
    both."""
    house.file.write_text(f"{FILE}  chat: {{kind: telegram, token: '12:abc'}}\n", "utf-8")

    with pytest.raises(Refused, match="'chat'"):
        await house.planner.edited([edit], expected=None, admit=admitting(acting("hook")))
    plan = await house.planner.edited([edit], expected=None, admit=admitting(acting("hook", "chat")))

    assert {("channels", "hook")} == {path[:2] for path in plan.touched}


async def test_a_change_of_several_channels_is_of_no_single_one(house: House) -> None:
    """The audit log of one channel tells nothing of what else was changed with it."""
    acting = Acting(actor=local(), operation=CHANGE)
    edits = [set_("channels.web.busy", "queue"), set_("agents.default.system", "…")]

    await house.planner.edited(edits, expected=None, admit=admitting(acting))
    both = acting.channel
    await house.planner.edited(edits[:1], expected=None, admit=admitting(acting))

    assert (None, "web") == (both, acting.channel)


async def test_the_start_takes_the_newest_that_goes(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """An older revision, or the file alone; and says why the newest is not in force."""
    await house.keep(await house.plan(set_("agents.extra", {})))
    await house.keep(await house.plan(set_("channels.hook.agent", "paid")))
    loader = house.layers.loader
    fine = await loader.start()
    house.file.write_text(FILE.replace("  paid:", "  other:"), "utf-8")
    older = await loader.start()
    told = loader.problem
    house.file.write_text("agents: {default: {}}\nchannels: {hook: {kind: console}}\n", "utf-8")
    alone = await loader.start()

    assert 2 == (fine.overlay or Overlay(number=0, tree={})).number
    assert 1 == (older.overlay or Overlay(number=0, tree={})).number
    assert told is not None
    assert "revision 2: channels.hook.agent: 'paid'" in told
    assert 1 == (alone.overlay or Overlay(number=0, tree={})).number


async def test_the_file_has_to_be_valid_by_itself(house: House) -> None:
    """A start must know from it where the rest is."""
    await house.keep(await house.plan(set_("agents.extra", {})))
    house.file.write_text("agents: {}\n", "utf-8")

    with pytest.raises(InvalidSettings, match="names no agent"):
        await house.layers.loader.start()
    assert isinstance(await house.layers.loader.load(), InvalidSettings)


def test_what_a_change_touches(tmp_path: Path) -> None:
    """Only agents and channels whose own settings differ."""
    file = tmp_path / "clew.yaml"
    file.write_text(FILE, "utf-8")
    old = load(file, ENVIRON)
    tree: dict[str, Any] = {
        "agents": {"paid": {"model": "x"}, "new": {}},
        "channels": {
            "web": None,
            "hook": {"sync_s": 5, "rooms": {"R": {"busy": "queue"}}},
            "chat": {"kind": "console"},
        },
    }
    what = replaced(old.settings, load(file, ENVIRON, Overlay(number=1, tree=tree)).settings)

    assert {"paid": "restarted", "new": "added"} == what.agents
    assert {"web": "removed", "hook": "restarted", "chat": "added"} == what.channels
