"""`python -m gateway admin PART.VERB [FIELD=VALUE …]`: every operation from the command line, by way of the REST door.

With `--url` (or CLEW_URL) and a token in CLEW_TOKEN it speaks to any gateway, with the token's rights; else to the one that
runs on this machine's SQLite file, as its owner (`door.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec

from gateway.admin.binding import fields, in_query, is_list, path_fields, request_of
from gateway.admin.operations import FieldProblem, Invalid, Operation
from gateway.admin.table import OPERATIONS

OK, FAILED, INVALID = 0, 1, 2
CONNECT_S, SILENT_S = 5, 120
_USAGE = frozenset({400, 409, 422})


def listed(operations: Sequence[Operation] = OPERATIONS) -> str:
    """Return the operations with what each does, a line each."""
    width = max((len(operation.name) for operation in operations), default=0)
    return "\n".join(f"{operation.name:{width}}  {operation.told}" for operation in operations)


async def admin(
    args: argparse.Namespace,
    *,
    door: tuple[str, str] | None,
    environ: Mapping[str, str],
    operations: Sequence[Operation] = OPERATIONS,
) -> int:
    """Carry one operation out and print what it gives; without one, list them. `door` is the (URL, token) of the gateway on
    this machine; None: there is none."""
    if args.operation is None:
        return _said(listed(operations))
    operation = next((one for one in operations if one.name == args.operation), None)
    if operation is None:
        return _say(f"{args.operation!r}: no such operation; there are:\n{listed(operations)}", INVALID)
    try:
        values = parsed(operation, args.fields)
        request_of(operation, values, path={}, strict=True)
    except Invalid as fault:
        return _say(f"{fault}\n{usage(operation)}", INVALID)
    url, token = args.url or environ.get("CLEW_URL"), environ.get("CLEW_TOKEN", "")
    if url is None:
        if door is None:
            return _say(
                "no gateway runs on these settings' SQLite file; start it, or name one with --url and CLEW_TOKEN",
                FAILED,
            )
        url, token = door
    if not token:
        return _say("set CLEW_TOKEN to an API token of that gateway", INVALID)
    try:
        async with _called(operation, values, url=url, token=token) as response:
            return await _print(response, as_json=args.json)
    except (aiohttp.ClientError, TimeoutError, OSError) as fault:
        return _say(f"{url}: {type(fault).__name__}: {fault}", FAILED)


class CannotCall(Exception):
    """An act was not done; says why."""


class NobodyThere(CannotCall):
    """No gateway answers at this URL."""


async def call(operation: Operation, request: msgspec.Struct, *, url: str, token: str) -> Any:
    """Carry an operation out at the gateway of this URL, and return its result. Raises `CannotCall`, `NobodyThere`."""
    told = msgspec.to_builtins(request)
    values = {name: value for name, value in told.items() if value is not None}
    try:
        async with _called(operation, values, url=url, token=token) as response:
            body = await response.read()
    except (aiohttp.ClientError, TimeoutError, OSError) as fault:
        raise NobodyThere(f"{url}: {type(fault).__name__}: {fault}") from fault
    if response.status >= 400:
        raise CannotCall(_problem(body))
    return msgspec.json.decode(body or b"{}", type=operation.result)


def usage(operation: Operation) -> str:
    """Return how the operation is called."""
    words = [f"{name}=…" if field.required else f"[{name}=…]" for name, field in fields(operation).items()]
    return f"usage: admin {operation.name} {' '.join(words)}".rstrip()


def parsed(operation: Operation, words: Sequence[str]) -> dict[str, Any]:
    """Return the request's values: `name=text` as it is where the field takes texts, else as JSON; `name=@FILE` is the file's
    text, `name=-` what comes in, so that no secret stands in a list of processes. Raises `Invalid`."""
    known = fields(operation)
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name not in known:
            raise Invalid(f"{name}: write FIELD=VALUE; fields are: {', '.join(known) or 'none'}")
        value = _value(operation, name, _read(text))
        if is_list(known[name]) and not isinstance(value, list):
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    return values


def _read(text: str) -> str:
    if text == "-":
        return sys.stdin.read().removesuffix("\n")
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text("utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as exc:
        problem = FieldProblem(path=text, value=text, problem="can't be read", remedy="name a text file, or `-`")
        raise Invalid(
            f"{text}: can't be read; name a text file, or `-` for what comes in", problems=(problem,)
        ) from exc


def _value(operation: Operation, name: str, text: str) -> Any:
    """Return the text itself where the field takes it, else what it is as JSON."""
    for candidate in (text, _json(text)):
        trial = [candidate] if is_list(fields(operation)[name]) and not isinstance(candidate, list) else candidate
        try:
            request_of(operation, {name: trial}, path={}, strict=True)
        except Invalid as fault:
            if any(problem.path.split("[")[0].split(".")[0] == name for problem in fault.problems):
                continue
        return candidate
    return text


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@asynccontextmanager
async def _called(
    operation: Operation, values: Mapping[str, Any], *, url: str, token: str
) -> AsyncIterator[aiohttp.ClientResponse]:
    path = operation.path.format(**{name: quote(str(values[name]), safe="") for name in path_fields(operation)})
    rest = {name: value for name, value in values.items() if name not in path_fields(operation)}
    told: dict[str, Any] = {"json": rest} if rest and not in_query(operation) else {}
    if rest and in_query(operation):
        pairs = [
            (name, item) for name, value in rest.items() for item in (value if isinstance(value, list) else [value])
        ]
        told = {"params": [(name, item if isinstance(item, str) else json.dumps(item)) for name, item in pairs]}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENT_S)
    async with (
        aiohttp.ClientSession(timeout=timeout, headers={"Authorization": f"Bearer {token}"}) as session,
        session.request(operation.method, f"{url.rstrip('/')}/api/v1{path}", **told) as response,
    ):
        yield response


async def _print(response: aiohttp.ClientResponse, *, as_json: bool) -> int:
    if response.status >= 400:
        return _say(_problem(await response.read()), INVALID if response.status in _USAGE else FAILED)
    if response.content_type != "application/json":
        async for piece in response.content.iter_any():
            sys.stdout.write(piece.decode("utf-8", "replace"))
            sys.stdout.flush()
        return OK
    body = await response.read()
    told = json.loads(body) if body else {}
    print(json.dumps(told, ensure_ascii=False, indent=2) if as_json else "\n".join(_lines(told)))
    return OK


def _problem(body: bytes) -> str:
    try:
        told = json.loads(body)
        lines = [
            f"{one['path']}: {one['value']}: {one['problem']}; {one['remedy']}" for one in told.get("problems", ())
        ]
        return "\n".join(lines or [told["detail"]])
    except (ValueError, KeyError, TypeError):
        return "what answers there is no gateway of this kind"


def _lines(value: Any, indent: str = "") -> list[str]:
    """Return JSON as lines for people: a list's items apart, nested things indented."""
    if isinstance(value, list):
        return [line for item in value for line in (*_lines(item, indent), *([""] if isinstance(item, dict) else []))]
    if not isinstance(value, dict):
        return [f"{indent}{_shown(value)}"]
    made: list[str] = []
    for name, item in value.items():
        if isinstance(item, dict | list) and item:
            made += [f"{indent}{name}:", *_lines(item, f"{indent}  ")]
        else:
            made.append(f"{indent}{name}: {_shown(item)}")
    return made


def _shown(value: Any) -> str:
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value}"


def _said(text: str) -> int:
    print(text)
    return OK


def _say(reason: str, code: int) -> int:
    print(reason, file=sys.stderr)
    return code
