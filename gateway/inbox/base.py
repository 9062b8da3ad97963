"""The durable queues: the inbox (accept once, keep, hand out in order) and the outbox (chunks and receipts).

Storage only; scheduling is `lanes.py`'s alone. One database holds both, so that storing a reply and freeing its lane is one
transaction. Every implementation passes `tests/contracts/inbox.py`; the facts behind the shape are in `engines.md` A.

A lane is named by its scope. At most one owner holds a lane, under a lease; each holding has a fencing number greater
than the one before, and every write of a turn names it. A write with an old number raises `gateway.errors.LeaseLost` and
changes nothing. Trouble with the database surfaces on every verb as `gateway.errors.StoreBusy`; whether a write took place
is then unknown, and repeating it is safe. What a database refuses for good (an id given twice) is a ValueError, for that
call alone.

Ids are `memory/ids.py`'s. Free text (replies, errors, reasons) is kept as it is but for NUL and lone surrogates, which
databases and platforms refuse: they become U+FFFD.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, Protocol

import msgspec

EventState = Literal["accepted", "running", "replied", "answered", "observed", "ignored", "applied", "failed", "dead"]
"""`replied`: the reply stands in the outbox, the lane is free; `answered` once every chunk is delivered or unknown."""

ChunkState = Literal["waiting", "sending", "sent", "unknown", "dead"]

HaltReason = Literal["interrupted", "taken_over", "withdrawn", "stopped"]
"""Why a running turn is to end early, lightest first: a heavier reason outweighs a lighter one. `interrupted`: it begins again,
with what is there then. `taken_over`: a human answers. `withdrawn`: what it answers is gone. `stopped`: its speaker wants no more
of it."""

ANNOUNCE_TRIES = 3
"""A room that refuses to be told something so often is not told it."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an event ended. `rule` says why it was observed or ignored, `code` and `message` why it failed or died; `reason`
    is for admins only, and may be the platform's own words."""

    state: Literal["answered", "observed", "ignored", "applied", "failed", "dead"]
    rule: str | None = None
    code: str | None = None
    message: str | None = None
    reason: str | None = None


class NewEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event to accept. `body` is the routed event, encoded; opaque here."""

    id: int
    channel: str
    kind: Literal["message", "control"]  # control events never wait for their lane
    speaker: str  # the key's user: `collect` and `interrupt` join one speaker's only
    body: bytes
    token: str  # the turn's own random token
    fingerprint: str | None
    now_ms: int
    outcome: Outcome | None = None  # set: the event is terminal from the start (ignored by admission); no lane
    subject: str | None = None  # names the message of the platform that this is, or is about; counts within the channel
    revives: tuple[str, ...] = ()  # rules: see `Inbox.accept`

    @property
    def waits(self) -> bool:
        """Whether the event waits in a lane."""
        return self.kind == "message" and self.outcome is None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event as stored. `turn_id` is its own id, or the head's it was collected into.

    A terminal event has its outcome; a replied one has it only if its reply is the notice of a failure, or an admin's own words;
    a waiting one only if an admin took it up again (`gateway/inbox/dead.py`).
    """

    id: int
    turn_id: int
    lane: str
    channel: str
    kind: Literal["message", "control"]
    speaker: str
    body: bytes
    token: str
    fingerprint: str | None
    state: EventState
    outcome: Outcome | None
    attempts: int  # how often it was started
    accepted_ms: int
    session: str | None = None
    shown: str | None = None  # the message that shows the reply while it is made
    subject: bytes | None = None  # a digest
    halt: HaltReason | None = None  # of a running one, and of one that ran
    excused: int = 0  # how many of its attempts count as no try


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """`accepted`: stored now, or revived by this call. `duplicate`: `event` was stored before under one of the dedupe ids.
    `folded`: so it was, and it is a sibling that this call completed (another dedupe id of the same message was added to
    it). What came with another fingerprint is no sibling: its other ids stay free, for whoever sends it rightly."""

    verdict: Literal["accepted", "duplicate", "folded"]
    event: Event


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A lane this instance owns from now on, until released or its lease runs out."""

    lane: str
    fence: int


class Halt(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody, on whatever instance, wants the turn of this event to end early: the one begun by its attempt so many."""

    event_id: int
    attempts: int
    reason: HaltReason


