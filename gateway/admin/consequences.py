"""What a change of settings brings about: whose memory begins anew, which connections restart, what waits, what to mind. Reads
only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from config.effective import Place, places
from config.loader import Configuration
from config.problems import path_text
from gateway.admin.acts.settings import Changed, ChangeTold, Fresh, Touched
from gateway.admin.deleting import Deleting
from gateway.admin.planning import Plan
from gateway.live import READ_AT_START, replaced
from gateway.rescoping import Change, foreseen, rules
from memory.service import Memory


class Consequences:
    """Tells what plans would do. `placed` gives settings as they count for the rooms' ids of the moment."""

    def __init__(self, *, memory: Memory, placed: Callable[[Configuration], Configuration], deleting: Deleting) -> None:
        self._memory = memory
        self._placed = placed
        self._deleting = deleting

    async def of(self, plan: Plan, *, dry_run: bool, sees: Callable[[str], bool]) -> ChangeTold:
        """Return all that a plan changes at the paths that `sees` lets through: others' may have changed since, too. Raises
        `memory.errors.MemoryFault` and `gateway.errors.StoreBusy`."""
        old, new = plan.old, self._placed(plan.new)
        what = replaced(old.settings, new.settings)
        fresh = [*_agents(old, new)]
        for channel in _shared_otherwise(old, new):
            fresh += _scopes(channel, await foreseen(new, self._memory, channel))
        changes = tuple(one for one in _changed(plan) if sees(one.path))
        seen = {name for name in [*old.settings.channels, *new.settings.channels] if sees(_path(name))}
        overruled = (f"{one.path}: {one.over} says otherwise; the revision wins" for one in changes if one.over)
        return ChangeTold(
            number=plan.expected + 1,
            dry_run=dry_run,
            digest=plan.new.revision,
            changes=changes,
            fresh=tuple(one for one in fresh if one.channel in seen),
            touched=(
                *(Touched(what="channel", name=name, how=how) for name, how in what.channels.items() if name in seen),
                *(Touched(what="agent", name=name, how=how) for name, how in what.agents.items()),
            ),
            waits=tuple(name for name in READ_AT_START if getattr(old.settings, name) != getattr(new.settings, name)),
            warnings=(
                *overruled,
                *(str(one) for one in new.warnings if one not in old.warnings and sees(one.path)),
            ),
            deletes=await self._deleting.of(plan),
        )


def _path(channel: str) -> str:
    return path_text(("channels", channel))


def _changed(plan: Plan) -> Iterable[Changed]:
    sources = plan.new.sources
    for one in plan.differences:
        origin = sources.origin(one.path, layer="gateway")
        over = f"{origin.file}:{origin.line}" if origin.revision is not None and origin.file is not None else None
        yield Changed(path=path_text(one.path), was=one.was, now=one.now, secret=one.secret, over=over)


def _shared_otherwise(old: Configuration, new: Configuration) -> list[str]:
    """Return the channels whose rules of who shares a group's memory differ: of the others nothing is read."""
    was, now = rules(old), rules(new)
    differing = {place[0] for place in was.keys() | now.keys() if was.get(place) != now.get(place)}
    return [name for name in new.settings.channels if name in differing and name in old.settings.channels]


def _agents(old: Configuration, new: Configuration) -> Iterable[Fresh]:
    """Yield each place in which another agent answers from now on; not those that only do as the place above them does."""
    found: dict[Place, Fresh] = {}
    for place in dict.fromkeys([*places(new.settings), *places(old.settings)]):
        channel, room, thread = place
        if channel not in new.settings.channels or channel not in old.settings.channels:
            continue
        was, now = old.effective(*place), new.effective(*place)
        if was.agent == now.agent:
            continue
        change = Fresh(
            channel=channel,
            room=room,
            thread=thread,
            setting="agent",
            was=was.agent,
            now=now.agent,
            becomes=now.agent_change,
        )
        above = found.get((channel, room if thread is not None else None, None))
        found[place] = change
        if above is None or (above.was, above.now, above.becomes) != (was.agent, now.agent, now.agent_change):
            yield change


def _scopes(channel: str, changes: Iterable[Change]) -> Iterable[Fresh]:
    seen: dict[tuple[str, str, str, str], Fresh] = {}
    for change in changes:
        if change.ends or change.target_id is not None:
            becomes: Literal["shared", "fresh"] = "fresh" if change.target_id is None else "shared"
            seen[change.room, change.was, change.now, becomes] = Fresh(
                channel=channel,
                room=change.room,
                thread=None,
                setting="scope",
                was=change.was,
                now=change.now,
                becomes=becomes,
            )
    return seen.values()
