"""Settings in an admin's hands: what applies and why, changes with a trial before, history, the way back, export.

Who holds a right for some channels only sees and changes what is these channels' own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from config.exporting import exported
from config.forms import Field, form_of, kinds, sections
from config.overlay import FILE_ONLY, Overlay
from config.problems import InvalidSettings, path_of, path_text
from gateway.admin.acts.settings import (
    CHANGE,
    CHECK,
    DESCRIBE,
    EXPORT,
    ROLL_BACK,
    SHOW,
    STATUS,
    ChangeAsked,
    ChangeTold,
    CheckAsked,
    Checked,
    Edit,
    FormAsked,
    PlaceAsked,
    PlaceTold,
    RollBackAsked,
    StatusTold,
    ValueTold,
)
from gateway.admin.consequences import Consequences
from gateway.admin.database import Transaction
from gateway.admin.deleting import confirmed
from gateway.admin.loading import Loader
from gateway.admin.operations import Acting, Empty, FieldProblem, Handlers, Invalid, Missing, Stream
from gateway.admin.own_settings import admitting, sees_path, within
from gateway.admin.planning import Plan, Planner, Steps, channels_touched, refused
from gateway.admin.revisions import Revisions
from gateway.admin.settings_history import overlay_of
from gateway.admin.vault import Vault
from gateway.live import Live

IN_FORCE_S: Final = 5.0
"""Seconds that a change waits to be in force before it is answered."""

CATCH_UP_S: Final = 2.0
"""Seconds that a look waits for what another instance has changed."""


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
            CHECK: self.check,
            ROLL_BACK: self.roll_back,
            EXPORT: self.export,
        }

    async def status(self, acting: Acting, _: Empty) -> StatusTold:
        """Return what is in force."""
        newest = await self._caught_up()
        running = self._live.configuration
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
        await self._caught_up()
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
        await self._caught_up()
        try:
            return form_of(self._live.configuration, steps, kind=asked.kind)
        except KeyError:
            known = f"a channel that is to be added needs its kind: {', '.join(kinds())}"
            raise Missing(f"there is no setting {asked.path!r}; {known}") from None

    async def change(self, acting: Acting, asked: ChangeAsked) -> ChangeTold:
        """Change settings, or try it."""
        plan = await self._edited(acting, asked.changes, expected=asked.expected)
        return await self.carry_out(acting, plan, reason=asked.reason, dry_run=asked.dry_run, delete=asked.delete)

    async def roll_back(self, acting: Acting, asked: RollBackAsked) -> ChangeTold:
        """Let an older overlay count again, or try it."""
        overlay = await overlay_of(self._revisions, asked.number)
        with within(acting):
            plan = await self._planner.laid(overlay, expected=asked.expected, admit=admitting(acting))
        acting.note(to=asked.number)
        return await self.carry_out(acting, plan, reason=asked.reason, dry_run=asked.dry_run, delete=asked.delete)

    async def check(self, acting: Acting, asked: CheckAsked) -> Checked:
        """Return what is wrong with changes; what may not be changed is refused, as by `change`."""
        try:
            await self._edited(acting, asked.changes, expected=None)
        except Invalid as fault:
            alone = FieldProblem(path="", value="", problem=str(fault), remedy="")
            return Checked(problems=fault.problems or (alone,))
        return Checked(problems=())

    async def _edited(self, acting: Acting, edits: Sequence[Edit], *, expected: int | None) -> Plan:
        for channel in dict.fromkeys(channels_touched(_path(edit.path) for edit in edits)):
            acting.require(channel)  # also of what would stay as it is: else a guess would tell another's setting
        with within(acting):
            return await self._planner.edited(edits, expected=expected, admit=admitting(acting))

    async def carry_out(
        self,
        acting: Acting,
        plan: Plan,
        *,
        reason: str,
        dry_run: bool,
        delete: bool = False,
        dropped: Sequence[str] = (),
    ) -> ChangeTold:
        """Carry a plan out that was admitted, if it is meant, and take the secrets `dropped` out of the vault with it; where it
        changes nothing there is no new revision. Raises `Disagrees`, `Invalid`; `Unconfirmed` where something is deleted for good
        by it and not `delete`."""
        sealed = self._vault.seal(plan.secrets)
        told = await self._consequences.of(plan, dry_run=dry_run, sees=lambda path: sees_path(acting, path))
        told = msgspec.structs.replace(told, dropped=tuple(dropped))
        if not plan.touched and not plan.secrets:
            return msgspec.structs.replace(told, number=plan.expected)  # nothing to keep
        acting.note(dry_run=int(dry_run), revision=told.number, settings=len(plan.touched), paths=_paths(plan.touched))
        if dry_run:
            return told
        confirmed(told.deletes, delete=delete)

        async def beside(transaction: Transaction, ms: int) -> None:
            await self._vault.write(transaction, sealed, actor=acting.actor, ms=ms)
            await self._vault.drop(transaction, dropped)

        await self._revisions.put(
            plan.tree,
            expected=plan.expected,
            actor=acting.actor,
            reason=reason,
            digest=plan.new.revision,
            beside=beside,
        )
        in_force = await self._in_force(told.number)
        touched = [one.name for one in told.touched if one.what == "channel"]
        stayed = {name: why for name in touched if (why := self._live.refused(name)) is not None}
        return msgspec.structs.replace(told, in_force=in_force, stayed=stayed)

    async def _caught_up(self) -> Overlay | None:
        """Return the newest revision; where it was made on another instance just now, it is waited for a moment: who is sent from
        one to the other would be shown what they have just changed as it was."""
        newest = await self._revisions.newest()
        if number_of(newest) > number_of(self._live.configuration.overlay) and self._loader.problem is None:
            await self._in_force(number_of(newest), within_s=CATCH_UP_S)
        return newest

    async def _in_force(self, number: int, *, within_s: float = IN_FORCE_S) -> bool:
        """Wait a moment until a revision, or a newer one, is in force here; whether it is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while number_of(self._live.configuration.overlay) < number:
                    await self._live.applied()
        return number_of(self._live.configuration.overlay) >= number

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


async def _once(text: bytes) -> AsyncIterator[bytes]:
    yield text
