"""One answer in the wire format of chat completions: blocks of bytes in, text out, and at the end whether it is whole.

Reads the stream and the single JSON document of services that ignore `stream`. Pure; the times are passed in.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gateway.agent import HAND_OVER, Done, Usage
from gateway.agents.refusal import stream_refusal
from gateway.agents.sse import MAX_EVENT_BYTES, EventDecoder
from gateway.errors import AgentBroken

MOST_TOKENS = 1_000_000_000
"""More than any call takes."""


class _Function(msgspec.Struct, frozen=True, gc=False):
    name: str | None = None
    arguments: str | None = None  # JSON, piece by piece


class _ToolCall(msgspec.Struct, frozen=True, gc=False):
    function: _Function | None = None


class _Part(msgspec.Struct, frozen=True, gc=False):
    content: str | None = None
    refusal: str | None = None  # the model's own words when it declines: an answer like any other
    reasoning_content: str | None = None  # DeepSeek, Qwen, older vLLM
    reasoning: str | None = None  # OpenRouter, Ollama, newer vLLM
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct, frozen=True, gc=False):
    index: int = 0
    delta: _Part | None = None
    message: _Part | None = None
    finish_reason: str | None = None


class _Reason(msgspec.Struct, frozen=True):
    reason: str = ""


class _Cached(msgspec.Struct, frozen=True, gc=False):
    cached_tokens: int | None = None


class _Tokens(msgspec.Struct, frozen=True, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None


class _Chunk(msgspec.Struct, frozen=True):
    choices: list[_Choice] | None = None
    usage: _Tokens | None = None
    error: Any = None
    object: str | None = None
    message: Any = None  # only of an error that stands alone: {"object": "error", "message": …}


MOST_REASON = 1_000
"""Characters of a reason that are kept."""

_decoder = msgspec.json.Decoder(_Chunk)


class Completion:
    """Reads one answer. `finished` is True once the service said why it stopped: from then on the text is whole."""

    def __init__(self, service: str) -> None:
        self.finished = False
        self._service = service
        self._events = EventDecoder()
        self._document: bytearray | None = None  # the answer, if it is one JSON document
        self._begun = False
        self._finish = ""
        self._usage: Usage | None = None
        self._thoughts: list[str] = []
        self._thought_at: float | None = None
        self._spoke_at: float | None = None
        self._tool = ""  # of the call that is being read
        self._arguments: list[str] = []  # of the call that hands over
        self._hands_over = False

    def feed(self, block: bytes, *, now: float) -> str:
        """Return the new text of `block`, "" if there is none. `now` is monotonic, in seconds.

        Raises an `AgentFault` for a chunk that can't be read or an error inside the stream.
        """
        if not self._begun and (opening := block.lstrip()):
            self._begun = True
            if opening.startswith(b"{"):  # no event begins so, whatever the content type says
                self._document = bytearray()
        if self._document is None:
            return self._text(self._events.feed(block), now=now)
        self._document += block
        if len(self._document) > MAX_EVENT_BYTES:
            raise AgentBroken(f"the answer of {self._service} is larger than {MAX_EVENT_BYTES} bytes")
        return ""

    def close(self, *, now: float) -> tuple[str, Done]:
        """Return the text that was still held back, and the end. Raises `AgentBroken` if the answer is not whole."""
        rest = self._events.flush() if self._document is None else [bytes(self._document)]
        text = self._text(rest, now=now)
        if not self.finished:
            raise AgentBroken(f"the answer of {self._service} ended without a finish reason: it may have been cut off")
        thinking_s = None
        if self._thought_at is not None and self._document is None:
            thinking_s = (now if self._spoke_at is None else self._spoke_at) - self._thought_at
        thinking = "".join(self._thoughts) or None
        return text, Done(finish=self._finish, usage=self._usage, thinking=thinking, thinking_s=thinking_s)

    @property
    def hand_over(self) -> str | None:
        """Why the model asks for a human, "" where it does not say; None: it does not ask."""
        if not self._hands_over:
            return None
        try:
            asked = msgspec.json.decode("".join(self._arguments), type=_Reason)
        except msgspec.DecodeError:
            return ""
        return " ".join(asked.reason.split())[:MOST_REASON]

    def _text(self, events: list[bytes], *, now: float) -> str:
        pieces: list[str] = []
        for event in events:
            if event.startswith(b"[DONE]") or not event:
                continue
            try:
                chunk = _decoder.decode(event)
            except (msgspec.DecodeError, UnicodeDecodeError) as exc:
                # The decoder's message names a place and types, never what stood there.
                raise AgentBroken(f"{self._service} sent a chunk that is malformed: {exc}") from exc
            if chunk.error or chunk.object == "error":
                error = chunk.error or {"message": chunk.message}
                raise stream_refusal(error, service=self._service)
            if chunk.usage is not None:
                self._usage = _usage(chunk.usage) or self._usage
            for choice in chunk.choices or ():
                if choice.index == 0:  # the others of `n` > 1 are other answers
                    self._take(choice, pieces, now=now)
        return "".join(pieces)

    def _take(self, choice: _Choice, pieces: list[str], *, now: float) -> None:
        part = choice.delta or choice.message
        if part is not None:
            if text := part.content or part.refusal:
                pieces.append(text)
                if self._spoke_at is None:
                    self._spoke_at = now
            for call in part.tool_calls or ():
                self._called(call.function)
            if thought := part.reasoning_content or part.reasoning:
                self._thoughts.append(thought)
                if self._thought_at is None:
                    self._thought_at = now
        if choice.finish_reason:
            self._finish = choice.finish_reason
            self.finished = True

    def _called(self, function: _Function | None) -> None:
        """Take in a piece of a call: the first of each has the name. Of tools that nobody offered nothing is made."""
        if function is None:
            return
        if function.name:
            self._tool = function.name
            self._hands_over = self._hands_over or self._tool == HAND_OVER
        if self._tool == HAND_OVER and function.arguments and len(self._arguments) < MOST_REASON:
            self._arguments.append(function.arguments)


def _usage(tokens: _Tokens) -> Usage | None:
    """Return the tokens as they are told; None: they are not, or can't be meant: money is counted from them."""
    prompt, completion = tokens.prompt_tokens, tokens.completion_tokens
    if prompt is None or completion is None or not (0 <= prompt <= MOST_TOKENS and 0 <= completion <= MOST_TOKENS):
        return None
    cached = tokens.prompt_tokens_details.cached_tokens if tokens.prompt_tokens_details is not None else None
    return Usage(prompt=prompt, completion=completion, cached=min(max(cached or 0, 0), prompt))
