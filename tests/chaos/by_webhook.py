"""Programs that send webhooks: they repeat what was not acknowledged, and sometimes what was; some read answers as they grow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.chaos.evidence import Post, Said
from tests.chaos.people import said_by, spot
from tests.chaos.talk import Line, Place
from tests.scenarios.world import SECRET, Hook

PATIENCE_S = 6.0  # of a program that sends a webhook
READ_S = 30.0  # and of one that reads an answer
WAIT_S = 1.0
LONGEST_S = 15.0
LOOKS = 5


@dataclass(eq=False)
class HookWay:
    """Programs that sign what they send; answers are collected. Each conversation of a group is in a thread."""

    hook: Hook
    name: str = "webhook"
    over: bool = False
    faults: list[str] = field(default_factory=list)
    askable: bool = False
    _lines: dict[str, Line] = field(default_factory=dict)
    _turns: dict[str, dict[str, Any]] = field(default_factory=dict)
    _views: dict[str, dict[str, Any]] = field(default_factory=dict)
    _reading: set[str] = field(default_factory=set)
    _read: dict[str, tuple[str, str]] = field(default_factory=dict)  # how it ended, and the text as it had grown

    def settings(self) -> str:
        return f'kind: webhook, secrets: ["{SECRET}"], observe: true, limits: {{per_minute: 100000}}'

    def reach(self, url: str) -> None:
        pass  # it is sent to whatever the front is

    async def say(self, line: Line) -> None:
        self._lines[line.token] = line
        for _ in range(2 if line.again else 1):
            turn = await self._sent(line, line.token, line.text)
            if turn is None:
                return
            first = self._turns.setdefault(line.token, turn)
            if first["turn"] != turn["turn"]:
                self.faults.append(f"«{line.token}» is turn {first['turn']}, and when it came again {turn['turn']}")
        if line.stop_s is not None:
            await asyncio.sleep(line.stop_s)
            await self._sent(line, f"{line.token}/stop", "/stop")
        elif line.reads:
            await self._follow(line.token)

    async def _sent(self, line: Line, message: str, text: str) -> dict[str, Any] | None:
        """Send until it is taken; None: it never was."""
        body = {
            "conversation": line.place.name,
            "chat_type": "group" if line.place.group else "private",
            "sender": {"id": f"p{line.person}", "name": f"Person {line.person} 人"},
            "message": {"id": message, "text": text},
            "mode": "async",
            **({"thread": "t"} if line.place.group else {}),
        }
        for wait_s in _longer():
            if self.over:
                break
            try:
                async with asyncio.timeout(PATIENCE_S):
                    status, answer = await self.hook.post(body, webhook_id=f"msg_{message}")
            except (TimeoutError, aiohttp.ClientError):
                status, answer = 0, {}
            if status in (200, 202):
                return answer
            if 400 <= status < 500 and status != 429:
                self.faults.append(f"«{line.token}» was refused with {status}: {answer}")
                return None
            await asyncio.sleep(wait_s)
        return None

    async def _follow(self, token: str) -> None:
        """Read the answer as it grows, from whatever instance the front leads to; from the beginning where that broke off."""
        self._reading.add(token)
        for wait_s in _longer():
            if self.over:
                return
            try:
                async with asyncio.timeout(READ_S):
                    self._read[token] = await self.hook.read(self._turns[token])
            except (TimeoutError, aiohttp.ClientError, EOFError):
                await asyncio.sleep(wait_s)
            else:
                self._reading.remove(token)
                return

    def waiting(self) -> int:
        return len(self._lines) - len(self._turns) + len(self._reading)

    def throttle(self, seconds: int) -> None:
        pass

    async def _view(self, token: str) -> dict[str, Any]:
        """Look at how it ended; once more, if that fails."""
        for left in range(LOOKS, -1, -1):
            if token in self._views:
                break
            try:
                async with asyncio.timeout(PATIENCE_S):
                    self._views[token] = await self.hook.turn(self._turns[token])
            except (AssertionError, TimeoutError, aiohttp.ClientError):
                if not left:
                    raise
                await asyncio.sleep(WAIT_S)
        return self._views[token]

    async def said(self) -> list[Said]:
        found = []
        for token, line in self._lines.items():
            taken = token in self._turns
            seen = (await self._view(token))["status"] if taken else None
            found.append(said_by(line, self._place(line.place), accepted=taken, seen=seen))
        return found

    async def posts(self) -> list[Post]:
        """The answers, one for each turn, as its senders see it."""
        found = {}
        for token in self._turns:
            view = await self._view(token)
            turn, reply = view.get("part_of") or view["turn"], view.get("reply")
            if reply is not None:
                place = self._place(self._lines[token].place)
                found[turn] = Post(place=place, id=turn, text=reply["text"])
        return list(found.values())

    def broken(self) -> list[str]:
        """Return what programs saw that is wrong: a message taken twice, refused, or read otherwise than it ended."""
        found = [*self.faults, *(f"who reads the answer to «{token}» never saw its end" for token in self._reading)]
        for token, (status, text) in self._read.items():
            view = self._views[token]
            # What was stored by an instance that died is not said again piece by piece: its end holds it.
            whole = ("", (view.get("reply") or {}).get("text", text))
            if status != view["status"] or text not in whole:
                found.append(f"who read the answer to «{token}» saw it {status}, {text!r}; it is {view}")
        return found

    def asked_about(self, room: str) -> bool:
        return False  # nobody can be asked

    def _place(self, place: Place) -> str:
        return spot(self.name, place.name, "t" if place.group else None)


def _longer() -> Iterator[float]:
    """Yield how long to wait before each next try, as whoever means well does: else those refused are what keeps others out."""
    wait_s = WAIT_S
    while True:
        yield wait_s
        wait_s = min(2 * wait_s, LONGEST_S)
