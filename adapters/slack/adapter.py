"""A Slack workspace as a channel: events in over HTTP or a socket, replies out over the Web API.

What a payload says is `parse`'s question, what a reply looks like `render`'s, what a failed call means `web`'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from adapters.base import Address, Call, Capabilities, Intake, MessageEvent, Rate, Receipt
from adapters.errors import AdapterFault, Refused, Unreachable
from adapters.problems import Problem, unavailable
from adapters.slack import parse, render
from adapters.slack.front import verified
from adapters.slack.names import Names
from adapters.slack.parse import Identity, Ignored
from adapters.slack.reading import PERSON, ROOM, Fields, maps, string
from adapters.slack.socket_mode import Socket
from adapters.slack.web import ApiRefused, client, translated
from adapters.text import closed
from config.channels.slack import SlackSettings

logger = logging.getLogger(__name__)

_OPENING_S = 1.0
_CHUNK = "clew_chunk"
"""The kind of metadata by which a message is found again whose receipt was lost."""

_NOT_EDITABLE = frozenset(
    {"cant_update_message", "edit_window_closed", "message_not_found", "msg_too_long", "streaming_state_conflict"}
)
_NO_BLOCKS = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
_PAGES = 5
_PAGE = 200
_REMEMBERED = 1_000


class SlackAdapter:
    """One Slack channel: one app in one workspace. Raises `AdapterFault` on the way in when the token is not good."""

    capabilities = Capabilities()
    sign_every_s = 90.0  # Slack takes a status away after two minutes

    def __init__(self, name: str, *, settings: SlackSettings) -> None:
        self.heartbeat_s = settings.heartbeat_s
        self.show_every_s = settings.show_every_s if settings.stream else None
        self._name = name
        self._settings = settings
        self._secrets = [secret.get_secret_value().encode() for secret in settings.signing_secrets]
        self._names = Names(self._ask_name, keep_s=settings.names_s, wait_s=settings.names_wait_s)
        self._shown: OrderedDict[str, str] = OrderedDict()  # message -> the piece it shows
        self._no_status: OrderedDict[str, None] = OrderedDict()  # rooms that refused a status
        self._client: AsyncWebClient | None = None
        self._intake: Intake | None = None
        self._me: Identity | None = None
        self._socket: Socket | None = None

    @asynccontextmanager
    async def running(self, intake: Intake) -> AsyncIterator[None]:
        async with client(self._settings) as (self._client, session):
            try:
                self._me = await self._identity()
                self._intake = intake
                if self._settings.mode == "socket":
                    async with self._listening(session):
                        yield
                else:
                    yield
            finally:
                self._intake = self._client = self._socket = None

    @asynccontextmanager
    async def _listening(self, session: aiohttp.ClientSession) -> AsyncIterator[None]:
        """Hold the socket. Inside, Slack has greeted us; a socket that is switched off later ends the channel."""
        socket = Socket(open_url=self._socket_url, take=self._take, session=session, settings=self._settings)
        try:
            async with asyncio.TaskGroup() as tasks:
                holding = tasks.create_task(socket.run(), name=f"socket {self._name}")
                try:
                    async with asyncio.timeout(self._settings.timeout_s):
                        await socket.connected()
                except TimeoutError:
                    raise AdapterFault(f"channel {self._name!r}: no socket: {socket.problem}") from None
                self._socket = socket
                yield
                holding.cancel()
        except* AdapterFault as faults:
            reason = faults.exceptions[0]
        else:
            return
        raise AdapterFault(str(reason))

    async def _socket_url(self) -> str:
        token = self._settings.app_token
        with translated("apps.connections.open"):
            answer = await self._api.apps_connections_open(app_token=token.get_secret_value() if token else "")
        return str(answer["url"])

    async def _identity(self) -> Identity:
        with translated("auth.test"):
            answer = await self._api.auth_test()
        told = {name: answer.get(name) for name in ("team_id", "user_id", "bot_id", "user", "enterprise_id")}
        return Identity(
            team=string(told, "team_id"),
            user=string(told, "user_id"),
            bot=string(told, "bot_id"),
            name=string(told, "user"),
            enterprise=string(told, "enterprise_id") or None,
        )

    @property
    def _api(self) -> AsyncWebClient:
        if self._client is None:
            raise Unreachable(f"channel {self._name!r} is being opened or closed")
        return self._client

    # --- in

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Take one request of Slack's: acknowledged once it is stored, so that what can't be stored comes again."""
        if self._settings.mode == "socket":
            raise Problem(404, "socket_mode", f"channel {self._name!r} takes its events over a socket")
        payload = await verified(
            request, secrets=self._secrets, limit=self._settings.body_bytes, seconds=self._settings.body_s
        )
        if payload.get("type") == "url_verification":
            return web.Response(text=string(payload, "challenge"))
        await self._take(payload)
        return web.Response()

    async def _take(self, payload: Fields) -> None:
        """Store what a payload says; return once it is durable, or nothing for us. Raises what `Intake.accept` raises."""
        intake, me = self._intake, self._me
        if intake is None or me is None:
            raise unavailable(f"channel {self._name!r} is being opened or closed", retry_after_s=_OPENING_S)
        event = parse.parse(
            payload,
            channel=self._name,
            me=me,
            reply_in_thread=self._settings.reply_in_thread,
            slash_prefix=self._settings.slash_prefix,
        )
        if not isinstance(event, Ignored):
            await intake.accept(event)
        elif event.rule in ("rate_limited", "other_installation"):
            logger.warning("event ignored", extra={"channel": self._name, "rule": event.rule})
        else:
            logger.debug("event ignored", extra={"channel": self._name, "rule": event.rule})

    async def named(self, event: MessageEvent) -> MessageEvent:
        sender, quote = event.sender, event.quote
        texts = event.text if quote is None else f"{event.text} {quote.name} {quote.text}"
        author = [] if sender.is_bot else [sender.account]
        names = await self._names.of([*author, *PERSON.findall(texts), *ROOM.findall(texts)])
        if quote is not None:
            quote = msgspec.structs.replace(
                quote, name=_filled(quote.name, names).removeprefix("@"), text=_filled(quote.text, names)
            )
        return msgspec.structs.replace(
            event,
            sender=msgspec.structs.replace(sender, name=names.get(sender.account, sender.name)),
            text=_filled(event.text, names),
            quote=quote,
        )

    async def _ask_name(self, one: str) -> str | None:
        """Return the name of a person or a channel; None if it has none that we may see."""
        try:
            if one.startswith(("U", "W")):
                with translated("users.info"):
                    return _name_of((await self._api.users_info(user=one)).get("user"))
            with translated("conversations.info"):
                return _name_of((await self._api.conversations_info(channel=one)).get("channel"))
        except Refused:
            return None

    # --- out

    def chunks(self, text: str) -> list[str]:
        return render.chunks(text)

    def rates(self, address: Address, call: Call) -> tuple[Rate, ...]:
        """Slack's limits as documented: a message a second in a channel, a few hundred a minute in the workspace; `chat.update`
        is a method of tier 3. Status has no limit of its own that is documented; tier 3 bears with it."""
        match call:
            case "send":
                room = Rate(scope=self._scope("chat.postMessage", address.room), count=1, per_s=1)
                return room, Rate(scope=self._scope("chat.postMessage"), count=300, per_s=60)
            case "edit":
                return (Rate(scope=self._scope("chat.update"), count=50, per_s=60),)
            case "sign":
                return (Rate(scope=self._scope("assistant.threads.setStatus"), count=50, per_s=60),)

    def _scope(self, method: str, room: str = "") -> str:
        return f"{self._name} {method} {room}".rstrip()

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        metadata = {"event_type": _CHUNK, "event_payload": {"chunk_id": chunk_id}}
        content = {**render.message(chunk, quoted=address.quoted), "metadata": metadata}
        if shown is not None:
            self._shown.pop(shown, None)
            try:
                await self._update(address.room, shown, content)
            except ApiRefused as refused:
                if refused.code not in _NOT_EDITABLE | _NO_BLOCKS:
                    raise
            else:
                return Receipt(message_id=shown)
        try:
            return Receipt(message_id=await self._post(address, content))
        except ApiRefused as refused:
            if refused.code not in _NO_BLOCKS:
                raise
            return Receipt(message_id=await self._post(address, {**render.text_only(chunk), "metadata": metadata}))

    async def _post(self, address: Address, content: Mapping[str, Any]) -> str:
        with translated("chat.postMessage", scope=self._scope("chat.postMessage", address.room)):
            answer = await self._api.chat_postMessage(
                channel=address.room, thread_ts=address.thread, unfurl_links=False, unfurl_media=False, **content
            )
        return str(answer["ts"])

    async def _update(self, room: str, ts: str, content: Mapping[str, Any]) -> None:
        with translated("chat.update", scope=self._scope("chat.update")):
            await self._api.chat_update(channel=room, ts=ts, **content)

    async def sign(self, address: Address, *, on: bool) -> None:
        """Set or clear the status of the thread. Outside threads there is no place for one."""
        if not self._settings.status or address.thread is None or address.room in self._no_status:
            return
        status = self._settings.status_text if on else ""
        try:
            with translated("assistant.threads.setStatus", scope=self._scope("assistant.threads.setStatus")):
                await self._api.assistant_threads_setStatus(
                    channel_id=address.room, thread_ts=address.thread, status=status
                )
        except Refused:
            _remember(self._no_status, address.room, None)  # the room or the app can't have one: never asked again
            raise

    async def show(self, address: Address, text: str, *, turn: str, shown: str | None) -> str | None:
        """Post the answer as far as it has come, then edit that message. What is longer than one message shows its first
        part until the answer is whole."""
        piece = render.chunks(closed(text))[0]
        if not piece.strip() or (shown is not None and self._shown.get(shown) == piece):
            return shown
        content = render.message(piece, quoted=address.quoted)
        if shown is None:
            shown = await self._post(address, content)
        else:
            await self._update(address.room, shown, content)
        _remember(self._shown, shown, piece)
        return shown

    async def find(self, address: Address, *, chunk_id: str) -> Receipt | None:
        """Look for the chunk among the messages that came after the one it answers."""
        oldest = address.reply_to if parse.milliseconds(address.reply_to or "") is not None else None
        cursor = None
        for _ in range(_PAGES):
            answer = await self._page(address, oldest=oldest, cursor=cursor)
            for message in maps(answer, "messages"):
                if _chunk_of(message) == chunk_id:
                    return Receipt(message_id=string(message, "ts"))
            cursor = string(answer.get("response_metadata") or {}, "next_cursor")
            if not cursor:
                return None
        raise Unreachable(f"{_PAGES * _PAGE} messages came since; whether this one is among them can't be told")

    async def _page(self, address: Address, *, oldest: str | None, cursor: str | None) -> Fields:
        api, room = self._api, address.room
        if address.thread is not None:
            with translated("conversations.replies"):
                answer = await api.conversations_replies(
                    channel=room, ts=address.thread, oldest=oldest, inclusive=True, include_all_metadata=True,
                    limit=_PAGE, cursor=cursor,
                )  # fmt: skip
        else:
            with translated("conversations.history"):
                answer = await api.conversations_history(
                    channel=room, oldest=oldest, inclusive=True, include_all_metadata=True, limit=_PAGE, cursor=cursor
                )
        return answer.data if isinstance(answer.data, dict) else {}

    async def probe(self) -> None:
        with translated("auth.test"):
            await self._api.auth_test()
        if self._socket is not None and self._socket.problem is not None:
            raise AdapterFault(f"channel {self._name!r}: {self._socket.problem}")


def _filled(text: str, names: Mapping[str, str]) -> str:
    text = PERSON.sub(lambda match: f"@{names[match[1]]}" if match[1] in names else match[0], text)
    return ROOM.sub(lambda match: f"#{names[match[1]]}" if match[1] in names else match[0], text)


def _name_of(found: object) -> str | None:
    """Return the name that people see: what a person calls himself, else his real name, else the account's."""
    if not isinstance(found, dict):
        return None
    profile = found.get("profile") or {}
    chosen = [string(profile, "display_name"), string(profile, "real_name"), string(found, "name")]
    return next((name for name in chosen if name.strip()), None)


def _chunk_of(message: Fields) -> str | None:
    metadata = message.get("metadata") or {}
    return (metadata.get("event_payload") or {}).get("chunk_id") if metadata.get("event_type") == _CHUNK else None


def _remember(known: OrderedDict[str, Any], key: str, value: object) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > _REMEMBERED:
        known.popitem(last=False)
