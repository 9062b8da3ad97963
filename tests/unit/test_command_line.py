"""The command line's edges: usage, and changes that a replay can't make."""

from __future__ import annotations

import pytest

from config.channels.base import RoomSettings
from config.settings import AgentSettings
from gateway.__main__ import main
from gateway.admin.service import changed
from gateway.errors import BadRequest


@pytest.mark.parametrize(
    "arguments",
    [[], ["dance"], ["show"], ["db"], ["db", "vacuum"], ["serve", "--port", "1"], ["explain"], ["replay", "-5x"]],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, and the usage on standard error."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    told = capsys.readouterr()
    assert 2 == ended.value.code
    assert "" == told.out
    assert told.err.startswith("usage: python -m gateway")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "abc"], "turn 'abc': a turn's id is a number"),
        (["explain", "１２"], "turn '１２': a turn's id is a number"),
        (["replay", "1" * 30], "a turn's id is a number"),
        (["db", "backup"], "db backup: name the FILE to write"),
        (["show", "nowhere"], "channel 'nowhere' is not configured; there are: console"),
    ],
)
def test_what_makes_no_sense(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, the value and what would be right."""
    code = main(arguments)

    told = capsys.readouterr()
    assert (2, "") == (code, told.out)
    assert said in told.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("memory.window.turns", "write PATH=VALUE"),
        ("memory.window.turns=many", "memory.window.turns: 'many'"),
        ("memory.window.turns=0", "greater than or equal to 1"),
        ("memory.window.trns=4", "no such setting"),
        ("memory.window.turns.x=4", "no such setting"),
        ("memory.window=", "valid dictionary"),
        ("agent.wisdom=4", "no such setting"),
        ("agent=other", "the turn was this agent's"),
        ("=4", "no such setting"),
        ("busy=[", "not readable"),
        (f"busy={'[' * 3000}", "not readable"),
        ("busy=2026-13-45", "not readable"),
        ("busy=!!bool x", "has no meaning here"),
        ("busy=!!timestamp 请", "has no meaning here"),
        ("busy={a: 1, a: 2}", "is here twice"),
        ("busy=sometimes", "collect"),
    ],
)
def test_a_change_that_cannot_be_made(change: str, said: str) -> None:
    """It is refused by name, with what would be right."""
    with pytest.raises(BadRequest) as refused:
        changed(AgentSettings(), RoomSettings(), [change])

    assert said in str(refused.value)


def test_changes_are_made_in_order() -> None:
    """Rooms' settings by their path, the agent's behind `agent.`; the rest stays."""
    agent, room = changed(
        AgentSettings(model="m"),
        RoomSettings(busy="queue"),
        ["memory.window.turns=4", "agent.system=请简短回答", "agent.output_tokens=100", "memory.window.turns=5"],
    )

    assert ("m", "请简短回答", 100) == (agent.model, agent.system, agent.output_tokens)
    assert ("queue", 5) == (room.busy, room.memory.window.turns)
