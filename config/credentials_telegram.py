"""What a Telegram channel needs before it can start: its token, its secret, an address; and who can be nobody's name. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from config.channels.base import AllowSettings
from config.channels.telegram import TelegramSettings
from config.credentials import safe_source
from config.problems import Fault, Path

NOBODY = {
    "1087968824": "every anonymous admin",
    "136817688": "whoever writes as a channel",
    "777000": "Telegram itself",
}
"""Accounts that stand for no person: whoever let one in would let in all that hide behind it
(dgongut/docker-controller-bot#25)."""

PORTS = (443, 80, 88, 8443)
_LOCAL = ("127.0.0.1", "localhost", "::1")


def check_telegram(
    path: Path, channel: TelegramSettings, *, public_url: str | None, faulty: Callable[[Path], bool]
) -> Iterator[Fault]:
    """An endpoint that anybody could write to must not start; nor one that can't be reached."""
    if not re.fullmatch(r"\d+:[A-Za-z0-9_-]+", channel.token.get_secret_value()):
        yield (*path, "token"), "has not the form 123456:ABC-DEF", "copy it from @BotFather: /mybots, API Token"
    if channel.mode == "webhook":
        yield from _webhook(path, channel, public_url, faulty)
    if not safe_source(channel.api_url):
        yield (*path, "api_url"), "would carry the token in the open", "use https, or http on loopback"
    for place, allow in _allowed(path, channel):
        yield from check_people((*place, "allow", "people"), allow)


def check_people(path: Path, allow: AllowSettings) -> Iterator[Fault]:
    """Nobody is let in by an account that others use too."""
    for n, account in enumerate(allow.people or ()):
        if account in NOBODY:
            yield (*path, n), f"is no person: it stands for {NOBODY[account]}", "name people's own accounts"


def _webhook(
    path: Path, channel: TelegramSettings, public_url: str | None, faulty: Callable[[Path], bool]
) -> Iterator[Fault]:
    secret = channel.secret_token.get_secret_value() if channel.secret_token is not None else None
    if secret is None and not faulty((*path, "secret_token")):
        yield (*path, "secret_token"), "anybody could write to this channel", "set it to a long random text"
    if secret is not None and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", secret):
        yield (*path, "secret_token"), "has other characters than Telegram takes", "use 1 to 256 of A-Z a-z 0-9 _ -"
    if public_url is None:
        yield (*path, "mode"), "needs an address that Telegram can call", "set server.public_url, or use mode: polling"
    elif not faulty(("server", "public_url")) and not _callable(public_url):
        remedy = "set server.public_url to https on port 443, 80, 88 or 8443, or use mode: polling"
        yield (*path, "mode"), "needs an address that Telegram can call", remedy


def _callable(url: str) -> bool:
    """Whether Telegram would call the address; a local Bot API server calls this machine, too."""
    parts = urlsplit(url)
    return parts.hostname in _LOCAL or (parts.scheme == "https" and (parts.port or 443) in PORTS)


def _allowed(path: Path, channel: TelegramSettings) -> Iterator[tuple[Path, AllowSettings]]:
    yield path, channel.allow
    for room_id, room in channel.rooms.items():
        yield (*path, "rooms", room_id), room.allow
        for thread_id, thread in room.threads.items():
            yield (*path, "rooms", room_id, "threads", thread_id), thread.allow
