"""Which messages that wait in one lane may be answered together."""

from __future__ import annotations

import msgspec

from adapters.base import MessageEvent
from config.loader import Configuration
from gateway.inbox.base import Event
from gateway.inbox.dead import by_hand
from gateway.lanes import Gathering
from gateway.routing import decode, place_of
from gateway.wishes import command_in


def gathering(event: Event, configuration: Configuration) -> Gathering:
    """Return how a waiting event may be joined with its neighbours."""
    try:
        route = decode(event.body)
    except msgspec.DecodeError:
        return Gathering(busy="queue", most=1, alone=True)  # the responder ends it
    said = route.event
    room = place_of(said, configuration) or configuration.settings.defaults
    message = said if isinstance(said, MessageEvent) else None
    return Gathering(
        busy=room.busy,
        most=room.collect_max,
        alone=(
            route.refused
            or message is None
            or route.human is not None
            or by_hand(event) is not None
            or command_in(message.text) is not None
        ),
        target=(said.room, said.thread, message.session if message else None, route.agent),
    )
