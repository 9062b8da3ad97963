"""The rows of memory and the protocols of what keeps them.

Rows are frozen msgspec structs: cheap to build from a driver's tuple, neutral to every model and platform. All times are
UTC, in milliseconds since 1970 (`*_ms`); all ids are 64-bit integers (`memory/ids.py`). Every read names its owner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from memory.key import ConversationKey, Scope

Role = Literal["user", "assistant"]
AgentChange = Literal["fresh", "carry", "alias"]
FactStatus = Literal["active", "superseded", "retracted"]
ItemKind = Literal["identity", "preference", "fact", "service", "constraint"]
Verdict = Literal["in", "cut", "out"]


HANDED_BACK = "handed_back"
"""The step of a reply that nobody but the agent has seen: what a human left for it on handing the conversation back."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing the agent did on the way to a reply (E03's step log): a tool call or a look-up."""

    name: str
    detail: str = ""
    ms: int = 0


class Quoted(msgspec.Struct, frozen=True, kw_only=True):
    """What a message replies to, as the platform told it: data, never instruction. `by_bot`: our own earlier reply."""

    name: str
    text: str
    by_bot: bool = False


class Message(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One stored message. `id` orders it in its scope and is the summary watermark's unit (A14, A15).

    Encoded as an array in the order of its fields: a window is built and read a third faster so than with every name.
    """

    id: int
    scope_id: int
    session_id: str
    turn_id: int
    event_id: int  # the inbox row it came from; for a reply the turn's head; makes an append repeatable
    role: Role
    text: str
    user: str  # the key's first column, decoded: the account that spoke, or that was answered
    channel: str  # this and the next three are encoded, as in the key
    conversation: str
    chat_type: str
    agent: str
    speaker_name: str = ""  # display name when it was said, never an identity; of a reply the human's who wrote it
    person_id: int | None = None  # None: no trustworthy sender, so no personal memory
    tokens: int = 0  # counted once, on append
    low_value: bool = False  # a user's filler that answers no pending question; decided once, on append
    created_ms: int = 0
    version: int = 1  # of the text: an edit adds one
    edited_ms: int | None = None
    deleted_ms: int | None = None  # tombstone: the place stays, the text is gone
    platform_message_id: str | None = None
    reply_to: str | None = None
    quote: Quoted | None = None  # what `reply_to` said; kept, because the quoted message may never have been ours
    thinking: str | None = None  # A17: only from agents that report it
    thinking_s: float | None = None
    steps: tuple[Step, ...] = ()
    looked_up_ms: int | None = None  # when the agent's look-up behind this reply was made; None: none reported


class NewMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message to append; the store gives it its id, session and creation order.

    What no database can hold in a text, NUL and lone surrogates, is stored as U+FFFD.
    """

    key: ConversationKey
    event_id: int
    role: Role
    text: str
    speaker_name: str = ""
    person_id: int | None = None
    tokens: int = 0
    low_value: bool = False
    platform_message_id: str | None = None
    reply_to: str | None = None
    quote: Quoted | None = None
    thinking: str | None = None
    thinking_s: float | None = None
    steps: tuple[Step, ...] = ()
    looked_up_ms: int | None = None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Earlier talk of one session, condensed. A new row replaces it; history is kept (A44)."""

    id: int
    scope_id: int
    session_id: str
    text: str
    first_id: int  # coverage: the messages first_id..last_id entered it, and `digest` says in which form
    last_id: int
    digest: str
    tokens: int
    created_ms: int


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Something one speaker established in this session; may be quoted (B11 to B16)."""

    id: int
    scope_id: int
    session_id: str
    person_id: int
    speaker_name: str
    slot: str
    value: str
    source_ids: tuple[int, ...]
    status: FactStatus
    created_ms: int
    expires_ms: int  # sliding


class ProfileItem(msgspec.Struct, frozen=True, kw_only=True):
    """Something lasting about one person, in one agent namespace. `pinned` ones enter every prompt, uncompressed (D16)."""

    id: int
    person_id: int
    namespace: str
    kind: ItemKind
    slot: str  # empty: many values may stand side by side
    text: str
    pinned: bool
    chat_type: str  # where it was said: what was said in private does not enter a group's prompt
    source_ids: tuple[int, ...]
    status: FactStatus
    valid_from_ms: int
    valid_to_ms: int | None
    scope_id: int = 0  # where `source_ids` are; 0: a person or an admin wrote the item
    value: str = ""  # as it was said; `text` is the sentence around it


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """Group talk nobody asked the bot to answer, kept as bounded background; never a turn."""

    id: int
    scope_id: int
    event_id: int
    user: str
    speaker_name: str
    text: str
    tokens: int
    created_ms: int
    version: int = 1


class TableSize(msgspec.Struct, frozen=True, kw_only=True):
    """How big a table is: rows, those that are deleted or outdated and not cleaned up yet, and bytes with all its indexes. None:
    the database does not tell."""

    name: str
    rows: int
    dead: int | None = None
    bytes: int | None = None


class Hit(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A message, or a profile item (`scope_id` 0), that shares terms with the question. `position` counts the session's
    fragments; an item has none (-1)."""

    scope_id: int
    id: int
    session_id: str
    position: int
    length: int  # of all its terms
    terms: dict[int, int]  # the question's among them: how often


class Corpus(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers about all that recall can find of a person in a namespace. `generation` grows with every change: caches
    compare it."""

    fragments: int = 0
    length: int = 0
    generation: int = 0


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """Whose memory a read may touch. Part of every query, by equality; `person_id` None reads nothing personal.

    `namespace` is the agent's `profile_namespace`; `chat_type` keeps what was said in private out of groups unless
    `private_in_group` (the room's setting) allows it.
    """

    scope_id: int
    person_id: int | None
    namespace: str
    chat_type: str
    private_in_group: bool = False
    agent: str = ""  # encoded, as in the key: beyond its own scope only talk with the same agent is recalled


class ScopeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A scope as stored. `id`, `root` and what follows them already follow aliases: it is where messages go, and `root` is
    its own name, which names its lane; `scope` is the one that was asked for."""

    id: int
    scope: Scope
    root: Scope
    title: str = ""  # of the conversation: its first words
    last_ms: int = 0  # A16: last time anything was said
    session_id: str | None = None
    carry_scope_id: int | None = None  # another agent's scope whose last window opens this one ("carry")
    carry_last_id: int | None = None


class GroupScope(msgspec.Struct, frozen=True, kw_only=True):
    """A name of a group's scope. `root_id`, `last_ms` and `active` are of the scope it leads to: active means that it has a
    session which nobody ended. `alias` says that it is not that scope's own name."""

    scope: Scope
    root_id: int
    last_ms: int
    active: bool
    alias: bool


class MovedRoom(msgspec.Struct, frozen=True, kw_only=True):
    """A room that has another id now, both as the platform writes them."""

    channel: str
    room: str
    now_room: str
    moved_ms: int


class SessionRule(msgspec.Struct, frozen=True, kw_only=True):
    """How this append finds its session: the scope's active one, unless idle too long, replaced or asked otherwise.

    `fresh_id` is the server-issued id a new session gets (`s-` + UUID). `asked` is a client's wish (B34): only the active,
    unexpired session is accepted; any other id opens a new one. None: no wish. A session expires when nothing was said in
    it for `idle_ms` or longer. A turn stays in the session of its first stored message, whatever happened meanwhile:
    the reply to a turn that `/new` overtook goes to the ended session and opens none.
    """

    fresh_id: str
    idle_ms: int
    asked: str | None = None


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn wants to read. `page` messages first, newest first; the facade asks for more only if they don't fill
    the window (`Store.older`)."""

    owner: Owner
    now_ms: int
    page: int = 40
    observed: int = 0  # how many observed messages at most
    profile: int = 50  # how many profile items at most, newest first, pinned ones apart and always
    terms: tuple[int, ...] = ()  # the question's, keyed by the owner's person; none: nothing is looked up
    hits: int = 200  # how many fragments a term may bring, the newest ones


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a prompt as stored, each alone: a part named in `failed` is empty because it could not be read.

    `window` is oldest first and holds this session's messages only, those before the ones appended by the same call.
    `observed`, `facts`, `pinned` and `carried` are oldest first; `profile` begins with the best
    claim, as loaded the newest. `failed` uses the fields' names.
    """

    session_id: str = ""
    session_opened: bool = False
    appended: tuple[Message, ...] = ()
    window: tuple[Message, ...] = ()
    more: bool = False  # older messages of this session exist beyond `window`
    observed: tuple[Observed, ...] = ()
    summary: Summary | None = None
    facts: tuple[Fact, ...] = ()
    pinned: tuple[ProfileItem, ...] = ()
    profile: tuple[ProfileItem, ...] = ()
    hits: tuple[Hit, ...] = ()  # in no order
    corpus: Corpus = Corpus()
    unlearned: int = 0  # turns of the scope whose facts are not extracted yet
    recalled: tuple[Message, ...] = ()  # earlier messages that the question is about, best first; chosen after the load
    claims: dict[int, str] = {}  # why a profile item or a recalled message is there: the ledger's rule, by its id
    handover: Summary | None = None  # of the scope that this one continues: its last session's newest one
    carried: tuple[Message, ...] = ()  # the last window of the scope that this one continues, other agent's
    failed: tuple[str, ...] = ()
    generation: int | None = None  # of the scope: grows when a stored message changes; None: the store does not count


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One candidate: where it was meant to go, which row in which version, whether it went in, and by which rule."""

    section: str  # role, pinned, profile, summary, facts, observed, carried, window, message, ...
    ids: tuple[
        int, ...
    ]  # the row; none for a section that is no row (role); of `recalled` the scope's id, then the row's
    version: int
    verdict: Verdict
    rule: str  # e.g. current_turn, kept_turns, window, low_value, token_budget, message_cap, leading_assistant
    tokens: int


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a prompt was made from besides rows and settings: with them, enough to make it again byte for byte."""

    model: str = ""
    channel: str = ""
    conversation: str = ""  # encoded, as in the key; with `channel`, the place whose settings applied
    chat_type: str = "private"
    language: str = "en"  # of the labels: "en" or "zh"
    reports_lookups: bool = False  # of the agent that was asked (E08)
    limit_tokens: int | None = None  # the prompt's own limit, after a model refused a longer one; None: the settings'
    carried_scope_id: int | None = None  # the scope that the carried rows belong to
    summarised: bool = False  # talk that leaves the window is summarised here: the window reaches back to the summary
    unlearned: int = 0  # turns whose facts were not extracted yet: the window reaches back to them


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One time that an agent was asked, and what came of it. Neither `finish` nor `code`: it was cut short (stopped, or its
    message is gone)."""

    agent: str
    model: str = ""  # "" where no model answers
    ms: int  # from asking to the end, waits between tries included
    first_ms: int | None = None  # until the first text; None: none came
    retries: int = 0  # tries of the agent's own before the last one
    finish: str = ""  # as the service told it
    code: str = ""  # of the fault that ended it
    prompt: int | None = None  # tokens as reported; None: not reported
    completion: int | None = None
    cached: int = 0  # of the prompt's: those that the service had in its cache
    id: int = 0  # by which its cost is counted; 0: it has none


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one turn's prompt. Holds ids and numbers, never copied text: erasure stays complete, replay exact."""

    turn_id: int
    scope_id: int
    session_id: str
    person_id: int | None
    agent: str
    revision: str  # of the settings
    now_ms: int
    tokenizer: str
    budget: dict[str, int]  # window_tokens, output_reserve, system, sections..., history: what was allowed and used
    entries: tuple[LedgerEntry, ...]
    failed: tuple[str, ...]  # parts that could not be read
    notes: tuple[str, ...]  # e.g. "extraction pending", "context refused: trimmed harder once"
    prompt_digest: str  # sha256 of the canonical prompt, so that a replay can prove itself
    usage: dict[str, int]  # as reported by the model; empty when not
    frame: Frame = Frame()
    learned: tuple[
        LedgerEntry, ...
    ] = ()  # after the reply: what was kept of the turn's messages and what was refused, and why
    calls: tuple[Call, ...] = ()  # of agents, in their order: a fallback's and a shorter try's are further ones


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """An account on a platform: (kind, tenant, account) is unique and maps to one person."""

    kind: str
    tenant: str
    account: str


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What one speaker said inside a prompt message; `speaker` is the neutralised name shown, "" in private talk."""

    id: int
    speaker: str
    text: str


class PromptMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message as the model gets it. `said` is what it was merged from, oldest first."""

    role: Role
    text: str
    said: tuple[Said, ...] = ()


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """An assembled prompt: one system block, then strictly alternating messages, a user's first and last."""

    system: str
    messages: tuple[PromptMessage, ...]
    tokens: int  # of all of it, by the ledger's tokenizer
    output_tokens: int  # reserved for the answer
    temperature: float | None = None  # None: the agent's own
    schema: Mapping[str, object] | None = None  # of the JSON that the answer should be; None: it is text
    may_hand_over: bool = False  # the agent may ask for a human to answer


ANSWERED_REACH = 200
"""Messages in which `Store.answered` looks for an answer."""


class Store(Protocol):
    """Messages, sessions, summaries, facts, profiles, people and ledgers on one database.

    Every implementation passes `tests/contracts/store.py`. Reads are filtered by owner inside the query, by equality on
    columns. Writes of a turn carry the lane's `fence`: an older one than the scope has seen raises `memory.errors.Fenced`
    and changes nothing. Database trouble surfaces as `memory.errors.StoreUnavailable`.
    """

    async def open_scope(self, scope: Scope, *, now_ms: int, agent_change: AgentChange) -> ScopeRow:
        """Return the scope's row, created if need be; safe against concurrent callers (one row, one id).

        Only at creation, and only if another agent has a scope with the same other four columns (of several the one last
        spoken in): `carry` notes that scope and its last message id as this one's opening, `alias` makes this scope a
        name for that one.
        """
        ...

    async def scope_in_place(self, scope: Scope) -> int | None:
        """Return the id of a scope of the same place (in a group whosever, with whichever agent): the one this name leads to
        if there is one. None: nothing was ever opened there. Opens nothing."""
        ...

    async def alias_scope(self, alias: Scope, target_id: int | None) -> None:
        """Make `alias` a name for scope `target_id` from now on. Idempotent; a name for itself changes nothing. What `alias`
        was the scope of before is kept, and nothing leads there. None: a name no more, but the scope that it was before it
        became one, or an empty one. Raises `UnknownScope` for a target that does not exist."""
        ...

    async def group_scopes(self, channel: str) -> tuple[GroupScope, ...]:
        """Return all names of a channel's group scopes, the oldest first. Reads whole tables: for the start, and for changed
        settings."""
        ...

    async def move_room(self, channel: str, room: str, now_room: str, *, now_ms: int) -> None:
        """Note that a room has another id from now on. Each name in the old room gets its like in the new one, leading to the
        same scope, and people's choices of agents go along; in one transaction, and repeating it changes nothing.

        Where the new room has a scope of its own already (something was said there before the move became known), the old
        one goes on: it is the one with the history. A room moved twice, or back, ends at its last id."""
        ...

    async def moved_rooms(self) -> tuple[MovedRoom, ...]:
        """Return every room that has moved with the id that it has now, the latest move last."""
        ...

    async def answered(self, scope: Scope, conversation: str | None) -> bool:
        """Whether an agent, whichever, has answered where the scope's name leads; opens no scope. `conversation` (encoded):
        there, where threads share the scope. Looks at the newest `ANSWERED_REACH` messages of each agent's at most."""
        ...

    async def name_changes(self) -> int:
        """Return a number that has grown if, since it was last asked for, a name came to lead elsewhere or a room moved."""
        ...

    async def append(
        self,
        scope_id: int,
        messages: Sequence[NewMessage],
        *,
        turn_id: int,
        session: SessionRule,
        now_ms: int,
        fence: int,
        ledger: Ledger | None = None,
    ) -> tuple[Message, ...]:
        """Append in order, and the turn's ledger with it, in one transaction; return the rows as stored.

        Ids grow within the scope whatever the clock says. Repeating an append of the same (turn_id, event_id, role) to the
        scope returns the rows stored first and writes nothing (the text of the first stands). Raises `UnknownScope`, and
        `ScopeMoved` where the scope has become a name of another one; a turn that began before that ends where it began;
        `PersonErased` for a message of somebody who was erased.
        """
        ...

    async def load(self, load: Load, *, session_id: str | None = None) -> Loaded:
        """Read every part in one round trip; `session_id` None means the scope's active session. A part that cannot be
        read is named in `failed` and empty, the others stand (A27 to A31, F1). Cost does not grow with history. An unknown
        scope reads empty."""
        ...

    async def append_and_load(
        self,
        scope_id: int,
        messages: Sequence[NewMessage],
        load: Load,
        *,
        turn_id: int,
        session: SessionRule,
        fence: int,
    ) -> Loaded:
        """`append`, then `load`, in one statement on PostgreSQL. The append is the law: if it fails, this raises; if a
        part of the load fails, the append stands."""
        ...

    async def older(self, owner: Owner, *, session_id: str, before_id: int, limit: int) -> tuple[Message, ...]:
        """Return up to `limit` messages of the session before `before_id`, oldest first."""
        ...

    async def turn_messages(self, owner: Owner, turn_id: int) -> tuple[Message, ...]:
        """Return what the turn has stored so far (its user's messages and its reply, if any), oldest first."""
        ...

    async def messages_by_id(self, owner: Owner, ids: Sequence[tuple[int, int]]) -> tuple[Message, ...]:
        """Return the given (id, version) rows of the owner's scope, oldest first, each with that version's text, tokens and
        edit time, for replay and explain; a deleted one comes with empty text and its `deleted_ms`. What does not exist
        is left out."""
        ...

    async def observe(
        self,
        scope_id: int,
        key: ConversationKey,
        *,
        event_id: int,
        text: str,
        speaker_name: str,
        tokens: int,
        now_ms: int,
        keep: int,
        platform_message_id: str | None = None,
        person_id: int | None = None,
    ) -> None:
        """Keep a message as background, and only the scope's newest `keep` of them. Repeatable by `event_id`; edits and
        deletions reach it by `platform_message_id`, an erasure and an export by `person_id` (None: nobody we know). Of somebody
        who was erased nothing is kept. Raises `UnknownScope`."""
        ...

    async def edit(
        self,
        scope_id: int,
        platform_message_id: str,
        *,
        by: ConversationKey,
        text: str,
        tokens: int,
        low_value: bool,
        now_ms: int,
    ) -> bool:
        """Give a message a new text and version; the old version stays for replay. The text it already has changes
        nothing. Reaches observed messages too (without keeping their old text), quotes, and every scope of the same place:
        other agents', in a group also other speakers'. False: no such live message.

        `by` is the key of whoever wrote the message, as the platform tells now. A room that moved may have given its ids anew:
        what stands in another room than `by`'s is reached only where the same user wrote it, and no quote there is."""
        ...

    async def delete(self, scope_id: int, platform_message_id: str, *, by: ConversationKey, now_ms: int) -> bool:
        """Tombstone a message, wherever `edit` would reach it: its text, in every version and in the scope's title, is gone;
        its place stays. An observed one goes altogether. False: no such live message."""
        ...

    async def end_session(self, scope_id: int, *, now_ms: int) -> bool:
        """End the active session (`/new`); kept for ever. False: none was active."""
        ...

    async def put_summary(self, summary: Summary) -> None:
        """Insert or replace by id; the newest id of a session is the one that loads."""
        ...

    async def put_facts(self, facts: Sequence[Fact]) -> None:
        """Insert or replace rows by id."""
        ...

    async def put_profile(self, items: Sequence[ProfileItem]) -> None:
        """Insert or replace rows by id."""
        ...

    async def save_ledger(self, ledger: Ledger, *, fence: int) -> None:
        """Store or replace the turn's ledger, due to be learned from; what another scope has under its number stays, here as in
        `append`. Raises as `append`: a turn that was taken over must not put its own in the place of the newer one, nor have
        what was learned from learned again."""
        ...

    async def ledger(self, turn_id: int) -> Ledger | None:
        """Return the turn's ledger; None: none is kept. Raises `StoreUnavailable` for one that can't be read: nothing was learned
        of its turn."""
        ...

    async def ledgers(self, *, after: tuple[int, int], limit: int) -> tuple[tuple[tuple[int, int], Ledger | None], ...]:
        """Return up to `limit` ledgers behind `after` (milliseconds when it was made, turn id), in that order, each with its own
        such mark; None: it can't be read."""
        ...

    async def person(self, identity: Identity, *, now_ms: int) -> int:
        """Return the identity's person, created on first sight, and anew after an erasure; safe against concurrent callers."""
        ...

    async def choose_agent(self, key: ConversationKey, agent: str | None, *, now_ms: int) -> None:
        """Keep a person's choice of agent for a conversation: by `key`'s first four columns. None takes it back."""
        ...

    async def chosen_agent(self, key: ConversationKey) -> str | None:
        """Return the agent chosen by `choose_agent`, by `key`'s first four columns; None: none was."""
        ...

    async def purge_ledgers(self, *, before_ms: int, limit: int) -> int:
        """Delete up to `limit` ledgers older than `before_ms`, and what can go as a whole; return how many. Called again until 0
        (retention)."""
        ...

    async def purge_messages(self, *, before_ms: int, limit: int) -> int:
        """Delete turns all of whose messages are older than `before_ms`, and what was overheard before it; return how many rows
        people or agents had said. About `limit` at once: called again until 0 (retention).

        All goes that only they bore: earlier versions, the index of recall with its vectors, titles, summaries of sessions that
        they are in. What was learned from them stays, without its sources. A turn that is not over stays, and one that nothing
        was learned from yet, while its ledger is kept."""
        ...

    async def make_room(self, *, now_ms: int) -> None:
        """Make the tables that come apart by time ready for the months to come. For the start, and for the retention job."""
        ...

    async def wipe(self) -> None:
        """Let no bytes stand anywhere of what was deleted or emptied so far, where the database itself leaves some. Waits for the
        disk; for the retention job, as what people delete must not wait for a busy log to come round."""
        ...

    async def put_revision(self, revision: str, document: str, *, now_ms: int) -> None:
        """Keep a settings revision (JSON without secrets) so that a turn can be replayed as it was. Idempotent."""
        ...

    async def revision(self, revision: str) -> str | None: ...

    async def schema_version(self) -> int:
        """Return the number of the newest migration applied."""
        ...

    async def size(self) -> dict[str, int]:
        """Return the number of rows of each table, and all of them in `bytes`. Reads whole tables: for people who ask."""
        ...

    async def tables(self) -> Sequence[TableSize]:
        """Return how big the tables of the whole database are, the queues' too, by name; where the database knows it without
        reading them, as it does. Cheap enough for each minute."""
        ...

    async def ping(self) -> None:
        """Prove that the store can be written; raises `StoreUnavailable`."""
        ...
