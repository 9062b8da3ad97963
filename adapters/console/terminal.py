"""The chat page's channel in a terminal: what is typed is posted, the answer is shown while it is made."""

from __future__ import annotations

import asyncio
import sys
import threading
import uuid

import aiohttp
import msgspec

END = ("", "/quit", "/exit")


async def talk(url: str, *, person: str, room: str | None, token: str | None) -> int:
    """Talk until the input ends; return the exit code. `room` None: a private talk with the bot. `token` is the chat page's,
    None if it has none."""
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    # A turn may take minutes; only connecting may not.
    timeout = aiohttp.ClientTimeout(total=None, connect=10)
    try:
        async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:
            channel = await _channel(session, url)
            if channel is None:
                return 1
            print(f"{url} · /help lists the commands, an empty line or Ctrl-D ends", file=sys.stderr)
            while (text := await _line()) not in END:
                await _say(session, f"{url}/channels/{channel}", text, person=person, room=room)
    except (aiohttp.ClientError, TimeoutError) as exc:
        print(f"the gateway can't be reached: {type(exc).__name__}", file=sys.stderr)
        return 1
    return 0


async def _channel(session: aiohttp.ClientSession, url: str) -> str | None:
    """Return the name of the chat page's channel; None, and said why, if there is none for us."""
    async with session.get(f"{url}/chat/info") as response:
        info = msgspec.json.decode(await response.read())
        if response.status == 200:
            return str(info["channel"])
        print(info.get("detail", response.reason), file=sys.stderr)
        return None


async def _line() -> str:
    """Read a line. In a daemon thread: at Ctrl-C asyncio would wait for one of its own until something is typed."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def give(text: str) -> None:
        if not line.done():
            line.set_result(text)

    def read() -> None:
        try:
            text = input("> " if sys.stdin.isatty() else "").strip()
        except EOFError:
            text = ""
        loop.call_soon_threadsafe(give, text)

    threading.Thread(target=read, name="terminal", daemon=True).start()
    return await line


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
    own = {"Authorization": f"Bearer {turn['token']}"}
    async with session.get(f"{url}/turns/{turn['turn']}/events", headers=own) as response:
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
