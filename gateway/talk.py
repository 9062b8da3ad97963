"""What goes on in rooms and threads, as far as this process has heard: who spoke last, in which language, and how long bots have
been among themselves. In memory and bounded; what is forgotten counts as unknown.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from adapters.base import InboundEvent, MessageEvent
from adapters.remembering import remember
from config.effective import Place
from gateway.routing import language_shown
from memory.language import Language

REMEMBERED = 10_000
"""Places, and speakers; beyond that those are forgotten in which nothing was said, or who said nothing, for longest."""


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
    time must come to an end, too. A person's message there begins the count anew."""

    def __init__(self, *, most: int = REMEMBERED) -> None:
        self._row: OrderedDict[Place, int] = OrderedDict()
        self._most = most

    def in_row(self, event: MessageEvent) -> int:
        """Return the greater of the two counts."""
        return max(self._row.get(place, 0) for place in _around(event))

    def count(self, event: MessageEvent) -> None:
        """Note a bot's message that will be answered."""
        for place in _around(event):
            self._row[place] = self._row.get(place, 0) + 1
            self._row.move_to_end(place)
        while len(self._row) > self._most:
            self._row.popitem(last=False)

    def take_back(self, event: MessageEvent) -> None:
        """Undo one `count`: the message was another telling of one that is known."""
        for place in _around(event):
            if place in self._row:
                self._row[place] = max(self._row[place] - 1, 0)

    def person(self, event: MessageEvent) -> None:
        """Note a person's message."""
        for place in _around(event):
            self._row.pop(place, None)


def _where(event: MessageEvent) -> Place:
    """Return where the message stands."""
    return event.channel, event.room, event.thread


def _around(event: MessageEvent) -> set[Place]:
    return {_where(event), (event.channel, event.room, None)}