class Excuse(msgspec.Struct, frozen=True, kw_only=True):
    """A start of this event that ended by no fault of its own. Before it there were `attempts` others, `excused` of them
    excused."""

    event_id: int
    attempts: int
    excused: int


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What goes back for a turn: `text` whole, `chunks` as they go out, in order, to `address` (encoded, opaque here) by way
    of `queue`. No chunks: the reply is collected by its caller. `failed` set: the text is the notice of a failure, or an
    admin's own words."""

    event_ids: Sequence[int]
    turn_id: int
    channel: str
    queue: str
    address: bytes
    text: str
    chunks: Sequence[str]
    failed: Outcome | None
    session: str | None  # which the turn belongs to; None: none (a command, a notice)
    lane: str
    fence: int
    now_ms: int
    shown: str | None = None  # the message that the first chunk replaces; None: none

    @property
    def state(self) -> EventState:
        """What the events are once this is stored."""
        if self.chunks:
            return "replied"
        return self.failed.state if self.failed else "answered"

    @property
    def outcome(self) -> Outcome | None:
        """What the events end with; None: not yet known."""
        return self.failed if self.chunks or self.failed else Outcome(state="answered")


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a reply on its way out. `address` is encoded, opaque here; `queue` orders chunks: it names one
    room and thread of one channel, the channel included. `id` is never given twice."""

    id: int
    turn_id: int
    channel: str
    queue: str
    address: bytes
    index: int
    of: int
    text: str
    state: ChunkState
    attempts: int
    due_ms: int  # not before
    message_id: str | None = None
    error: str | None = None
    shown: str | None = None  # the message that this chunk replaces


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A call to a platform, as far as its budgets are concerned. `address` as in a `Chunk`; `edit`: for a message that stood
    there; `at_ms`: when its end became known, None: it has not yet."""

    address: bytes
    edit: bool
    at_ms: int | None


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where a waiting chunk goes instead: queue and address as in a `Reply`."""

    queue: str
    address: bytes


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """Chunks that answer nobody, said once: not again where any of `names` was announced in the channel before. `turn_id` is
    an id of their own, which no event has."""

    turn_id: int
    channel: str
    names: Sequence[str]  # the first is what this one is remembered by
    queue: str
    address: bytes
    chunks: Sequence[str]
    now_ms: int
    wait_ms: int = 0  # on its way no earlier than this after `now_ms`

    @property
    def due_ms(self) -> int:
        """When it goes out at the earliest."""
        return self.now_ms + self.wait_ms


Redirect = Callable[[bytes], Target | None]
"""Given a waiting chunk's address, says where it goes instead; None: it stays. Must answer at once, from any thread."""


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers for metrics and readiness."""

    waiting: int
    running: int
    oldest_waiting_ms: int | None  # accepted_ms of the oldest event not yet started; None: nothing waits
    outbox_waiting: int
    outbox_oldest_ms: int | None
    dead: int
    oldest_unanswered_ms: int | None = None  # as `oldest_waiting_ms`, of those begun too: no reply stands in the outbox


class Inbox(Protocol):
    """Events: accepted once, kept, handed out by lane in order of acceptance."""

    async def accept(self, event: NewEvent, *, lane: str, dedupe_ids: Sequence[str]) -> Accepted:
        """Store the event and its dedupe ids in one transaction; durable when this returns. Concurrent calls are grouped
        into one commit. Order in a lane is the order in which calls were made.

        Of a message's siblings the first one that waits counts: where the one stored before ended with one of the new
        one's `revives`, or is a control event whose end is to come and there are any, the new one takes its place, under
        its id and token, at the end of its own lane: `accepted`. A mere repeat, without a new dedupe id, revives nothing.

        Dedupe ids count within the event's channel. A message that would have to wait behind `accept_max` others is
        refused with `StoreBusy`; control events and terminal ones are not, as they don't wait."""
        ...

    async def claim(self, n: int) -> list[Claim]:
        """Own up to `n` lanes that have an event `accepted` or left `running` by a lost owner; longest waiting first.
        A lane is not returned again before it was released or its lease ran out. Empty: nothing to do."""
        ...

    async def renew(self, claims: Sequence[Claim]) -> list[Claim]:
        """Extend the leases; return those that are still ours. One to which somebody is just writing is left for the next time:
        nothing waits for it."""
        ...

    def mine(self, held: Claim | Chunk) -> bool:
        """Whether nobody else can own the lane, or what is being sent, yet; by our own clock, which runs on while the machine
        sleeps. Pure, and true of this moment: asked in one step with what no fence can stop, a call to a platform or to an
        agent."""
        ...

    async def waiting(self, lane: str, *, limit: int = 100) -> list[Event]:
        """Return the lane's message events not yet terminal or replied, oldest first: what `collect` and `/stop` look at.
        At most `limit`, so that a turn's cost does not grow with what waits behind it."""
        ...

    async def start(self, ids: Sequence[int], *, turn_id: int, lane: str, fence: int) -> list[int]:
        """Mark waiting events `running` as one turn and count the attempt; return their ids. One that is missing was ended
        since it was read, and is not to be answered. Of reasons to halt only `stopped` stays: what the others were for is told
        by other rows, which are read from here on."""
        ...

    async def halt(self, ids: Sequence[int], reason: HaltReason) -> list[int]:
        """Note on those of the events that run, wherever, that their turn is to end early, and wake who runs them; return
        those. Durable: a stop outlives who should have heard it. A heavier reason that stands there stays."""
        ...

    async def halts(self, ids: Sequence[int]) -> list[Halt]:
        """Return what was noted by `halt` on these events, also if they have ended since."""
        ...

    async def excuse(self, excuses: Sequence[Excuse]) -> None:
        """Let these starts count as no try (`Event.excused`); one that never took place does not. No fence: said, once the
        database can be reached again, by who ran the turn, whoever has the lane by then. Repeating it changes nothing."""
        ...

    async def show(self, ids: Sequence[int], shown: str, *, lane: str, fence: int) -> None:
        """Keep on running events the id of the message that shows their reply while it is made, so that the turn's next
        attempt goes on with that one."""
        ...

    async def finish(self, ids: Sequence[int], outcome: Outcome, *, lane: str, fence: int | None) -> None:
        """Give events their terminal state, exactly once: an event already terminal (or replied) keeps what it has.
        `fence` None is for control events, which act past the lane; message events are not touched by it."""
        ...

    async def release(self, claim: Claim, *, hand_over: bool = False) -> bool:
        """Give the lane up. False: an event came meanwhile and the lane is still ours; look again. `hand_over` gives it up
        with what waits in it, for another owner to claim at once (the gateway stops). True also for a lane not ours."""
        ...

    async def move(self, claim: Claim, *, to: str) -> None:
        """Put what waits in a held lane into lane `to`, among what waits there in order of acceptance: the lane's scope has
        come to be known by another name. What of it has begun begins again there; that it had begun counts as no attempt."""
        ...

    async def changed(self, after: int) -> int:
        """Return the number of the last change as soon as it is greater than `after` (0 at first), and at the latest
        after `poll_s`: then there may be something to claim or to send. Any number of callers, none steals another's
        wake. A queue that can't go on raises what broke it."""
        ...

    async def event(self, event_id: int) -> Event | None: ...

    async def turn_events(self, turn_id: int) -> list[Event]:
        """Return the events answered together as this turn, oldest first."""
        ...

    async def controls(self, *, before_ms: int) -> list[Event]:
        """Take over the accepted control events whose accepting process is gone, and return them, oldest first, with this
        process's own that were accepted before `before_ms`: where the call that accepted one broke off once it was stored,
        nobody knows of it."""
        ...

    async def amendments(self, subjects: Sequence[bytes]) -> list[Event]:
        """Return the control events about these messages that were accepted before this call, oldest first: what was said
        of a message before it began, or before it came."""
        ...

    async def pending(self, subject: bytes) -> list[Event]:
        """Return the subject's message events not yet terminal or replied, oldest first, in whatever lanes."""
        ...

    async def withdraw(self, ids: Sequence[int], outcome: Outcome, *, lane: str) -> list[int]:
        """End messages of the lane that have not begun, past their lane's owner; return which. What has begun is the
        owner's to end: see `start`."""
        ...

    async def stats(self) -> Stats: ...

    async def purge(self, *, before_ms: int, dedupe_before_ms: int, limit: int) -> int:
        """Delete dedupe ids older than `dedupe_before_ms`, terminal events older than both, with their replies and chunks,
        and announcements' chunks older than `before_ms`; up to `limit` of each. What is pending stays, its dedupe ids too.
        Return how many rows; call until 0."""
        ...

    async def oldest_finished_ms(self) -> int | None:
        """Return when the oldest event was accepted that has come to its end, in milliseconds since 1970; None: there is none. It
        is as old as `purge` leaves it."""
        ...


