"""Plans of the chaos runs: the same for the same seed, every kind of trouble in them, and read as they were written."""

from __future__ import annotations

import pytest

from tests.chaos.plan import ACTS, LINKS, deck, drawn, kinds, read, written
from tests.chaos.run import LEASE_S
from tests.chaos.test_chaos import EVERY_S, SECONDS, SEEDS

SHORT = {"seconds": 40.0, "instances": 3, "lease_s": 3.0}


def test_a_seed_is_a_plan() -> None:
    """The same each time, and another for another seed."""
    assert drawn(7, **SHORT) == drawn(7, **SHORT)
    assert drawn(7, **SHORT) != drawn(8, **SHORT)


def test_a_plan_is_read_as_it_was_written() -> None:
    """With words for people in it."""
    plan = drawn(7, **SHORT)

    assert plan == read("# seed 7\n\n" + written(plan).replace("\n", "  # as planned\n"))


@pytest.mark.parametrize("line", ["1.0 kill", "x kill 1", "1.0 explode 1", "1.0 kill 1 2"])
def test_what_is_no_act_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"line 2|could not convert"):
        read(f"0.5 kill 1\n{line}\n")


def test_every_act_comes_up_and_ends() -> None:
    """In a long run each kind of trouble is there; what begins ends, at its own target; each act is of the list."""
    plan = drawn(3, seconds=3 * len(deck(3.0)) * 3.0, instances=3, lease_s=3.0)

    assert set(ACTS) == {act.act for act in plan}
    ends = {"kill": "start", "freeze": "thaw", "stop": "start", "flood": "calm", "hole": "pass", "mute": "pass"}
    for number, act in enumerate(plan):
        if act.act in ends:
            assert any(ends[act.act] == later.act for later in plan[number:] if later.target == act.target), act


def test_targets_are_what_there_is() -> None:
    """Instances by number, links by instance and name, servers by name."""
    targets = {f"{instance}{link}" for instance in range(2) for link in ("", *(f"/{name}" for name in LINKS))}
    servers = {"redis", "postgres", "slack", "telegram", "settings", "all"}

    assert targets | servers >= {act.target for act in drawn(5, seconds=600, instances=2, lease_s=3.0)}


def test_a_short_plan_has_trouble_enough() -> None:
    """About one every three seconds, within the time, in order."""
    for seed in range(50):
        plan = drawn(seed, **SHORT)
        assert 12 <= len(plan) <= 50
        assert plan == sorted(plan)
        assert all(0 < act.at_s < 40 + 10 for act in plan)


def test_the_short_form_has_every_kind_of_trouble() -> None:
    """Which its seeds were chosen for: CI rehearses each row of the operators' table that names one."""
    tried = set[str]().union(*(kinds(seed, seconds=SECONDS, lease_s=LEASE_S, every_s=EVERY_S) for seed in SEEDS))

    assert set(deck(LEASE_S)) == tried
