"""The command line's verbs that look at a place, a turn or the database. Each prints and returns the exit code."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import aclosing
from pathlib import Path

import msgspec

from config.channels.console import ConsoleSettings
from config.loader import Configuration, load
from config.masking import masked
from config.problems import InvalidSettings
from config.vault_key import keys_of
from gateway.admin.revisions import Revisions
from gateway.admin.service import Admin
from gateway.admin.vault import Vault
from gateway.app import backup, manifest_of, open_admin_reading, open_reading, open_storage
from gateway.errors import BadRequest, StoreBusy
from memory.errors import MemoryFault
from memory.ids import Ids, now_ms
from memory.replay import Explanation, Replay
from memory.service import Memory
from memory.tokens import Tokenizers

OK, FAILED, INVALID = 0, 1, 2


async def show(configuration: Configuration, args: argparse.Namespace) -> int:
    """Print the settings that apply in a place, each with where it comes from: the console's newest revision, the file, …"""
    configuration = await _with_revision(configuration)
    if args.channel not in configuration.settings.channels:
        return _refuse_channel(configuration, args.channel)
    place = (args.channel, args.room, args.thread)
    values = _flat(configuration.effective(*place).model_dump(mode="json"))
    origins = configuration.origins(*place)
    if args.json:
        told = {path: {"value": value, "origin": str(origins[path])} for path, value in values.items()}
        _print_json({"revision": configuration.revision, "settings": told})
        return OK
    width = max(map(len, values))
    for path, value in values.items():
        print(f"{path:{width}}  {json.dumps(value, ensure_ascii=False):24}  {origins[path]}")
    print(f"revision {configuration.revision}")
    return OK


async def check(configuration: Configuration) -> Configuration | None:
    """Return what a gateway runs by that starts on this valid file: with the console's newest revision, its secrets looked at
    where their key is here; None: the console says nothing, or there is no database that can be asked. Raises
    `InvalidSettings`, where the two don't go together."""
    key = configuration.settings.admin.secret_key
    keys = keys_of(key) if key is not None else ()
    try:
        async with open_admin_reading(configuration.settings) as database:
            overlay = await Revisions(database, clock=now_ms).newest()
            secrets = await Vault(database, keys=lambda: keys, clock=now_ms).opened() if keys else None
    except StoreBusy as busy:
        print(f"the console's settings are not looked at: {busy}", file=sys.stderr)
        return None
    return None if overlay is None else load(configuration.file, os.environ, overlay, vault=secrets)


async def _with_revision(configuration: Configuration) -> Configuration:
    """Return file and newest revision, no secret looked at; the file alone, and that said, where they don't go together."""
    try:
        async with open_admin_reading(configuration.settings) as database:
            overlay = await Revisions(database, clock=now_ms).newest()
        return configuration if overlay is None else load(configuration.file, os.environ, overlay)
    except StoreBusy:
        return configuration  # there is no database yet, or none that can be asked: then the file is what is known
    except InvalidSettings as invalid:
        print(f"the console's settings are left out: {invalid.problems[0]}", file=sys.stderr)
        return configuration


async def manifest(configuration: Configuration, args: argparse.Namespace) -> int:
    """Print the manifest that a channel's app is made from on its platform."""
    if args.channel not in configuration.settings.channels:
        return _refuse_channel(configuration, args.channel)
    made = manifest_of(configuration, args.channel)
    if made is None:
        return _refuse(f"channel {args.channel!r}: its platform knows no app manifests")
    _print_json(made)
    return OK


async def explain(configuration: Configuration, args: argparse.Namespace) -> int:
    """Print what the model saw in a turn, what it did not, and why."""
    turn = _turn_id(args.turn)
    if turn is None:
        return _refuse(f"turn {args.turn!r}: a turn's id is a number, as the POST returned it")
    try:
        async with open_reading(configuration.settings) as store:
            explanation = await Admin(memory=Memory(store, tokenizers=Tokenizers()), store=store).explain(turn)
    except MemoryFault as fault:
        return _fail(str(fault))
    if explanation is None:
        return _fail(f"turn {args.turn}: no ledger is kept (no agent was asked, or its time is over)")
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(explanation), indent=2).decode())
    else:
        _print_explanation(explanation)
    return OK


async def replay(configuration: Configuration, args: argparse.Namespace) -> int:
    """Print whether a turn's prompt comes out the same, or how it differs under changed settings."""
    turn = _turn_id(args.turn)
    if turn is None:
        return _refuse(f"turn {args.turn!r}: a turn's id is a number, as the POST returned it")
    try:
        async with open_reading(configuration.settings) as store:
            made = await Admin(memory=Memory(store, tokenizers=Tokenizers()), store=store).replay(turn, args.changes)
    except BadRequest as fault:
        return _refuse(str(fault))
    except MemoryFault as fault:
        return _fail(str(fault))
    if made is None:
        return _fail(f"turn {args.turn}: no ledger is kept (no agent was asked, or its time is over)")
    _print_replay(made, as_json=args.json)
    return OK if made.identical or args.changes else FAILED


