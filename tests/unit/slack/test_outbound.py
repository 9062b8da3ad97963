"""Replies through the real adapter into a local Slack: posted, edited, shown, found again; and what each failure means."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.base import Adapter, Address, Named, Paced, Quote, Rate, Reconciles, Shows
from adapters.errors import AdapterFault, Refused, SendFailed, Throttled, Unknown, Unreachable
from adapters.slack.posting import rates
from adapters.slack.web import client, retry_after_s, translated
from config.channels.slack import SlackSettings
from gateway.logs import describe
from tests.emulators.slack.clock import SteppedClock
from tests.emulators.slack.faults import Fault, broken, cut_after, cut_before, html, refused, slow_after, throttled
from tests.pulling import receiving
from tests.unit.slack.world import CountingIntake, World, adapter, platform, until_it_ends, world


@pytest.fixture
async def there() -> AsyncIterator[World]:
    async with world(timeout_s=0.5) as opened:
        yield opened


async def test_it_is_every_kind_of_channel(there: World) -> None:
    """Static and at run time."""
    channel: Adapter = there.adapter
    assert isinstance(channel, Paced)
    assert isinstance(channel, Shows)
    assert isinstance(channel, Named)
    assert isinstance(channel, Reconciles)


async def test_a_reply_stands_in_its_channel_or_thread(there: World) -> None:
    """Under its own ts, which is the receipt (slackapi/bolt-python#1185)."""
    root = await there.ann.says(there.general, "question")
    top = await there.adapter.send(there.to(), "**bold** 你好", chunk_id="1")
    inside = await there.adapter.send(there.to(thread=root), "inside", chunk_id="2")

    posted = {message.ts: message for message in there.general.messages()}
    assert posted[str(top.message_id)].shown == "**bold** 你好"
    assert posted[str(top.message_id)].thread_ts is None
    assert posted[str(inside.message_id)].thread_ts == root


async def test_nothing_is_fetched_or_called_because_a_model_wrote_it(there: World) -> None:
    """A URL in a reply would be fetched by Slack, and so leak; a token would ping (platform-facts 1.7)."""
    await there.adapter.send(
        there.to(), "see https://x.example <!channel> <@U1> `<!here>` @here #general", chunk_id="1"
    )

    assert not there.general.unfurled
    assert not any(message.pings for message in there.general.messages())


async def test_the_chunk_takes_the_place_of_what_was_shown(there: World) -> None:
    shown = await there.adapter.show(there.to(), "so far", turn="7", shown=None)
    assert shown is not None
    receipt = await there.adapter.send(there.to(), "so far, so good", chunk_id="1", shown=shown)

    assert shown == receipt.message_id
    assert ["so far, so good"] == [message.shown for message in there.general.messages()]


@pytest.mark.parametrize("code", ["cant_update_message", "message_not_found", "edit_window_closed"])
async def test_what_cannot_be_edited_any_more_goes_out_as_a_new_message(there: World, code: str) -> None:
    """Half an answer beside it would be taken for another one."""
    shown = await there.adapter.show(there.to(), "so far", turn="7", shown=None)
    there.here.will("chat.update", refused(code))
    receipt = await there.adapter.send(there.to(), "done", chunk_id="1", shown=shown)

    assert shown != receipt.message_id
    assert ["done"] == [message.shown for message in there.general.messages()]


async def test_what_was_shown_can_be_taken_away(there: World) -> None:
    """A state of it may come late, so the reply does not take its place."""
    shown = await there.adapter.show(there.to(), "so far", turn="7", shown=None)
    assert shown is not None
    await there.adapter.remove(there.to(), shown)
    assert [] == [message.shown for message in there.general.messages()]
    with pytest.raises(Refused, match="message_not_found"):
        await there.adapter.remove(there.to(), shown)


async def test_half_an_answer_that_cannot_be_taken_away_stays(there: World) -> None:
    """The answer stands beside it, and is not sent again."""
    shown = await there.adapter.show(there.to(), "so far", turn="7", shown=None)
    there.here.will("chat.update", refused("cant_update_message"))
    there.here.will("chat.delete", refused("cant_delete_message"))
    await there.adapter.send(there.to(), "done", chunk_id="1", shown=shown)

    assert ["so far", "done"] == [message.shown for message in there.general.messages()]


async def test_markdown_that_slack_will_not_take_replaces_what_was_shown_as_plain_text(there: World) -> None:
    quoted = Quote(name="Ann", text="why *so*?")
    shown = await there.adapter.show(there.to(), "so **far**", turn="7", shown=None)
    there.here.will("chat.update", refused("invalid_blocks"))
    receipt = await there.adapter.send(there.to(quoted=quoted), "**done** <!here>", chunk_id="1", shown=shown)

    (message,) = there.general.messages()
    assert shown == receipt.message_id
    assert "&gt; Ann: why so?\n\ndone &lt;!here&gt;" == message.text == message.shown
    assert [] == there.here.called("chat.update")[-1].args["blocks"]


async def test_an_edit_is_read_as_a_new_message_is(there: World) -> None:
    """What an edit leaves out Slack takes as it likes: it parses the text as if somebody had typed it
    (shaharia-lab/slackcli#106), and may leave half an answer standing in its blocks (slackapi/python-slack-sdk#523)."""
    shown = await there.adapter.show(there.to(), "so far", turn="7", shown=None)
    await there.adapter.show(there.to(), "so far, a < b", turn="7", shown=shown)
    there.here.will("chat.update", refused("invalid_blocks"))
    await there.adapter.send(there.to(), "done", chunk_id="1", shown=shown)

    assert {"none"} == {call.args.get("parse") for call in there.here.called("chat.update")}
    assert [1, 1, 0] == [len(call.args["blocks"]) for call in there.here.called("chat.update")]


@pytest.mark.parametrize("faults", [["invalid_blocks"], ["invalid_blocks", "msg_too_long"]], ids=["long", "refused"])
async def test_plain_text_that_no_edit_takes_goes_out_as_a_new_message(there: World, faults: list[str]) -> None:
    """An edit takes 4,000 bytes of text, and Chinese has three a character."""
    shown = await there.adapter.show(there.to(), "so far", turn="7", shown=None)
    there.here.will("chat.update", *map(refused, faults))
    there.here.will("chat.postMessage", refused("invalid_blocks"))
    await there.adapter.send(there.to(), "字" * 3_900, chunk_id="1", shown=shown)

    assert ["字" * 3_900] == [message.text for message in there.general.messages()]


async def test_other_refusals_of_an_edit_are_told(there: World) -> None:
    shown = await there.adapter.show(there.to(), "so far", turn="7", shown=None)
    there.here.will("chat.update", refused("is_archived"))
    with pytest.raises(Refused, match="archived"):
        await there.adapter.send(there.to(), "done", chunk_id="1", shown=shown)


@pytest.mark.parametrize(
    "code",
    ["invalid_blocks", "msg_blocks_too_long", "invalid_attachments", "only_one_table_allowed", "invalid_arguments"],
)
async def test_markdown_that_slack_will_not_take_goes_out_as_plain_text(there: World, code: str) -> None:
    """A message bears one table, and the words for a second one differ (netclaw-dev/netclaw#55)."""
    there.here.will("chat.postMessage", refused(code))
    await there.adapter.send(there.to(), "# Title\n\n<!here> **b**", chunk_id="1")

    (message,) = there.general.messages()
    assert "Title\n\n&lt;!here&gt; b" == message.text


async def test_plain_text_instead_of_markdown_is_the_whole_answer(there: World) -> None:
    """Only what stands beside a block is cut, because edits take no more: here it is all there is, and Chinese has three bytes
    a character."""
    there.here.will("chat.postMessage", refused("invalid_blocks"))
    await there.adapter.send(there.to(), "字" * 3_900, chunk_id="1")

    assert ["字" * 3_900] == [message.text for message in there.general.messages()]


async def test_a_growing_answer_is_one_message_that_is_edited(there: World) -> None:
    """Unfinished Markdown is closed, marks without text show nothing; what has not changed is not sent; what is longer than a
    message waits."""
    shown: str | None = None
    for text in ("", "``", "```py\nx", "```py\nx = 1", "```py\nx = 1", "word " * 3_000, "word " * 4_000):
        shown = await there.adapter.show(there.to(), text, turn="7", shown=shown)

    (message,) = there.general.messages()
    assert [shown] == [message.ts]
    assert ["```py\nx\n```", "```py\nx = 1\n```"] == message.history
    assert 2 == len(there.here.called("chat.update"))


async def test_the_quote_stands_above_the_reply(there: World) -> None:
    quoted = Quote(name="Ann", text="why?")
    await there.adapter.send(there.to(quoted=quoted), "because", chunk_id="1")

    assert ["> Ann: why?\n\nbecause"] == [message.shown for message in there.general.messages()]


async def test_a_status_shows_in_the_thread_until_it_is_taken_away(there: World) -> None:
    """Per thread, and cleared (NousResearch/hermes-agent#24117)."""
    root = await there.ann.says(there.general, "question")
    await there.adapter.sign(there.to(thread=root), on=True)
    assert "is thinking…" == there.general.status(root)

    await there.adapter.sign(there.to(thread=root), on=False)
    assert "" == there.general.status(root)


async def test_outside_threads_and_without_the_setting_no_status_is_asked_for(there: World) -> None:
    await there.adapter.sign(there.to(), on=True)
    assert not there.here.called("assistant.threads.setStatus")

    async with world(status=False, stream=False) as plain:
        await plain.adapter.sign(plain.to(thread="1.000001"), on=True)
        assert not plain.here.called("assistant.threads.setStatus")
        assert plain.adapter.show_every_s is None


async def test_a_room_that_refused_a_status_is_not_asked_again(there: World) -> None:
    root = await there.ann.says(there.general, "question")
    there.here.will("assistant.threads.setStatus", refused("missing_scope"))
    with pytest.raises(Refused, match="manifest"):
        await there.adapter.sign(there.to(thread=root), on=True)
    await there.adapter.sign(there.to(thread=root), on=False)

    assert 1 == len(there.here.called("assistant.threads.setStatus"))


async def test_a_thread_that_is_gone_takes_no_other_thread_s_status(there: World) -> None:
    root = await there.ann.says(there.general, "question")
    there.here.will("assistant.threads.setStatus", refused("thread_not_found"))
    with pytest.raises(Refused):
        await there.adapter.sign(there.to(thread="1600000000.000001"), on=True)
    await there.adapter.sign(there.to(thread=root), on=True)

    assert "is thinking…" == there.general.status(root)


FAILURES: list[tuple[Fault, type[SendFailed]]] = [
    (throttled(3), Throttled),
    (refused("ratelimited"), Throttled),
    (broken(503), Unknown),
    (broken(500, stored=True), Unknown),
    (html(), Unknown),
    (cut_before(), Unknown),
    (cut_after(), Unknown),
    (slow_after(30), Unknown),
    (Fault(status=200, headers=(("Content-Type", "text/plain"),), body=b"ok"), Unknown),
    (Fault(status=200, headers=(("Content-Type", "application/json"),), body=b"[]"), Unknown),
    (Fault(status=200, headers=(("Content-Type", "application/json"),), body=b"{"), Unknown),
    (Fault(status=200, headers=(("Content-Type", "application/json"),), body=b'{"ok": true}'), Unknown),
    (refused("internal_error"), Unknown),
    (refused("team_added_to_org"), Unreachable),
    (refused("external_channel_migrating"), Unreachable),
    (refused("not_in_channel"), Refused),
    (refused("is_archived"), Refused),
    (refused("restricted_action"), Refused),
]


@pytest.mark.parametrize(("fault", "kind"), FAILURES, ids=str)
async def test_what_a_failed_call_means(there: World, fault: Fault, kind: type[SendFailed]) -> None:
    """Refused for good, asked to wait, surely not sent, or nobody knows; never sent twice by the SDK itself
    (slackapi/python-slack-sdk#805)."""
    there.here.will("chat.postMessage", fault)
    with pytest.raises(SendFailed) as caught:
        await there.adapter.send(there.to(), "hello", chunk_id="1")

    assert kind is caught.value.__class__ or (kind is Refused and isinstance(caught.value, Refused))
    assert "hello" not in str(caught.value)
    assert 1 == len(there.here.called("chat.postMessage"))


async def test_a_broken_answer_of_slacks_does_not_get_into_the_log(there: World) -> None:
    """The SDK quotes it, and it holds messages."""
    headers = (("Content-Type", "application/json"),)
    there.here.will("conversations.history", Fault(status=200, headers=headers, body=b'{"ok":true,"messages":["my pin'))
    with pytest.raises(SendFailed) as caught:
        await there.adapter.find(there.to(), chunk_id="1")

    assert "my pin" not in describe(caught.value)


@pytest.mark.parametrize("code", ["invalid_auth", "token_revoked", "account_inactive"])
async def test_a_token_that_stopped_working_ends_the_channel(code: str) -> None:
    """A channel that does not run keeps its replies until it does again; tried one by one, they would be given up in minutes."""
    async with platform() as (_, _, bot):
        channel, room = adapter(bot), bot.workspace.channel("general", members=[bot])
        bot.workspace.will("chat.postMessage", refused(code))

        async def say() -> None:
            with pytest.raises(Unreachable):
                await channel.send(Address(channel="acme", room=room.id), "hello", chunk_id="1")

        with pytest.raises(AdapterFault, match=rf"chat\.postMessage: {code}"):
            await until_it_ends(channel, say())


async def test_a_wait_is_for_the_scope_that_asked(there: World) -> None:
    """One method in the workspace, in whatever room; never more (platform-facts 0.5). Posts go on while edits wait."""
    other = there.here.channel("other", members=[there.bot])
    there.here.will("chat.postMessage", throttled(7))
    with pytest.raises(Throttled) as posting:
        await there.adapter.send(there.to(), "hello", chunk_id="1")
    scopes = {rate.scope for rate in there.adapter.rates(there.to(), "send")}

    assert 7 == posting.value.retry_after_s
    assert posting.value.scope in scopes
    assert posting.value.scope in {rate.scope for rate in there.adapter.rates(there.to(other), "send")}
    assert posting.value.scope not in {rate.scope for rate in there.adapter.rates(there.to(), "edit")}


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [("3", 3), ("1.5", 1.5), ("0", 1), ("soon", 30), ("nan", 30), ("-5", 1), ("99999", 3600), (None, 30)],
)
def test_retry_after_is_read_whatever_it_says(header: str | None, wait_s: float) -> None:
    """The SDK's own reading is of integers, and raises (platform-facts 1.2)."""
    assert wait_s == retry_after_s({} if header is None else {"Retry-After": header})


