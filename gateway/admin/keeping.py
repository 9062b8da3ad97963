"""Secrets in an admin's hands: put in, named, taken out. Nobody gets one back out but the settings that refer to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from config.editing import references
from config.loader import Configuration
from config.overlay import WHOLE, Overlay
from config.problems import InvalidSettings, Problem, path_text
from config.written import leaves, written
from gateway.admin.acts.vault import LIST, PUT, REMOVE, SecretNamed, SecretPut, SecretsTold, SecretTold
from gateway.admin.database import Database
from gateway.admin.loading import Loader
from gateway.admin.operations import Acting, Disagrees, Empty, Handlers, Missing
from gateway.admin.own_settings import channel_of_secret, within
from gateway.admin.planning import Plan, Steps, channels_touched, refused
from gateway.admin.revisions import TOPIC, Revisions
from gateway.admin.vault import Vault


class SecretActs:
    """The acts on secrets, for one gateway."""

    def __init__(
        self,
        *,
        vault: Vault,
        loader: Loader,
        revisions: Revisions,
        database: Database,
        configuration: Callable[[], Configuration],
    ) -> None:
        self._vault = vault
        self._loader = loader
        self._revisions = revisions
        self._database = database
        self._configuration = configuration

    def handlers(self) -> Handlers:
        """Return what carries each operation out."""
        return {LIST: self.list, PUT: self.put, REMOVE: self.remove}

    async def list(self, acting: Acting, _: Empty) -> SecretsTold:
        """Return those that the actor may put in."""
        used = await self._used()
        told = [
            SecretTold(
                name=one.name,
                reference=f"vault:{one.name}",
                ms=one.ms,
                author=one.author,
                author_name=one.author_name,
                readable=one.readable,
                used=tuple(map(path_text, used.get(one.name, ()))),
            )
            for one in await self._vault.kept()
            if acting.may("configure", channel_of_secret(one.name))
        ]
        return SecretsTold(secrets=tuple(told), problem=self._vault.locked)

    async def put(self, acting: Acting, asked: SecretPut) -> Empty:
        """Store one; what refers to it is made anew with it within two seconds. Raises `Invalid` where it is not what that needs:
        the settings could not be read any more, by the next start neither."""
        acting.require(channel_of_secret(asked.name))
        acting.note(secret=asked.name)
        used = (await self._used()).get(asked.name, ())
        for channel in dict.fromkeys(channels_touched(used)):
            acting.require(channel)
        if used:
            with within(acting):
                await self._fits(asked)
        await self._vault.put(asked.name, asked.value, actor=acting.actor)
        await self._database.tell(TOPIC)
        return Empty()

    async def remove(self, acting: Acting, asked: SecretNamed) -> Empty:
        """Take one out that nothing refers to."""
        acting.require(channel_of_secret(asked.name))
        acting.note(secret=asked.name)
        used = (await self._used()).get(asked.name)
        if used:
            paths = ", ".join(map(path_text, used))
            raise Disagrees(f"secret {asked.name!r} is used by {paths}; change that first")
        if not await self._vault.remove(asked.name):
            raise Missing(f"there is no secret {asked.name!r}")
        await self._database.tell(TOPIC)
        return Empty()

    async def _fits(self, asked: SecretPut) -> None:
        newest = await self._revisions.newest() or Overlay(number=0, tree={})
        if after := await self._problems(newest, {asked.name: asked.value}):
            before = {_kind(one) for one in await self._problems(newest, {})}
            if found := [one for one in after if _kind(one) not in before]:
                raise refused(InvalidSettings(found))

    async def _problems(self, overlay: Overlay, secrets: Mapping[str, str]) -> tuple[Problem, ...]:
        try:
            await self._loader.tried(overlay.tree, number=overlay.number, secrets=secrets)
        except InvalidSettings as invalid:
            return invalid.problems
        return ()

    async def _used(self) -> Mapping[str, tuple[Steps, ...]]:
        """Return the paths that refer to each secret: of what is in force here, and of the newest revision."""
        newest = await self._revisions.newest()
        return used_in(written(self._configuration()), {} if newest is None else newest.tree)


def _kind(problem: Problem) -> tuple[str, str, str]:
    """Return what makes a problem the same one: not its place in a list, from which others may be missing."""
    return problem.path.partition("[")[0], problem.problem, problem.remedy


def used_in(*trees: Mapping[str, Any]) -> dict[str, tuple[Steps, ...]]:
    """Return the paths that refer to each secret."""
    found: dict[str, dict[Steps, None]] = {}
    for tree in trees:
        for path, value in leaves(tree):
            for name in references(value):
                found.setdefault(name, {})[tuple(step for step in path if step != WHOLE)] = None
    return {name: tuple(paths) for name, paths in found.items()}


async def left_behind(channel: str, plan: Plan, *, vault: Vault, revisions: Revisions, kept: bool) -> list[str]:
    """Return the secrets of a channel that go with it by this plan: those of its name that nothing else refers to; where they
    are to be `kept`, not those that some revision needs for the way back to it."""
    used = used_in(written(plan.new), written(plan.file))
    own = sorted(name for name in await vault.names() if channel_of_secret(name) == channel and name not in used)
    return [name for name in own if not (kept and await revisions.refers(name))]
