"""Names for the ids in messages: asked of the platform once, kept for a while, and never waited for long."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec

from adapters.base import MessageEvent
from adapters.errors import SendFailed, Throttled
from adapters.remembering import remember
from adapters.slack.reading import PERSON, ROOM, string

_UNKNOWN_S = 60.0  # how long a name that could not be had is not asked for again
_AT_ONCE = 20  # names looked up for one message; a message of a hundred mentions must not use up a minute's calls


class Names:
    """A bounded cache in front of `ask`, which returns an id's name, None if it has none, or raises `SendFailed`."""

    def __init__(
        self,
        ask: Callable[[str], Awaitable[str | None]],
        *,
        keep_s: float,
        wait_s: float,
        most: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._keep_s = keep_s
        self._wait_s = wait_s
        self._most = most
        self._clock = clock
        self._known: OrderedDict[str, tuple[str | None, float]] = OrderedDict()  # name, and until when it holds
        self._quiet_until = 0.0  # the platform asked to wait: nobody is asked for before

    async def of(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the names that are known, or become known within the wait."""
        wanted = list(dict.fromkeys(ids))
        missing = [one for one in wanted if one not in self._known or self._known[one][1] <= self._clock()]
        if missing and self._quiet_until <= self._clock():
            await self._fetch(missing[:_AT_ONCE])
        found = {one: self._known[one][0] for one in wanted if one in self._known}
        return {one: name for one, name in found.items() if name}

    async def _fetch(self, ids: list[str]) -> None:
        asking = {one: asyncio.create_task(self._learn(one)) for one in ids}
        try:
            await asyncio.wait(asking.values(), timeout=self._wait_s)
        finally:
            for one, task in asking.items():
                if task.cancel():
                    self._failed(one)  # else each message of a busy room would wait for it anew
            await asyncio.gather(*asking.values(), return_exceptions=True)

    async def _learn(self, one: str) -> None:
        try:
            name = await self._ask(one)
        except Throttled as fault:
            self._quiet_until = max(self._quiet_until, self._clock() + fault.retry_after_s)
        except SendFailed:
            self._failed(one)
        else:
            self._keep(one, name)

    def _failed(self, one: str) -> None:
        """Keep the old name, which is better than none, and ask for it later."""
        old = self._known.get(one, (None, 0.0))[0]
        remember(self._known, one, (old, self._clock() + min(_UNKNOWN_S, self._keep_s)), most=self._most)

    def _keep(self, one: str, name: str | None) -> None:
        until = self._clock() + (self._keep_s if name else min(_UNKNOWN_S, self._keep_s))
        remember(self._known, one, (name, until), most=self._most)


def ids_in(event: MessageEvent) -> list[str]:
    """Return the ids of an event that have names: its author's first, a program's not (it brings its own)."""
    quote = event.quote
    texts = event.text if quote is None else f"{event.text} {quote.name} {quote.text}"
    author = [] if event.sender.is_bot else [event.sender.account]
    return [*author, *PERSON.findall(texts), *ROOM.findall(texts)]


def filled(event: MessageEvent, names: Mapping[str, str]) -> MessageEvent:
    """Return the event with the names in their places; what has none stays as it is."""
    sender, quote = event.sender, event.quote
    if quote is not None:
        quoted_name = _with_names(quote.name, names).removeprefix("@")
        quote = msgspec.structs.replace(quote, name=quoted_name, text=_with_names(quote.text, names))
    sender = msgspec.structs.replace(sender, name=names.get(sender.account, sender.name))
    return msgspec.structs.replace(event, sender=sender, text=_with_names(event.text, names), quote=quote)


def name_of(found: object) -> str | None:
    """Return the name people see, from a person or channel as Slack tells of it: what a person calls himself, else his real
    name, else the account's or the channel's."""
    if not isinstance(found, dict):
        return None
    profile = found.get("profile") or {}
    chosen = [string(profile, "display_name"), string(profile, "real_name"), string(found, "name")]
    return next((name for name in chosen if name.strip()), None)


def is_private(channel: object) -> bool:
    """Tell whether only its members may know the channel's name: we are one, whoever wrote its id elsewhere perhaps not."""
    return isinstance(channel, dict) and any(channel.get(kind) for kind in ("is_private", "is_mpim", "is_im"))


def _with_names(text: str, names: Mapping[str, str]) -> str:
    text = PERSON.sub(lambda match: f"@{names[match[1]]}" if match[1] in names else match[0], text)
    return ROOM.sub(lambda match: f"#{names[match[1]]}" if match[1] in names else match[0], text)
