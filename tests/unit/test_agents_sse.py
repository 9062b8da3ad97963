"""Events out of bytes, wherever the blocks end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agents.sse import MAX_EVENT_BYTES, EventDecoder
from gateway.errors import AgentBroken


def decode(*blocks: bytes) -> list[bytes]:
    decoder = EventDecoder()
    events = [event for block in blocks for event in decoder.feed(block)]
    return events + decoder.flush()


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data:a\n\ndata:  b\n\n", [b"a", b" b"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": keep-alive\n\nevent: x\nid: 7\nretry: 10\ndata: a\n: PROCESSING\n\n\n\n", [b"a"]),
        (b"data: a\n\ndata: [DONE]", [b"a", b"[DONE]"]),
        (b"data\n\ndatum: x\n\n", []),
        ("data: 你好 \u2028\x0b\x0c\x1c\x85👋🏽\n\n".encode(), ["你好 \u2028\x0b\x0c\x1c\x85👋🏽".encode()]),
        (b"", []),
    ],
)
def test_the_forms_of_a_stream(stream: bytes, events: list[bytes]) -> None:
    """LF, CRLF and CR, comments and other fields, many lines, a missing last blank line; only line ends split."""
    assert events == decode(stream)
    assert events == decode(*(bytes([byte]) for byte in stream))


LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)


@given(st.lists(st.lists(LINE, min_size=1, max_size=3), max_size=6), st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_blocks_may_end_anywhere(written: list[list[str]], line_end: str, data: st.DataObject) -> None:
    """However a stream is cut into blocks, inside characters and line ends too, the same events come out."""
    stream = "".join("".join(f"data: {line}{line_end}" for line in lines) + line_end for lines in written).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    blocks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert ["\n".join(lines).encode() for lines in written] == decode(*blocks)


@pytest.mark.parametrize("block", [b"x" * 65_536, b"data: y\n" * 8_192])
def test_an_event_without_end_is_refused(block: bytes) -> None:
    """A line, or an event of many lines, that never ends is given up and not kept for ever."""
    decoder = EventDecoder()

    def feed() -> None:
        for _ in range(MAX_EVENT_BYTES // len(block) + 2):
            decoder.feed(block)

    with pytest.raises(AgentBroken, match="larger than"):
        feed()


def test_a_long_stream_of_short_events_is_not_refused() -> None:
    """The limit is on one event, not on the answer."""
    decoder = EventDecoder()
    block = b"data: " + b"z" * 60_000 + b"\n\ndata: "

    count = sum(len(decoder.feed(block)) for _ in range(MAX_EVENT_BYTES // len(block) + 20))

    assert MAX_EVENT_BYTES // len(block) + 20 == count
