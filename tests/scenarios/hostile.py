"""A gateway where people with hostile names have said hostile things in hostile places, for who tries the admins' doors; and how
its pages are read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from gateway.admin.console.parts import PARTS
from tests.scenarios.admins import Admins, Reader
from tests.scenarios.stage import stage
from tests.scenarios.world import Prompt

MARK = "zq9"
HOSTILE = (
    f"<script>{MARK}()</script>",
    f'"><img src=x onerror={MARK}()>',
    f"'><svg/onload={MARK}()>",
    f"</textarea></title></style><b id={MARK}>",
    f"javascript:{MARK}()",
    f"{{{{'{MARK}' ~ 'run'}}}}{{%raw%}}",
    f"\u202e<a href='javascript:{MARK}()'>",
)
ALL = " ".join(HOSTILE)
OWNER = ALL[:90]
API_KEY = "sk-canary-key-0123456789"
BODY = f"""
agents:
  default: {{kind: openai, base_url: "MODEL", model: "m<img src=x onerror={MARK}()>", retries: 0, api_key: "{API_KEY}",
            system: "<script>{MARK}()</script> be brief"}}
memory: {{model: none}}
defaults: {{limits: {{per_minute: 100000}}}}
channels:
  hook:
    kind: webhook
    secrets: ["${{HOOK}}"]
    rooms: {{"<img src=x onerror={MARK}()>": {{trigger: [always]}}}}
  other: {{kind: webhook, secrets: ["${{HOOK}}"]}}
"""


def answer(prompt: Prompt) -> str:
    return f"{ALL}\n\n[click](javascript:{MARK}()) ![x](javascript:{MARK}())\n\n`{HOSTILE[0]}`"


@asynccontextmanager
async def hostile_world(folder: Path, *, storage: str | None = None) -> AsyncIterator[Admins]:
    """Run it, with admins of such names."""
    async with stage(folder, BODY, storage=storage, script=answer, server="log_level: debug") as running:
        for channel in ("hook", "other"):
            hook = running.hook(channel)
            await hook.say(ALL, sender=HOSTILE[1][:60], name=ALL[:120], conversation=HOSTILE[1][:60])
            await hook.say(f"我的名字是 {HOSTILE[0]}", sender="alice", name=HOSTILE[2])
            await hook.say("/human", sender="alice", name=HOSTILE[2])
        # To a webhook nothing can be sent, so nobody can be asked for there: the rows are as of a kind that has both.
        running.sql(
            """INSERT INTO takeovers (id, channel, conversation, "user", chat_type, state, asked_by, note, since_ms, touched_ms,
              created_ms, "last", turn_id, changes)
            SELECT id, channel, 'c1', CAST(speaker AS TEXT), 'private', 'asked', 'agent', '<script>zq9()</script>',
              accepted_ms, accepted_ms, accepted_ms, body, turn_id, 0 FROM inbox_events
            WHERE id IN (SELECT max(id) FROM inbox_events GROUP BY channel)"""
        )
        made = Admins(running)
        await made.user(OWNER)
        await made.local("POST", "/tokens", name=ALL[:90], grants=[{"role": "viewer"}])
        yield made


class Tags(HTMLParser):
    """What a browser would find in a page: elements with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def active(text: str) -> list[str]:
    """Return what of a page would run or lead where it should not."""
    wrong = []
    for tag, attributes in Tags(text).found:
        if tag == "script" and not attributes.get("src", "").startswith("/admin/static/"):
            wrong.append(f"script {attributes}")
        if MARK in (attributes.get("id"), tag) or (tag in ("img", "svg") and attributes.get("src") == "x"):
            wrong.append(f"{tag} {attributes}")
        for name, value in attributes.items():
            if name.startswith("on") or name == "style":
                wrong.append(f"{tag} {name}={value}")
            if name in ("href", "src", "action", "formaction") and not re.match(
                r"/|#|\?|https?://127\.0\.0\.1|$", value
            ):
                wrong.append(f"{tag} {name}={value}")
    return wrong + (["template"] if f"{MARK}run" in text else [])


async def pages(reader: Reader, most: int = 150) -> dict[str, str]:
    """Read every page that links lead to from /admin; return the texts by path."""
    read: dict[str, str] = {}
    open_ = [
        "/admin",
        *(
            f"/admin{page.path}"
            for part in PARTS
            for page in part.pages
            if page.method == "GET" and "{" not in page.path
        ),
    ]
    shapes: dict[str, int] = {}
    while open_ and len(read) < most:
        path = open_.pop(0).rstrip("/") or "/admin"
        shape = re.sub(r"\d+|\?.*", "#", path)
        if path in read or shapes.get(shape, 0) >= 3:
            continue
        shapes[shape] = shapes.get(shape, 0) + 1
        answer = await reader.get(path)
        assert answer.status < 500, (path, answer.status)
        if "html" not in answer.headers.get("Content-Type", ""):
            continue
        read[path] = answer.text
        policy = answer.headers["Content-Security-Policy"]
        assert "unsafe" not in policy, path
        assert {"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy.split("; ")), path
        assert ("no-store", "nosniff") == (answer.headers["Cache-Control"], answer.headers["X-Content-Type-Options"]), (
            path
        )
        for tag, attributes in Tags(answer.text).found:
            target = urljoin(path, attributes.get("href" if tag == "a" else "hx-get", ""))
            if target.startswith("/admin") and "/static/" not in target and "export" not in target:
                open_.append(target.partition("#")[0])
    return read


def found(body: Any, key: str) -> set[str]:
    """Return every value of that name in an answer."""
    if isinstance(body, dict):
        own = {body[key]} if isinstance(body.get(key), str) else set()
        return own.union(*(found(value, key) for value in body.values()))
    if isinstance(body, list):
        return set().union(*(found(value, key) for value in body))
    return set()


async def raw(admins: Admins, sent: bytes, *, within_s: float = 10) -> bytes:
    """Send bytes and return all that comes back until the other side closes, or nothing more comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(admins.url).port)
    got = b""
    try:
        writer.write(sent)
        await writer.drain()
        async with asyncio.timeout(within_s):
            while piece := await reader.read(65_536):
                got += piece
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
    return got
