"""Names for what a platform tells by ids: looked up once the event is stored, and never waited for long."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import msgspec

from adapters.base import EditEvent, MessageEvent, Named
from gateway.sending import Channels

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Asks the event's channel. `names_s` is the time it has."""

    channels: Channels
    names_s: float

    async def named(self, event: MessageEvent) -> MessageEvent:
        """Return the event with names; as it is, where its channel has none to give, or not in time."""
        with self.channels.lent(event.channel) as adapter:
            if adapter is None or not isinstance(adapter, Named):
                return event
            try:
                async with asyncio.timeout(self.names_s):
                    return await adapter.named(event)
            except TimeoutError:
                logger.warning("names not found in time", extra={"channel": event.channel})
            except Exception:
                logger.exception("look-up of names broke off", extra={"channel": event.channel})
            return event

    async def edited(self, event: EditEvent) -> EditEvent:
        """Return the edit with names in its text: as the message would have them, or it would always seem changed."""
        fields = {name: getattr(event, name) for name in event.__struct_fields__}
        message = await self.named(MessageEvent(**fields))
        return msgspec.structs.replace(event, text=message.text)
