"""What goes on in rooms and threads: who spoke last and in which language, as far as this process has heard, and how long bots
have been among themselves. In memory and bounded, or hot state; what is forgotten counts as unknown.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Final, NamedTuple

from adapters.base import InboundEvent, MessageEvent
from adapters.remembering import remember
from config.effective import Place
from gateway.hot.base import RateLimits
from gateway.routing import language_shown
from memory.language import Language

REMEMBERED = 10_000
"""Places, and speakers; beyond that those are forgotten in which nothing was said, or who said nothing, for longest."""

DAY_S: Final = 86_400.0


class _Heard(NamedTuple):
    since: int  # the first message heard
    last: int
    speaker: str  # of the last one
    other: int  # the last one by somebody else than `speaker`


class Talk:
    """Messages by their ids, which grow with time."""

    def __init__(self, *, most: int = REMEMBERED) -> None:
        self._heard: OrderedDict[Place, _Heard] = OrderedDict()
        self._spoken: OrderedDict[tuple[str, str], Language] = OrderedDict()
        self._most = most

    def heard(self, event: MessageEvent, number: int) -> None:
        """Note a message, whatever becomes of it."""
        if language := language_shown(event.text):
            remember(self._spoken, (event.channel, event.sender.user), language, most=self._most)
        place = _where(event)
        known = self._heard.get(place)
        if known is None:
            self._heard[place] = _Heard(number, number, event.sender.user, 0)
        elif number > known.last:
            other = known.other if known.speaker == event.sender.user else known.last
            self._heard[place] = _Heard(known.since, number, event.sender.user, other)
        self._heard.move_to_end(place)
        while len(self._heard) > self._most:
            self._heard.popitem(last=False)

    def language(self, event: InboundEvent) -> Language | None:
        """Return the language in which the sender last wrote something that shows one; None: not known."""
        return self._spoken.get((event.channel, event.sender.user))

    def others_since(self, event: MessageEvent, number: int) -> bool:
        """Whether somebody else has spoken in the message's place since; True also where that is not known."""
        known = self._heard.get(_where(event))
        if known is None or number < known.since:
            return True
        return number < (known.other if known.speaker == event.sender.user else known.last)


class Bots:
    """How many messages of bots were taken up in a row, in a thread and in its whole room: a bot that opens a thread each
    time must come to an end, too. A person's message there begins the count anew, as does a day. Counted for all instances."""

    def __init__(self, limits: RateLimits) -> None:
        self._limits = limits

    async def take(self, event: MessageEvent, *, most: int) -> bool:
        """Count a bot's message if fewer than `most` were taken up in a row, and only then; whether they were."""
        taken = list[str]()
        for name in _rows(event):
            if not await self._limits.take(name, most=most, within_s=DAY_S):
                for counted in taken:
                    await self._limits.give_back(counted)
                return False
            taken.append(name)
        return True

    async def give_back(self, event: MessageEvent) -> None:
        """Undo one `take`: the message was another telling of one that is known."""
        for name in _rows(event):
            await self._limits.give_back(name)

    async def person(self, event: MessageEvent) -> None:
        """Note a person's message."""
        for name in _rows(event):
            await self._limits.reset(name)


def _where(event: MessageEvent) -> Place:
    """Return where the message stands."""
    return event.channel, event.room, event.thread


def _rows(event: MessageEvent) -> list[str]:
    """Return what the rows are counted by: the whole room's, and the thread's."""
    places = [(event.channel, event.room, None), _where(event)]
    return [f"bots:{json.dumps(place)}" for place in dict.fromkeys(places)]
