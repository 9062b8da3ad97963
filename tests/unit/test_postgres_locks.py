"""Each advisory lock has a number of its own, and all of them are in one place."""

from __future__ import annotations

import re

from memory.postgres_locks import Lock
from tests.scenarios.world import ROOT

CALL = re.compile(r"pg_\w*advisory\w*\((?P<key>[^,)]+)")
NAMED = re.compile(r"%s|\{lock:d\}|turn_id|\{Lock\.[A-Z_]+\}|\{Lock\.[A-Z_]+:d\}")


def test_no_two_locks_are_one() -> None:
    """Two of one number would make those wait for each other who have nothing to do with each other."""
    numbers = [lock.value for lock in Lock.__members__.values()]

    assert len(Lock.__members__) == len({*numbers})
    assert all(0 < number < 1 << 31 for number in numbers)


def test_no_lock_has_its_number_elsewhere() -> None:
    """A number that stands in another file is not seen by who chooses the next one."""
    strays = []
    for path in sorted(found for package in ("gateway", "memory") for found in (ROOT / package).rglob("*.py")):
        text = path.read_text("utf-8")
        if path.name == "postgres_locks.py":
            continue
        strays += [f"{path.name}: {call['key']}" for call in CALL.finditer(text) if not NAMED.fullmatch(call["key"])]
        strays += [f"{path.name}: {number}" for number in re.findall(r"0x[46]36C65[0-9A-F]{2}", text)]

    assert [] == strays
