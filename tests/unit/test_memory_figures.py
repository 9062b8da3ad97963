"""The figures that `make bench-memory` prints of the memory core, on small measure: their goals hold, and each instrument sees
the fault that it is made for. The figures are in tests/bench/README.md."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bench import arrays, pins, replays
from tests.bench.attribution import WAYS, Chat, Line, load
from tests.bench.core import Core, opened
from tests.bench.cost import Dialogue, given, measure, shop
from tests.bench.leaks import Leaks, speakers
from tests.contracts.columns import COLUMNS, SqliteColumn


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    async with opened(SqliteColumn(tmp_path)) as running:
        yield running


@pytest.mark.parametrize("language", pins.SAID)
async def test_pinned_constraints_are_in_every_prompt(core: Core, language: str) -> None:
    """D14, D15, D16: after many turns, in later sessions and other rooms, however small the budget."""
    figures = await pins.measure(core, language, after=(1, 12))

    assert pins.BUDGETS.keys() == figures.keys()
    assert {(20, 20)} == {(one.found, one.looked_for) for one in figures.values()}, figures


async def test_a_constraint_that_is_missing_is_seen(core: Core) -> None:
    prepared = await core.say(pins.private("u"), "hello", person=await core.person("u"))
    figures = pins.Figures()

    figures.look(prepared, ["penicillin"], when="now")

    assert ("0 of 1 | penicillin now", 0) == (figures.line(), figures.found)


@pytest.mark.parametrize("column", COLUMNS)
async def test_nothing_leaks_between_hostile_keys(column: str, request: pytest.FixtureRequest) -> None:
    """C18, C19, F10: no canary of another's in any prompt, on any database, while each gets their own."""
    async with opened(COLUMNS[column](request)) as running:
        figures = await Leaks(running).run(speakers(12))

    assert 0 == figures.foreign.total(), figures
    assert {"facts", "pinned", "profile", "recalled", "window"} == figures.own.keys()


async def test_a_leak_is_seen(core: Core) -> None:
    """Persons of two tenants taken for one: the foreign canaries are counted, in every section that is personal."""

    class OneTenant(Core):
        async def person(self, account: str, *, kind: str = "web", tenant: str = "acme") -> int:
            return await super().person(account, kind=kind)

    tenants = [one for one in speakers(900) if str(one.key) == "u1:web:r1:private:helper"][:3]

    figures = await Leaks(OneTenant(core.store, clock=core.clock)).run(tenants)

    assert 3 == len(tenants)
    assert {"pinned", "profile", "recalled", "facts"} <= figures.foreign.keys()


CHAT = [
    Line(sender=f"u{number % 3}", name=("Ann", "小明", "Zoë")[number % 3], text=text.format(number))
    for number in range(12)
    for text in (("I'm Nr {}, and I like topic {} best.", "我是{}号，我喜欢话题{}。")[number % 2].replace("{}", "{0}"),)
]


@pytest.mark.parametrize("way", WAYS)
async def test_everything_stands_under_who_said_it(core: Core, way: str) -> None:
    """C19, F9, LangBot#1822: lines, facts, profile and recalled talk; nothing foisted on another by a model is kept."""
    figures = await Chat(core, CHAT, **WAYS[way]).run()

    assert 0 == figures.wrong.total() == figures.kept, figures
    assert {"window", "facts", "profile", "recalled"} <= figures.right.keys()
    assert ("observed" in figures.right) == (way == "every other message overheard")
    assert figures.foisted > 0


async def test_a_line_under_a_wrong_name_is_seen(core: Core) -> None:
    """Two of the accounts taken for one person: what one is known by counts as wrong with the other."""

    class OnePerson(Core):
        async def person(self, account: str, *, kind: str = "web", tenant: str = "acme") -> int:
            return await super().person("u0" if account == "u1" else account)

    figures = await Chat(OnePerson(core.store, clock=core.clock), CHAT, **WAYS["as it is"]).run()

    assert {"profile", "recalled"} <= figures.wrong.keys()


