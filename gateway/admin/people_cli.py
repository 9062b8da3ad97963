"""The command line's verb about persons: who there is, what is stored of one, and their end. Prints and returns the exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import msgspec

from config.loader import Configuration
from config.masking import secrets_of
from gateway import logs
from gateway.admin.acts.people import ERASE, EraseAsked, EraseTold
from gateway.admin.admin_cli import CannotCall, call
from gateway.admin.door import ask
from gateway.admin.people import Receipt
from gateway.app import erase_alone, open_reading
from gateway.errors import StoreBusy
from gateway.storage import sqlite_path
from memory.base import Identity
from memory.derived import FullStore
from memory.errors import MemoryFault
from memory.exporting import export
from memory.ids import now_ms
from memory.key import InvalidKey, encode_part
from memory.people import Person
from memory.slots import sentence_of

OK, FAILED, INVALID = 0, 1, 2
PAGE = 500


async def people(configuration: Configuration, args: argparse.Namespace) -> int:
    """Do one of the verb's acts."""
    who = _named(args.person)
    if args.act == "list":
        return await _reading(configuration, lambda store: _list(store, as_json=args.json))
    if who is None:
        given = "" if args.person is None else f"; {args.person!r} is neither"
        named = "by number or as KIND:TENANT:ACCOUNT, as `people list` tells them"
        return _say(f"people {args.act}: name a PERSON {named}{given}", INVALID)
    match args.act:
        case "show":
            return await _reading(configuration, lambda store: _show(store, who, as_json=args.json))
        case "export":
            return await _reading(configuration, lambda store: _export(store, who))
        case _:
            url = args.url or os.environ.get("CLEW_URL")
            return await _erase(configuration, who, url=url, as_json=args.json)


async def _reading(configuration: Configuration, act: Callable[[FullStore], Awaitable[int]]) -> int:
    try:
        async with open_reading(configuration.settings) as store:
            return await act(store)
    except MemoryFault as fault:
        return _say(str(fault), FAILED)


async def _list(store: FullStore, *, as_json: bool) -> int:
    last, first = 0, True
    print("[", end="") if as_json else None
    while page := await store.persons.listed(after_id=last, limit=PAGE):
        for person in page:
            if as_json:
                print("" if first else ",", _json(_told(person)).strip(), sep="\n", end="")
                first = False
            else:
                print(_line(person))
        last = page[-1].id
    print("\n]" if as_json else "", end="\n" if as_json else "")
    return OK


async def _find(store: FullStore, who: int | Identity) -> Person | None:
    person_id = who if isinstance(who, int) else await store.persons.of(who)
    return None if person_id is None else await store.persons.find(person_id)


async def _show(store: FullStore, who: int | Identity, *, as_json: bool) -> int:
    person = await _find(store, who)
    if person is None:
        return _unknown(who)
    items, facts = await store.derived.known(person.id, now_ms=now_ms())
    known = [
        {"kind": item.kind, "text": item.text, "pinned": item.pinned, "sources": list(map(str, item.source_ids))}
        for item in items
    ]
    noted = [{"slot": fact.slot, "value": fact.value, "sources": list(map(str, fact.source_ids))} for fact in facts]
    if as_json:
        print(_json(_told(person) | {"profile": known, "facts": noted}))
        return OK
    print(_line(person))
    for item in items:
        print(f"  {_day(item.valid_from_ms)}  {item.kind:10}  {item.text}{'  (pinned)' if item.pinned else ''}")
    for fact in facts:
        text = sentence_of(fact.slot, fact.value, "en")
        print(f"  {_day(fact.created_ms)}  {'session':10}  {text}  (for this session)")
    return OK


async def _export(store: FullStore, who: int | Identity) -> int:
    person = await _find(store, who)
    if person is None:
        return _unknown(who)
    async with aclosing(export(store.persons, person)) as pieces:
        async for piece in pieces:
            sys.stdout.write(piece.decode())
    print()
    return OK


async def _erase(configuration: Configuration, who: int | Identity, *, url: str | None, as_json: bool) -> int:
    try:
        receipt = await _erased(configuration, who, url)
    except (MemoryFault, StoreBusy, CannotCall) as fault:
        return _say(str(fault), FAILED)
    if receipt is None:
        return _unknown(who)
    if as_json:
        print(_json(msgspec.to_builtins(receipt)))
        return OK
    print(f"person {receipt.person} is erased")
    for kind, count in receipt.erased.items():
        if count:
            print(f"  {count:8,}  {kind}")
    return OK


async def _erased(configuration: Configuration, who: int | Identity, url: str | None) -> Receipt | None:
    """Let the gateway do it that runs at `url`, or on the same file; if none does, do it here, and log it as that would: on
    PostgreSQL as one instance among those that run."""
    person_id = None if url is None else await _number(configuration, who)
    if url is not None and person_id is not None:
        asked = EraseAsked(person=str(person_id), confirm=True)
        told: EraseTold = await call(ERASE, asked, url=url, token=os.environ.get("CLEW_TOKEN", ""))
        return Receipt(person=told.person, erased=told.counts)
    path = sqlite_path(configuration.settings.storage)
    if path is not None:
        try:
            return await ask(path, who)
        except (OSError, ValueError, KeyError):
            pass  # none runs: else the store's lock will say that one does
    logs.configure(configuration.settings.server.log_level, secrets=secrets_of(configuration.settings))
    return await erase_alone(configuration, who)


async def _number(configuration: Configuration, who: int | Identity) -> int | None:
    """Return the person's number; None: nobody is known by the account, but words of theirs may wait in the queues."""
    if isinstance(who, int):
        return who
    async with open_reading(configuration.settings) as store:
        return await store.persons.of(who)


def _told(person: Person) -> dict[str, Any]:
    return {
        "person": str(person.id),
        "created_ms": person.created_ms,
        "erased_ms": person.erased_ms,
        "identities": msgspec.to_builtins(person.identities),
    }


def _line(person: Person) -> str:
    accounts = ", ".join(map(_account, person.identities))
    return f"{person.id}  {'erased' if person.erased_ms is not None else accounts}"


def _account(one: Identity) -> str:
    return f"{one.kind}:{one.tenant}:{one.account}"


def _day(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).date().isoformat()


def _named(text: str | None) -> int | Identity | None:
    """Return the person's number, or the account."""
    if text is not None and text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    kind, tenant, account, *_ = *(text or "").split(":", 2), "", ""
    try:
        encode_part(kind), encode_part(account)
    except InvalidKey:
        return None
    return Identity(kind=kind, tenant=tenant, account=account)


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _unknown(who: int | Identity) -> int:
    told = (
        f"person {who}: there is none of this number"
        if isinstance(who, int)
        else f"{_account(who)}: nobody is known by it"
    )
    return _say(f"{told}; `people list` tells who there is", FAILED)


def _say(reason: str, code: int) -> int:
    print(reason, file=sys.stderr)
    return code
