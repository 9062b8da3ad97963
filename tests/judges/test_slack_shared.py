"""What Slack is, by two who never saw each other's code: the same tests on npm's `emulate` and on our own emulator.

Where they agree, a mistake of ours in both adapter and emulator would show. What `emulate` lacks stands in `slack.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Address, DeleteEvent, EditEvent
from adapters.errors import Refused
from tests.judges.grounds import Ground, foreign, ours


@pytest.fixture(params=[pytest.param(foreign, id="emulate", marks=pytest.mark.judge), pytest.param(ours, id="ours")])
async def there(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ground]:
    async with request.param(tmp_path) as opened:
        yield opened


def to(there: Ground, **more: Any) -> Address:
    return Address(channel="acme", room=there.room, **more)


async def test_a_message_arrives_signed_and_whole(there: Ground) -> None:
    """Who, where, what; the entities are Slack's own."""
    ts = await there.says("你好 &lt;world&gt; &amp; 👋🏽")

    [event] = there.intake.messages
    assert (there.room, None, "group") == (event.room, event.thread, event.chat_type)
    assert (ts, "你好 <world> & 👋🏽", False) == (event.message_id, event.text, event.mentions_bot)
    assert (there.ann, False, True) == (event.sender.account, event.sender.is_bot, event.sender.trusted)
    assert f"{event.sender.tenant}.{there.ann}" == event.sender.user


async def test_a_mention_opens_a_thread_and_its_follow_ups_stay_there(there: Ground) -> None:
    root = await there.says(f"<@{there.bot}> is it raining?")
    await there.says("真的吗？", thread=root)

    asked, after = there.intake.messages
    assert ("is it raining?", True, root) == (asked.text, asked.mentions_bot, asked.thread)
    assert ("真的吗？", False, root) == (after.text, after.mentions_bot, after.thread)


async def test_a_direct_message_is_private(there: Ground) -> None:
    room = await there.private()
    await there.says("just us", room=room)

    [event] = there.intake.messages
    assert (room, None, "private", "just us") == (event.room, event.thread, event.chat_type, event.text)


async def test_an_edit_and_a_deletion_name_their_message(there: Ground) -> None:
    ts = await there.says("my order is 8821")
    await there.edits(ts, "my order is 4711")
    await there.deletes(ts)

    _, edit, deletion = (turn.event for turn in there.intake.turns.values())
    assert isinstance(edit, EditEvent)
    assert isinstance(deletion, DeleteEvent)
    assert (ts, "my order is 4711") == (edit.message_id, edit.text)
    assert (ts, there.ann) == (deletion.message_id, deletion.sender.account)


async def test_a_reply_stands_in_its_thread_and_is_no_message_to_us(there: Ground) -> None:
    """Markdown in the block, plain words beside it, and our own event comes back to nobody."""
    root = await there.says(f"<@{there.bot}> hi")
    receipt = await there.adapter.send(to(there, thread=root), "**Yes**, 下雨了 🌧️ `x < y`", chunk_id="c-1")

    assert (there.bot, "Yes, 下雨了 🌧️ x &lt; y", "**Yes**, 下雨了 🌧️ `x < y`") == (await there.stands(root))[-1]
    assert receipt.message_id is not None
    assert 1 == len(there.intake.turns)


async def test_a_growing_answer_is_one_message_that_the_finished_one_replaces(there: Ground) -> None:
    root = await there.says(f"<@{there.bot}> hi")
    address = to(there, thread=root)
    shown = await there.adapter.show(address, "First", turn="t-1", shown=None)
    assert shown == await there.adapter.show(address, "First words", turn="t-1", shown=shown)
    assert (there.bot, "First words", "First words") == (await there.stands(root))[-1]
    receipt = await there.adapter.send(address, "First words, and the rest.", chunk_id="c-1", shown=shown)

    assert shown == receipt.message_id
    assert (there.bot, "First words, and the rest.") == (await there.stands(root))[-1][:2]
    assert 2 == len(await there.stands(root))
    assert 1 == len(there.intake.turns)


async def test_a_message_that_is_gone_is_replaced_by_a_new_one(there: Ground) -> None:
    """Slack's word for it is `message_not_found`."""
    root = await there.says(f"<@{there.bot}> hi")
    gone = "1700000000.000100"
    receipt = await there.adapter.send(to(there, thread=root), "Here it is.", chunk_id="c-1", shown=gone)

    assert receipt.message_id not in (None, gone)
    assert (there.bot, "Here it is.") == (await there.stands(root))[-1][:2]


async def test_a_lost_receipt_is_found_by_its_chunk(there: Ground) -> None:
    """In a thread and outside; what was never sent is not found."""
    root = await there.says(f"<@{there.bot}> hi")
    for address in (to(there, thread=root, reply_to=root), to(there, reply_to=root)):
        await there.adapter.send(address, "one", chunk_id=f"before {address.thread}")
        receipt = await there.adapter.send(address, "two", chunk_id=f"asked {address.thread}")

        assert receipt == await there.adapter.find(address, chunk_id=f"asked {address.thread}")
        assert await there.adapter.find(address, chunk_id="never sent") is None


async def test_the_longest_pieces_arrive_whole(there: Ground) -> None:
    """Ten thousand characters of two scripts: nothing truncated, nothing lost."""
    root = await there.says(f"<@{there.bot}> tell me everything")
    said = "\n\n".join(f"{number}. 天气很好 and so on & so forth {'🌧️' * 9}" for number in range(300))
    pieces = there.adapter.chunks(said)
    for number, piece in enumerate(pieces):
        await there.adapter.send(to(there, thread=root), piece, chunk_id=f"c-{number}")

    assert pieces == [markdown for _, _, markdown in (await there.stands(root))[1:]]
    assert 1 < len(pieces)


async def test_ids_are_given_their_names(there: Ground) -> None:
    """People by `users.info`, channels by `conversations.info`."""
    await there.says(f"did <@{there.ann}> write in <#{there.room}>?")
    [event] = there.intake.messages
    named = await there.adapter.named(event)

    assert f"did @{named.sender.name} write in #" in named.text
    assert named.sender.name
    assert "<" not in named.text


async def test_a_room_that_is_not_there_refuses_for_good(there: Ground) -> None:
    """`channel_not_found`: nobody tries again, and the error says what to do."""
    with pytest.raises(Refused, match=r"channel_not_found .*private"):
        await there.adapter.send(Address(channel="acme", room="C0NOWHERE"), "hi", chunk_id="c-1")


async def test_the_probe_is_answered(there: Ground) -> None:
    await there.adapter.probe()
