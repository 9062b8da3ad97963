"""`python -m gateway admin first-owner NAME`: the first user, without whom nobody signs in to the console; with `--reset` another
password for an owner who has lost theirs.

Whoever may read the database's files or URL may do this. A gateway that runs on the SQLite file is asked to; on PostgreSQL, and
where none runs, it is done here. The password is typed, or comes in by a pipe; it is never an argument, which others could see.
"""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from config.loader import Configuration
from gateway.admin.access import folded
from gateway.admin.acts.access import (
    ME,
    USERS_ADD,
    USERS_GRANT,
    USERS_LIST,
    USERS_PASSWORD,
    GrantAsked,
    PasswordNew,
    UserGrant,
    UserNew,
    UsersAsked,
    UserTold,
)
from gateway.admin.admin_cli import CannotCall, NobodyThere, call
from gateway.admin.door import open_door
from gateway.admin.entrance import Entrance
from gateway.admin.operations import Empty, Operation, Service
from gateway.admin.passwords import check_new
from gateway.admin.rights import local
from gateway.app import open_storage
from gateway.errors import GatewayFault
from gateway.hot.process import ProcessRateLimits
from gateway.storage import sqlite_path
from memory.errors import MemoryFault
from memory.ids import Ids, now_ms

OK, FAILED, INVALID = 0, 1, 2

Perform = Callable[[Operation, msgspec.Struct], Awaitable[Any]]
"""Carries an act out as whoever runs the gateway."""


async def first_owner(configuration: Configuration, args: argparse.Namespace) -> int:
    """Make the owner `args.fields` names; return the exit code."""
    if len(args.fields) != 1:
        return _say(
            "usage: admin first-owner NAME [--reset]; the password is asked for, or read from what comes in", INVALID
        )
    (name,) = args.fields
    try:
        async with _performing(configuration) as perform:
            users = await _users(perform)
        owners = [user.name for user in users if _is_owner(user)]
        if owners and not args.reset:
            told = f"there is an owner already ({', '.join(owners)}), who can make others"
            return _say(f"{told}; --reset gives one who has lost it another password", FAILED)
        if args.reset and not _confirmed(name, owners):
            return _say("nothing was changed", FAILED)
        password = _asked()
        check_new(password, name=name)
        # Opened anew: while somebody types, nothing is held that a gateway may want.
        async with _performing(configuration) as perform:
            await _make(perform, name, password, await _users(perform) if args.reset else ())
    except (GatewayFault, MemoryFault, CannotCall, EOFError) as fault:
        return _say(str(fault) or "no password came in", FAILED)
    print(f"{name} owns this gateway now; sign in at /admin")
    return OK


async def _make(perform: Perform, name: str, password: str, users: tuple[UserTold, ...]) -> None:
    """Make the user, or give one of these who has the name the password and the role."""
    user = next((user for user in users if folded(user.name) == folded(name) and user.signs_in != "provider"), None)
    if user is None:
        await perform(USERS_ADD, UserNew(name=name, password=password, grants=(GrantAsked(role="owner"),)))
        return
    await perform(USERS_PASSWORD, PasswordNew(user=user.id, password=password))
    if not _is_owner(user):
        await perform(USERS_GRANT, UserGrant(user=user.id, role="owner"))


async def _users(perform: Perform) -> tuple[UserTold, ...]:
    found: tuple[UserTold, ...] = ()
    after: str | None = None
    while True:
        page = await perform(USERS_LIST, UsersAsked(limit=200, after=after))
        found += page.users
        after = page.next
        if after is None:
            return found


def _is_owner(user: UserTold) -> bool:
    return any(grant.role == "owner" and grant.channel is None for grant in user.grants)


def _confirmed(name: str, owners: list[str]) -> bool:
    print(f"Owners now: {', '.join(owners) or 'none'}.", file=sys.stderr)
    print(f"{name!r} gets another password, is an owner, and is signed out everywhere.", file=sys.stderr)
    print("Type the name once more to go on: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().rstrip("\n") == name


def _asked() -> str:
    if not sys.stdin.isatty():
        password = sys.stdin.readline().rstrip("\n")
        if not password:
            raise EOFError
        return password
    password = getpass.getpass("Password: ")
    if getpass.getpass("Once more: ") != password:
        raise CannotCall("the two are not the same; nothing was changed")
    return password


@asynccontextmanager
async def _performing(configuration: Configuration) -> AsyncIterator[Perform]:
    """Give what acts as whoever runs the gateway: the running one on the SQLite file, or the database itself."""
    door = await _running(configuration)
    if door is not None:
        url, token = door
        yield lambda operation, request: call(operation, request, url=url, token=token)
        return
    async with open_storage(configuration.settings, ids=Ids(0)) as storage:
        entrance = Entrance(
            storage.admin,
            settings=lambda: configuration.settings.admin,
            limits=ProcessRateLimits(),
            clock=now_ms,
        )
        service = Service(*entrance.handlers(), audit=entrance.audit)

        yield lambda operation, request: service.perform(local(), operation, request)


async def _running(configuration: Configuration) -> tuple[str, str] | None:
    """Return (URL, token) of the gateway that runs on the SQLite file; None: none does, whatever a killed one left behind."""
    door = await open_door(sqlite_path(configuration.settings.storage))
    try:
        if door is not None:
            await call(ME, Empty(), url=door[0], token=door[1])
    except NobodyThere:
        return None
    return door


def _say(reason: str, code: int) -> int:
    print(reason, file=sys.stderr)
    return code
