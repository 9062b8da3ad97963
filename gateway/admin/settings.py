"""Settings in an admin's hands: what applies and why, changes with a trial before, history, the way back, export.

Who holds a right for some channels only sees and changes what is these channels' own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Final

import msgspec

from config.exporting import exported
from config.forms import Field, form_of, kinds, sections
from config.overlay import FILE_ONLY, WHOLE, Overlay, Said
from config.problems import InvalidSettings, path_of, path_text
from gateway.admin.acts.settings import (
    CHANGE,
    COMPARE,
    DESCRIBE,
    EXPORT,
    HISTORY,
    REVISION,
    ROLL_BACK,
    SHOW,
    STATUS,
    ChangeAsked,
    Changed,
    ChangeTold,
    CompareAsked,
    Compared,
    FormAsked,
    History,
    HistoryAsked,
    PlaceAsked,
    PlaceTold,
    RevisionAsked,
    RevisionLine,
    RevisionTold,
    RollBackAsked,
    StatusTold,
    ValueTold,
)
from gateway.admin.acts.settings import Said as SaidTold
from gateway.admin.consequences import Consequences
from gateway.admin.database import Transaction
from gateway.admin.loading import Loader
from gateway.admin.operations import Acting, Empty, Handlers, Invalid, Missing, Stream
from gateway.admin.own_settings import admitting, sees, sees_path, within
from gateway.admin.planning import NOTHING, Plan, Planner, Steps, channels_touched, overlay_paths, refused
from gateway.admin.revisions import Revision, Revisions
from gateway.admin.vault import Vault
from gateway.live import Live

IN_FORCE_S: Final = 5.0
"""Seconds that a change waits to be in force before it is answered."""


class SettingsActs:
    """The acts on settings, for one gateway."""

    def __init__(
        self,
        *,
        live: Live,
        loader: Loader,
        planner: Planner,
        revisions: Revisions,
        vault: Vault,
        consequences: Consequences,
    ) -> None:
        self._live = live
        self._loader = loader
        self._planner = planner
        self._revisions = revisions
        self._vault = vault
        self._consequences = consequences

    def handlers(self) -> Handlers:
        """Return what carries each operation out."""
        return {
            STATUS: self.status,
            SHOW: self.show,
            DESCRIBE: self.describe,
            CHANGE: self.change,
            HISTORY: self.history,
            REVISION: self.revision,
            COMPARE: self.compare,
            ROLL_BACK: self.roll_back,
            EXPORT: self.export,
        }

    async def status(self, acting: Acting, _: Empty) -> StatusTold:
        """Return what is in force."""
        running, newest = self._live.configuration, await self._revisions.newest()
        settings, all_of_it = running.settings, acting.channels() is None
        return StatusTold(
            number=number_of(running.overlay),
            newest=number_of(newest),
            digest=running.revision,
            file=running.file,
            problem=self._loader.problem if all_of_it else None,
            secrets=self._vault.locked,
            sections=sections() if all_of_it else ("channels",),
            fixed=tuple(".".join(path) for path in FILE_ONLY),
            kinds=kinds(),
            channels={name: one.kind for name, one in settings.channels.items() if acting.may("see", name)},
            agents=tuple(settings.agents),
        )

    async def show(self, acting: Acting, asked: PlaceAsked) -> PlaceTold:
        """Return what applies in a place."""
        configuration = self._live.configuration
        if asked.channel not in configuration.settings.channels:
            raise Missing(f"channel {asked.channel!r} is not configured")
        steps: Steps = ("channels", asked.channel)
        if asked.room is not None:
            steps += ("rooms", asked.room)
            steps += ("threads", asked.thread) if asked.thread is not None else ()
        elif asked.thread is not None:
            raise Invalid("thread: belongs to a room; give the room, too")
        form = form_of(configuration, steps)
        told = [
            ValueTold(
                path=field.path.removeprefix(f"{form.path}."),
                value=field.effective,
                origin=field.origin,
                default=field.default,
                unit=field.unit,
                description=field.description,
            )
            for field in _settings(form)
        ]
        return PlaceTold(
            channel=asked.channel,
            room=asked.room,
            thread=asked.thread,
            digest=configuration.revision,
            settings=tuple(told),
        )

    async def describe(self, acting: Acting, asked: FormAsked) -> Field:
        """Return a section's form. Raises `Missing`."""
        steps = _path(asked.path)
        acting.require(steps[1] if len(steps) > 1 and steps[0] == "channels" else None)
        try:
            return form_of(self._live.configuration, steps, kind=asked.kind)
        except KeyError:
            known = f"a channel that is to be added needs its kind: {', '.join(kinds())}"
            raise Missing(f"there is no setting {asked.path!r}; {known}") from None

    async def change(self, acting: Acting, asked: ChangeAsked) -> ChangeTold:
        """Change settings, or try it."""
        for channel in dict.fromkeys(channels_touched(_path(edit.path) for edit in asked.changes)):
            acting.require(channel)  # also of what would stay as it is: else a guess would tell another's setting
        with within(acting):
            plan = await self._planner.edited(asked.changes, expected=asked.expected, admit=admitting(acting))
        return await self.carry_out(acting, plan, reason=asked.reason, dry_run=asked.dry_run)

    async def roll_back(self, acting: Acting, asked: RollBackAsked) -> ChangeTold:
        """Let an older overlay count again, or try it."""
        overlay = await self._overlay(asked.number)
        with within(acting):
            plan = await self._planner.laid(overlay, expected=asked.expected, admit=admitting(acting))
        acting.note(to=asked.number)
        return await self.carry_out(acting, plan, reason=asked.reason, dry_run=asked.dry_run)

    async def carry_out(self, acting: Acting, plan: Plan, *, reason: str, dry_run: bool) -> ChangeTold:
        """Carry a plan out that was admitted, if it is meant; where it changes nothing there is no new revision. Raises
        `Disagrees`, `Invalid`."""
        told = await self._consequences.of(plan, dry_run=dry_run, sees=lambda path: sees_path(acting, path))
        if not plan.touched and not plan.secrets:
            return msgspec.structs.replace(told, number=plan.expected)  # nothing to keep
        acting.note(dry_run=int(dry_run), revision=told.number, settings=len(plan.touched), paths=_paths(plan.touched))
        if dry_run:
            return told
        sealed = self._vault.seal(plan.secrets)

        async def beside(transaction: Transaction) -> None:
            await self._vault.write(transaction, sealed, actor=acting.actor)

        await self._revisions.put(
            plan.tree,
            expected=plan.expected,
            actor=acting.actor,
            reason=reason,
            digest=plan.new.revision,
            beside=beside,
        )
        return msgspec.structs.replace(told, in_force=await self._in_force(told.number))

    async def _in_force(self, number: int) -> bool:
        """Wait a moment until a revision, or a newer one, is in force here; whether it is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(IN_FORCE_S):
                while number_of(self._live.configuration.overlay) < number:
                    await self._live.applied()
        return number_of(self._live.configuration.overlay) >= number

    async def history(self, acting: Acting, asked: HistoryAsked) -> History:
        """Return the changes; of those that touch other channels only, nothing."""
        before = int(asked.after) if asked.after is not None else None
        found = await self._revisions.before(before, limit=asked.limit)
        said = await self._revisions.overlays(found[-1].number - 1, found[0].number) if found else {}
        lines = [_line(acting, one, said[one.number - 1], said[one.number]) for one in found]
        more = str(found[-1].number) if len(found) == asked.limit and found[-1].number > 1 else None
        return History(revisions=tuple(line for line in lines if line is not None), next=more)

    async def revision(self, acting: Acting, asked: RevisionAsked) -> RevisionTold:
        """Return what a revision says."""
        overlay, revision = await self._overlay(asked.number), await self._revisions.revision(asked.number)
        before = await self._overlay(max(asked.number - 1, 0))
        line = _line(acting, revision, before, overlay) if revision is not None else None
        if line is None:
            raise Missing(f"there is no revision {asked.number}")
        said = overlay_paths({}, overlay.tree)
        return RevisionTold(
            revision=line,
            settings=tuple(
                SaidTold(path=path_text(path), value=None if now is None else _json(now))
                for path, (_, now) in said.items()
                if sees(acting, path)
            ),
        )

    async def compare(self, acting: Acting, asked: CompareAsked) -> Compared:
        """Return what differs."""
        old, new = await self._overlay(asked.old), await self._overlay(asked.new)
        changes = tuple(
            Changed(path=path_text(path), was=_told(was), now=_told(now))
            for path, (was, now) in overlay_paths(old.tree, new.tree).items()
            if sees(acting, path)
        )
        return Compared(old=asked.old, new=asked.new, changes=changes)

    async def export(self, acting: Acting, _: Empty) -> Stream:
        """Return one YAML text."""
        running = self._live.configuration
        channels = {name: channel.kind for name, channel in running.settings.channels.items()}
        try:
            text = await asyncio.to_thread(exported, self._loader.path, running.overlay, kinds=channels)
        except InvalidSettings as invalid:
            raise refused(invalid) from None
        acting.note(revision=number_of(running.overlay))
        return Stream(pieces=_once(text.encode()), media="application/yaml", filename="clew.yaml")

    async def _overlay(self, number: int) -> Overlay:
        overlay = await self._revisions.overlay(number)
        if overlay is None:
            raise Missing(f"there is no revision {number}")
        return overlay


def _line(acting: Acting, revision: Revision, before: Overlay, after: Overlay) -> RevisionLine | None:
    """Return a revision as the actor may see it; None: it touches nothing of theirs."""
    paths = [path for path in overlay_paths(before.tree, after.tree) if sees(acting, path)]
    if not paths and acting.channels() is not None:
        return None
    return RevisionLine(
        number=revision.number,
        author=revision.author,
        name=revision.name,
        ms=revision.ms,
        reason=revision.reason,
        digest=revision.digest,
        paths=tuple(map(path_text, paths)),
    )


def number_of(overlay: Overlay | None) -> int:
    """Return an overlay's number; 0: there is none."""
    return overlay.number if overlay is not None else 0


def _settings(form: Field) -> Iterable[Field]:
    """Yield a place's settings, without what belongs to its rooms and threads."""
    for field in form.fields:
        if field.kind == "section":
            yield from _settings(field)
        elif not (field.kind == "map" and field.item == "section"):
            yield field


def _path(text: str) -> Steps:
    try:
        return path_of(text)
    except ValueError as exc:
        raise Invalid(f"path: {exc}") from None


def _paths(touched: Iterable[Steps]) -> str:
    text = ", ".join(map(path_text, touched))
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


_LONGEST = 500


def _told(said: Said) -> str | None:
    """Return what an overlay says of a setting as JSON; null: nothing; `removed`: that it is not there."""
    if said is NOTHING:
        return None
    return "removed" if said is None else _json(said)


def _json(said: Said) -> str:
    value = said[WHOLE] if isinstance(said, dict) and WHOLE in said else said
    return json.dumps(value, ensure_ascii=False)


async def _once(text: bytes) -> AsyncIterator[bytes]:
    yield text
