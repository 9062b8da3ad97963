"""Secrets in an admin's hands: put in, named, taken out. Nobody gets one back out but the settings that refer to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from config.editing import references
from config.loader import Configuration
from config.problems import path_text
from config.written import leaves, written
from gateway.admin.acts.vault import LIST, PUT, REMOVE, SecretNamed, SecretPut, SecretsTold, SecretTold
from gateway.admin.database import Database
from gateway.admin.operations import Acting, Disagrees, Empty, Handlers, Missing
from gateway.admin.own_settings import channel_of_secret
from gateway.admin.revisions import TOPIC, Revisions
from gateway.admin.vault import Vault


class SecretActs:
    """The acts on secrets, for one gateway."""

    def __init__(
        self, *, vault: Vault, revisions: Revisions, database: Database, configuration: Callable[[], Configuration]
    ) -> None:
        self._vault = vault
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
                used=used.get(one.name, ()),
            )
            for one in await self._vault.kept()
            if acting.may("configure", channel_of_secret(one.name))
        ]
        return SecretsTold(secrets=tuple(told), problem=self._vault.locked)

    async def put(self, acting: Acting, asked: SecretPut) -> Empty:
        """Store one; what refers to it is made anew with it within two seconds."""
        acting.require(channel_of_secret(asked.name))
        acting.note(secret=asked.name)
        await self._vault.put(asked.name, asked.value, actor=acting.actor)
        await self._database.tell(TOPIC)
        return Empty()

    async def remove(self, acting: Acting, asked: SecretNamed) -> Empty:
        """Take one out that nothing refers to."""
        acting.require(channel_of_secret(asked.name))
        acting.note(secret=asked.name)
        used = (await self._used()).get(asked.name)
        if used:
            raise Disagrees(f"secret {asked.name!r} is used by {', '.join(used)}; change that first")
        if not await self._vault.remove(asked.name):
            raise Missing(f"there is no secret {asked.name!r}")
        await self._database.tell(TOPIC)
        return Empty()

    async def _used(self) -> Mapping[str, tuple[str, ...]]:
        """Return the paths that refer to each secret: of what is in force here, and of the newest revision."""
        newest = await self._revisions.newest()
        found: dict[str, dict[str, None]] = {}
        for tree in (written(self._configuration()), {} if newest is None else newest.tree):
            for path, name in _references(tree):
                found.setdefault(name, {})[path] = None
        return {name: tuple(paths) for name, paths in found.items()}


def _references(tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for path, value in leaves(tree):
        for name in references(value):
            yield path_text(tuple(step for step in path if step != "=")), name
