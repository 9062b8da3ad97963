"""What comes in by other ways than a request: frames of a socket, updates that are fetched, settings files, arguments."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import yaml

from config.loader import load
from config.problems import InvalidSettings
from gateway.admin.oidc import derived
from tests.attacks.fuzz import seeds
from tests.attacks.fuzz.cases import Kind, Of
from tests.attacks.fuzz.mutators import BYTES, Tree, encoded
from tests.attacks.fuzz.targets import LIMIT_S, Outcome, bent, form, is_text, text_of, tried
from tests.attacks.fuzz.wire import Request
from tests.emulators.oidc.provider import Issuer
from tests.emulators.slack.sockets import Sockets
from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.emulator import Telegram
from tests.scenarios.world import SECRET, command


@runtime_checkable
class Told(Protocol):
    """A door that nobody waits at: what was acknowledged is asked for afterwards."""

    def acknowledged(self) -> int:
        """Return how many were acknowledged since this was last asked."""
        ...


class SocketTarget:
    """Frames of Socket Mode, on the emulated platform's own socket."""

    name = "Slack socket"
    of: tuple[Of, ...] = ("tree", "bytes")

    def __init__(self, sockets: Sockets, *, team: str, app: str, bot: str) -> None:
        self._sockets = sockets
        self._of = {"team": team, "app": app, "bot": bot}
        self._seen = 0

    def acknowledged(self) -> int:
        """Of those whose number was left whole."""
        ours = [ack for ack in self._sockets.acks if str(ack.get("envelope_id", "")).startswith("e-")]
        new, self._seen = len(ours) - self._seen, len(ours)
        return new

    def seeds(self) -> Mapping[str, Tree]:
        return {name: self._enveloped(tree, 1) for name, tree in seeds.slack_events().items()}

    def _enveloped(self, tree: Tree, number: int) -> Tree:
        payload = seeds.of_workspace(tree, number=number, **self._of)
        return {
            "envelope_id": f"e-{number}", "type": "events_api", "payload": payload, "accepts_response_payload": False,
            "retry_attempt": 0, "retry_reason": "",
        }  # fmt: skip

    async def hand_in(self, kind: Kind, number: int, rng: random.Random) -> Outcome:
        body = encoded(bent(self._enveloped(seeds.slack_events()[kind.seed], number), kind))
        if kind.of == "bytes":
            body = BYTES[kind.act](body, rng)
        (socket,) = await self._sockets.connected(timeout_s=LIMIT_S)
        try:
            if is_text(body):
                await socket.ws.send_str(body.decode())
            else:
                await socket.ws.send_bytes(body)
        except ConnectionError:
            return Outcome()  # it was closed by what came before; the next one waits for another
        return Outcome()


class PolledTarget:
    """Updates that a bot fetches."""

    name = "Telegram polled"
    of: tuple[Of, ...] = ("tree",)

    def __init__(self, tg: Telegram, bot: Bot) -> None:
        self._tg, self._bot = tg, bot
        self._handed = 0

    def acknowledged(self) -> int:
        """All that were handed in, as none of them waits any more."""
        waiting = len(self._bot.updates.waiting())
        new, self._handed = self._handed - waiting, waiting
        return new

    def seeds(self) -> Mapping[str, Tree]:
        return seeds.telegram_updates()

    async def hand_in(self, kind: Kind, number: int, rng: random.Random) -> Outcome:
        body = encoded(bent(seeds.of_chat(seeds.telegram_updates()[kind.seed], number=number), kind))
        try:
            update = json.loads(body)
        except (ValueError, RecursionError):
            return Outcome()  # no platform can send that: it is tried on the webhook
        if isinstance(update, dict):
            self._tg.inject(update, bot=self._bot)
            self._handed += 1
        return Outcome()


