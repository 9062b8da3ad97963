"""Answers who is near a quota, within what the asker may see.

Who sees some channels only is told of these and their rooms; what persons and agents used up everywhere, who sees all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from config.channels.base import QuotaLimits
from config.effective import places
from config.loader import Configuration
from gateway.admin.acts.usage import QUOTAS, QuotaLine, QuotasAsked, QuotasTold
from gateway.admin.operations import Acting, Handlers
from gateway.usage.entries import money_text
from gateway.usage.quotas import Limit, limits_of
from gateway.usage.reports import UsageReports
from gateway.usage.rows import Amounts, Subject
from gateway.usage.windows import ends, starts, zone


class QuotaActs:
    """Does the act."""

    def __init__(
        self, *, reports: UsageReports, configuration: Callable[[], Configuration], clock: Callable[[], int]
    ) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._reports = reports
        self._configuration = configuration
        self._clock = clock

    def handlers(self) -> Handlers:
        return {QUOTAS: self.quotas}

    async def quotas(self, acting: Acting, asked: QuotasAsked) -> QuotasTold:
        """Return who is near or over, the nearest first."""
        now = self._clock()
        lines = []
        async for limit, used, soft in self._near(acting, asked, now):
            share = used / limit.most
            if share >= (soft if asked.least is None else asked.least):
                lines.append(self._quota(limit, used, share, now))
        lines.sort(key=lambda line: (-line.share, line.kind, line.name))
        return QuotasTold(currency=self._configuration().settings.prices.currency, lines=tuple(lines[: asked.limit]))

    async def _near(self, acting: Acting, asked: QuotasAsked, now: int) -> AsyncIterator[tuple[Limit, int, float]]:
        at = starts(now, zone(self._configuration().settings.usage.time_zone))
        seen = acting.channels()
        if asked.channel is not None:
            acting.require(asked.channel)
            seen = frozenset({asked.channel})
        for subject, limits, soft in limited(self._configuration(), seen):
            for limit in limits_of(subject, limits):
                share = soft if asked.least is None else asked.least
                found = await self._reports.above(
                    subject,
                    measure=limit.measure,
                    span=limit.span,
                    at=at,
                    least=max(1, int(limit.most * share)),
                    limit=asked.limit,
                )
                for who, used in found:
                    if who.kind != "room":
                        yield limit._replace(subject=who), _used(used, limit), soft
                        continue
                    # Rooms differ, and were found by the lowest of all.
                    quota = self._configuration().effective(who.channel, who.name).quota
                    for own in limits_of(who, quota.room):
                        if (own.measure, own.span) == (limit.measure, limit.span):
                            yield own, _used(used, own), quota.soft

    def _quota(self, limit: Limit, used: int, share: float, now: int) -> QuotaLine:
        money = limit.measure == "money"
        over = ends(limit.span, now, zone(self._configuration().settings.usage.time_zone))
        return QuotaLine(
            kind=limit.subject.kind,
            channel=limit.subject.channel or None,
            name=limit.subject.name,
            measure=limit.measure,
            span=limit.span,
            used=money_text(used) if money else str(used),
            most=money_text(limit.most) if money else str(limit.most),
            share=round(share, 4),
            over=used >= limit.most,
            ends=over.isoformat(),
        )


def limited(configuration: Configuration, seen: frozenset[str] | None) -> Iterator[tuple[Subject, QuotaLimits, float]]:
    """Yield what has a quota: the subject (name "": whoever there is of that kind), its limits and the soft share, each the
    lowest where places differ. `seen`: the channels asked about; None: all, and with them agents and persons, which are nobody's
    alone. Pure."""
    settings = configuration.settings
    found = [
        (place[0], configuration.effective(*place).quota)
        for place in places(settings)
        if seen is None or place[0] in seen
    ]
    for name in dict.fromkeys(name for name, _ in found):
        quota = configuration.effective(name).quota
        yield Subject("channel", "", name), quota.channel, quota.soft
        own = [one for channel, one in found if channel == name]
        yield Subject("room", name, ""), least([one.room for one in own]), min(one.soft for one in own)
    if seen is None:
        soft = settings.defaults.quota.soft
        everywhere = min([soft, *(quota.soft for _, quota in found)])
        yield Subject("person", "", ""), least([quota.person for _, quota in found]), everywhere
        for name, agent in settings.agents.items():
            yield Subject("agent", "", name), agent.quota, soft


def least(limits: Sequence[QuotaLimits]) -> QuotaLimits:
    """Return the lowest figure that any of these sets, each on its own. Pure."""
    lowest: dict[str, dict[str, float]] = {}
    for one in limits:
        for measure, spans in one.model_dump(exclude_none=True).items():
            for span, most in spans.items():
                into = lowest.setdefault(measure, {})
                into[span] = min(most, into.get(span, most))
    return QuotaLimits.model_validate(lowest)


def _used(used: Amounts, limit: Limit) -> int:
    return int(getattr(used, limit.measure))
