"""The chat page's channel in a terminal: what is typed is posted, the answer is shown while it is made."""

from __future__ import annotations

import asyncio
import sys
import uuid

import aiohttp
import msgspec

END = ("", "/quit", "/exit")


async def talk(url: str, *, channel: str, person: str, room: str | None) -> int:
    """Talk until the input ends; return the exit code. `room` None: a private talk with the bot."""
    print(f"{url} · /help lists the commands, an empty line or Ctrl-D ends", file=sys.stderr)
    # A turn may take minutes; only connecting may not.
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None, connect=10)) as session:
        while (text := await asyncio.to_thread(_line)) not in END:
            try:
                await _say(session, f"{url}/channels/{channel}", text, person=person, room=room)
            except aiohttp.ClientError as exc:
                print(f"the gateway can't be reached: {type(exc).__name__}", file=sys.stderr)
                return 1
    return 0


def _line() -> str:
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return ""


async def _say(session: aiohttp.ClientSession, url: str, text: str, *, person: str, room: str | None) -> None:
    body = {
        "room": room or f"private-{person}",
        "chat_type": "private" if room is None else "group",
        "person": {"id": person, "name": person},
        "message": {"id": str(uuid.uuid4()), "text": text},
    }
    async with session.post(url, json=body) as response:
        turn = msgspec.json.decode(await response.read())
        if response.status >= 400:
            print(turn.get("detail", response.reason), file=sys.stderr)
            return
    async with session.get(f"{url}/turns/{turn['turn']}/events", params={"token": turn["token"]}) as response:
        await _show(response)


async def _show(response: aiohttp.ClientResponse) -> None:
    """Print the stream. A `reset` can't take back what stands in a terminal: the text begins on a new line."""
    name, shown = "", ""
    async for raw in response.content:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("event:"):
            name = line.removeprefix("event:").strip()
        elif line.startswith("data:"):
            data = msgspec.json.decode(line.removeprefix("data:"))
            match name:
                case "delta":
                    shown += data["text"]
                    print(data["text"], end="", flush=True)
                case "reset" if shown and data["text"] != shown:
                    shown = data["text"]
                    print(f"\n{shown}", end="", flush=True)
                case "done" | "failed":
                    text = data.get("reply", data.get("error", {})).get("text") or data.get("error", {}).get(
                        "message", ""
                    )
                    print("" if shown == text else f"\n{text}" if shown else text)
                    return
