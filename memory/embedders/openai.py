"""The embedder behind any OpenAI-compatible service: people's words go there.

The `openai` client sends a prepared body and hands back the raw response; its retries are used, within our time. Answers
are read strictly: services have sent other dimensions, another order, and numbers that are none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import msgspec

from config.embedders import SERVED
from config.settings import EmbedderSettings
from memory.embedders.texts import embeddable
from memory.errors import ModelFailed
from memory.models import Requested, unheard
from memory.vectors import unit_vectors

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI
    from openai._types import RequestOptions

OFFICIAL_URL = "https://api.openai.com/v1"
MOST_TOKENS = 1_000_000_000  # more than any request takes
NUMBER_BYTES, HEAD_BYTES = (
    40,
    65_536,
)  # a number of an answer takes no more, with its comma and white space; all the rest


class _Item(msgspec.Struct):
    embedding: list[float]
    index: int


class _Answer(msgspec.Struct):
    data: list[_Item]


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    total_tokens: int | None = None


class _Counted(msgspec.Struct):
    usage: _Usage | None = None


class OpenAIEmbedder:
    """Embeds through `POST {base_url}/embeddings`; see `memory.models.Embedder`."""

    def __init__(self, settings: EmbedderSettings, *, dims: int, threshold: float) -> None:
        self.dims = dims
        self.name = f"{settings.model}/{dims}"
        self.threshold = threshold
        self._settings = settings
        self._service = f"embedder {settings.model!r} at {urlsplit(settings.base_url or OFFICIAL_URL).hostname}"
        self._calls = asyncio.Semaphore(settings.calls)
        self._client: AsyncOpenAI | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Load the client library without stopping the loop; see `Embedder`."""
        await self._opened()

    async def embed(self, texts: Sequence[str], *, requested: Requested = unheard) -> list[bytes]:
        """Return the texts' vectors; see `Embedder`."""
        asked = embeddable(texts, name=self.name)
        size, vectors = self._settings.batch, list[bytes]()
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                for start in range(0, len(asked), size):
                    part = range(start, min(start + size, len(asked)))
                    heard = partial(requested, self._settings.model, part)
                    async with self._calls:
                        vectors += await self._one_request([asked[n] for n in part], heard)
        except TimeoutError:
            raise ModelFailed(f"{self._service} did not finish within {self._settings.timeout_s:g} s") from None
        return vectors

    async def aclose(self) -> None:
        """Close the connections; see `Embedder`."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _opened(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_make_client, self._settings, service=self._service)
            return self._client

    async def _one_request(self, texts: list[str], heard: Callable[[int | None], None]) -> list[bytes]:
        request: dict[str, object] = {"model": self._settings.model, "input": texts}
        known = SERVED.get(self._settings.model)
        if known is not None and known.dims != self.dims:
            request["dimensions"] = self.dims
        content, limit = msgspec.json.encode(request), HEAD_BYTES + len(texts) * self.dims * NUMBER_BYTES
        try:
            body = await self._posted(content, limit=limit)
        except asyncio.CancelledError:  # also where it took too long: the service does not know, and charges for it
            heard(None)
            raise
        heard(_tokens(body))
        try:
            return self._read(body, count=len(texts))
        except (msgspec.MsgspecError, ValueError) as exc:
            raise ModelFailed(
                f"{self._service} answered what is no list of embeddings ({type(exc).__name__})"
            ) from None

    async def _posted(self, content: bytes, *, limit: int) -> bytes:
        """Return the body of the answer, of `limit` bytes at most."""
        client = await self._opened()
        import httpx2  # not before: they take a second, in a thread of their own
        import openai

        body = bytearray()
        try:
            response = await _raw(client, content)
            try:
                async for block in response.aiter_bytes():
                    body += block
                    if len(body) > limit:
                        raise ModelFailed(f"{self._service} answered with more than {limit:,} bytes")
            finally:
                await response.aclose()
        except openai.APIStatusError as exc:  # it quotes what the service said
            raise ModelFailed(f"{self._service} refused ({exc.status_code}); check its model and api_key") from None
        except (openai.OpenAIError, httpx2.RequestError) as exc:
            raise ModelFailed(f"{self._service} can't be reached ({type(exc).__name__}); check its base_url") from None
        except (ValueError, httpx2.InvalidURL) as exc:
            raise _unaskable(self._service, exc) from None
        return bytes(body)

    def _read(self, body: bytes, *, count: int) -> list[bytes]:
        items = sorted(msgspec.json.decode(body, type=_Answer).data, key=lambda item: item.index)
        if [item.index for item in items] != list(range(count)):
            raise ModelFailed(
                f"{self._service} answered with {len(items)} embeddings for {count} texts, or misnumbered"
            )
        strange = next((len(item.embedding) for item in items if len(item.embedding) != self.dims), None)
        if strange is not None:
            raise ModelFailed(
                f"{self._service} made vectors of {strange} dimensions, not {self.dims}; set dims to what it makes"
            )
        return unit_vectors([item.embedding for item in items])


def _tokens(body: bytes) -> int | None:
    """Return the tokens as the service tells them; None: it does not, or can't mean it: money is counted from them."""
    try:
        usage = msgspec.json.decode(body, type=_Counted).usage
    except (msgspec.MsgspecError, ValueError):
        return None
    told = None if usage is None else usage.total_tokens if usage.prompt_tokens is None else usage.prompt_tokens
    return told if told is not None and 0 <= told <= MOST_TOKENS else None


def _make_client(settings: EmbedderSettings, *, service: str) -> AsyncOpenAI:
    import httpx2
    from openai import AsyncOpenAI

    try:
        return AsyncOpenAI(
            # Both are given even when unset, or the client would take them from the environment behind the settings' back.
            api_key=settings.api_key.get_secret_value() if settings.api_key is not None else "unset",
            base_url=settings.base_url or OFFICIAL_URL,
            max_retries=settings.retries,
            timeout=httpx2.Timeout(settings.timeout_s, connect=settings.connect_s),
        )
    except (ValueError, httpx2.InvalidURL) as exc:
        raise _unaskable(service, exc) from None


def _raw(client: AsyncOpenAI, content: bytes) -> Awaitable[httpx2.Response]:
    """POST a prepared body by the client's raw path; the body of the response is not read yet."""
    import httpx2
    from openai import AsyncStream

    options: RequestOptions = {"security": {"bearer_auth": True}}  # or an administrator's key would go out as well
    call: object = client.post(
        "/embeddings",
        cast_to=httpx2.Response,
        content=content,
        options=options,
        stream=True,
        stream_cls=AsyncStream[object],
    )
    return cast("Awaitable[httpx2.Response]", call)  # its types don't say so, but `cast_to` goes before `stream_cls`


def _unaskable(service: str, exc: Exception) -> ModelFailed:
    return ModelFailed(f"{service} can't be asked ({type(exc).__name__}); check its base_url and api_key")
