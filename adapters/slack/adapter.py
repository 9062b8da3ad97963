"""A Slack workspace as a channel: opened and closed, events in over HTTP or a socket, names looked up, replies handed on.

Which kind of request comes is `bolt`'s question, what it says `parse`'s, what becomes of a reply `posting`'s, what a failed call
means `web`'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import aiohttp
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from adapters.base import Address, Call, Capabilities, InboundEvent, Intake, MessageEvent, Pulling, Rate, Receipt
from adapters.errors import AdapterFault, Refused, Unreachable
from adapters.problems import Problem, unavailable
from adapters.refusals import Refusals
from adapters.slack import posting, render
from adapters.slack.authors import Identity
from adapters.slack.bolt import Dispatch, dispatcher
from adapters.slack.front import verified
from adapters.slack.links import located
from adapters.slack.names import Names, filled, ids_in, is_private, name_of
from adapters.slack.parse import Ignored
from adapters.slack.posting import Posting
from adapters.slack.reading import string
from adapters.slack.response_urls import ResponseUrls, Shelf
from adapters.slack.socket_mode import Socket
from adapters.slack.web import TokenRefused, client, translated
from config.channels.slack import SlackSettings

logger = logging.getLogger(__name__)

_OPENING_S = 1.0
_NOT_YET = b"later"  # what stands for a signing secret in the page's settings until there is one: everybody knows it
_WORTH_A_LOOK = ("rate_limited", "other_installation")


class SlackAdapter:
    """One Slack channel: one app in one workspace. `running` raises `AdapterFault` when the token is not good, or no longer,
    or no socket can be had."""

    sign_every_s = 90.0  # Slack takes a status away after two minutes

    def __init__(self, name: str, *, settings: SlackSettings, shelf: Shelf) -> None:
        """`shelf` is where response URLs lie, sealed, for whichever instance answers."""
        prefix = settings.slash_prefix
        self.capabilities = Capabilities(
            # Slack bears ten sockets of an app and gives each event to one: with two, a lost one leaves no gap.
            pullers=2 if settings.mode == "socket" else 0,
            whispers=True,
            deletions=True,
            threads=True,
            command_prefix=prefix,
        )
        self.heartbeat_s = settings.heartbeat_s
        self.show_every_s = settings.show_every_s if settings.stream else None
        self.shown_s: float | None = None
        self._name = name
        self._settings = settings
        self._shelf = shelf
        self._secrets = [secret.get_secret_value().encode() for secret in settings.signing_secrets]
        self._names = Names(self._ask_name, keep_s=settings.names_s, wait_s=settings.names_wait_s)
        self._client: AsyncWebClient | None = None
        self._session: aiohttp.ClientSession | None = None
        self._posting: Posting | None = None
        self._dispatch: Dispatch | None = None  # None: not open, or not yet
        self._socket: Socket | None = None
        self._refusals = Refusals(name, event="request refused", logger=logger)
        self._token: asyncio.Future[None] | None = None  # fails when Slack does not take it any more

    @asynccontextmanager
    async def running(self, intake: Intake) -> AsyncIterator[None]:
        settings = self._settings
        if settings.mode == "http" and _NOT_YET in self._secrets:
            raise AdapterFault(
                f"channel {self._name!r}: signing_secrets still says 'later'; set the app's signing secret"
            )
        async with client(settings) as (opened, session):
            self._client, self._session = opened, session
            try:
                # Known before the first event, so that no acknowledgement waits for it (platform-facts 1.1).
                me, take = await self._identity(opened), partial(self._take, intake)
                status = settings.status_text if settings.status else None
                urls = ResponseUrls(
                    session,
                    channel=self._name,
                    shelf=self._shelf,
                    secret=settings.bot_token.get_secret_value(),
                    api_url=settings.api_url,
                    proxy=settings.proxy,
                )
                self._posting = Posting(self._name, opened, me=me, urls=urls, status=status)
                self._dispatch = dispatcher(
                    self._name, settings=settings, client=opened, me=me, take=take, commanded=urls.keep
                )
                async with _group() as tasks:
                    self._token = asyncio.get_running_loop().create_future()
                    watching = tasks.create_task(_until(self._token), name=f"token {self._name}")
                    yield
                    watching.cancel()
            finally:
                self._client = self._session = self._posting = self._dispatch = self._token = None

    async def pull(self, intake: Intake, pulling: Pulling) -> None:
        """See `adapters.base.Pulls`; what is told goes to the intake that `running` was given. Raises `AdapterFault` where no
        socket can be had, and when Socket Mode is switched off later."""
        opened, session, dispatch = self._client, self._session, self._dispatch
        if opened is None or session is None or dispatch is None:
            raise AdapterFault(f"channel {self._name!r} is not open")
        token = self._settings.app_token

        async def url() -> str:
            with translated("apps.connections.open"):
                answer = await opened.apps_connections_open(app_token=token.get_secret_value() if token else "")
            return str(answer["url"])

        def greeted() -> None:
            first.reschedule(None)
            pulling.begun()

        self._socket = socket = Socket(
            self._name,
            open_url=url,
            dispatch=dispatch,
            session=session,
            settings=self._settings,
            pulling=pulling,
            greeted=greeted,
        )
        try:
            async with asyncio.timeout(self._settings.timeout_s) as first:
                await socket.run()
        except TimeoutError:
            raise AdapterFault(f"channel {self._name!r}: no socket: {socket.problem}") from None
        finally:
            self._socket = None

    async def _identity(self, opened: AsyncWebClient) -> Identity:
        with translated("auth.test"):
            answer = await opened.auth_test()
        told = answer.data if isinstance(answer.data, dict) else {}
        return Identity(
            team=string(told, "team_id"),
            user=string(told, "user_id"),
            bot=string(told, "bot_id"),
            name=string(told, "user"),
            enterprise=string(told, "enterprise_id") or None,
        )

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Take one request of Slack's: acknowledged once it is stored, so that what can't be stored comes again."""
        if self._settings.mode == "socket":
            raise Problem(404, "socket_mode", f"channel {self._name!r} takes its events over a socket")
        settings = self._settings
        try:
            payload = await verified(request, secrets=self._secrets, limit=settings.body_bytes, seconds=settings.body_s)
        except Problem as problem:
            self._refusals.tell(problem)
            raise
        if self._dispatch is None:
            raise unavailable(f"channel {self._name!r} is being opened or closed", retry_after_s=_OPENING_S)
        return await self._dispatch(payload)

    async def _take(self, intake: Intake, event: InboundEvent | Ignored) -> None:
        """Return once an event is durable, or nothing for us. Raises what `Intake.accept` raises."""
        match event:
            case Ignored(rule=rule):
                level = logging.WARNING if rule in _WORTH_A_LOOK else logging.DEBUG
                logger.log(level, "event ignored", extra={"channel": self._name, "rule": rule})
            case _:
                await intake.accept(event)

    async def named(self, event: MessageEvent) -> MessageEvent:
        return filled(event, await self._names.of(ids_in(event)))

    async def _ask_name(self, one: str) -> str | None:
        """Return the name of a person or a channel; None if it has none that we may see."""
        opened = self._client
        if opened is None:
            return None
        try:
            if one.startswith(("U", "W")):
                with translated("users.info"):
                    return name_of((await opened.users_info(user=one)).get("user"))
            with translated("conversations.info"):
                found = (await opened.conversations_info(channel=one)).get("channel")
            return None if is_private(found) else name_of(found)
        except Refused:
            return None

    def chunks(self, text: str) -> list[str]:
        return render.chunks(text)

    def rates(self, address: Address, call: Call) -> tuple[Rate, ...]:
        return posting.rates(self._name, address, call)

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        with self._open() as out:
            return await out.send(address, chunk, chunk_id=chunk_id, shown=shown)

    async def sign(self, address: Address, *, on: bool) -> None:
        with self._open() as out:
            await out.sign(address, on=on)

    async def show(self, address: Address, text: str, *, turn: str, shown: str | None) -> str | None:
        with self._open() as out:
            return await out.show(address, text, turn=turn, shown=shown)

    async def remove(self, address: Address, shown: str) -> None:
        with self._open() as out:
            await out.remove(address.room, shown)

    async def find(self, address: Address, *, chunk_id: str) -> Receipt | None:
        with self._open() as out:
            return await out.find(address, chunk_id=chunk_id)

    async def find_shown(self, address: Address, *, turn: str) -> str | None:
        """See `Reconciles.find_shown`."""
        with self._open() as out:
            return await out.find_shown(address, turn=turn)

    @contextmanager
    def _open(self) -> Iterator[Posting]:
        """Lend the way out. A token that Slack does not take any more ends the channel: what is to be sent waits, for as long
        as it takes, for one that runs."""
        if self._posting is None:
            raise Unreachable(f"channel {self._name!r} is being opened or closed")
        try:
            yield self._posting
        except TokenRefused as refused:
            if self._token is not None and not self._token.done():
                self._token.set_exception(AdapterFault(str(refused)))
            raise

    def located(self, link: str) -> tuple[str, str] | None:
        return located(link)

    async def probe(self) -> None:
        if self._client is None:
            raise AdapterFault(f"channel {self._name!r} is not open")
        with translated("auth.test"):
            await self._client.auth_test()
        if self.problem is not None:
            raise AdapterFault(f"channel {self._name!r}: {self.problem}")

    @property
    def problem(self) -> str | None:
        """See `adapters.base.Reports`."""
        return self._socket.problem if self._socket is not None else None

    @property
    def warning(self) -> str | None:
        """See `adapters.base.Reports`."""
        return None


@asynccontextmanager
async def _group() -> AsyncIterator[asyncio.TaskGroup]:
    """Give a group of tasks; a fault of one of them comes out as it is."""
    try:
        async with asyncio.TaskGroup() as tasks:
            yield tasks
    except* AdapterFault as faults:
        reason = str(faults.exceptions[0])
    else:
        return
    raise AdapterFault(reason)


async def _until(failure: asyncio.Future[None]) -> None:
    await failure
