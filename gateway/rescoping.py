"""What becomes of the groups' memory when the settings say anew who shares it.

Scopes are stored under names that follow from the setting (`scope:`), so another setting gives other names, which would find
nothing. At the start and at every such change the stored names are compared with those that the settings give
(AstrBot#4331), and what differs is said and settled.

Sharing more goes on: of the scopes that become one, the one last spoken in goes on under the new name, as that is the talk
people are in; its place in the group has heard it all. The others are kept, and nothing leads to them. Sharing less begins
afresh: a scope that went on would hold what the new setting keeps apart, for somebody who is not to see it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from config.effective import Place, places
from config.loader import Configuration
from memory.base import GroupScope
from memory.key import Scope, ScopeMode, mode_of, shared_as, whereabouts
from memory.service import Memory

logger = logging.getLogger(__name__)

_WIDTH: dict[ScopeMode, int] = {"speaker": 0, "conversation": 1, "room": 2}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a changed setting asks for in a room: `name` leads to scope `target_id` from now on (None: to itself again), after
    the session there has ended if it `ends`."""

    room: str
    was: ScopeMode
    now: ScopeMode
    name: Scope
    target_id: int | None
    alias: bool
    ends: bool


def rules(configuration: Configuration) -> Mapping[Place, ScopeMode]:
    """Return who shares a group's memory, for every place that the settings name: what a change is told by."""
    return {place: configuration.effective(*place).scope for place in places(configuration.settings)}


def changes(found: Sequence[GroupScope], rule: Callable[[Scope], ScopeMode]) -> list[Change]:
    """Return what has to be done so that the names of a channel are those which `rule` gives; nothing, most often. Pure."""
    known = {name.scope: name for name in found}
    merging: dict[Scope, list[GroupScope]] = {}
    made: list[Change] = []
    for name in found:
        was, now = mode_of(name.scope), rule(name.scope)
        if _WIDTH[now] > _WIDTH[was]:
            merging.setdefault(shared_as(name.scope, mode=now), []).append(name)
        elif _WIDTH[now] < _WIDTH[was] and (name.active or name.alias):
            made.append(_change(name, now=now, name=name.scope, target_id=None, alias=name.alias, ends=name.active))
    for shared, parts in merging.items():
        mine = known.get(shared)
        last = max([*parts, *([mine] if mine else [])], key=lambda name: (name.last_ms, name.root_id))
        # Talk that was ended goes on nowhere, nor does older talk in its place.
        if last.active and (mine is None or mine.root_id != last.root_id):
            made.append(_change(last, now=mode_of(shared), name=shared, target_id=last.root_id, alias=True, ends=False))
    return made


def _change(of: GroupScope, *, now: ScopeMode, name: Scope, target_id: int | None, alias: bool, ends: bool) -> Change:
    room = whereabouts(of.scope)[1]
    was = mode_of(of.scope)
    return Change(room=room, was=was, now=now, name=name, target_id=target_id, alias=alias, ends=ends)


async def settle(configuration: Configuration, memory: Memory) -> None:
    """Bring the stored names to what the settings say, and log a warning for each room where that makes a difference.
    Repeating it changes nothing. Raises `memory.errors.MemoryFault`."""
    for channel in configuration.settings.channels:
        made = await foreseen(configuration, memory, channel)
        for change in made:
            if change.ends:
                await memory.end_session(change.name, agent_change="fresh")
            if change.alias:
                await memory.names.alias(change.name, change.target_id)
        _tell(channel, made)


async def foreseen(configuration: Configuration, memory: Memory, channel: str) -> list[Change]:
    """Return what has to be done in a channel under these settings, without doing it. Raises `memory.errors.MemoryFault`."""
    found = await memory.names.group_scopes(channel)
    return changes(found, lambda scope: _rule(configuration, scope))


def _rule(configuration: Configuration, scope: Scope) -> ScopeMode:
    """Return the setting for a stored scope's place. What threads share is as it should be if any place of the room says so."""
    channel, room, thread = whereabouts(scope)
    if mode_of(scope) == "room":
        entry = configuration.settings.channels[channel].rooms.get(room)
        threads = (None, *(entry.threads if entry else ()))
        if any(configuration.effective(channel, room, thread).scope == "room" for thread in threads):
            return "room"
    return configuration.effective(channel, room, thread).scope


def _tell(channel: str, made: Iterable[Change]) -> None:
    told: dict[tuple[str, ScopeMode, ScopeMode], bool] = {}
    for change in made:
        if change.ends or change.target_id is not None:
            told[change.room, change.was, change.now] = change.target_id is not None
    for (room, was, now), continues in told.items():
        what = "the conversation last spoken in goes on, shared" if continues else "everybody begins afresh"
        logger.warning(
            "memory is shared otherwise from now on",
            extra={"channel": channel, "room": room, "scope_was": was, "scope": now, "consequence": what},
        )
