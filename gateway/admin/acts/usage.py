"""What can be asked of what was spent, as data: by whom, over time, in one turn, as a file, and who is near a quota. Answered in
`gateway/admin/usage.py` and `quotas.py`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from gateway.admin.acts.kinds import Channel, Limit, Turn
from gateway.admin.operations import Operation
from gateway.usage.reports import By

Day = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$", description="A day of usage.time_zone: 2026-11-30.")]
Money = Annotated[str, msgspec.Meta(description="An amount of the currency, with six places: 0.000650.")]


class SpentAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Days from `since` to `until`, both included; left out: this month until today."""

    by: By = "channel"
    since: Day | None = None
    until: Day | None = None
    channel: Channel | None = None
    limit: Limit = 50
    after: str | None = None


class SpentLine(msgspec.Struct, frozen=True, kw_only=True):
    """What one group spent. `key` is what it is grouped by: a name (agent `(embedder)`: memory's; channel "": what is known of
    people, wherever they said it), a day, a person's number ("" nobody, or who was erased), or a room ("" private). `channel` is
    a room's. `name` is a person's account, for those who may see it. `money` None: no call had a
    price; `unpriced` calls are not in it. `estimated`: calls of which the tokens were not reported."""

    key: str
    channel: str | None = None
    name: str | None = None
    messages: int
    calls: int
    failed: int
    estimated: int
    unpriced: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    money: Money | None


class SpentTold(msgspec.Struct, frozen=True, kw_only=True):
    currency: str
    since: str
    until: str
    lines: tuple[SpentLine, ...]
    total: SpentLine
    next: str | None


class SeriesAsked(msgspec.Struct, frozen=True, kw_only=True):
    """As `SpentAsked`, day by day. The `top` groups are told by name, all others as one."""

    by: By = "channel"
    measure: Literal["money", "tokens", "messages"] = "money"
    since: Day | None = None
    until: Day | None = None
    channel: Channel | None = None
    top: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5


class SeriesLine(msgspec.Struct, frozen=True, kw_only=True):
    """One group's figures, one for each day; money in the currency. `key` None: all the others."""

    key: str | None
    channel: str | None = None
    values: tuple[float, ...]


class SeriesTold(msgspec.Struct, frozen=True, kw_only=True):
    currency: str
    days: tuple[str, ...]
    series: tuple[SeriesLine, ...]


class ExportAsked(msgspec.Struct, frozen=True, kw_only=True):
    since: Day | None = None
    until: Day | None = None
    channel: Channel | None = None


class TurnAsked(msgspec.Struct, frozen=True, kw_only=True):
    turn: Turn


class CountedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A message, or a call for an answer, for memory, or for the gateway's own probe."""

    purpose: Literal["message", "answer", "memory", "probe"]
    at_ms: int
    agent: str
    model: str
    failed: bool
    estimated: bool
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    money: Money | None


class TurnTold(msgspec.Struct, frozen=True, kw_only=True):
    currency: str
    lines: tuple[CountedLine, ...]
    money: Money | None


class QuotasAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Those of which the share `least` is used up; left out: the soft share of each place."""

    least: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    channel: Channel | None = None
    limit: Limit = 100


class QuotaLine(msgspec.Struct, frozen=True, kw_only=True):
    """A quota and what of it is used up. `name`: of the person (a number), room, channel or agent. `used` and `most` are texts:
    whole numbers, or money. A person's `most` is the least of all places that set one. `ends`: when it begins anew (ISO 8601)."""

    kind: Literal["person", "room", "channel", "agent"]
    channel: str | None
    name: str
    measure: Literal["messages", "tokens", "money"]
    span: Literal["minute", "day", "month"]
    used: str
    most: str
    share: float
    over: bool
    ends: str


class QuotasTold(msgspec.Struct, frozen=True, kw_only=True):
    """The nearest to their end first."""

    currency: str
    lines: tuple[QuotaLine, ...]


SUMMARY = Operation(
    name="usage.summary",
    told="Tell what was spent, by channel, room, person, agent, model, purpose or day.",
    method="GET",
    path="/usage",
    right="see",
    where="any",
    request=SpentAsked,
    result=SpentTold,
    audited="no",
)
SERIES = Operation(
    name="usage.series",
    told="Tell what was spent day by day.",
    method="GET",
    path="/usage/series",
    right="see",
    where="any",
    request=SeriesAsked,
    result=SeriesTold,
    audited="no",
)
EXPORT = Operation(
    name="usage.export",
    told="Give all that was spent, by day and everything else, as CSV.",
    method="GET",
    path="/usage/export",
    right="see",
    where="any",
    request=ExportAsked,
    result="text/csv",
)
TURN = Operation(
    name="usage.turn",
    told="Tell what one turn cost: its messages, and each call of a model for its answer and for memory.",
    method="GET",
    path="/turns/{turn}/usage",
    right="see",
    where="any",
    request=TurnAsked,
    result=TurnTold,
    audited="no",
)
QUOTAS = Operation(
    name="quotas.state",
    told="Tell who has used up a quota, or nearly.",
    method="GET",
    path="/quotas",
    right="see",
    where="any",
    request=QuotasAsked,
    result=QuotasTold,
    audited="no",
)

OPERATIONS = (SUMMARY, SERIES, EXPORT, TURN, QUOTAS)