async def test_a_platform_that_is_not_there_was_not_reached() -> None:
    settings = SlackSettings.model_validate(
        {"kind": "slack", "bot_token": "xoxb-1", "api_url": "http://127.0.0.1:9/api/"}
    )
    async with client(settings) as (slack, _):
        with pytest.raises(Unreachable), translated("chat.postMessage"):
            await slack.chat_postMessage(channel="C1", text="hello")


def test_rates_are_slack_s_documented_ones() -> None:
    """A post a second in a channel, in short bursts, a few hundred a minute in the workspace; edits by their method's tier."""
    here, there_ = Address(channel="acme", room="C1"), Address(channel="acme", room="C2")

    assert (
        Rate(scope="acme chat.postMessage C1", count=4, per_s=4),
        Rate(scope="acme chat.postMessage", count=300, per_s=60),
    ) == rates("acme", here, "send")
    direct, thread = (Address(channel="acme", room="D1", thread=thread) for thread in (None, "1.1"))
    assert [True, False] == [rates("acme", address, "send")[0].of_room for address in (direct, thread)]
    assert rates("acme", here, "edit") == rates("acme", there_, "edit")
    assert not {rate.scope for rate in rates("acme", here, "edit")} & {
        rate.scope for rate in rates("acme", here, "sign")
    }
    assert rates("acme", here, "send")[0].scope != rates("other", here, "send")[0].scope