class Outbox(Protocol):
    """Replies on their way: chunks in order, each with its receipt."""

    async def put(self, reply: Reply) -> bool:
        """Store the reply and mark its events `replied` (ended at once, if it has no chunks), in one transaction.
        `failed` set: the events end as that, not as `answered`. False: the turn has its reply already, or was ended without one
        (an erasure); nothing changes, and its events tell what has become of it."""
        ...

    async def reply(self, turn_id: int) -> str | None:
        """Return the stored reply's text, None if there is none."""
        ...

    async def due(
        self,
        *,
        now_ms: int,
        limit: int,
        not_before: Callable[[Chunk], int] = lambda _: 0,
        elsewhere: Collection[str] = (),
    ) -> list[Chunk]:
        """Return the head chunk of every queue whose head is due and not being sent, marked `sending` with its attempt
        counted, before anybody can send it. One left `sending` by a lost owner is handed out as `unknown`, its attempt not
        counted again: the caller says `unknown`, or reconciles with the platform and says `sent` or `retry`. Oldest first.

        `not_before` is asked of each such chunk, as it would be handed out: one for which it names a time after `now_ms`
        stays as it is, due at that time. It must answer at once, and is called where the caller runs. `elsewhere` are channels
        that others send: their queues, whose names begin with the channel's and a colon, are left alone.

        The caller owns the chunk until it says how it went; the four verbs below do nothing (False) for any other."""
        ...

    def mine(self, held: Claim | Chunk) -> bool:
        """As `Inbox.mine`."""
        ...

    async def redirect(self, channel: str, redirect: Redirect) -> None:
        """Send a channel's waiting chunks to where it says, in order with what waits there (a room got another id), each as
        a new message: an id of the old room's may be anybody's in the new one. A queue that is being sent from keeps what it
        has, and gets nothing: who sends from it knows the way."""
        ...

    async def announce(self, announcement: Announcement) -> bool:
        """Put the chunks on their way and remember that it was done, in one transaction. False: it was done before.

        What was given up before any of it went out was not done, `ANNOUNCE_TRIES` times. That it was done is remembered for
        good, as one digest a name, with nothing of what was said; its chunks go when they are old (`Inbox.purge`)."""
        ...

    async def take_back(self, channel: str, name: str, *, former: Sequence[str]) -> bool:
        """Say nothing of what was announced as `name` first, if it was announced as one of `former` too, and was or will be
        said as that (two names were one room's). False: it was not, or something of it has gone out or is being sent."""
        ...

    async def give_up(self, channel: str, gone: Callable[[bytes], bool], *, error: str, now_ms: int) -> list[int]:
        """Give up a channel's waiting chunks to addresses that are `gone`, with the reason; return their turns, whose events
        become `dead`. A queue that is being sent from keeps what it has: who sends from it will hear. `gone` must answer at
        once, from any thread."""
        ...

    async def clear(self, queue: str) -> bool:
        """Whether nothing waits in the queue, and nothing of it is being sent."""
        ...

    async def recent(self, channel: str, *, since_ms: int) -> list[Sent]:
        """Return what a channel's platform has been asked to take since then, or is being asked, in any order: of turns that were
        accepted within a quarter of an hour before, which is nearly all there is and bounds what is read."""
        ...

    async def next_due_ms(self, *, elsewhere: Collection[str] = ()) -> int | None:
        """Return when the next waiting chunk becomes due; None: nothing waits. `elsewhere` as for `due`."""
        ...

    async def sent(self, chunk: Chunk, *, message_id: str | None, now_ms: int) -> bool:
        """Record the receipt. With the turn's last chunk its events become `answered` (or the failure they carry);
        then True."""
        ...

    async def unknown(self, chunk: Chunk, *, error: str, now_ms: int) -> bool:
        """Record that the chunk may have arrived; counts as delivered for the turn. True as for `sent`."""
        ...

    async def retry(self, chunk: Chunk, *, due_ms: int, error: str, counted: bool = True) -> None:
        """Put the chunk back at the head of its queue, not before `due_ms`. `counted` False: the attempt was none."""
        ...

    async def dead(self, chunk: Chunk, *, error: str, now_ms: int) -> None:
        """Give the chunk and the turn's later ones up, with the reason; its events become `dead`."""
        ...
