"""What can be seen of conversations, as data. Done in `gateway/admin/conversations.py`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gateway.admin.acts.kinds import Channel, Limit
from gateway.admin.acts.turns import Cursor, Person, Room
from gateway.admin.operations import Operation

Conversation = Annotated[
    str, msgspec.Meta(pattern=r"^[0-8]?[0-9]{1,18}$", description="A conversation's number, as text.")
]
Line = Annotated[str, msgspec.Meta(pattern=r"^[0-8]?[0-9]{1,18}$", description="A line's number, as text.")]


class ConversationsAsked(msgspec.Struct, frozen=True, kw_only=True):
    channel: Channel | None = None
    room: Room | None = None
    person: Person | None = None
    limit: Limit = 50
    after: Cursor | None = None


class ConversationLine(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation. `room`, `thread` and `user` are None where all of them share it; `title`, its first words, is for who may
    read there. `active`: its session has not ended."""

    conversation: str
    channel: str
    room: str
    thread: str | None
    user: str | None
    chat_type: str
    agent: str
    title: str
    last_ms: int
    active: bool


class ConversationsPage(msgspec.Struct, frozen=True, kw_only=True):
    """The one last spoken in first."""

    conversations: tuple[ConversationLine, ...]
    next: str | None


class SearchAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`words`: all of them, wherever in a message; case and width don't matter."""

    words: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    channel: Channel | None = None
    room: Room | None = None
    person: Person | None = None
    limit: Limit = 50
    after: Cursor | None = None


class FoundLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that has the words, and where it stands."""

    conversation: ConversationLine
    line: str
    turn: str | None
    role: str
    name: str
    user: str
    text: str
    said_ms: int


class FoundPage(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, the newest conversations first. `read` lines were looked at; there may be more behind `next`."""

    found: tuple[FoundLine, ...]
    read: int
    next: str | None


class ShowAsked(msgspec.Struct, frozen=True, kw_only=True):
    """The newest lines; those before a line, or behind one."""

    conversation: Conversation
    before: Line | None = None
    behind: Line | None = None
    limit: Limit = 50


class EarlierTold(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    text: str


class QuoteTold(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    text: str
    by_bot: bool


class ChunkTold(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it went out. `state`: waiting, sending, sent, unknown (it may have arrived), dead."""

    text: str
    state: str
    message: str | None
    error: str | None
    settled_ms: int | None


class LineTold(msgspec.Struct, frozen=True, kw_only=True):
    """Something in a conversation, as people saw it.

    `role`: user, assistant, human (an operator, in the agent's stead), note (left by one for the agent alone: people did not see
    it), overheard (said to others), gateway (a notice or a command's answer), unheard (came in and is no part of memory: a
    command, or what was refused or ignored). `chunks` are a reply's as they went out; none where it was collected or its record
    is gone. `state` and `rule` are the event's; "" where that is gone.
    """

    line: str
    turn: str | None
    session: str
    role: str
    name: str
    user: str
    text: str
    said_ms: int
    edited_ms: int | None = None
    deleted_ms: int | None = None
    earlier: tuple[EarlierTold, ...] = ()
    message: str | None = None
    quote: QuoteTold | None = None
    chunks: tuple[ChunkTold, ...] = ()
    state: str = ""
    rule: str = ""


class ConversationPage(msgspec.Struct, frozen=True, kw_only=True):
    """Lines, oldest first, and whether there are others on either side. `cut`: of what came in between and is no part of memory
    there is more than is shown, the newest of it."""

    conversation: ConversationLine
    lines: tuple[LineTold, ...]
    before: bool
    behind: bool
    cut: bool = False


LIST = Operation(
    name="conversations.list",
    told="List conversations by channel, room or person, the one last spoken in first.",
    method="GET",
    path="/conversations",
    right="see",
    where="any",
    request=ConversationsAsked,
    result=ConversationsPage,
    audited="look",
)
SEARCH = Operation(
    name="conversations.search",
    told="Find messages by words, within the channels that one may read.",
    method="GET",
    path="/messages",
    right="read",
    where="any",
    request=SearchAsked,
    result=FoundPage,
    audited="look",
)
SHOW = Operation(
    name="conversations.show",
    told="Show a conversation as people saw it, page by page.",
    method="GET",
    path="/conversations/{conversation}/messages",
    right="read",
    where="any",
    request=ShowAsked,
    result=ConversationPage,
    audited="look",
)
OPERATIONS: tuple[Operation, ...] = (LIST, SEARCH, SHOW)
