"""`python -m gateway admin`: every operation from the command line, with the same rights and words as REST."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from adapters.sse import CLOSING
from gateway.admin.admin_cli import admin, parsed
from gateway.admin.api import routes
from gateway.admin.door import door, local_actor, open_door
from gateway.admin.operations import Invalid
from tests.unit.admin_acts import FIND, HANDLERS, PUT, Kept, made

OPERATIONS = tuple(HANDLERS)


@pytest.fixture
async def at_door(tmp_path: Path) -> AsyncIterator[tuple[str, str]]:
    async def erase(_who: object) -> None:
        return None

    path = tmp_path / "clew.db"
    async with door(path, erase, routes(made(Kept()), local_actor, version="1")):
        opened = await open_door(path)
        assert opened is not None
        yield opened


async def _run(*words: str, door: tuple[str, str] | None, as_json: bool = True, url: str | None = None) -> int:
    args = argparse.Namespace(operation=words[0] if words else None, fields=list(words[1:]), json=as_json, url=url)
    return await admin(args, door=door, environ={}, operations=OPERATIONS)


async def test_the_list_of_operations(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a word it says what there is."""
    code = await _run(door=None)

    assert 0 == code
    assert "things.put" in (told := capsys.readouterr().out)
    assert "Put a thing" in told


async def test_an_act_by_the_door(at_door: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Who is on the machine acts as its owner; fields go where REST wants them: path, query or body."""
    put = await _run("things.put", "number=7", "text=12", 'weights={"a": 1}', door=at_door)
    told = json.loads(capsys.readouterr().out)
    found = await _run("things.find", "channel=ac/me", "words=订单", "words=b", "open=true", "limit=3", door=at_door)

    assert (0, {"number": 7, "text": "12", "kind": "a", "weights": {"a": 1.0}}) == (put, told)
    expected = {"channel": "ac/me", "words": ["订单", "b"], "limit": 3, "open": True, "next": None}
    assert (0, expected) == (found, json.loads(capsys.readouterr().out))


async def test_lines_for_people(at_door: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Without --json it is read line by line."""
    await _run("things.find", "channel=acme", "words=a", door=at_door, as_json=False)

    assert [
        "channel: acme",
        "words:",
        "  a",
        "limit: 50",
        "open: no",
        "next: -",
    ] == capsys.readouterr().out.splitlines()


async def test_a_stream_is_printed_as_it_comes(at_door: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """What comes piece by piece is no JSON."""
    assert 0 == await _run("things.follow", door=at_door)
    assert "data: 0\n\ndata: 1\n\ndata: 2\n\n" == capsys.readouterr().out


async def test_an_act_that_gives_nothing(at_door: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Done is done, and there is nothing to say of it."""
    assert 0 == await _run("things.drop", "thing=x", door=at_door)
    assert "" == capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["things.nothing"], 2, "no such operation; there are:"),
        (["things.put", "number=7"], 2, "usage: admin things.put number=… text=… [kind=…] [weights=…]"),
        (["things.put", "typo=1"], 2, "fields are: number, text, kind, weights"),
        (["things.put", "number=x", "text=a"], 2, "number: "),
        (["things.put", "text=@/none"], 2, "can't be read"),
        (["things.read", "thing=none"], 1, "no such thing"),
        (["things.read", "thing=odd"], 2, "thing: odd: is odd; give another"),
        (["things.read", "thing=changed"], 2, "look again"),
        (["things.read", "thing=away"], 1, "come again later"),
    ],
)
async def test_what_goes_wrong_is_said(
    words: list[str], code: int, said: str, at_door: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """2 for what was asked wrongly, 1 for what did not work; the words are those of REST."""
    assert code == await _run(*words, door=at_door)
    assert said in capsys.readouterr().err


async def test_where_no_gateway_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said how to name one."""
    assert await open_door(tmp_path / "clew.db") is None
    assert await open_door(None) is None
    assert 1 == await _run("things.drop", "thing=x", door=None)
    assert "start it, or name one with --url and CLEW_TOKEN" in capsys.readouterr().err


async def test_another_gateway_needs_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    """The machine's own door opens no other gateway; one that is not there is told."""
    assert 2 == await _run("things.drop", "thing=x", door=("http://127.0.0.1:9", "t"), url="http://127.0.0.1:9")
    assert 1 == await _run("things.drop", "thing=x", door=("http://127.0.0.1:9", "t"))
    assert "CLEW_TOKEN" in (told := capsys.readouterr().err)
    assert "http://127.0.0.1:9: ClientConnectorError" in told


async def test_what_answers_may_be_something_else(capsys: pytest.CaptureFixture[str]) -> None:
    """Another program's error is not taken for ours."""
    app = web.Application()
    app[CLOSING] = asyncio.Event()
    async with TestServer(app) as server:
        assert 1 == await _run("things.drop", "thing=x", door=(str(server.make_url("/")), "t"))
    assert "what answers there is no gateway of this kind" in capsys.readouterr().err


def test_a_value_is_a_text_where_a_text_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`text=12` is the text, `number=12` the number; a file's or the input's text stands in no list of processes."""
    (tmp_path / "secret").write_text("hüsh\n", "utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO("from outside\n"))

    assert {"number": 12, "text": "12"} == parsed(PUT, ["number=12", "text=12"])
    assert {"text": "hüsh"} == parsed(PUT, [f"text=@{tmp_path / 'secret'}"])
    assert {"text": "from outside"} == parsed(PUT, ["text=-"])
    assert {"channel": "c", "words": ["a", "b"], "open": True} == parsed(
        FIND, ["channel=c", "words=a", "words=b", "open=true"]
    )
    with pytest.raises(Invalid):
        parsed(PUT, ["text"])
