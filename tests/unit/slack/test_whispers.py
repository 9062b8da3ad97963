"""What only one person in a channel is to see: shown to nobody else, also when it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.base import Quote, Rate, Receipt
from adapters.errors import Refused, Throttled, Unknown
from tests.emulators.slack.faults import cut_after, refused, throttled
from tests.unit.slack.world import World, world


@pytest.fixture
async def there() -> AsyncIterator[World]:
    async with world(timeout_s=0.5) as opened:
        yield opened


def whispered(there: World) -> list[tuple[str, str, str | None]]:
    """Who alone saw what, and in which thread."""
    return [(who, message.shown, message.thread_ts) for who, message in there.general.ephemerals]


async def test_one_person_sees_it_and_nobody_else(there: World) -> None:
    receipt = await there.adapter.send(there.to(only_for=there.ann.id), "**您的**记忆 <!here>", chunk_id="1")

    assert Receipt() == receipt  # it can neither be edited nor found
    assert [(there.ann.id, "**您的**记忆 &lt;!here>", None)] == whispered(there)
    assert [] == there.general.messages()
    assert [] == there.here.violations


async def test_it_stands_where_its_reader_can_see_it(there: World) -> None:
    """Slack shows it in a thread that is under way; not in one that its own question would begin."""
    root = await there.ann.says(there.general, "question")
    reply = await there.bob.says(there.general, "me too", thread=root)
    await there.adapter.send(there.to(only_for=there.bob.id, thread=root, reply_to=reply), "inside", chunk_id="1")
    await there.adapter.send(there.to(only_for=there.ann.id, thread=root, reply_to=root), "outside", chunk_id="2")

    assert [(there.bob.id, "inside", root), (there.ann.id, "outside", None)] == whispered(there)


async def test_markdown_that_slack_will_not_take_is_whispered_as_plain_text(there: World) -> None:
    there.here.will("chat.postEphemeral", refused("invalid_blocks"))
    quoted = Quote(name="Bob", text="why?")
    await there.adapter.send(there.to(only_for=there.ann.id, quoted=quoted), "# Title", chunk_id="1")

    assert [(there.ann.id, "&gt; Bob: why?\n\nTitle", None)] == whispered(there)


async def test_what_cannot_be_whispered_is_told_to_nobody(there: World) -> None:
    zoe = there.here.person("Zoe")
    with pytest.raises(Refused, match="user_not_in_channel"):
        await there.adapter.send(there.to(only_for=zoe.id), "yours", chunk_id="1")

    assert [] == there.general.messages()


async def test_a_whisper_whose_receipt_was_lost_may_be_repeated(there: World) -> None:
    """It is in no history, and to see it twice does no harm; not to see it would be silence."""
    address = there.to(only_for=there.ann.id)
    there.here.will("chat.postEphemeral", cut_after())
    with pytest.raises(Unknown):
        await there.adapter.send(address, "yours", chunk_id="1")

    assert None is await there.adapter.find(address, chunk_id="1")
    assert not there.here.called("conversations.history")


async def test_whispers_have_a_budget_of_their_own(there: World) -> None:
    there.here.will("chat.postEphemeral", throttled(7))
    with pytest.raises(Throttled) as caught:
        await there.adapter.send(there.to(only_for=there.ann.id), "yours", chunk_id="1")

    assert (Rate(scope="acme chat.postEphemeral", count=100, per_s=60),) == there.adapter.rates(
        there.to(only_for=there.ann.id), "send"
    )
    assert "acme chat.postEphemeral" == caught.value.scope