class BackTarget:
    """Ways back from the identity provider, each of somebody who went there before: a tree of `query` and `cookie`."""

    name = "ways back"
    of: tuple[Of, ...] = ("tree", "wire")

    def __init__(self, browser: aiohttp.ClientSession, provider: Issuer, port: Callable[[], int]) -> None:
        """`browser` keeps no cookies."""
        self._browser, self._provider, self._port = browser, provider, port

    def seeds(self) -> Mapping[str, Tree]:
        whole = {"code": "x", "state": "x", "iss": "x"}
        return {
            "whole": {"query": whole, "cookie": {"kept": "1790000000.x", "to": "%2Fadmin"}},
            "refused": {"query": {"error": "access_denied", "state": "x"}, "cookie": {"kept": "1.x", "to": "x"}},
            "own state": {"query": whole, "cookie": {"kept": "²." + "9" * 4_500, "to": ""}},
        }

    def whole(self) -> Iterable[tuple[str, str]]:
        return (("GET", "/admin/sign-in/provider"), ("GET", "/admin/sign-in/back"))

    async def hand_in(self, kind: Kind, number: int, rng: random.Random) -> Outcome:
        url = f"http://127.0.0.1:{self._port()}/admin/sign-in/provider"
        async with self._browser.get(
            url, headers={"Host": "127.0.0.1"}, allow_redirects=False
        ) as response:  # as `wire` does
            name, kept = next((one.key, one.value) for one in response.cookies.values() if "~" in one.value)
            back = urlsplit(self._provider.signed_in(response.headers["Location"]))
        tree = self.seeds()[kind.seed]
        good = dict(parse_qsl(back.query))
        query = {key: good.get(key, value) for key, value in tree["query"].items()}
        cookie = tree["cookie"]
        if kind.seed == "own state":  # anybody can make one that fits a cookie of theirs
            query["state"] = derived(cookie["kept"], "state")
        else:
            cookie = dict(zip(("kept", "to"), kept.split("~"), strict=True))
        made = bent({"query": query, "cookie": cookie}, kind)
        given = made if isinstance(made, dict) else {}
        held = given.get("cookie", {})
        value = "~".join(map(text_of, held.values())) if isinstance(held, dict) else text_of(held)
        cookie_header = f"{name}={value}".replace("\r", "").replace("\n", "").replace("\x00", "")[:6_000]
        request = Request(
            method="GET", path=f"{back.path}?{form(given.get('query', {})).decode()}"[:7_000],
            headers=(("Cookie", cookie_header),),
        )  # fmt: skip
        outcome, _ = await tried(self._port(), request, kind, rng, slow_s=2)
        return outcome


class YamlTarget:
    """Settings files, read as a start reads them: by the loader, in this process."""

    name = "settings"
    of: tuple[Of, ...] = ("tree", "bytes")

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self._folder, self._files = folder, files
        self._trees = {name: yaml.safe_load(text) for name, text in files.items()}

    def seeds(self) -> Mapping[str, Tree]:
        return self._trees

    async def hand_in(self, kind: Kind, number: int, rng: random.Random) -> Outcome:
        path = self._folder / "fuzzed.yaml"
        if kind.of == "tree":
            body = encoded(bent(self._trees[kind.seed], kind))
        else:
            body = BYTES[kind.act](self._files[kind.seed].encode(), rng)
        path.write_bytes(body)
        began = time.monotonic()
        try:
            load(path, {"HOOK": SECRET})
        except InvalidSettings as exc:
            str(exc)
        except Exception as exc:
            return Outcome(fault=f"{type(exc).__name__}: {exc}"[:300])
        if time.monotonic() - began > LIMIT_S:
            return Outcome(fault=f"took {time.monotonic() - began:.1f} s")
        return Outcome()


class CommandTarget:
    """Arguments of the command line, by real processes."""

    name = "command line"
    of: tuple[Of, ...] = ("tree",)

    def __init__(self, lines: Mapping[str, list[str]], config: Path) -> None:
        self._lines, self._config = lines, config

    def seeds(self) -> Mapping[str, Tree]:
        return self._lines

    async def hand_in(self, kind: Kind, number: int, rng: random.Random) -> Outcome:
        made = bent(self._lines[kind.seed], kind)
        arguments = [_argument(one) for one in (made if isinstance(made, list) else [made])]
        try:
            code, _, err = await command(*arguments, "--config", self._config)
        except TimeoutError:
            return Outcome(fault="no end within 60 s")
        except (ValueError, OSError):
            return Outcome()  # no system hands such arguments in
        if code not in (0, 1, 2) or "Traceback" in err:
            return Outcome(fault=f"exit {code}: {err[-300:]}", status=code)
        return Outcome()


def _argument(value: Tree) -> str:
    return text_of(value).replace("\x00", "").encode("utf-8", "replace").decode()[:100_000]
