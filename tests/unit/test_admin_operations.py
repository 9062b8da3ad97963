"""Rights are checked and acts audited in one place, whatever the door."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gateway.admin.operations import Empty, Refused, Service
from gateway.admin.rights import RIGHTS, ROLES, Actor, Grant, Role, channels_of, local, may
from gateway.errors import StoreBusy
from tests.unit.admin_acts import DROP, FIND, HANDLERS, PUT, READ, Find, Kept, One, Put, actor, made


def test_each_role_holds_all_that_the_one_below_holds() -> None:
    """A higher role never lacks what a lower one has."""
    held = [RIGHTS[role] for role in ROLES]

    assert all(below < above for below, above in pairwise(held))


def test_only_who_may_read_sees_words() -> None:
    """A viewer sees figures and settings, and never a word that was said."""
    assert ["operator", "admin", "owner"] == [role for role in ROLES if "read" in RIGHTS[role]]


def test_a_grant_for_a_channel_is_none_for_the_gateway() -> None:
    """Who may do all in one channel may do it there, and nothing that concerns them all."""
    one = actor("owner", "acme")

    assert may(one, "configure", "acme")
    assert not may(one, "configure", "other")
    assert not may(one, "configure")


def test_channels_of_several_grants_are_joined() -> None:
    """Each right counts for the channels of the grants that hold it; one grant for all makes it all."""
    grants = (Grant(role="viewer"), Grant(role="operator", channel="acme"), Grant(role="admin", channel="support"))
    one = Actor(id="user:1", name="Ada", grants=grants, door="api")

    assert channels_of(one, "see") is None
    assert frozenset({"acme", "support"}) == channels_of(one, "read")
    assert frozenset({"support"}) == channels_of(one, "configure")
    assert frozenset() == channels_of(one, "access")
    assert channels_of(local(), "access") is None


@pytest.mark.parametrize("role", ROLES)
async def test_an_act_is_done_by_who_may(role: Role) -> None:
    """The right decides; a refusal is in the log like an act, with who asked."""
    audit = Kept()
    allowed = "configure" in RIGHTS[role]
    try:
        await made(audit).perform(actor(role), PUT, Put(number=1, text="x"))
    except Refused as fault:
        told = str(fault)

    if allowed:
        assert [("things.put", "user:1", "done", None, {"thing": 1})] == audit.entries
    else:
        assert [("things.put", "user:1", "refused", None, {})] == audit.entries
        assert (
            "things.put needs the right 'configure' for the whole gateway; ask an owner for a role that has it" == told
        )


async def test_an_act_in_a_channel_needs_the_right_there() -> None:
    """The channel of the request decides, not the grants elsewhere."""
    service = made()

    assert "acme" == (await service.perform(actor("viewer", "acme"), FIND, Find(channel="acme"))).channel
    with pytest.raises(Refused, match="channel 'other'"):
        await service.perform(actor("viewer", "acme"), FIND, Find(channel="other"))


async def test_an_act_that_finds_its_channel_is_held_to_it() -> None:
    """Where the channel is known only from what is found, the handler asks for the right there, and the log names it."""
    audit = Kept()
    service = made(audit)
    await service.perform(actor("operator", "acme"), READ, One(thing="mine"))
    with pytest.raises(Refused):
        await service.perform(actor("operator", "acme"), READ, One(thing="other"))
    with pytest.raises(Refused, match="needs the right 'read'"):
        await service.perform(actor("viewer"), READ, One(thing="mine"))

    assert [("done", "acme"), ("refused", "other"), ("refused", None)] == [entry[2:4] for entry in audit.entries]


async def test_a_failed_act_is_told_as_failed() -> None:
    """What could not be done is in the log, and its error comes through."""
    audit = Kept()
    with pytest.raises(StoreBusy):
        await made(audit).perform(actor("operator"), READ, One(thing="away"))

    assert ["failed"] == [entry[2] for entry in audit.entries]


async def test_what_shows_no_words_leaves_no_entry_but_its_refusal_does() -> None:
    """Figures may be looked at without a trace; who tried what they may not is told."""
    audit = Kept()
    service = made(audit)
    await service.perform(actor("viewer"), FIND, Find(channel="acme"))
    with pytest.raises(Refused):
        await service.perform(actor("viewer", "acme"), FIND, Find(channel="other"))

    assert ["refused"] == [entry[2] for entry in audit.entries]


async def test_nothing_is_shown_that_the_log_does_not_hold() -> None:
    """A look whose entry can't be written shows nothing."""
    with pytest.raises(StoreBusy):
        await made(Kept(away=True)).perform(actor("operator"), READ, One(thing="mine"))


async def test_an_act_that_gives_nothing() -> None:
    """Nothing is a result, too."""
    assert Empty() == await made().perform(actor("operator"), DROP, One(thing="mine"))


def test_one_act_has_one_handler() -> None:
    """Two parts that both bind an operation are a mistake of ours, found at the start."""
    with pytest.raises(ValueError, match="bound twice"):
        Service(HANDLERS, HANDLERS, audit=Kept())