@pytest.mark.parametrize("in_thread", [False, True], ids=["channel", "thread"])
@pytest.mark.parametrize("fault", [cut_after(), slow_after(30)], ids=["cut", "late"])
async def test_a_message_whose_receipt_was_lost_is_found(there: World, fault: Fault, in_thread: bool) -> None:
    """By its metadata; the one that never came is surely not there."""
    asked = await there.ann.says(there.general, "question")
    address = there.to(thread=asked if in_thread else None, reply_to=asked)
    there.here.will("chat.postMessage", fault)
    with pytest.raises(Unknown):
        await there.adapter.send(address, "hello", chunk_id="41")

    found = await there.adapter.find(address, chunk_id="41")
    assert found is not None
    assert [found.message_id] == [message.ts for message in there.general.messages() if message.shown == "hello"]
    assert None is await there.adapter.find(address, chunk_id="42")


async def test_after_a_slash_command_only_what_came_since_is_looked_through() -> None:
    """It has no message whose id says where to begin, and a busy channel's whole history would be too long to tell. Our clock
    may be behind Slack's."""
    clock = SteppedClock()
    async with world(clock=clock) as there:
        busy = there.here.channel("busy", members=[there.ann])
        for number in range(1_001):
            busy.post(author=there.ann, text=str(number))
        busy.let_in(there.bot)
        await clock.advance(3_600)
        address = there.to(busy, reply_to="13345224609.738474920.8088930838", since_ms=int((clock.now() + 240) * 1000))
        assert None is await there.adapter.find(address, chunk_id="41")
        receipt = await there.adapter.send(address, "hello", chunk_id="41")

        assert receipt == await there.adapter.find(address, chunk_id="41")
        with pytest.raises(Unreachable, match="1000 messages"):
            await there.adapter.find(there.to(busy, reply_to=address.reply_to), chunk_id="42")


