"""What can be done about persons and what is known of them, as data. Done in `gateway/admin/knowing.py`, `joining.py` and
`privacy.py`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from gateway.admin.acts.kinds import Limit, Number
from gateway.admin.operations import Operation
from memory.people import RequestKind

Confirm = Annotated[bool, msgspec.Meta(description="Do it. Else only what it would do is told.")]


class IdentityTold(msgspec.Struct, frozen=True, kw_only=True):
    """An account. `channels`: where it has written, as far as the actor may know."""

    kind: str
    tenant: str
    account: str
    channels: tuple[str, ...] = ()


class PersonLine(msgspec.Struct, frozen=True, kw_only=True):
    """`names`: by which they have called themselves, as far as the actor may know."""

    person: str
    created_ms: int
    erased_ms: int | None
    identities: tuple[IdentityTold, ...]
    names: tuple[str, ...] = ()


class FindAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`who`: a number, an account, KIND:TENANT:ACCOUNT, or a part of a name. Left out: everybody, in pages."""

    who: Annotated[str, msgspec.Meta(max_length=300)] | None = None
    limit: Limit = 50
    after: Number | None = None


class PersonsPage(msgspec.Struct, frozen=True, kw_only=True):
    """`next` goes on with everybody. `more`: others fit what was asked for, too; ask for more of the name."""

    people: tuple[PersonLine, ...]
    next: str | None
    more: bool = False


class PersonAsked(msgspec.Struct, frozen=True, kw_only=True):
    person: Number


class ShowAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`language`: of the sentences that tell what is known."""

    person: Number
    language: Literal["en", "zh"] = "en"


class SourceTold(msgspec.Struct, frozen=True, kw_only=True):
    """A message from which it was learned. `text` is empty to who may not read there, and where it was deleted."""

    message: str
    turn: str
    channel: str
    room: str
    thread: str | None
    chat_type: str
    said_ms: int
    name: str
    text: str


class ThingTold(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is known. `pinned`: minded in every prompt; `profile`: lasting; `session`: of a running session.
    `private`: said in private, and told in no group. `entered`: by the person or an admin, said in no message."""

    id: str
    kind: Literal["pinned", "profile", "session"]
    slot: str
    value: str
    text: str
    private: bool
    entered: bool
    said_ms: int
    sources: tuple[SourceTold, ...]


class LinkTold(msgspec.Struct, frozen=True, kw_only=True):
    """Accounts that were another person's (`absorbed`). It can be undone as it was until `until_ms`."""

    link: str
    absorbed: str
    linked_ms: int
    until_ms: int
    accounts: tuple[IdentityTold, ...]


class RequestTold(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asked for. `channel`: where, in chat; without one, an admin noted it."""

    request: str
    person: str
    kind: RequestKind
    channel: str | None
    asked_ms: int
    due_ms: int
    overdue: bool


class PersonTold(msgspec.Struct, frozen=True, kw_only=True):
    """A person as the actor may know them. `elsewhere`: things known from channels that the actor has no right for.
    `unlearned`: messages that are still to be learned from. `links` and `requests` are told to who may deal with them."""

    person: PersonLine
    things: tuple[ThingTold, ...]
    more: int
    elsewhere: int
    unlearned: int
    links: tuple[LinkTold, ...]
    requests: tuple[RequestTold, ...]


class ForgetAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`things` by their ids, as shown."""

    person: Number
    things: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=200)]


