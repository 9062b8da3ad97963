"""How grants meet."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gateway.admin.grants import covers, merged, narrowed
from gateway.admin.rights import RIGHTS, ROLES, Actor, Grant, Right, may

GRANTS = st.builds(Grant, role=st.sampled_from(ROLES), channel=st.sampled_from([None, "shop", "help-desk"]))
SETS = st.lists(GRANTS, max_size=4)
PLACES = (None, "shop", "help-desk", "other")
RIGHTS_ALL: list[Right] = sorted(RIGHTS["owner"])


def acts(grants: list[Grant] | tuple[Grant, ...], right: Right, channel: str | None) -> bool:
    return may(Actor(id="user:1", name="", grants=tuple(grants), door="api"), right, channel)


def test_roles_are_a_chain() -> None:
    """Each role holds all that the one before it does; all the rest here rests on that."""
    assert all(RIGHTS[low] <= RIGHTS[high] for low, high in pairwise(ROLES))


@given(SETS, SETS)
def test_a_narrowed_set_may_what_both_may(wanted: list[Grant], held: list[Grant]) -> None:
    """What a token may now is what it was made with and its user still holds, right by right and place by place."""
    both = narrowed(wanted, held)

    for right in RIGHTS_ALL:
        for place in PLACES:
            assert (acts(wanted, right, place) and acts(held, right, place)) == acts(both, right, place)


@given(SETS)
def test_merging_changes_no_right(grants: list[Grant]) -> None:
    """One grant a place is left, and nobody may more or less."""
    once = merged(grants)

    assert len({grant.channel for grant in once}) == len(once)
    for right in RIGHTS_ALL:
        for place in PLACES:
            assert acts(grants, right, place) == acts(once, right, place)


@given(SETS, GRANTS)
def test_a_covered_grant_adds_no_right(held: list[Grant], wanted: Grant) -> None:
    """Whoever hands on what is covered hands on nothing of their own making."""
    if covers(held, wanted):
        for right in RIGHTS_ALL:
            for place in PLACES:
                assert acts(held, right, place) == acts([*held, wanted], right, place)
