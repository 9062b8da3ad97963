"""Server-sent events, as far as model services use them: bytes in, the `data` of whole events out.

Pure, and on bytes alone, so that a block may end anywhere: inside a character, a line end or a field name.
"""

from __future__ import annotations

from gateway.errors import AgentBroken

MAX_EVENT_BYTES = 2 * 1024 * 1024  # what we hold before it makes sense; the longest answers come near one


class EventDecoder:
    """Splits one stream into events. Knows LF, CRLF and CR line ends, comments, and data of many lines."""

    def __init__(self) -> None:
        self._tail = b""  # a line whose end has not come yet
        self._data: list[bytes] = []  # the data lines of an event whose blank line has not come yet
        self._held = 0  # bytes in `_data`
        self._after_cr = False

    def feed(self, block: bytes) -> list[bytes]:
        """Return the data of the events that `block` completes, in order. Raises `AgentBroken` on one without end."""
        if self._after_cr and block.startswith(b"\n"):
            block = block[1:]  # the second half of a CRLF; alone it would be a blank line
        if not block:
            return []
        self._after_cr = block.endswith(b"\r")
        lines = (self._tail + block).splitlines()
        self._tail = b"" if block.endswith((b"\n", b"\r")) else lines.pop()
        events = self._events(lines)
        if self._held + len(self._tail) > MAX_EVENT_BYTES:
            raise AgentBroken(f"one event of the stream is larger than {MAX_EVENT_BYTES} bytes")
        return events

    def flush(self) -> list[bytes]:
        """Return what stands unfinished at the end: some services leave out the last blank line."""
        lines, self._tail = [self._tail, b""], b""
        return self._events(lines)

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
                self._held += len(line) + 1
            elif not line and self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data.clear()
                self._held = 0
        return events
