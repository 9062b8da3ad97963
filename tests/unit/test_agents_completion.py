"""One answer in the wire format of chat completions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent import Done, Usage
from gateway.agents.completion import Completion
from gateway.agents.sse import MAX_EVENT_BYTES
from gateway.errors import AgentBroken
from tests.model_server import DONE, chunk, event, usage


def read(*blocks: bytes) -> tuple[str, Done]:
    reading = Completion("model 'm'")
    texts = [reading.feed(block, now=float(i)) for i, block in enumerate(blocks)]
    text, done = reading.close(now=float(len(blocks)))
    return "".join(texts) + text, done


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=8), st.data())
def test_the_text_survives_any_blocks(texts: list[str], data: st.DataObject) -> None:
    """Text of any script comes out as it went in, wherever the network cuts it."""
    stream = b"".join([*map(chunk, texts), chunk(finish="stop"), usage(3, 4), DONE])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    blocks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert ("".join(texts), Done(finish="stop", usage=Usage(prompt=3, completion=4))) == read(*blocks)


def test_only_the_first_choice_is_the_answer() -> None:
    """With several choices the first is the answer; another one's end is not its end."""
    stream = [chunk("a"), chunk("other", index=1), chunk(finish="stop", index=1), chunk("b", finish="length")]

    assert ("ab", Done(finish="length")) == read(*stream)
    with pytest.raises(AgentBroken, match="finish reason"):
        read(*stream[:3])


def test_the_last_usage_counts() -> None:
    """Services that report usage with every chunk count up; half a report is none."""
    stream = [
        usage(1, 1),
        chunk("x", finish="stop"),
        usage(9, 5),
        event({"choices": [], "usage": {"prompt_tokens": 3}}),
    ]

    assert Usage(prompt=9, completion=5) == read(*stream)[1].usage


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        ((-5, 5), None),
        ((5, -5), None),
        ((2**70, 5), None),
        ((5, 10**9 + 1), None),
        ((0, 0), Usage(prompt=0, completion=0)),
        ((10**9, 1), Usage(prompt=10**9, completion=1)),
    ],
)
def test_figures_that_can_not_be_meant_are_none(told: tuple[int, int], counted: Usage | None) -> None:
    """Money is counted from them: less than nothing, or more than any call takes, is not reported. The answer stands."""
    text, done = read(chunk("x", finish="stop"), usage(*told))

    assert ("x", counted) == (text, done.usage)


def test_no_more_is_cached_than_was_asked() -> None:
    """Nor less than nothing."""
    for cached, counted in ((-3, 0), (3, 3), (30, 9)):
        tokens = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": cached}}
        done = read(chunk("x", finish="stop"), event({"choices": [], "usage": tokens}))[1]
        assert done.usage is not None
        assert counted == done.usage.cached


def test_thinking_lasts_until_the_first_text() -> None:
    """The duration runs from the first thought to the first text, or to the end if there was none (A17)."""
    thought, said, end = chunk(reasoning_content="hm"), chunk("x"), chunk(finish="stop")

    assert ("hmhm", 2.0) == (
        (done := read(thought, thought, said, said, end)[1]).thinking,
        done.thinking_s,
    )
    assert 2.0 == read(thought, end)[1].thinking_s
    assert None is read(said, end)[1].thinking_s


def test_a_refusal_in_the_models_own_words_is_an_answer() -> None:
    """Where a model declines in the `refusal` field, the person reads its words."""
    assert "I won't." == read(chunk(refusal="I won't."), chunk(finish="stop"))[0]


@pytest.mark.parametrize(
    "oddity",
    [
        b'data: {"choices": null}\n\n',
        b'data: {"choices": [{"index": 0, "delta": null, "finish_reason": ""}]}\n\n',
        b'data: {"choices": [{"delta": {"role": "assistant", "content": null, "tool_calls": null}}], "x": {"y": 1}}\n\n',
        b"data: \n\n",
        b": comment\n\n",
        b'data: {"error": null, "choices": []}\n\n',
    ],
)
def test_harmless_oddities(oddity: bytes) -> None:
    """What services really send beside the format is passed over."""
    assert "ab" == read(chunk("a"), oddity, chunk("b"), chunk(finish="stop"))[0]


@pytest.mark.parametrize(
    "malformed",
    [b"data: {\n\n", b"data: []\n\n", b'data: {"choices": {}}\n\n', b'data: {"choices": [{"delta": {"content": 7}}]}\n\n',
     b'data: {"choices": [{"delta": {"content": "\xff"}}]}\n\n', b'data: {"choices": [{"delta": {"content": "\\ud83d"}}]}\n\n'],
)  # fmt: skip
def test_malformed_chunks(malformed: bytes) -> None:
    """Not JSON, another shape, not UTF-8, half a surrogate pair: the answer can't be trusted any more."""
    with pytest.raises(AgentBroken, match="malformed"):
        read(chunk("a"), malformed)


@pytest.mark.parametrize("body", [b"", b"\n\n", b"<html>Log in</html>", b'  {"choices": []}', b'{"choices": ['])
def test_what_is_no_answer(body: bytes) -> None:
    """An empty body, a proxy's page, a document without an answer or cut off: none of it passes."""
    with pytest.raises(AgentBroken):
        read(body)


def test_a_document_without_end_is_refused() -> None:
    """A JSON answer is bounded like an event."""
    with pytest.raises(AgentBroken, match="larger than"):
        read(b'{"choices": "', b"x" * MAX_EVENT_BYTES)
