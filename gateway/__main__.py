"""`python -m gateway VERB`: the command line. Parses arguments and prints; the work is done by `app` and `admin.service`.

Exit codes: 0 ok, 1 failed, 2 invalid configuration or usage.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from config.generated import schema, write_generated
from config.loader import Configuration, load
from config.problems import InvalidSettings, Problem

OK, FAILED, INVALID = 0, 1, 2
DEFAULT_CONFIG = Path(__file__).parents[1] / "config" / "default.yaml"


def parser() -> argparse.ArgumentParser:
    """Return the whole command line."""
    top = argparse.ArgumentParser(prog="python -m gateway", description="Clew: a chatbot gateway with a memory core")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, help_: str, *, config: bool = True, as_json: bool = False) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=help_, description=help_)
        if config:
            added.add_argument("--config", type=Path, default=DEFAULT_CONFIG, metavar="FILE", help="settings (YAML)")
        if as_json:
            added.add_argument("--json", action="store_true", help="print JSON")
        return added

    verb("serve", "run the gateway")
    verb("check", "check the settings and say what is wrong, with lines", as_json=True)
    made = verb("schema", "print the JSON Schema of the settings", config=False)
    made.add_argument("--write", action="store_true", help="write config/schema.json and the tables in README.md files")
    show = verb("show", "show the settings that apply in a place, each with its origin", as_json=True)
    show.add_argument("channel")
    show.add_argument("room", nargs="?")
    show.add_argument("thread", nargs="?")
    manifest = verb("manifest", "print the app manifest that a channel's platform is given, as its settings need it")
    manifest.add_argument("channel")
    explain = verb("explain", "show what the model saw in a turn, what it did not, and why", as_json=True)
    explain.add_argument("turn")
    replay = verb("replay", "make a turn's prompt again, as it was or under other settings", as_json=True)
    replay.add_argument("turn")
    replay.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", dest="changes", help="e.g. turns=4")
    chat = verb("chat", "talk to the gateway in the terminal")
    chat.add_argument("--as", dest="person", default="you", help="name to speak as")
    chat.add_argument("--room", help="a group room instead of a private talk")
    chat.add_argument("--url", help="a running gateway (default: the one of these settings, or one for this talk)")
    people = verb("people", "persons: list, show, export or erase PERSON", as_json=True)
    people.add_argument("act", choices=("list", "show", "export", "erase"))
    people.add_argument("person", nargs="?", metavar="PERSON", help="a number, or an account: KIND:TENANT:ACCOUNT")
    people.add_argument(
        "--url",
        help="who is to erase: a running gateway, with its API token in CLEW_TOKEN (default: the one on this machine)",
    )
    told = "what an admin can do: PART.VERB FIELD=VALUE …; without one, the list of them; first-owner NAME makes the first user"
    admin = verb("admin", told, as_json=True)
    admin.add_argument("operation", nargs="?", metavar="PART.VERB")
    admin.add_argument(
        "fields", nargs="*", metavar="FIELD=VALUE", help="VALUE, @FILE for a file's text, - for what comes in"
    )
    admin.add_argument(
        "--url", help="a running gateway, with its API token in CLEW_TOKEN (default: the one on this machine)"
    )
    admin.add_argument(
        "--reset", action="store_true", help="with first-owner: another password for one who has lost it"
    )
    db = verb("db", "the database: status, migrate, backup FILE, copy --from FILE --to DATABASE", as_json=True)
    db.add_argument("act", choices=("status", "migrate", "backup", "copy"))
    db.add_argument("file", nargs="?", type=Path)
    whole = "default: the settings' storage"
    db.add_argument("--from", dest="source", metavar="sqlite:///PATH", help=f"of copy: the file to copy ({whole})")
    db.add_argument("--to", dest="target", metavar="postgresql://…", help=f"of copy: an empty database ({whole})")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; return its exit code."""
    args = parser().parse_args(arguments)
    try:
        code = VERBS[args.verb](args)
        sys.stdout.flush()  # here, where a reader that left can still be met
    except InvalidSettings as exc:
        print(*exc.problems, sep="\n", file=sys.stderr)
        return INVALID
    except KeyboardInterrupt:
        return FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; nothing more to say
        return FAILED
    else:
        return code


def _serve(args: argparse.Namespace) -> int:
    from gateway.process import serve  # the other verbs don't pay for it

    return asyncio.run(serve(args.config, os.environ))


def _check(args: argparse.Namespace) -> int:
    try:
        configuration = _load(args)
        revised = _revised(configuration)
    except InvalidSettings as exc:
        if args.json:
            print(_problems_json(exc.problems))
            return INVALID
        raise
    warnings = configuration.warnings if revised is None else revised.warnings
    if args.json:
        print(_problems_json(warnings))
    else:
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
        print(f"{args.config}: ok ({_counted(configuration)})")
        if revised is not None:
            print(f"{revised.overlay} over it: ok ({_counted(revised)})")
    return OK


def _revised(configuration: Configuration) -> Configuration | None:
    """Return the settings with what the console says over the file; None: nothing."""
    storage = configuration.settings.storage
    if storage.startswith("sqlite:") and not Path(storage.removeprefix("sqlite:///")).exists():
        return None  # and nothing of the gateway is loaded
    from gateway.admin import cli

    return asyncio.run(cli.check(configuration))


def _counted(configuration: Configuration) -> str:
    return f"{len(configuration.settings.channels)} channels, {len(configuration.settings.agents)} agents"


def _problems_json(problems: Sequence[Problem]) -> str:
    return json.dumps([msgspec.to_builtins(problem) for problem in problems], ensure_ascii=False, indent=2)


def _schema(args: argparse.Namespace) -> int:
    if args.write:
        from gateway.telemetry.reference import write_reference  # the other verbs don't pay for it

        for path in (*write_generated(), *write_reference()):
            print(path)
    else:
        print(json.dumps(schema(), ensure_ascii=False, indent=2))
    return OK


def _load(args: argparse.Namespace) -> Configuration:
    return load(args.config, os.environ)


def _service(act: str) -> Callable[[argparse.Namespace], int]:
    def run(args: argparse.Namespace) -> int:
        from gateway.admin import cli

        code: int = asyncio.run(getattr(cli, act)(_load(args), args))
        return code

    return run


def _people(args: argparse.Namespace) -> int:
    from gateway.admin.people_cli import people

    return asyncio.run(people(_load(args), args))


def _admin(args: argparse.Namespace) -> int:
    from gateway.admin.admin_cli import admin
    from gateway.admin.door import open_door
    from gateway.storage import sqlite_path

    async def run() -> int:
        if args.operation == "first-owner":
            from gateway.admin.first_owner import first_owner

            return await first_owner(_load(args), args)
        needs_door = args.operation is not None and not (args.url or os.environ.get("CLEW_URL"))
        door = await open_door(sqlite_path(_load(args).settings.storage)) if needs_door else None
        return await admin(args, door=door, environ=os.environ)

    return asyncio.run(run())


def _db(args: argparse.Namespace) -> int:
    if args.act != "copy":
        return _service("db")(args)
    from gateway.admin.copy_cli import db_copy  # it works while nothing else does, so outside of any loop

    return db_copy(_load(args), args)


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "serve": _serve,
    "check": _check,
    "schema": _schema,
    "show": _service("show"),
    "manifest": _service("manifest"),
    "explain": _service("explain"),
    "replay": _service("replay"),
    "chat": _service("chat"),
    "people": _people,
    "admin": _admin,
    "db": _db,
}

if __name__ == "__main__":
    sys.exit(main())
