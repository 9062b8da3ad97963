"""One message as it stands in a channel, and the stream it may be the end of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.emulators.slack import events
from tests.emulators.slack.richtext import pings

if TYPE_CHECKING:
    from tests.emulators.slack.members import Member

Json = dict[str, Any]

STREAM_S = 300.0  # Slack ends a stream so long after its start, whatever is appended (slackapi/python-slack-sdk#1859)


def order(ts: str) -> tuple[int, int]:
    """Return the seconds and micros of a `ts`."""
    seconds, micros = ts.split(".")
    return int(seconds), int(micros)


@dataclass(slots=True, kw_only=True, eq=False)
class Stream:
    """A message that is being streamed."""

    started: float
    ended: str | None = None  # the error that the next append meets

    def over(self, now: float) -> str | None:
        if self.ended is None and now - self.started >= STREAM_S:
            self.ended = "message_not_in_streaming_state"
        return self.ended


@dataclass(slots=True, kw_only=True, eq=False)
class Message:
    """What stands in a channel under one `ts`. `text` and `blocks` are the wire's; `shown` is what a person reads."""

    ts: str
    author: Member
    text: str
    blocks: list[Json]
    thread_ts: str | None = None
    subtype: str | None = None
    client_msg_id: str | None = None
    metadata: Json | None = None
    edited: Json | None = None
    files: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    reactions: dict[str, list[str]] = field(default_factory=dict)
    replies: int = 0
    stream: Stream | None = None
    broadcast: bool = False
    link_names: bool = False
    parent_user_id: str | None = None
    history: list[str] = field(default_factory=list)  # what was shown before, oldest first

    @property
    def shown(self) -> str:
        """What a person reads, as its author wrote it: the blocks' texts, or the text where there are none of its own."""
        own = [text for block in self.blocks if block["type"] != "rich_text" for text in events.texts(block)]
        return "\n".join(own) if own else self.text

    @property
    def pings(self) -> frozenset[str]:
        """Whom the message calls: account ids, user groups, `here`, `channel`, `everyone`."""
        return pings(self.shown, link_names=self.link_names)

    @property
    def order(self) -> tuple[int, int]:
        """Where it stands in its channel: compared as whole numbers, never as one with a fraction."""
        return order(self.ts)
