"""A turn from what came in to what was learned, whatever became of it; and why, in one sentence.

Put together from what stands anyway: the inbox row, the ledger, the outbox, what was spent. What people said, and their names,
are left out for who may not read there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from config.loader import Configuration
from gateway.admin.acts.turns import (
    TRACE,
    WHY,
    EndTold,
    SpentTold,
    TurnAsked,
    TurnTrace,
    WayTold,
    WhyTold,
)
from gateway.admin.database import Database
from gateway.admin.operations import Acting, Handlers
from gateway.admin.reasons import decided, setting_told
from gateway.admin.seen import admit, amendments_of, code_of, gone, missing, number, route_of, rule_of
from gateway.admin.service import Admin
from gateway.admin.trace_told import Prompted, call_told, lessons_told, piece_told, prompt_told, said_told
from gateway.inbox.base import Event, Inbox
from gateway.inbox.looking import Looking
from gateway.inbox.rows import undeliverable
from gateway.routing import Route
from memory.base import Ledger
from memory.derived import FullStore
from memory.errors import StoreUnavailable

MICRO = 1_000_000
ABOUT = 50
"""Edits and deletions that are told with a turn."""

_SPENT = """SELECT purpose, agent, model, prompt, completion, estimated, money FROM usage_entries
  WHERE turn_id = :turn AND purpose <> 'message' ORDER BY id LIMIT 50"""
_NUMBER = "SELECT MAX(number) FROM settings_revisions WHERE digest = :digest"


class TraceActs:
    """Shows a turn, and says why."""

    def __init__(
        self,
        *,
        admin: Admin,
        inbox: Inbox,
        looking: Looking,
        store: FullStore,
        database: Database,
        configuration: Callable[[], Configuration],
    ) -> None:
        self._admin = admin
        self._inbox = inbox
        self._looking = looking
        self._store = store
        self._database = database
        self._configuration = configuration

    def handlers(self) -> Handlers:
        return {TRACE: self.trace, WHY: self.why}

    async def trace(self, acting: Acting, asked: TurnAsked) -> TurnTrace:
        event = await self._event(acting, asked)
        words = acting.may("read", event.channel)
        acting.note(turn=asked.turn, words=int(words))
        turn_id, route = event.turn_id, route_of(event)
        events = await self._looking.of_turns([turn_id]) if event.kind == "message" else (event,)
        amendments, about = await self._about(event, events)
        own = {one.id for one in events}
        learning = await self._learning(turn_id)  # first: what is done by now is in the ledger that is read next
        prompted = await self._prompted(turn_id)
        ledger = None if prompted is None else prompted.ledger
        replies = await self._looking.replies([turn_id])
        return TurnTrace(
            turn=str(event.id),
            channel=event.channel,
            words=words,
            said=tuple(said_told(one, words=words and not gone(one, amendments)) for one in events),
            about=tuple(
                said_told(one, words=words and not gone(one, amendments)) for one in about if one.id not in own
            ),
            way=None if route is None else await self._way(route),
            end=EndTold(
                state=event.state,
                rule=rule_of(event, route),
                code=code_of(event),
                reason=(event.outcome.reason if event.outcome is not None else None) or "",
                attempts=event.attempts,
                excused=event.excused,
            ),
            conversation=await self._conversation(event, route, ledger),
            session=event.session,
            prompt=None if prompted is None else prompt_told(prompted, words=words, everywhere=acting.may("read")),
            calls=() if ledger is None else tuple(map(call_told, ledger.calls)),
            spent=await self._spent(turn_id),
            reply=replies.get(turn_id, "") if words and replies else None,
            pieces=tuple(piece_told(sent, words=words) for sent in await self._looking.chunks([turn_id])),
            learning=learning,
            learned=() if prompted is None else lessons_told(prompted.explanation, words=words),
        )

    async def why(self, acting: Acting, asked: TurnAsked) -> WhyTold:
        event = await self._event(acting, asked)
        route = route_of(event)
        undelivered = code_of(event) == undeliverable("").code
        untold = await self._looking.untold(event.id) if undelivered else None
        found = decided(event, route, untold=untold, doubtful=await self._doubtful(event))
        setting = None
        if found.setting is not None and route is not None:
            then, now = await self._admin.configuration_of(route.revision), self._configuration()
            setting = setting_told(found.setting, event, route, then=then, now=now)
        return WhyTold(
            turn=str(event.id),
            channel=event.channel,
            state=event.state,
            rule=found.rule,
            en=found.en,
            zh=found.zh,
            setting=setting,
        )

    async def _doubtful(self, event: Event) -> bool:
        if event.state not in ("answered", "failed"):
            return False
        sent = [one.chunk for one in await self._looking.chunks([event.turn_id])]
        return any(chunk.state == "unknown" and chunk.index >= 0 for chunk in sent)

    async def _event(self, acting: Acting, asked: TurnAsked) -> Event:
        event = await self._inbox.event(number(asked.turn, "turn"))
        if event is None:
            raise missing(f"turn {asked.turn}")
        admit(acting, event.channel, f"turn {asked.turn}")
        return event

    async def _about(self, event: Event, events: Sequence[Event]) -> tuple[Sequence[Event], Sequence[Event]]:
        """Return all edits and deletions of the turn's messages, and what is told of them: the newest, oldest first; beside an
        edit or a deletion the message itself, too."""
        amendments = await amendments_of(self._inbox, events)
        if event.kind == "message" or event.subject is None:
            return amendments, amendments[-ABOUT:]
        return amendments, (await self._looking.about(event.subject))[::-1]

    async def _prompted(self, turn_id: int) -> Prompted | None:
        try:
            ledger, explanation = await self._store.ledger(turn_id), await self._admin.explain(turn_id)
            return None if ledger is None or explanation is None else Prompted(ledger, explanation)
        except StoreUnavailable:
            await (
                self._store.schema_version()
            )  # away: that is told; else the ledger is damaged, and the rest can be shown
            return None

    async def _way(self, route: Route) -> WayTold:
        async with self._database.reading() as db:
            ((number_,),) = await db.rows(_NUMBER, digest=route.revision)
        said = route.event
        return WayTold(
            rule=route.rule,
            refused=route.refused,
            key=route.key,
            scope=str(route.memory_scope()),
            agent=route.agent,
            revision=route.revision,
            number=number_,
            language=route.language,
            room=said.room,
            thread=said.thread,
            chat_type=said.chat_type,
        )

    async def _conversation(self, event: Event, route: Route | None, ledger: Ledger | None) -> str | None:
        if ledger is not None:
            return str(ledger.scope_id)
        if route is None or event.state == "ignored":
            return None
        found = await self._store.scope_in_place(route.memory_scope())
        return None if found is None else str(found)

    async def _learning(self, turn_id: int) -> Literal["none", "pending", "done"]:
        unlearned = await self._store.browsing.unlearned(turn_id)
        return "none" if unlearned is None else "pending" if unlearned else "done"

    async def _spent(self, turn_id: int) -> tuple[SpentTold, ...]:
        currency = self._configuration().settings.prices.currency
        async with self._database.reading() as db:
            rows = await db.rows(_SPENT, turn=turn_id)
        return tuple(
            SpentTold(
                purpose=purpose,
                agent=agent,
                model=model,
                prompt=prompt,
                completion=completion,
                estimated=bool(estimated),
                money=None if money is None else money / MICRO,
                currency=currency,
            )
            for purpose, agent, model, prompt, completion, estimated, money in rows
        )
