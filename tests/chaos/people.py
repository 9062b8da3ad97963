"""People in a chaos run, by each way in which their words reach the gateways: what they said, whether it was taken, and what
the bot has said to them.

Programs that send webhooks repeat what was not acknowledged, and sometimes what was; the local platforms do so by themselves.
"""

from __future__ import annotations

from typing import Any, Protocol

from tests.chaos.evidence import Post, Said, canaries
from tests.chaos.talk import Line

WAYS = ("webhook", "telegram-webhook", "telegram-polling", "slack-http", "slack-socket")
PUBLIC = "https://clew.example"

BUSY = {"telegram-webhook": "queue", "telegram-polling": "interrupt", "slack-socket": "interrupt"}
SHOWING = "show_every_s: 1, first_use_notice: false, observe: true, limits: {per_minute: 100000}"


def mix(scopes: int, seconds: float) -> tuple[str, ...]:
    """Return by which ways how many talk: all alike, but for the workspace with growing answers, which takes fifty edits a
    minute from an app."""
    growing = max(6.0, seconds / 60 * 12)
    return (*WAYS[:-1] * max(1, round(scopes / growing / (len(WAYS) - 1))), WAYS[-1])


class Way(Protocol):
    """One channel of the gateways', and all who talk there. `askable`: its platform can tell what became of a send."""

    name: str
    askable: bool

    def settings(self) -> str:
        """Return the channel's settings, as the inside of a YAML mapping; `${NAME}` is the environment's."""
        ...

    def reach(self, url: str) -> None:
        """Let the platform find the gateways there."""
        ...

    async def say(self, line: Line) -> None:
        """Say it, until it is taken if need be."""
        ...

    def waiting(self) -> int:
        """How much the platform is still to deliver."""
        ...

    def throttle(self, seconds: int) -> None:
        """Ask whoever sends next to wait."""
        ...

    async def said(self) -> list[Said]: ...

    async def posts(self) -> list[Post]: ...

    def broken(self) -> list[str]:
        """Return the platform's rules that were broken."""
        ...

    def asked_about(self, room: str) -> bool:
        """Whether the gateways have looked up what stands in a room, to find what became of a send."""
        ...


def spot(way: str, room: str, thread: str | None) -> str:
    """Name a place, as the evidence does."""
    return f"{way} {room}" + (f"/{thread}" if thread else "")


def said_by(line: Line, place: str, **more: Any) -> Said:
    """Return what the line says, as evidence."""
    return Said(
        token=line.token, way=line.place.way, place=place, group=line.place.group,
        person=f"{line.place.way} {line.person}", words=canaries(line.text), asks=line.asks, stops=line.stop_s is not None,
        **more,
    )  # fmt: skip