class Forgot(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that went, and messages that nothing is learned from any more."""

    items: int
    facts: int
    withheld: int


class CorrectAsked(msgspec.Struct, frozen=True, kw_only=True):
    person: Number
    thing: str
    value: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    language: Literal["en", "zh"] = "en"


class LinkAsked(msgspec.Struct, frozen=True, kw_only=True):
    person: Number
    other: Number
    confirm: Confirm = False


class LinkMade(msgspec.Struct, frozen=True, kw_only=True):
    """`survivor`, the older of the two, gets the accounts and all that is known of `absorbed`, in every namespace; of values of
    which there can be one the newer counts. `link` None: it was not done, only told."""

    survivor: str
    absorbed: str
    accounts: tuple[IdentityTold, ...]
    link: str | None
    until_ms: int | None


class UnlinkAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Undo a `link`, or take an account (KIND:TENANT:ACCOUNT) out of what it was joined to."""

    link: Number | None = None
    identity: Annotated[str, msgspec.Meta(max_length=300)] | None = None


class Unlinked(msgspec.Struct, frozen=True, kw_only=True):
    """Whose accounts they are now. `stays` says what could not be given back."""

    persons: tuple[str, ...]
    as_it_was: bool
    stays: str


class EraseAsked(msgspec.Struct, frozen=True, kw_only=True):
    person: Number
    confirm: Confirm = False


class EraseTold(msgspec.Struct, frozen=True, kw_only=True):
    """Rows by kind: that went (`done`), or that are there to go, roughly."""

    person: str
    done: bool
    counts: dict[str, int]


class RequestsAsked(msgspec.Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    after: Annotated[str, msgspec.Meta(pattern=r"^[0-8]?[0-9]{1,18}-[0-8]?[0-9]{1,18}$")] | None = None


class RequestsPage(msgspec.Struct, frozen=True, kw_only=True):
    """The most urgent first. `unfinished`: persons whose erasure has begun and goes on by itself."""

    requests: tuple[RequestTold, ...]
    unfinished: tuple[str, ...]
    next: str | None


class RequestNew(msgspec.Struct, frozen=True, kw_only=True):
    person: Number
    kind: RequestKind


class RequestAsked(msgspec.Struct, frozen=True, kw_only=True):
    request: Number


FIND = Operation(
    name="people.find",
    told="Find persons by number, account, KIND:TENANT:ACCOUNT or a part of a name; or list everybody.",
    method="GET",
    path="/people",
    right="people",
    where="any",
    request=FindAsked,
    result=PersonsPage,
    audited="look",
)
SHOW = Operation(
    name="people.show",
    told="Show what is known of a person, and from which messages.",
    method="GET",
    path="/people/{person}",
    right="people",
    where="any",
    request=ShowAsked,
    result=PersonTold,
    audited="look",
)
FORGET = Operation(
    name="people.forget",
    told="Forget things that are known of a person, and never learn them from those messages again.",
    method="POST",
    path="/people/{person}/forget",
    right="people",
    where="any",
    request=ForgetAsked,
    result=Forgot,
)
CORRECT = Operation(
    name="people.correct",
    told="Put another value in the place of a thing: from then on it holds wherever the person is known.",
    method="POST",
    path="/people/{person}/correct",
    right="people",
    where="gateway",
    request=CorrectAsked,
    result=Forgot,
)
LINK = Operation(
    name="people.link",
    told="Make two persons one, on all channels; can be undone for 30 days.",
    method="POST",
    path="/people/{person}/link",
    right="people",
    where="gateway",
    request=LinkAsked,
    result=LinkMade,
)
UNLINK = Operation(
    name="people.unlink",
    told="Take accounts out of what they were joined to.",
    method="POST",
    path="/people/unlink",
    right="people",
    where="gateway",
    request=UnlinkAsked,
    result=Unlinked,
)
EXPORT = Operation(
    name="people.export",
    told="Download what is stored of a person, with its sources (JSON).",
    method="GET",
    path="/people/{person}/export",
    right="erase",
    where="gateway",
    request=PersonAsked,
    result="application/json",
)
ERASE = Operation(
    name="people.erase",
    told="Erase everything that is stored of a person, everywhere; without `confirm`, count it.",
    method="POST",
    path="/people/{person}/erase",
    right="erase",
    where="gateway",
    request=EraseAsked,
    result=EraseTold,
)
REQUESTS = Operation(
    name="people.requests",
    told="List what persons have asked for that is not done, and erasures that go on.",
    method="GET",
    path="/privacy-requests",
    right="erase",
    where="gateway",
    request=RequestsAsked,
    result=RequestsPage,
    audited="no",
)
REQUEST = Operation(
    name="people.request",
    told="Note that a person has asked to be erased or to get their data; it is due in 30 days.",
    method="POST",
    path="/privacy-requests",
    right="erase",
    where="gateway",
    request=RequestNew,
    result=RequestTold,
)
MET = Operation(
    name="people.met",
    told="Note that a request is met or settled otherwise. An erasure does so by itself.",
    method="POST",
    path="/privacy-requests/{request}/met",
    right="erase",
    where="gateway",
    request=RequestAsked,
    result=PersonAsked,
)
OPERATIONS: tuple[Operation, ...] = (
    FIND,
    SHOW,
    FORGET,
    CORRECT,
    LINK,
    UNLINK,
    EXPORT,
    ERASE,
    REQUESTS,
    REQUEST,
    MET,
)
