"""A fuzz of every public input, in short: about 250 kinds. `make fuzz` tries 10,000."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.fuzz import seeds
from tests.attacks.fuzz.cases import chosen
from tests.attacks.fuzz.doors import applications, doors_of, reached
from tests.attacks.fuzz.mutators import BYTES, TREE, changed, encoded, paths
from tests.attacks.fuzz.place import SHARES, fuzzed
from tests.attacks.fuzz.run import run
from tests.attacks.fuzz.targets import Asking

SEED = 20261130
KINDS = 250


@pytest.mark.timeout(400)
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_whatever_comes_in(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """No 500, no hang, nothing lost: each acknowledged message has its row or the rule by which it is nothing for us, and behind
    each batch a good one is answered (F12). One half of the kinds on each database."""
    storage = request.getfixturevalue("postgres_url") if database == "postgres" else None
    async with fuzzed(tmp_path, storage=storage) as there:
        made = await run(there, count=KINDS, seed=SEED, part=(int(database == "postgres"), 2))

    assert [] == made.faults, made.told()
    assert set(SHARES) == set(made.done)


NOT_PUBLIC = {("POST", "/people/{person}/erase"), ("POST", "/accounts/erase")}
"""Of the command line's own door (`gateway/admin/door.py`), beside the admins' REST acts: it is refused unread to whoever can't
read the token in a file beside the database, and who can may write to the database as well."""


async def test_at_every_door_something_is_handed_in(tmp_path: Path) -> None:
    """By the routers of the gateway itself, whatever the method: a door that is added is fuzzed, or told here to be none for
    strangers."""
    async with fuzzed(tmp_path) as there:
        asked = {one for target in there.targets if isinstance(target, Asking) for one in target.whole()}
    (inside := tmp_path / "inside").mkdir()
    async with applications(inside) as apps:
        served = {app: doors_of(app) for app in apps}
        public = next(app for app, doors in served.items() if ("POST", "/channels/{name}") in doors)
        tried = await reached(public, asked)
    (others,) = (doors for app, doors in served.items() if app is not public)

    assert served[public] == tried
    assert others == NOT_PUBLIC | {(method, path) for method, path in served[public] if path.startswith("/api/v1")}


def test_the_same_seed_makes_the_same_kinds_and_none_twice() -> None:
    """A fault that was found is found again by its seed; where there are fewer than are wanted, all of them are tried."""
    payloads = seeds.slack_events()

    one, two = (
        chosen("Slack events", payloads, of=("tree", "bytes", "wire"), count=2_000, rng=random.Random(3))
        for _ in range(2)
    )
    few = chosen("few", {"x": {"a": 1}}, of=("tree",), count=10_000, rng=random.Random(3))

    assert one == two
    assert 2_000 == len(set(one))
    assert len(TREE) == len(set(few))


def places() -> Iterator[tuple[object, tuple[str | int, ...]]]:
    tree = {"a": [1, {"b": "x"}], "c": None}
    return ((tree, path) for path in paths(tree))


def test_what_is_done_to_a_tree_can_be_written() -> None:
    """Each act, at each place; and none leaves the payload as it was, but where that is what it would be."""
    for tree, path in places():
        whole = encoded(tree)
        same = [act for act, change in TREE.items() if encoded(changed(tree, path, change)) == whole]
        assert len(same) <= 1, (path, same)


def test_what_is_done_to_bytes_is_done() -> None:
    """To any body, an empty one too."""
    for act, change in BYTES.items():
        for body in (b"", b'{"a": "\xe4\xbd\xa0"}'):
            assert isinstance(change(body, random.Random(1)), bytes), act
