"""Acts about what somebody signs in with: API tokens and sessions. Everybody has their own; owners see to everybody's.

A token that acts sees to itself and to those made with it: it must not reach what else its user has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec

from gateway.admin.acts.access import GrantAsked, Name, shown
from gateway.admin.acts.kinds import Limit, Number
from gateway.admin.grants import covers, merged
from gateway.admin.operations import Acting, Empty, Handlers, Missing, Operation, Refused
from gateway.admin.rights import Actor, Grant
from gateway.admin.sessions import Sessions, Sitting
from gateway.admin.tokens import Token, Tokens

DAY_MS = 86_400_000
DEFAULT_DAYS, MOST_DAYS = 90, 366

Days = Annotated[int, msgspec.Meta(ge=1, le=MOST_DAYS, description="Days until it ends.")]


class TokensAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`everybodys`: also of others, for owners."""

    everybodys: bool = False
    limit: Limit = 50
    after: Number | None = None


class TokenTold(msgspec.Struct, frozen=True, kw_only=True):
    """A token. `user` None: made by whoever runs the gateway. It may do less than `grants` where its user may now."""

    id: str
    name: str
    user: str | None
    grants: tuple[Grant, ...]
    created_ms: int
    ends_ms: int
    used_ms: int | None


class TokensPage(msgspec.Struct, frozen=True, kw_only=True):
    tokens: tuple[TokenTold, ...]
    next: str | None


class TokenNew(msgspec.Struct, frozen=True, kw_only=True):
    """`grants` left out: all that one holds oneself."""

    name: Name
    grants: tuple[GrantAsked, ...] = ()
    days: Days = DEFAULT_DAYS


class TokenMade(msgspec.Struct, frozen=True, kw_only=True):
    """`secret` is shown this once."""

    id: str
    secret: str
    grants: tuple[Grant, ...]
    ends_ms: int


class TokenAsked(msgspec.Struct, frozen=True, kw_only=True):
    token: Number


class Revoked(msgspec.Struct, frozen=True, kw_only=True):
    """How many tokens ended: with the one those that were made with it."""

    tokens: int


class SessionsAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`user` left out: one's own; somebody else's is for owners."""

    user: Number | None = None


class SessionTold(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    address: str
    browser: str
    created_ms: int
    seen_ms: int
    ends_ms: int


class SessionsTold(msgspec.Struct, frozen=True, kw_only=True):
    sessions: tuple[SessionTold, ...]


class SessionAsked(msgspec.Struct, frozen=True, kw_only=True):
    session: Number


TOKENS_LIST = Operation(
    name="tokens.list",
    told="List API tokens: one's own; for owners also everybody's.",
    method="GET",
    path="/tokens",
    right="see",
    where="any",
    request=TokensAsked,
    result=TokensPage,
    audited="no",
)
TOKENS_CREATE = Operation(
    name="tokens.create",
    told="Make an API token with some or all of one's own rights; it is shown this once.",
    method="POST",
    path="/tokens",
    right="see",
    where="any",
    request=TokenNew,
    result=TokenMade,
)
TOKENS_REVOKE = Operation(
    name="tokens.revoke",
    told="End an API token, with those made with it: one's own, for owners anybody's.",
    method="DELETE",
    path="/tokens/{token}",
    right="see",
    where="any",
    request=TokenAsked,
    result=Revoked,
)
SESSIONS_LIST = Operation(
    name="sessions.list",
    told="List where one is signed in; for owners also where somebody else is.",
    method="GET",
    path="/sessions",
    right="see",
    where="any",
    request=SessionsAsked,
    result=SessionsTold,
    audited="no",
)
SESSIONS_END = Operation(
    name="sessions.end",
    told="Sign out somewhere: end one of one's own sessions; for owners anybody's.",
    method="DELETE",
    path="/sessions/{session}",
    right="see",
    where="any",
    request=SessionAsked,
)

OPERATIONS: tuple[Operation, ...] = (TOKENS_LIST, TOKENS_CREATE, TOKENS_REVOKE, SESSIONS_LIST, SESSIONS_END)


class CredentialActs:
    """Carries these acts out; `clock` gives milliseconds since 1970."""

    def __init__(self, *, sessions: Sessions, tokens: Tokens, clock: Callable[[], int]) -> None:
        self._sessions = sessions
        self._tokens = tokens
        self._clock = clock

    def handlers(self) -> Handlers:
        """Return what does each act."""
        return {
            TOKENS_LIST: self.tokens,
            TOKENS_CREATE: self.create_token,
            TOKENS_REVOKE: self.revoke_token,
            SESSIONS_LIST: self.sessions,
            SESSIONS_END: self.end_session,
        }

    async def tokens(self, acting: Acting, asked: TokensAsked) -> TokensPage:
        if asked.everybodys:
            acting.require(None, "access")
        token = await self._token_of(acting.actor)
        found = await self._tokens.listed(
            _user_of(acting.actor),
            of="everybody" if asked.everybodys else "user" if token is None else token.id,
            after=int(asked.after or 0),
            limit=asked.limit,
        )
        return TokensPage(
            tokens=tuple(_token_told(token) for token in found),
            next=str(found[-1].id) if len(found) == asked.limit else None,
        )

    async def create_token(self, acting: Acting, asked: TokenNew) -> TokenMade:
        actor = acting.actor
        wanted = [Grant(role=grant.role, channel=grant.channel) for grant in asked.grants]
        grants = merged(wanted or actor.grants)
        for grant in grants:
            if not covers(actor.grants, grant):
                where = "all channels" if grant.channel is None else f"channel {grant.channel!r}"
                raise Refused(f"tokens.create: a token can't hold {grant.role!r} for {where}, which you do not hold")
        parent = await self._token_of(actor)
        made = await self._tokens.make(
            asked.name,
            user_id=_user_of(actor) if parent is None else parent.user_id,
            parent=parent,
            grants=grants,
            ends_ms=self._clock() + asked.days * DAY_MS,
        )
        acting.note(token=made.id, grants=shown(grants))
        return TokenMade(id=str(made.id), secret=made.secret, grants=grants, ends_ms=made.ends_ms)

    async def revoke_token(self, acting: Acting, asked: TokenAsked) -> Revoked:
        acting.note(token=int(asked.token))
        token = await self._tokens.find(int(asked.token))
        if token is None or not (acting.may("access") or self._owns(acting.actor, token)):
            raise Missing(f"token {asked.token}: you have none of this number; `tokens.list` tells which there are")
        return Revoked(tokens=await self._tokens.revoke(token.id))

    def _owns(self, actor: Actor, token: Token) -> bool:
        if actor.id.startswith("token:"):
            return actor.id in (f"token:{token.id}", f"token:{token.parent_id}")
        return token.user_id == _user_of(actor)

    async def _token_of(self, actor: Actor) -> Token | None:
        """Return the token that the actor showed; None: a person acts."""
        if not actor.id.startswith("token:"):
            return None
        token = await self._tokens.find(int(actor.id.removeprefix("token:")))
        if token is None:
            raise Refused("this token has just ended; make another one")
        return token

    async def sessions(self, acting: Acting, asked: SessionsAsked) -> SessionsTold:
        own = _user_of(acting.actor)
        user_id = own if asked.user is None else int(asked.user)
        if user_id != own:
            acting.require(None, "access")
        sittings = [] if user_id is None else await self._sessions.listed(user_id)
        return SessionsTold(sessions=tuple(map(_session_told, sittings)))

    async def end_session(self, acting: Acting, asked: SessionAsked) -> Empty:
        acting.note(session=int(asked.session))
        user_id = await self._sessions.user_of(int(asked.session))
        if user_id is None or not (acting.may("access") or user_id == _user_of(acting.actor)):
            raise Missing(
                f"session {asked.session}: you have none of this number; `sessions.list` tells which there are"
            )
        await self._sessions.end(int(asked.session))
        return Empty()


def _user_of(actor: Actor) -> int | None:
    """Return the number of the user who acts; None: whoever runs the gateway, or a token, which is signed in nowhere."""
    kind, _, number = actor.id.partition(":")
    return int(number) if kind == "user" else None


def _session_told(sitting: Sitting) -> SessionTold:
    return SessionTold(
        id=str(sitting.id),
        address=sitting.address,
        browser=sitting.browser,
        created_ms=sitting.created_ms,
        seen_ms=sitting.seen_ms,
        ends_ms=sitting.ends_ms,
    )


def _token_told(token: Token) -> TokenTold:
    return TokenTold(
        id=str(token.id),
        name=token.name,
        user=None if token.user_id is None else str(token.user_id),
        grants=token.grants,
        created_ms=token.created_ms,
        ends_ms=token.ends_ms,
        used_ms=token.used_ms,
    )