async def test_another_bots_mark_is_no_receipt(there: World) -> None:
    """A second Clew in the channel counts its chunks and turns too; an answer of ours must not be taken for sent by that."""
    second = there.here.install(there.platform.app("Second"))
    both = there.here.channel("both", members=[there.ann, there.bot, second])
    asked = await there.ann.says(both, "question")
    address = there.to(both, reply_to=asked)
    other = adapter(second)
    async with receiving(other, CountingIntake()):
        await other.show(address, "theirs, so far", turn="7", shown=None)
        receipt = await other.send(address, "theirs", chunk_id="41")

        assert receipt == await other.find(address, chunk_id="41")
        assert None is await there.adapter.find(address, chunk_id="41")
        assert None is await there.adapter.find_shown(address, turn="7")


async def test_an_edit_whose_receipt_was_lost_is_found(there: World) -> None:
    asked = await there.ann.says(there.general, "question")
    shown = await there.adapter.show(there.to(reply_to=asked), "so far", turn="7", shown=None)
    there.here.will("chat.update", cut_after())
    with pytest.raises(Unknown):
        await there.adapter.send(there.to(reply_to=asked), "done", chunk_id="41", shown=shown)

    found = await there.adapter.find(there.to(reply_to=asked), chunk_id="41")
    assert found is not None
    assert shown == found.message_id


