"""The edge's vocabulary: what a platform event becomes, where a reply goes, and what a channel must be able to do.

Adapters know this file and `config`, nothing of the memory core or the gateway. Events are msgspec structs because the
inbox stores them as they are.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, TypedDict, runtime_checkable

import msgspec

TurnStatus = Literal["accepted", "running", "answered", "observed", "ignored", "applied", "failed", "dead"]
TERMINAL: frozenset[str] = frozenset({"answered", "observed", "ignored", "applied", "failed", "dead"})


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """What the message replies to, when the platform tells: who said it, and what. Data, never instruction."""

    name: str
    text: str
    by_bot: bool = False


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where a reply goes; bound when the message is accepted, never looked up at send time.

    `reply_to` is the message it answers. `quoted` is set where others spoke in between, so that readers need to be told
    which message that is; a platform with replies of its own shows `reply_to` as one only then. `since_ms` is when the message
    was accepted (epoch milliseconds): nothing that answers it is older; None: unknown. `only_for` is the account that alone is
    to see the reply, in a group of a channel that `whispers`; None: all may.
    """

    channel: str
    room: str
    thread: str | None = None
    reply_to: str | None = None
    quoted: Quote | None = None
    since_ms: int | None = None
    only_for: str | None = None


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote, as the platform or the caller's credentials vouch for it.

    `user` is the account as it stands in the key, tenant-qualified where a channel carries several tenants. `trusted` False
    (an anonymous admin, a channel's own identity) means: no personal memory.
    """

    user: str
    tenant: str
    account: str
    name: str = ""
    trusted: bool = True
    is_bot: bool = False


class Place(TypedDict):
    """Where an event happened: those of its fields that say so."""

    channel: str
    room: str
    thread: str | None
    chat_type: Literal["private", "group"]


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    channel: str
    room: str
    thread: str | None = None
    chat_type: Literal["private", "group"]
    sender: Sender
    dedupe_ids: tuple[str, ...]  # each holds the subject that sent it; any one seen before makes this a duplicate


class MessageEvent(_Event, frozen=True, kw_only=True, tag="message"):
    """Somebody said something. `text` is as the person sees it, with the bot's own mention removed."""

    message_id: str
    text: str
    mentions_bot: bool = False
    reply_to_bot: bool = False
    in_reply_to: str | None = None  # platform id of the message replied to
    quote: Quote | None = None
    session: str | None = None  # a client's wish to continue a session (B34)
    language: str | None = None  # the person's language, if the platform tells (BCP 47)
    probe: bool = False  # the gateway's own, to see that it answers; no adapter makes such


class EditEvent(_Event, frozen=True, kw_only=True, tag="edit"):
    """A message has a new text. Never asks for an answer. With no words and no quote nothing is left of it (a caption was
    taken out): it is treated as deleted."""

    message_id: str
    text: str
    quote: Quote | None = None  # as in the message


class DeleteEvent(_Event, frozen=True, kw_only=True, tag="delete"):
    """A message is gone."""

    message_id: str


class MoveEvent(_Event, frozen=True, kw_only=True, tag="move"):
    """The platform gave the room another id: everything of `room` goes on in `new_room`. May come twice, in any order with
    messages of either room."""

    new_room: str


class PresenceEvent(_Event, frozen=True, kw_only=True, tag="presence"):
    """The bot itself was brought into the room, or is no longer there. `sender` is who did it."""

    present: bool
    language: str | None = None  # of who did it, if the platform tells (BCP 47)


InboundEvent = MessageEvent | EditEvent | DeleteEvent | MoveEvent | PresenceEvent


class TurnView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn as its sender may see it (DESIGN 9); ids are strings in JSON."""

    turn: str
    status: TurnStatus
    session: str | None = None
    rule: str | None = None
    reply: dict[str, str] | None = None  # {"text": ...}
    error: dict[str, str] | None = None  # {"code": ..., "message": ...}
    token: str | None = None
    part_of: str | None = None  # the turn this message was answered in, where that is another's (`busy: collect`)
    duplicate: bool = False  # this call met a turn accepted before; not part of the wire form


class StreamEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a turn's stream. `id` grows by one; after a `reset` the text starts again from its beginning.

    `turn`: data is the turn's view. `delta`: {"text"}. `reset`: {"text"}, all of the text so far. `done`, `failed`: the
    final view; nothing comes after.
    """

    id: int
    name: Literal["turn", "delta", "reset", "done", "failed"]
    data: bytes  # JSON


class Intake(Protocol):
    """What the gateway offers its adapters."""

    async def accept(self, event: InboundEvent, *, fingerprint: str | None = None) -> TurnView:
        """Store the event, durably, and return its turn; only then may the platform be acknowledged.

        A known dedupe id returns the turn it met, with `duplicate` set. `fingerprint` is a digest of what was sent:
        the same dedupe id with another one raises `adapters.errors.Conflict`. None: the ids are the platform's own, and
        two events may tell of one message, each with a dedupe id of its own and one that they share. They make one turn,
        whichever comes first, and whether or not they agree; it is answered if one of them asks for that. An edit or
        deletion names its message's room, thread and id; it may come before its message. Where the platform does not tell
        whether the message began a thread of its own id, it may name that thread or none. Raises `Overloaded` (with
        `retry_after_s`) when it can't be stored now.
        """
        ...

    async def turn(self, channel: str, turn_id: str, *, token: str) -> TurnView:
        """Return the turn as it stands. Raises `adapters.errors.UnknownTurn` for a wrong id, channel or token alike."""
        ...

    async def wait(self, channel: str, turn_id: str, *, timeout_s: float) -> TurnView:
        """Return the turn as soon as it is terminal, or as it stands after `timeout_s`."""
        ...

    def events(self, channel: str, turn_id: str, *, after: int | None = None) -> AsyncGenerator[StreamEvent, None]:
        """Follow the turn's stream to its end. `after` is the last id the reader has: a reader that missed part of it
        gets a `reset` first. Ends after `done` or `failed`; leaving early does not touch the turn."""
        ...


class AgentView(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as a person may see it."""

    name: str
    kind: str  # "demo", "openai", ...; `auto` resolved
    model: str | None = None  # None: not a model


class Explains(Protocol):
    """What the gateway offers a channel that shows how its replies came about (the chat page)."""

    async def explain(self, channel: str, turn_id: str, *, token: str) -> bytes:
        """Return what the model saw in a turn, as JSON: the ledger with texts (`adapters/console/README.md` has the
        shape). Raises `adapters.errors.UnknownTurn` for a wrong id, channel or token alike, and where no ledger is kept."""
        ...

    def agents(self, channel: str) -> tuple[AgentView, ...]:
        """Return the agents of a channel, the one that answers first."""
        ...


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is remembered of a person, as it may be shown to them.

    `kind`: always minded, lasting, or of a running session only. `text` is a sentence, `value` what of it can be corrected.
    `said_ms` is when it was said last, `channel` and `room` where; None: in a conversation that is gone, or nowhere: `entered`.
    `private`: it was said in private, and is not told in groups unless they allow it.
    """

    id: str
    kind: Literal["pinned", "profile", "session"]
    text: str
    value: str
    said_ms: int
    private: bool
    entered: bool
    channel: str | None = None
    room: str | None = None


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """Something a person said that is still to be learned from."""

    text: str
    said_ms: int


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of a person: what is always minded first, then what lasts, then sessions' facts; oldest first."""

    kept: tuple[Kept, ...] = ()
    waits: tuple[Waits, ...] = ()


class Remembers(Protocol):
    """What the gateway offers a channel whose page shows people what is remembered of them (the chat page). Each call is for
    the person behind `sender`'s account, and touches nobody else's, whatever ids are given. `language`: `en` or `zh`."""

    async def remembered(self, channel: str, sender: Sender, *, language: str) -> Remembered: ...

    async def forget(self, channel: str, sender: Sender, kept: str | None) -> int:
        """Forget one thing by its id, None: all that was learned. Return how many stored rows that were; 0: none any more."""
        ...

    async def correct(self, channel: str, sender: Sender, kept: str, value: str, *, language: str) -> str | None:
        """Put another value in the place of one thing's. Return why that is not kept, in words for the person; None: it is."""
        ...


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a human said to somebody, as a reply to no message in particular. Ids grow."""

    id: str
    text: str
    said_ms: int


class SaidSince(msgspec.Struct, frozen=True, kw_only=True):
    """What was said since: oldest first. `last` is what to ask with next time."""

    said: tuple[Said, ...]
    last: str


class Unasked(Protocol):
    """What the gateway offers a channel whose callers fetch what is said to them unasked (the chat page)."""

    async def said_to(
        self, channel: str, sender: Sender, *, room: str, chat_type: Literal["private", "group"], after: str | None
    ) -> SaidSince:
        """Return what humans have said in a conversation behind `after`; None: nothing yet, but where to begin."""
        ...


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """A platform's word that it has a chunk: its message id, None where the platform has none."""

    message_id: str | None = None


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel can do; the gateway asks, never guesses by kind."""

    streams: bool = False  # its callers follow a reply while it is made
    collected: bool = False  # the caller collects its reply: storing it is delivering it, and nothing is sent
    exclusive: bool = False  # its account bears one connection at a time: the old one ends before a new one begins
    pullers: int = (
        0  # so many instances at a time fetch its events or hold a connection for them (`Pulls`); 0: none does
    )
    whispers: bool = False  # it can show a group's member what nobody else there sees (`Address.only_for`)
    deletions: bool = False  # its platform tells of messages that people delete
    fetches: bool = False  # a collected channel whose callers also fetch what is said to them unasked (`Unasked`)
    threads: bool = False  # any message of a room may begin a thread, which has the message's id
    command_prefix: str = ""  # stands before commands' names in its menu: `clew-` for /clew-new


Call = Literal["send", "edit", "sign", "remove"]
"""What the platform is asked to do: take a new message, change one, show that an answer is being made, take one away."""


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A platform's limit: at most `count` calls in any `per_s` seconds within `scope` (any text; one text, one budget).
    `of_room`: it is one room's, in which one conversation goes on at a time."""

    scope: str
    count: int
    per_s: float
    of_room: bool = False


class Adapter(Protocol):
    """One configured channel. Lives inside `async with running(intake)`; `send` may be called only there.

    What only some platforms can do stands in protocols of its own below: `Paced`, `Pulls`, `Shows`, `Named`,
    `Reconciles`, `Reports`, `Linked`.
    """

    capabilities: Capabilities

    def running(self, intake: Intake) -> AbstractAsyncContextManager[None]:
        """Open what the channel needs (sockets, pollers), and close it on the way out."""
        ...

    def chunks(self, text: str) -> list[str]:
        """Split a reply (Markdown) into what goes out as single messages, in order, each within the platform's limits once
        rendered. Pure; at least one."""
        ...

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        """Hand one chunk to the platform. `shown` is the message that showed the reply while it was made (`Shows`): the
        chunk takes its place; where the platform won't have that any more, the chunk goes out as a new message.

        Raises an `adapters.errors.SendFailed` subclass: `Refused` (never retry), `Throttled` (with `retry_after_s`),
        `Unreachable` (not sent, or an edit, which may be made again; retry), `Unknown` (a new message may have arrived)."""
        ...

    async def probe(self) -> None:
        """Prove that the channel works (credentials, reachability); raises `AdapterFault`."""
        ...


@runtime_checkable
class Paced(Protocol):
    """A channel whose platform limits how often it may be called."""

    def rates(self, address: Address, call: Call) -> tuple[Rate, ...]:
        """Return the budgets one such call takes from. Pure; the platform's documented or measured limits."""
        ...


class Pulling(Protocol):
    """What the gateway offers a channel while it pulls."""

    def mine(self) -> bool:
        """Whether this instance is still the one that may: asked right before each call that fetches or connects."""
        ...

    def begun(self) -> None:
        """Hear that events come in from now on."""
        ...

    def failed(self, times: int) -> None:
        """Hear that the platform could not be reached so many times in a row. May raise, to let another instance try: nothing
        is to be caught."""
        ...


@runtime_checkable
class Pulls(Protocol):
    """A channel that fetches its events, or is told them over a connection of its own, where `capabilities.pullers` is not 0."""

    @property
    def capabilities(self) -> Capabilities: ...

    async def pull(self, intake: Intake, pulling: Pulling) -> None:
        """Take events in until cancelled, or until it may no longer. Called inside `running`, on `pullers` instances at a time.

        What is fetched is confirmed to the platform once it is stored, and what comes twice is known by its ids: so another
        instance may begin before this one has ended. Raises `AdapterFault` when no event can come in as the channel is set."""
        ...


@runtime_checkable
class Shows(Protocol):
    """A channel that lets people see a reply while it is made. All verbs raise `SendFailed` as `send` does, an edit `Unknown` too
    where it may still arrive; what is shown may be lost, so the caller drops what fails and goes on."""

    sign_every_s: float
    """Seconds after which the sign that an answer is being made has to be renewed."""

    show_every_s: float | None
    """Seconds between two states of the text at least; None: by this channel's settings only the sign is shown."""

    shown_s: float | None
    """Seconds that a text which is no message (`show` returned None) can be seen; None: there is no such."""

    async def sign(self, address: Address, *, on: bool) -> None:
        """Show that an answer is being made, or take that away again (where the platform does not do it by itself)."""
        ...

    async def show(self, address: Address, text: str, *, turn: str, shown: str | None) -> str | None:
        """Show the reply as far as it has come: `text` is all of it, unfinished Markdown. `shown` is what the last call for
        this turn returned: the id of the message that shows it, which the finished reply replaces; None: none yet, or what
        is shown goes away by itself."""
        ...

    async def remove(self, address: Address, shown: str) -> None:
        """Take the message away that `show` returned."""
        ...


@runtime_checkable
class Named(Protocol):
    """A channel whose events hold ids where people see names."""

    async def named(self, event: MessageEvent) -> MessageEvent:
        """Return the event with names: of its sender, and of whom and what its text mentions. From a bounded cache, else
        asked of the platform within a time limit; what can't be had stays as it is. Raises nothing of the platform's."""
        ...


@runtime_checkable
class Linked(Protocol):
    """A channel whose platform gives messages addresses that people copy."""

    def located(self, link: str) -> tuple[str, str] | None:
        """Return (room, message id) as events and receipts have them; None: it is no such address. Pure."""
        ...


@runtime_checkable
class Reports(Protocol):
    """A channel that knows how it is without asking its platform, for whoever looks at the gateway's health."""

    @property
    def problem(self) -> str | None:
        """Why nothing comes in, or nothing of it is stored, and what to do; None: all is well."""
        ...

    @property
    def warning(self) -> str | None:
        """What works as it is set and is hardly meant so; None: nothing."""
        ...


@runtime_checkable
class Reconciles(Protocol):
    """A channel that can find out whether a message arrived whose answer was lost. Both verbs raise `SendFailed` when that
    can't be told now."""

    async def find(self, address: Address, *, chunk_id: str) -> Receipt | None:
        """Return the receipt of the chunk if the platform has it, None if it surely has not."""
        ...

    async def find_shown(self, address: Address, *, turn: str) -> str | None:
        """Return the id of the message that shows the turn's reply (`Shows.show`), None if there surely is none."""
        ...
