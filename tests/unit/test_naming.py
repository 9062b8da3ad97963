"""Names for ids: looked up after the event is stored, never waited for long, and never the reason that it is lost."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from adapters.base import EditEvent, MessageEvent, Sender
from gateway.naming import Naming
from tests.unit.test_delivery import One, Platform


class People(Platform):
    """A platform that knows U1 by name; `fault` is what its look-up meets."""

    def __init__(self, fault: Exception | None = None) -> None:
        super().__init__()
        self._failure = fault

    async def named(self, event: MessageEvent) -> MessageEvent:
        if isinstance(self._failure, TimeoutError):
            await asyncio.Event().wait()
        if self._failure is not None:
            raise self._failure
        sender = msgspec.structs.replace(event.sender, name="李雷 👋")
        return msgspec.structs.replace(event, sender=sender, text=event.text.replace("<@U1>", "@李雷 👋"))


SENDER = Sender(user="T1.U1", tenant="T1", account="U1")
MESSAGE = MessageEvent(
    channel="c",
    room="r",
    chat_type="group",
    sender=SENDER,
    dedupe_ids=("1",),
    message_id="m",
    text="hi <@U1>",
    quote=None,
)


async def test_names_stand_where_ids_stood() -> None:
    """Of the sender and in the text; the key's own part stays what it is."""
    named = await Naming(channels=One(People()), names_s=1).named(MESSAGE)

    assert ("李雷 👋", "hi @李雷 👋", "T1.U1") == (named.sender.name, named.text, named.sender.user)


async def test_an_edit_reads_as_its_message_would() -> None:
    """Else an edit that changes nothing would seem to (tdlib/telegram-bot-api#388)."""
    edit = EditEvent(
        channel="c", room="r", chat_type="group", sender=SENDER, dedupe_ids=("2",), message_id="m", text="hi <@U1>!"
    )
    named = await Naming(channels=One(People()), names_s=1).edited(edit)

    assert msgspec.structs.replace(edit, text="hi @李雷 👋!") == named


@pytest.mark.parametrize("fault", [TimeoutError(), RuntimeError("bug")], ids=repr)
async def test_without_names_the_event_is_as_it_is(fault: Exception) -> None:
    """A look-up that hangs or breaks costs its names, never the message."""
    assert MESSAGE is await Naming(channels=One(People(fault)), names_s=0.02).named(MESSAGE)


@pytest.mark.parametrize(
    "channels", [One(None), One(Platform()), One(People(), down_s=1)], ids=["gone", "no names", "down"]
)
async def test_who_has_no_names_is_not_asked(channels: One) -> None:
    """A channel without look-ups, or that does not run."""
    assert MESSAGE is await Naming(channels=channels, names_s=1).named(MESSAGE)