async def test_what_shows_an_answer_is_found_when_its_receipt_was_lost(there: World) -> None:
    """Else it would stay there half-done, beside the finished answer."""
    asked = await there.ann.says(there.general, "question")
    there.here.will("chat.postMessage", cut_after())
    with pytest.raises(Unknown):
        await there.adapter.show(there.to(reply_to=asked), "so far", turn="7", shown=None)
    shown = await there.adapter.find_shown(there.to(reply_to=asked), turn="7")
    await there.adapter.send(there.to(reply_to=asked), "done", chunk_id="1", shown=shown)

    assert ["question", "done"] == [message.shown for message in there.general.messages()]


async def test_what_shows_an_answer_is_found_by_its_turn(there: World) -> None:
    """As long as it is unfinished: the finished answer is found by its chunk."""
    asked = await there.ann.says(there.general, "question")
    address = there.to(reply_to=asked)
    assert None is await there.adapter.find_shown(address, turn="7")
    shown = await there.adapter.show(address, "so far", turn="7", shown=None)

    assert shown == await there.adapter.find_shown(address, turn="7")
    assert None is await there.adapter.find_shown(address, turn="8")
    await there.adapter.send(address, "done", chunk_id="1", shown=shown)
    assert None is await there.adapter.find_shown(address, turn="7")


async def test_a_history_that_cannot_be_read_tells_nothing(there: World) -> None:
    there.here.will("conversations.history", broken(503))
    with pytest.raises(SendFailed):
        await there.adapter.find(there.to(reply_to="not-a-ts"), chunk_id="41")


@pytest.mark.parametrize("text", ["word " * 20_000, "长句子。" * 10_000, "<" * 9_000])
async def test_a_long_answer_arrives_whole(text: str) -> None:
    """Every chunk is taken, posted and edited (NousResearch/hermes-agent#111336)."""
    async with world() as there:
        there.here.limits.mode = "off"
        pieces = there.adapter.chunks(text)
        for number, piece in enumerate(pieces):
            receipt = await there.adapter.send(there.to(), piece, chunk_id=str(number))
            await there.adapter.send(there.to(), piece, chunk_id=str(number), shown=receipt.message_id)
        said: Any = "".join(message.shown for message in there.general.messages())

    assert "".join(text.split()) == "".join(said.replace("&lt;", "<").split())
