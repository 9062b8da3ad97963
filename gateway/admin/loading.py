"""From the file, the newest revision and the vault to settings: at the start, whenever one of them changes, and for a trial."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config.loader import Configuration, load
from config.overlay import Overlay, Said
from config.problems import InvalidSettings
from config.reload import Outcome
from config.settings import Settings
from config.vault_key import keys_of
from gateway.admin.database import Database
from gateway.admin.revisions import TOPIC, Revisions
from gateway.admin.vault import Vault
from gateway.errors import StoreBusy

logger = logging.getLogger(__name__)

TRIED: Final = 20
"""Revisions tried at a start, the newest first, before the file alone has to do."""


HEAR_S: Final = 60.0
"""Seconds after which the newest revision is looked at in any case: who made it may have been killed before telling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """What lies over the settings file, and what reads all of it."""

    revisions: Revisions
    vault: Vault
    loader: Loader


def layers_over(
    path: Path, environ: Mapping[str, str], database: Database, settings: Settings, *, clock: Callable[[], int]
) -> Layers:
    """Return the layers over the file at `path`, whose own settings are `settings`."""
    key = settings.admin.secret_key
    keys = keys_of(key) if key is not None else ()
    revisions, vault = Revisions(database, clock=clock), Vault(database, keys=lambda: keys, clock=clock)
    loader = Loader(path, environ, revisions=revisions, vault=vault, retry_s=settings.queue.poll_s)
    return Layers(revisions=revisions, vault=vault, loader=loader)


async def hear(database: Database, nudge: asyncio.Event) -> None:
    """Nudge whenever a revision or a secret is new, on whatever instance; for ever."""
    number = 0
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(HEAR_S):
                number = await database.changed(TOPIC, number)
        nudge.set()


class Loader:
    """Reads the settings of one gateway. `problem` says why what was read last is not in force; None: it is."""

    def __init__(
        self, path: Path, environ: Mapping[str, str], *, revisions: Revisions, vault: Vault, retry_s: float
    ) -> None:
        """`retry_s`: seconds between two tries while the database is away."""
        self._path = path
        self._environ = environ
        self._revisions = revisions
        self._vault = vault
        self._retry_s = retry_s
        self.problem: str | None = None

    @property
    def warning(self) -> str | None:
        """The problem without a word of what is in the settings, for whoever asks for readiness; None: there is none."""
        told = "settings refused, older ones are in force; the log and /admin/settings say why"
        return told if self.problem is not None else None

    @property
    def path(self) -> Path:
        """The settings file."""
        return self._path

    async def start(self) -> Configuration:
        """Return the settings to start with: by the newest revision that goes with the file, else by the file alone.

        Raises `InvalidSettings` when that can't be used either, `StoreBusy` when the database is away.
        """
        await self._vault.reseal()
        secrets = await self._vault.opened()
        newest = await self._revisions.newest()
        numbers = [] if newest is None else range(newest.number, max(newest.number - TRIED, 0), -1)
        for number in numbers:
            overlay = await self._revisions.overlay(number)
            try:
                return await asyncio.to_thread(self._read, overlay, secrets)
            except InvalidSettings as invalid:
                if overlay == newest:
                    self._refuse(invalid)
        configuration = await asyncio.to_thread(self._read, None, secrets)
        if self.problem is not None:
            logger.error("started with the settings file alone", extra={"problem": self.problem})
        return configuration

    async def load(self) -> Outcome:
        """Read all anew; waits for a database that is away."""
        while True:
            try:
                overlay, secrets = await self._revisions.newest(), await self._vault.opened()
                break
            except StoreBusy:
                logger.warning("settings wait for the database", exc_info=True)
                await asyncio.sleep(self._retry_s)  # nothing tells when it is back
        try:
            configuration = await asyncio.to_thread(self._read, overlay, secrets)
        except InvalidSettings as invalid:
            self._refuse(invalid)
            return invalid
        self.problem = None
        return configuration

    def not_in_force(self, problem: str) -> None:
        """Note why valid settings did not come into force, until others are read."""
        self.problem = problem

    async def tried(
        self, tree: Mapping[str, Said], *, number: int, secrets: Mapping[str, str] | None = None
    ) -> Configuration:
        """Return what the settings would be with this overlay, and these secrets besides those that there are. Raises
        `InvalidSettings`."""
        opened = await self._vault.opened() | dict(secrets or {})
        return await asyncio.to_thread(self._read, Overlay(number=number, tree=tree), opened)

    def _read(self, overlay: Overlay | None, secrets: Mapping[str, str]) -> Configuration:
        # By itself first: a gateway that starts must know from the file alone where the rest is.
        load(self._path, self._environ)
        return load(
            self._path, self._environ, overlay if overlay is not None and overlay.number else None, vault=secrets
        )

    def _refuse(self, invalid: InvalidSettings) -> None:
        self.problem = f"settings refused, older ones are in force: {invalid.problems[0]}"
        if len(invalid.problems) > 1:
            self.problem += f" (and {len(invalid.problems) - 1} more; the log has all)"
