"""Acts about who may do what: users, their grants and passwords. Their API tokens and sessions: `credentials.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import msgspec

from config.admin import SignInSettings
from gateway.admin.access import HeldGrant, User, Users, folded, missing
from gateway.admin.acts.kinds import Channel, Limit, Number
from gateway.admin.grants import covers, merged
from gateway.admin.operations import Acting, Empty, FieldProblem, Handlers, Invalid, Operation, Refused
from gateway.admin.passwords import Passwords, check_new, made_password
from gateway.admin.rights import Grant, Role
from gateway.admin.tries import Knock, Tries

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class GrantAsked(msgspec.Struct, frozen=True, kw_only=True):
    """A role for one channel; without one, for all of the gateway."""

    role: Role
    channel: Channel | None = None


class GrantTold(msgspec.Struct, frozen=True, kw_only=True):
    """A grant as it is held. `claims`: by the identity provider, until `ends_ms` unless renewed by a sign-in."""

    role: Role
    channel: str | None
    source: Literal["hand", "claims"]
    ends_ms: int | None


class UserTold(msgspec.Struct, frozen=True, kw_only=True):
    """A user. `signs_in` by a password of this gateway, or at the identity provider."""

    id: str
    name: str
    signs_in: Literal["password", "provider", "not"]
    grants: tuple[GrantTold, ...]
    created_ms: int
    signed_in_ms: int | None


class UsersAsked(msgspec.Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    after: Number | None = None


class UsersPage(msgspec.Struct, frozen=True, kw_only=True):
    users: tuple[UserTold, ...]
    next: str | None


class UserNew(msgspec.Struct, frozen=True, kw_only=True):
    """`password` left out: one is made, and shown this once."""

    name: Name
    grants: tuple[GrantAsked, ...] = ()
    password: str | None = None


class PasswordMade(msgspec.Struct, frozen=True, kw_only=True):
    """`password`: the one that was made; None: the one that was given."""

    user: str
    password: str | None


class UserAsked(msgspec.Struct, frozen=True, kw_only=True):
    user: Number


class UserGrant(msgspec.Struct, frozen=True, kw_only=True):
    user: Number
    role: Role
    channel: Channel | None = None


class UserRevoke(msgspec.Struct, frozen=True, kw_only=True):
    user: Number
    channel: Channel | None = None


class PasswordNew(msgspec.Struct, frozen=True, kw_only=True):
    """`password` left out: one is made, and shown this once. `current`: the password of now; needed for one's own."""

    user: Number
    password: str | None = None
    current: str | None = None


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, with what they may do now. `password`: whether it is a user who signs in by a password of this gateway."""

    id: str
    name: str
    grants: tuple[Grant, ...]
    password: bool


USERS_LIST = Operation(
    name="users.list",
    told="List users with what each may do; of a channel's owner: with what they may do there.",
    method="GET",
    path="/users",
    right="access",
    where="any",
    request=UsersAsked,
    result=UsersPage,
    audited="no",
)
USERS_SHOW = Operation(
    name="users.show",
    told="Tell of one user what `users.list` tells of all.",
    method="GET",
    path="/users/{user}",
    right="access",
    where="any",
    request=UserAsked,
    result=UserTold,
    audited="no",
)
USERS_ADD = Operation(
    name="users.add",
    told="Make a user who signs in by password.",
    method="POST",
    path="/users",
    right="access",
    where="gateway",
    request=UserNew,
    result=PasswordMade,
)
USERS_REMOVE = Operation(
    name="users.remove",
    told="Remove a user: rights, sessions and tokens end at once; one of the identity provider stays out until restored.",
    method="DELETE",
    path="/users/{user}",
    right="access",
    where="gateway",
    request=UserAsked,
)
USERS_RESTORE = Operation(
    name="users.restore",
    told="Let a removed user of the identity provider sign in again.",
    method="POST",
    path="/users/{user}/restore",
    right="access",
    where="gateway",
    request=UserAsked,
)
USERS_GRANT = Operation(
    name="users.grant",
    told="Give a user a role, for one channel or for all; it takes the place of the one given there before.",
    method="PUT",
    path="/users/{user}/grants",
    right="access",
    where="any",
    request=UserGrant,
)
USERS_REVOKE = Operation(
    name="users.revoke",
    told="Take away the role that a user was given for a channel, or for all.",
    method="DELETE",
    path="/users/{user}/grants",
    right="access",
    where="any",
    request=UserRevoke,
)
USERS_PASSWORD = Operation(
    name="users.password",
    told="Set a user's password, and end their sessions; one's own needs the current one.",
    method="PUT",
    path="/users/{user}/password",
    right="see",
    where="any",
    request=PasswordNew,
    result=PasswordMade,
)
ME = Operation(
    name="users.me",
    told="Tell who asks, and what they may do.",
    method="GET",
    path="/me",
    right="see",
    where="any",
    result=Me,
    audited="no",
)
OPERATIONS: tuple[Operation, ...] = (
    ME,
    USERS_LIST,
    USERS_SHOW,
    USERS_ADD,
    USERS_REMOVE,
    USERS_RESTORE,
    USERS_GRANT,
    USERS_REVOKE,
    USERS_PASSWORD,
)


class AccessActs:
    """Carries these acts out. Nobody gives what they do not hold: an owner of one channel gives roles for that channel only."""

    def __init__(
        self,
        *,
        users: Users,
        passwords: Passwords,
        tries: Tries,
        settings: Callable[[], SignInSettings],
        clock: Callable[[], int],
    ) -> None:
        """`tries` are those of signing in: who has somebody's session guesses their password no faster. `clock` gives
        milliseconds since 1970."""
        self._users = users
        self._passwords = passwords
        self._tries = tries
        self._settings = settings
        self._clock = clock

    def handlers(self) -> Handlers:
        """Return what does each act."""
        return {
            ME: self.me,
            USERS_LIST: self.users,
            USERS_SHOW: self.user,
            USERS_ADD: self.add,
            USERS_REMOVE: self.remove,
            USERS_RESTORE: self.restore,
            USERS_GRANT: self.grant,
            USERS_REVOKE: self.revoke,
            USERS_PASSWORD: self.password,
        }

    async def me(self, acting: Acting, _asked: Empty) -> Me:
        kind, _, number = acting.actor.id.partition(":")
        user = await self._users.find(int(number)) if kind == "user" else None
        return Me(
            id=acting.actor.id,
            name=acting.actor.name,
            grants=acting.actor.grants,
            password=user is not None and user.has_password,
        )

    async def users(self, acting: Acting, asked: UsersAsked) -> UsersPage:
        found = await self._users.listed(after=int(asked.after or 0), limit=asked.limit)
        channels = acting.channels()
        return UsersPage(
            users=tuple(_user_told(user, channels) for user in found),
            next=str(found[-1].id) if len(found) == asked.limit else None,
        )

    async def user(self, acting: Acting, asked: UserAsked) -> UserTold:
        user = await self._users.find(int(asked.user))
        if user is None:
            raise missing(asked.user)
        return _user_told(user, acting.channels())

    async def add(self, acting: Acting, asked: UserNew) -> PasswordMade:
        password = made_password() if asked.password is None else asked.password
        check_new(password, name=asked.name)
        grants = merged(Grant(role=grant.role, channel=grant.channel) for grant in asked.grants)
        kept = await self._passwords.kept(password)
        user_id = await self._users.add(asked.name, kept=kept, grants=grants)
        acting.note(user=user_id, grants=shown(grants))
        return PasswordMade(user=str(user_id), password=password if asked.password is None else None)

    async def remove(self, acting: Acting, asked: UserAsked) -> Empty:
        acting.note(user=int(asked.user))
        await self._users.remove(int(asked.user))
        return Empty()

    async def restore(self, acting: Acting, asked: UserAsked) -> Empty:
        acting.note(user=int(asked.user))
        await self._users.restore(int(asked.user))
        return Empty()

    async def grant(self, acting: Acting, asked: UserGrant) -> Empty:
        grant = Grant(role=asked.role, channel=asked.channel)
        acting.note(user=int(asked.user), grants=shown([grant]))
        acting.require(asked.channel)
        if not covers(acting.actor.grants, grant):
            raise Refused(f"users.grant: you can't give {asked.role!r}, which you do not hold there yourself")
        await self._users.grant(int(asked.user), grant)
        return Empty()

    async def revoke(self, acting: Acting, asked: UserRevoke) -> Empty:
        acting.note(user=int(asked.user))
        acting.require(asked.channel)
        await self._users.revoke(int(asked.user), asked.channel)
        return Empty()

    async def password(self, acting: Acting, asked: PasswordNew) -> PasswordMade:
        acting.note(user=int(asked.user))
        user = await self._whose_password(acting, asked)
        password = made_password() if asked.password is None else asked.password
        check_new(password, name=user.name)
        await self._users.set_password(user.id, await self._passwords.kept(password))
        return PasswordMade(user=str(user.id), password=password if asked.password is None else None)

    async def _whose_password(self, acting: Acting, asked: PasswordNew) -> User:
        own = acting.actor.id == f"user:{int(asked.user)}"  # as a number: `07` is 7, too
        if not own:
            acting.require(None, "access")
        user = await self._users.find(int(asked.user))
        if user is None or user.issuer is not None:
            raise missing(asked.user)
        if own:
            # Also for owners: who finds a browser signed in must not be able to keep its owner out.
            await self._prove(user, asked.current or "")
        return user

    async def _prove(self, user: User, password: str) -> None:
        settings, account = self._settings(), await self._users.account(user.name)
        knock = Knock(account=folded(user.name), address="", device="own session")
        async with self._passwords.turn(known=True):
            if await self._tries.begin(knock, settings, now_ms=self._clock()) > 0:
                problem, remedy = "was wrong too often", "wait a little, then try again"
            elif account is not None and await self._passwords.fits(password, account.kept):
                await self._tries.take_back(knock, settings, right=True)
                return
            else:
                problem, remedy = "is not your password", "give the one of now"
        told = FieldProblem(path="current", value="***", problem=problem, remedy=remedy)
        raise Invalid(f"current: {problem}; {remedy}", problems=(told,))


def shown(grants: Sequence[Grant]) -> str:
    """Return grants as the audit log keeps them."""
    return " ".join(f"{grant.role}@{grant.channel or '*'}" for grant in grants)


def _user_told(user: User, channels: frozenset[str] | None) -> UserTold:
    return UserTold(
        id=str(user.id),
        name=user.name,
        signs_in="provider" if user.issuer is not None else "password" if user.has_password else "not",
        grants=tuple(_grant_told(held) for held in user.grants if channels is None or held.grant.channel in channels),
        created_ms=user.created_ms,
        signed_in_ms=user.signed_in_ms if channels is None else None,
    )


def _grant_told(held: HeldGrant) -> GrantTold:
    return GrantTold(role=held.grant.role, channel=held.grant.channel, source=held.source, ends_ms=held.ends_ms)