def test_a_chat_is_read_as_it_lies() -> None:
    raw = {"conversation_list": [{"sender": "u1", "sender_name": "Ann", "content": "two\nlines  好"}]}

    assert [Line(sender="u1", name="Ann", text="two lines 好")] == load(json.dumps(raw).encode())


def test_prompts_of_any_history_are_valid_arrays() -> None:
    """A33, A34: what leaves for the provider, read back from its bytes."""
    figures = arrays.measure(150)

    assert ("150 of 150 valid", 150) == (figures.line().partition(",")[0], figures.prompts)
    assert figures.messages > 300


@pytest.mark.parametrize(
    ("roles", "fault"),
    [
        ("user", ""),
        ("user assistant user", ""),
        ("assistant user", "roles out of turn"),
        ("user user", "roles out of turn"),
        ("user assistant", "roles out of turn"),
    ],
)
def test_arrays_out_of_turn_are_seen(roles: str, fault: str) -> None:
    messages = [{"role": "system", "content": "x"}, *({"role": role, "content": "x"} for role in roles.split())]

    assert [fault] * bool(fault) == list(arrays.faults(json.dumps({"messages": messages}).encode()))


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        (b"\xff", "no UTF-8 JSON"),
        (b'{"messages": [{"role": "user", "content": "x"}]}', "no system block first"),
        (b'{"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": " "}]}', "empty content"),
        (b'{"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": null}]}', "more than text"),
    ],
)
def test_other_faults_of_arrays_are_seen(sent: bytes, fault: str) -> None:
    assert fault in list(arrays.faults(sent))


async def test_every_prompt_is_made_again_byte_for_byte(tmp_path: Path) -> None:
    """B58: at once, after a restart, after more talk and a month; after deletions what differs says so, and shows nothing of
    them, not in replies either (getzep/graphiti#1489)."""
    moments = {when: one async for when, one in replays.measure(SqliteColumn(tmp_path), turns=40)}

    *before, after = moments.values()
    assert [(40, 40)] * 3 == [(one.same, one.turns) for one in before]
    assert [(0, 0)] * 4 == [(one.untold, one.gone) for one in moments.values()]
    assert 0 < after.same < 40


@pytest.mark.parametrize("language", ["english", "chinese"])
async def test_what_the_small_model_costs_is_counted(tmp_path: Path, language: str) -> None:
    """B44: small talk is asked about by nobody; the share is of the answers' tokens."""
    dialogue = shop(language)
    short = Dialogue(name="s", language=dialogue.language, chat_type="private", turns=dialogue.turns[:11])

    costs = await measure(short, tmp_path)

    assert (11, 10) == (costs.turns, costs.asked), costs
    assert 1 == costs.condensed
    assert 0.2 < costs.share < 0.7
    assert f"{costs.share:.1%}" == costs.line("s").rpartition(" | ")[2]


def test_sets_are_read_where_they_lie(tmp_path: Path) -> None:
    """A team's chat is a group's talk; of two people's talk one asks, and the other's words are the replies."""
    chat = tmp_path / "chat.json"
    chat.write_text(
        json.dumps({"conversation_list": [{"sender": "u", "sender_name": "Bo", "content": "早上好"}]}), "utf-8"
    )
    said = [{"speaker": who, "text": text} for who, text in ("A1", "A2", "B3", "A4")]
    talk = {"speaker_a": "A", "session_1_date_time": "", "session_1": said}
    locomo = tmp_path / "locomo.json"
    locomo.write_text(json.dumps([{"sample_id": "c1", "conversation": talk}]))

    dialogues = list(given({"TEAM_CHATS": str(chat), "LOCOMO": str(locomo)}))

    assert ["shop, english", "shop, chinese", "team chat, zh", "LoCoMo c1"] == [one.name for one in dialogues]
    assert [("Bo", "早上好")] == [(one.speaker, one.text) for one in dialogues[2].turns]
    assert [("1\n2", "3")] == [(one.text, one.reply) for one in dialogues[3].turns]
