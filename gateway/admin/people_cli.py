"""The command line's verb about persons: who there is, what is stored of one, and their end. Prints and returns the exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import msgspec

from config.loader import Configuration
from gateway.admin.door import ask
from gateway.admin.people import Receipt
from gateway.app import erase_alone, open_reading, sqlite_path
from gateway.errors import StoreBusy
from memory.derived import FullStore
from memory.errors import MemoryFault
from memory.exporting import export
from memory.ids import now_ms
from memory.language import language_in
from memory.people import Person
from memory.slots import slot_of

OK, FAILED, INVALID = 0, 1, 2
PAGE = 500


async def people(configuration: Configuration, args: argparse.Namespace) -> int:
    """Do one of the verb's acts."""
    person_id = _person_id(args.person)
    if args.act == "list":
        return await _reading(configuration, lambda store: _list(store, as_json=args.json))
    if person_id is None:
        given = "" if args.person is None else f"; {args.person!r} is none"
        return _say(f"people {args.act}: name a PERSON by number, as `people list` tells it{given}", INVALID)
    match args.act:
        case "show":
            return await _reading(configuration, lambda store: _show(store, person_id, as_json=args.json))
        case "export":
            return await _reading(configuration, lambda store: _export(store, person_id))
        case _:
            return await _erase(configuration, person_id, as_json=args.json)


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


async def _show(store: FullStore, person_id: int, *, as_json: bool) -> int:
    person = await store.persons.find(person_id)
    if person is None:
        return _unknown(person_id)
    items, facts = await store.derived.known(person_id, now_ms=now_ms())
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
        slot = slot_of(fact.slot)
        text = fact.value if slot is None else slot.worded(fact.value, language_in(fact.value) or "en")
        print(f"  {_day(fact.created_ms)}  {'session':10}  {text}  (for this session)")
    return OK


async def _export(store: FullStore, person_id: int) -> int:
    person = await store.persons.find(person_id)
    if person is None:
        return _unknown(person_id)
    async with aclosing(export(store.persons, person)) as pieces:
        async for piece in pieces:
            sys.stdout.write(piece.decode())
    print()
    return OK


async def _erase(configuration: Configuration, person_id: int, *, as_json: bool) -> int:
    try:
        receipt = await _erased(configuration, person_id)
    except (MemoryFault, StoreBusy) as fault:
        return _say(str(fault), FAILED)
    if receipt is None:
        return _unknown(person_id)
    if as_json:
        print(_json(msgspec.to_builtins(receipt)))
        return OK
    print(f"person {receipt.person} is erased")
    for kind, count in receipt.erased.items():
        if count:
            print(f"  {count:8,}  {kind}")
    return OK


async def _erased(configuration: Configuration, person_id: int) -> Receipt | None:
    """Let the gateway do it that runs on the same file; if none does, do it here."""
    path = sqlite_path(configuration.settings.storage)
    if path is not None:
        try:
            return await ask(path, person_id)
        except (OSError, ValueError, KeyError):
            pass  # none runs: else the store's lock will say that one does
    return await erase_alone(configuration, person_id)


def _told(person: Person) -> dict[str, Any]:
    return {
        "person": str(person.id),
        "created_ms": person.created_ms,
        "erased_ms": person.erased_ms,
        "identities": msgspec.to_builtins(person.identities),
    }


def _line(person: Person) -> str:
    accounts = ", ".join(f"{one.kind}:{one.tenant}:{one.account}" for one in person.identities)
    return f"{person.id}  {'erased' if person.erased_ms is not None else accounts}"


def _day(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).date().isoformat()


def _person_id(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else None


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _unknown(person_id: int) -> int:
    return _say(f"person {person_id}: there is none of this number; `people list` tells who there is", FAILED)


def _say(reason: str, code: int) -> int:
    print(reason, file=sys.stderr)
    return code
