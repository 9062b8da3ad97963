"""What admins do about dead letters, over real queues: seen within their channels, dealt with once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.base import Address, DeleteEvent, InboundEvent, MessageEvent, Sender
from config.loader import Configuration, load
from gateway.admin.acts import dead_letters as acts
from gateway.admin.acts.dead_letters import (
    AnswerAsked,
    DiscardAsked,
    LetterAsked,
    LettersAsked,
    ManyAsked,
    RetryAsked,
)
from gateway.admin.dead_letters import DeadLetterActs
from gateway.admin.operations import Disagrees, Invalid, Missing, Operation, Refused, Service
from gateway.admin.rights import Actor
from gateway.amending import subject_of
from gateway.gathering import gathering
from gateway.inbox.base import Chunk, Event, NewEvent, Outcome, Reply
from gateway.inbox.dead import by_hand
from gateway.lanes import next_turn
from gateway.rooms import target_of
from gateway.routing import Human, decode, encode, route
from memory.ids import Ids
from tests.contracts.dead import Post
from tests.contracts.queues import NOW_MS, URLS, claim_one, open_queues
from tests.unit.admin.acting import OWNER, Log, actor

LATER = NOW_MS + 90_000
GAVE_UP = Outcome(state="dead", code="gave_up", message="sorry", reason="agent down")
SETTINGS = """
agents: {default: {kind: demo}}
channels:
  hook: {kind: webhook, secrets: ["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]}
  other: {kind: webhook, secrets: ["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]}
  gone: {kind: webhook, secrets: ["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]}
"""
OPERATOR = actor(("operator", "hook"))
VIEWER = actor(("viewer", None))
_ids = Ids(3, clock=lambda: NOW_MS)


class Desk:
    """Queues, and admins who act on them. `moved` are rooms with another id now."""

    def __init__(self, queues: Post, configuration: Configuration) -> None:
        self.queues = queues
        self.configuration = configuration
        self.log = Log()
        self.dealt: list[tuple[str, str]] = []
        self.moved: dict[str, str] = {}
        self.now = dict(configuration.settings.channels)
        done = DeadLetterActs(
            inbox=queues,
            letters=queues.letters,
            configuration=lambda: self.configuration,
            current=self.current,
            ids=_ids,
            clock=lambda: LATER,
            dealt=lambda channel, how: self.dealt.append((channel, how)),
        )
        self.service = Service(done.handlers(), audit=self.log)

    def current(self, address: Address) -> Address:
        room = self.moved.get(address.room)
        return address if room is None else msgspec.structs.replace(address, room=room, reply_to=None)

    async def do(self, operation: Operation, request: msgspec.Struct, *, by: Actor = OWNER) -> Any:
        return await self.service.perform(by, operation, request)

    async def list(self, *, by: Actor = OWNER, **asked: Any) -> list[str]:
        page = await self.do(acts.LIST, LettersAsked(**asked), by=by)
        return [line.turn for line in page.letters]

    async def line(self, event: Event) -> acts.LetterLine:
        told = await self.do(acts.SHOW, LetterAsked(turn=str(event.id)))
        line: acts.LetterLine = told.letter
        return line

    async def said(
        self, text: str = "wo bleibt 我的订单?", *, channel: str = "hook", message_id: str = "m1", **fields: Any
    ) -> Event:
        """Accept a message."""
        sender = Sender(user="u1", tenant="T", account="u1", name="Zoé")
        event = MessageEvent(
            channel=channel,
            room="r",
            chat_type="private",
            sender=sender,
            dedupe_ids=("d",),
            message_id=message_id,
            text=text,
        )
        return await self.accept(event, **fields)

    async def accept(self, event: InboundEvent, *, kind: str = "message", body: bytes | None = None) -> Event:
        id_ = _ids.next()
        new = NewEvent(
            id=id_,
            channel=event.channel,
            kind=kind,  # type: ignore[arg-type]
            speaker=event.sender.user,
            body=body or encode(route(event, configuration=self.configuration, chosen_agent=None)),
            token="t",
            fingerprint=None,
            now_ms=NOW_MS,
            subject=subject_of(event),
        )
        return (await self.queues.accept(new, lane=f"lane {id_}", dedupe_ids=[str(id_)])).event

    async def gave_up(self, text: str = "hello?", **fields: Any) -> Event:
        event = await self.said(text, **fields)
        claim = await claim_one(self.queues)
        await self.queues.start([event.id], turn_id=event.id, lane=claim.lane, fence=claim.fence)
        await self.queues.finish([event.id], GAVE_UP, lane=claim.lane, fence=claim.fence)
        await self.queues.release(claim)
        return event

    async def replied(self, *chunks: str, failed: Outcome | None = None, **fields: Any) -> Event:
        event = await self.said(**fields)
        claim = await claim_one(self.queues)
        await self.queues.start([event.id], turn_id=event.id, lane=claim.lane, fence=claim.fence)
        target = target_of(Address(channel=event.channel, room="r", reply_to="m1"))
        await self.queues.put(
            Reply(
                event_ids=[event.id],
                turn_id=event.id,
                channel=event.channel,
                queue=target.queue,
                address=target.address,
                text="".join(chunks),
                chunks=chunks,
                failed=failed,
                session=None,
                lane=claim.lane,
                fence=claim.fence,
                now_ms=NOW_MS,
            )
        )
        await self.queues.release(claim)
        return event

    async def due(self) -> Chunk:
        (chunk,) = await self.queues.due(now_ms=LATER, limit=5)
        return chunk

    async def settled(self, *how: str) -> None:
        """Say of the chunks that are due, one after the other, how they went."""
        for one in how:
            chunk = await self.due()
            if one == "sent":
                await self.queues.sent(chunk, message_id="p1", now_ms=NOW_MS)
            elif one == "unknown":
                await self.queues.unknown(chunk, error="no receipt within 5 s", now_ms=NOW_MS)
            else:
                await self.queues.dead(chunk, error="chat not found", now_ms=NOW_MS)

    async def state(self, event: Event) -> str:
        stored = await self.queues.event(event.id)
        assert stored is not None
        return stored.state


@pytest.fixture(params=URLS)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    path = tmp_path / "clew.yaml"
    path.write_text(SETTINGS, "utf-8")
    async with open_queues(URLS[request.param](request)) as queues:
        yield Desk(queues, load(path, {}))  # type: ignore[arg-type]  # whole queues


async def test_a_letter_tells_why_and_what_the_person_saw(desk: Desk) -> None:
    """Dead without a word, dead with a notice, cut short, refused, or perhaps arrived."""
    late = Outcome(state="dead", code="gave_up", message="sorry")
    silent = await desk.gave_up()
    noticed = await desk.replied("sorry", failed=late)
    await desk.settled("sent")
    refused = await desk.replied("one")
    await desk.settled("dead")
    cut = await desk.replied("one", "two", "three")
    await desk.settled("sent", "dead")
    maybe = await desk.replied("one", "two")
    await desk.settled("unknown", "sent")
    lost_notice = await desk.replied("sorry", failed=late)
    await desk.settled("dead")
    maybe_notice = await desk.replied("sorry", failed=Outcome(state="failed", code="agent_timeout"))
    await desk.settled("unknown")
    torn = await desk.replied("one", "two", "three")
    await desk.settled("sent", "unknown", "dead")

    seen = [await desk.line(event) for event in (silent, noticed, refused, cut, maybe, lost_notice, maybe_notice, torn)]

    assert [
        ("dead", "gave_up", "agent down", "nothing", "answer", (0, 0, 0)),
        ("dead", "gave_up", None, "notice", "answer", (1, 0, 0)),
        ("dead", "undeliverable", "chat not found", "nothing", "send", (0, 0, 1)),
        ("dead", "undeliverable", "chat not found", "part", "send", (1, 0, 2)),
        ("unknown", "unknown_send", "no receipt within 5 s", "perhaps", "send", (1, 1, 0)),
        ("dead", "undeliverable", "chat not found", "nothing", "answer", (0, 0, 1)),
        ("unknown", "unknown_send", "no receipt within 5 s", "perhaps_notice", "send", (0, 1, 0)),
        ("dead", "undeliverable", "chat not found", "part", "send", (1, 1, 1)),
    ] == [
        (line.kind, line.code, line.reason, line.person_saw, line.fits, (line.sent, line.unknown, line.dead))
        for line in seen
    ]
    assert {("hook", "r", None, "private", 1, True, 90.0)} == {
        (line.channel, line.room, line.thread, line.chat_type, line.messages, line.configured, line.age_s)
        for line in seen
    }


async def test_the_list_goes_in_pages_within_ones_channels(desk: Desk) -> None:
    """Newest first; a viewer handles nothing, and who handles one channel is told of no other's."""
    mine = [await desk.gave_up() for _ in range(3)]
    other = await desk.gave_up(channel="other")
    turns = [str(event.id) for event in (other, *reversed(mine))]

    first = await desk.do(acts.LIST, LettersAsked(limit=2))
    rest = await desk.do(acts.LIST, LettersAsked(limit=2, after=first.next))

    assert turns == [line.turn for line in (*first.letters, *rest.letters)]
    assert None is rest.next
    assert turns[1:] == await desk.list(by=OPERATOR)
    assert [] == await desk.list(by=OPERATOR, channel="other")
    assert turns[:1] == await desk.list(channel="other")
    assert turns == await desk.list(code="gave_up")
    assert [] == await desk.list(kind="unknown")
    maybe = await desk.replied("one")
    await desk.settled("unknown")
    assert [str(maybe.id)] == await desk.list(code="unknown_send"), "as it is listed"
    assert [] == await desk.list(code="unknown_send", kind="dead")
    with pytest.raises(Refused, match="needs the right 'handle'"):
        await desk.list(by=VIEWER)


@pytest.mark.parametrize(
    ("operation", "request_of"),
    [
        (acts.SHOW, lambda turn: LetterAsked(turn=turn)),
        (acts.RETRY, lambda turn: RetryAsked(turn=turn)),
        (acts.DISCARD, lambda turn: DiscardAsked(turn=turn)),
        (acts.ANSWER, lambda turn: AnswerAsked(turn=turn, text="hi")),
    ],
)
async def test_anothers_letter_is_none(desk: Desk, operation: Operation, request_of: Any) -> None:
    """Told in the same words as one that is not there (IDOR); nothing changes."""
    other, fine = await desk.gave_up(channel="other"), await desk.said()

    told = []
    for turn in (str(other.id), str(fine.id), "4711"):
        with pytest.raises(Missing) as missing:
            await desk.do(operation, request_of(turn), by=OPERATOR)
        told.append(str(missing.value).replace(turn, "N"))

    assert 1 == len(set(told))
    assert "dead" == await desk.state(other)


async def test_words_are_shown_to_who_may_read(desk: Desk) -> None:
    """And each look is on record, with ids alone."""
    event = await desk.replied("你好，", "世界 🎁", text="wo bleibt 我的订单?")
    await desk.settled("sent", "dead")

    told = await desk.do(acts.SHOW, LetterAsked(turn=str(event.id)), by=OPERATOR)

    assert [("Zoé", "u1", "wo bleibt 我的订单?")] == [(one.name, one.account, one.text) for one in told.said]
    assert [("你好，", "sent", False), ("世界 🎁", "dead", False)] == [
        (piece.text, piece.state, piece.earlier) for piece in told.pieces
    ]
    assert [("dead-letters.show", "done", "hook", {"turn": str(event.id)})] == desk.log.entries


async def test_retry_does_what_fits(desk: Desk) -> None:
    """What was refused is sent again, to where its room is now; what was not answered is answered again."""
    refused = await desk.replied("one")
    await desk.settled("dead")
    silent = await desk.gave_up()
    desk.moved = {"r": "r2"}

    first = await desk.do(acts.RETRY, RetryAsked(turn=str(refused.id)))
    second = await desk.do(acts.RETRY, RetryAsked(turn=str(silent.id)))

    assert ("send", "answer") == (first.done, second.done)
    assert ("replied", "accepted") == (await desk.state(refused), await desk.state(silent))
    chunk = await desk.due()
    address = msgspec.msgpack.decode(chunk.address, type=Address)
    assert ("r2", None, "hook:r2") == (address.room, address.reply_to, chunk.queue)
    assert [("hook", "send"), ("hook", "answer")] == desk.dealt
    assert [] == await desk.list()


async def test_an_unknown_send_is_repeated_by_choice_alone(desk: Desk) -> None:
    """It may have arrived; and it was answered, so there is nothing to answer again."""
    event = await desk.replied("one")
    await desk.settled("unknown")
    turn = str(event.id)

    with pytest.raises(Invalid, match="may see it twice"):
        await desk.do(acts.RETRY, RetryAsked(turn=turn))
    with pytest.raises(Invalid, match="only its delivery is unknown"):
        await desk.do(acts.RETRY, RetryAsked(turn=turn, how="answer"))
    done = await desk.do(acts.RETRY, RetryAsked(turn=turn, may_repeat=True))

    assert "send" == done.done
    assert "one" == (await desk.due()).text


async def test_what_was_deleted_since_is_shown_to_nobody(desk: Desk) -> None:
    """The letter stays, and who wrote it; an operator's words that did not arrive are theirs, and not the person's."""
    letter = await desk.gave_up("Geheimnis 秘密")
    sender = Sender(user="u1", tenant="T", account="u1")
    gone = DeleteEvent(channel="hook", room="r", chat_type="private", sender=sender, dedupe_ids=("x",), message_id="m1")
    await desk.accept(gone, kind="control")
    told = await desk.do(acts.SHOW, LetterAsked(turn=str(letter.id)))
    assert [("Zoé", "")] == [(one.name, one.text) for one in told.said]

    way = decode(letter.body)
    human = Human(takeover=1, act="said", operator="user:1", name="Ann 安", turn_id=1)
    by_human = await desk.gave_up(body=encode(msgspec.structs.replace(way, human=human)), message_id="m2")
    told = await desk.do(acts.SHOW, LetterAsked(turn=str(by_human.id)))
    assert [("Ann 安", "Geheimnis 秘密")] == [(one.name, one.text) for one in told.said]


async def test_what_can_not_be_done_is_said(desk: Desk) -> None:
    """Nothing to send, a channel that is gone, no words, what is no message."""
    silent, orphan = await desk.gave_up(), await desk.gave_up(channel="gone")
    gone = DeleteEvent(
        channel="hook",
        room="r",
        chat_type="private",
        sender=Sender(user="u1", tenant="T", account="u1"),
        dedupe_ids=("x",),
        message_id="m1",
    )
    control = await desk.accept(gone, kind="control")
    unreadable = await desk.said(body=b"{")
    dead = Outcome(state="dead", code="not_applied")
    await desk.queues.finish([control.id], dead, lane=control.lane, fence=None)
    claim = await claim_one(desk.queues)
    await desk.queues.finish([unreadable.id], dead, lane=claim.lane, fence=claim.fence)
    del desk.configuration.settings.channels["gone"]

    for operation, asked, problem in (
        (acts.RETRY, RetryAsked(turn=str(silent.id), how="send"), "nothing of it is left"),
        (acts.RETRY, RetryAsked(turn=str(orphan.id)), "not configured any more"),
        (acts.ANSWER, AnswerAsked(turn=str(orphan.id), text="hi"), "not configured any more"),
        (acts.ANSWER, AnswerAsked(turn=str(silent.id), text=" \n"), "no words"),
        (acts.ANSWER, AnswerAsked(turn=str(control.id), text="hi"), "only a message"),
        (acts.ANSWER, AnswerAsked(turn=str(unreadable.id), text="hi"), "only a message"),
    ):
        with pytest.raises(Invalid, match=problem):
            await desk.do(operation, asked)
    assert not (await desk.line(orphan)).configured
    assert None is (await desk.line(control)).room
    assert [""] == [one.text for one in (await desk.do(acts.SHOW, LetterAsked(turn=str(unreadable.id)))).said]
    for event in (silent, orphan, control, unreadable):
        assert "discard" == (await desk.do(acts.DISCARD, DiscardAsked(turn=str(event.id)))).done


async def test_an_answer_by_hand_goes_under_ones_name(desk: Desk) -> None:
    """The actor's, or the one that they give."""
    first, second = await desk.gave_up(), await desk.gave_up()

    await desk.do(acts.ANSWER, AnswerAsked(turn=str(first.id), text=" 明天寄出 📦 "))
    await desk.do(acts.ANSWER, AnswerAsked(turn=str(second.id), text="tomorrow", name="  Team\nNord "))

    words = [by_hand(event) for event in await _waiting(desk, first, second)]
    assert [("Ana", "明天寄出 📦"), ("Team Nord", "tomorrow")] == [(one.name, one.text) for one in words if one]
    assert 2 == len({one.id for one in words if one})
    assert "明天寄出" not in repr(desk.log.entries)


async def test_an_answer_by_hand_answers_its_letter_alone(desk: Desk) -> None:
    """Two letters of one speaker are two answers, also where the first one's turn begins again with what was said since."""
    first, second = await desk.gave_up("one"), await desk.gave_up("二")
    await desk.do(acts.RETRY, RetryAsked(turn=str(first.id)))
    await desk.do(acts.ANSWER, AnswerAsked(turn=str(second.id), text="It is on its way."))
    waiting = [one for event in (first, second) if (one := await desk.queues.event(event.id)) is not None]

    turn = next_turn(waiting, lambda event: gathering(event, desk.configuration), interrupted=True)

    assert [first.id] == [event.id for event in turn]


async def test_who_decided_on_an_old_look_changes_nothing(desk: Desk) -> None:
    """Also where it has become a letter again meanwhile; and of many at once one acts."""
    event = await desk.replied("one")
    await desk.settled("dead")
    seen = (await desk.line(event)).seen
    await desk.do(acts.RETRY, RetryAsked(turn=str(event.id), seen=seen))
    await desk.settled("dead")

    with pytest.raises(Disagrees, match="look again"):
        await desk.do(acts.RETRY, RetryAsked(turn=str(event.id), seen=seen))
    tries = [desk.do(acts.RETRY, RetryAsked(turn=str(event.id), seen=seen + 1)) for _ in range(4)]
    results = await asyncio.gather(*tries, return_exceptions=True)

    assert 1 == sum(not isinstance(one, Exception) for one in results)
    assert {Disagrees, Missing} >= {type(one) for one in results if isinstance(one, Exception)}


async def test_many_are_dealt_with_at_once_each_with_its_result(desk: Desk) -> None:
    """By turns or by filter, at most so many, within ones channels; one that can't be does not stop the others."""
    mine = [await desk.gave_up() for _ in range(3)]
    other = await desk.gave_up(channel="other")
    maybe = await desk.replied("one")
    await desk.settled("unknown")
    turns = tuple(str(event.id) for event in (mine[0], other, maybe))

    named = await desk.do(acts.MANY_AT_ONCE, ManyAsked(act="retry", turns=(*turns, turns[0])), by=OPERATOR)
    rest = await desk.do(acts.MANY_AT_ONCE, ManyAsked(act="discard", kind="dead", limit=1), by=OPERATOR)
    last = await desk.do(acts.MANY_AT_ONCE, ManyAsked(act="answer", code="gave_up", text="sorry"), by=OPERATOR)

    assert [(turns[0], "answer"), (turns[1], None), (turns[2], None)] == [(one.turn, one.done) for one in named.results]
    assert "no letter of it" in (named.results[1].problem or "")
    assert "may see it twice" in (named.results[2].problem or "")
    assert ([(str(mine[2].id), "discard")], True) == ([(one.turn, one.done) for one in rest.results], rest.more)
    assert ([(str(mine[1].id), "by_hand")], False) == ([(one.turn, one.done) for one in last.results], last.more)
    assert [turns[2], turns[1]] == await desk.list()
    assert [
        ("dead-letters.many", "done", None, {"act": "retry", "asked": 3, "done": 1}),
        ("dead-letters.many", "done", "hook", {"turn": turns[0], "done": "answer"}),
    ] == desk.log.entries[:2], "each that was done has its own entry, by its channel"
    with pytest.raises(Invalid, match="needs words"):
        await desk.do(acts.MANY_AT_ONCE, ManyAsked(act="answer"))


async def _waiting(desk: Desk, *events: Event) -> Sequence[Event]:
    return [one for event in events for one in await desk.queues.waiting(event.lane)]