async def db(configuration: Configuration, args: argparse.Namespace) -> int:
    """Look at the database, bring its schema up to date, or copy it while it is in use."""
    try:
        match args.act:
            case "status":
                return await _status(configuration, as_json=args.json)
            case "migrate":
                async with open_storage(configuration.settings, ids=Ids(0)) as storage:
                    print(f"schema {await storage.store.schema_version()}: up to date")
                return OK
            case _:
                return await _backup(configuration, args.file)
    except (MemoryFault, StoreBusy) as fault:
        return _fail(str(fault))


async def _status(configuration: Configuration, *, as_json: bool) -> int:
    async with open_reading(configuration.settings) as store:
        told: dict[str, object] = {
            "storage": masked(configuration.settings.storage),
            "schema": await store.schema_version(),
            "rows": await store.size(),
        }
    if as_json:
        _print_json(told)
    else:
        for name, value in _flat(told).items():
            print(f"{name:20} {value}")
    return OK


async def _backup(configuration: Configuration, target: Path | None) -> int:
    if target is None:
        return _refuse("db backup: name the FILE to write")
    if not target.parent.is_dir():
        return _refuse(f"db backup: there is no folder {str(target.parent)!r}; make it, or name another")
    if target.exists():  # noqa: ASYNC240  # a command that does nothing else
        return _refuse(f"db backup: {str(target)!r} exists; name a new file")
    try:
        async with aclosing(backup(configuration.settings, target)) as pages:
            async for left in pages:
                print(f"\r{left} pages left ", end="", file=sys.stderr)
    except BadRequest as fault:
        return _refuse(str(fault))
    except OSError as fault:
        return _fail(f"db backup: {fault}")
    print(file=sys.stderr)
    print(f"{target}: {target.stat().st_size:,} bytes")  # noqa: ASYNC240
    return OK


async def chat(configuration: Configuration, args: argparse.Namespace) -> int:
    """Talk to the gateway in the terminal."""
    from adapters.console.terminal import talk  # needs an HTTP client; the other verbs don't
    from gateway.process import CANNOT_RUN, flat, running_beside

    channels = configuration.settings.channels.values()
    token = next((channel.token for channel in channels if isinstance(channel, ConsoleSettings)), None)
    code = FAILED
    try:
        async with running_beside(configuration, url=args.url) as url:
            code = await talk(
                url, person=args.person, room=args.room, token=token.get_secret_value() if token else None
            )
    except* CANNOT_RUN as faults:
        for fault in flat(faults):
            _fail(str(fault))
    return code


def _turn_id(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def _print_explanation(told: Explanation) -> None:
    print(f"turn {told.turn} · agent {told.agent} · model {told.model or 'none'} · tokens by {told.tokenizer}")
    print(f"session {told.session} · settings {told.revision} · {'exact' if told.exact else 'changed since'}")
    print("budget: " + ", ".join(f"{name} {tokens}" for name, tokens in told.budget.items()))
    for note in (*told.notes, *(f"could not be read: {part}" for part in told.failed)):
        print(f"note: {note}")
    for entry in told.entries:
        who = f"{entry.speaker}: " if entry.speaker else ""
        text = " ".join(entry.text.split()) or ("" if entry.section == "role" else "(not stored any more)")
        print(f"{entry.verdict:4}{entry.tokens:6}  {entry.section:9}{entry.rule:18}{who}{text[:80]}")
    for lesson in told.learned:
        text = " ".join(lesson.text.split())
        told_why = f"{lesson.rule} ({lesson.reason})" if lesson.reason else lesson.rule
        print(f"{'kept' if lesson.verdict == 'in' else 'refused'} by {lesson.by}: {told_why}: {text[:80]}")


def _print_replay(made: Replay, *, as_json: bool) -> None:
    if as_json:
        prompt = [{"role": "system", "content": made.context.system}]
        prompt += [{"role": message.role, "content": message.text} for message in made.context.messages]
        _print_json({"identical": made.identical, "difference": made.difference, "prompt": prompt})
    elif made.identical:
        print("identical: the prompt comes out byte for byte as it was")
    else:
        print(*made.difference, sep="\n")


def _flat(values: object, path: str = "") -> dict[str, object]:
    if not isinstance(values, dict):
        return {path: values}
    return {
        inner: value
        for key, item in values.items()
        for inner, value in _flat(item, f"{path}.{key}" if path else str(key)).items()
    }


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2, default=list))


def _refuse_channel(configuration: Configuration, name: str) -> int:
    names = ", ".join(configuration.settings.channels) or "none"
    return _refuse(f"channel {name!r} is not configured; there are: {names}")


def _refuse(reason: str) -> int:
    print(reason, file=sys.stderr)
    return INVALID


def _fail(reason: str) -> int:
    print(reason, file=sys.stderr)
    return FAILED
