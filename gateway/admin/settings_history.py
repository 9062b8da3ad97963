"""Every change of settings there was, in an admin's hands: by whom, when and why, what it says, and what differs between two.

Who holds a right for some channels only sees of it what is these channels' own.
"""

from __future__ import annotations

import json

from config.overlay import Overlay, Said, plain
from config.problems import path_text
from gateway.admin.acts.settings import (
    COMPARE,
    HISTORY,
    REVISION,
    Changed,
    CompareAsked,
    Compared,
    History,
    HistoryAsked,
    RevisionAsked,
    RevisionLine,
    RevisionTold,
)
from gateway.admin.acts.settings import Said as SaidTold
from gateway.admin.operations import Acting, Handlers, Missing
from gateway.admin.own_settings import sees
from gateway.admin.planning import NOTHING, overlay_paths
from gateway.admin.revisions import Revision, Revisions


class HistoryActs:
    """The acts that look at revisions."""

    def __init__(self, revisions: Revisions) -> None:
        self._revisions = revisions

    def handlers(self) -> Handlers:
        """Return what carries each operation out."""
        return {HISTORY: self.history, REVISION: self.revision, COMPARE: self.compare}

    async def history(self, acting: Acting, asked: HistoryAsked) -> History:
        """Return the changes; of those that touch other channels only, nothing."""
        before = int(asked.after) if asked.after is not None else None
        found = await self._revisions.before(before, limit=asked.limit)
        said = await self._revisions.overlays(found[-1].number - 1, found[0].number) if found else {}
        lines = [_line(acting, one, said[one.number - 1], said[one.number]) for one in found]
        more = str(found[-1].number) if len(found) == asked.limit and found[-1].number > 1 else None
        return History(revisions=tuple(line for line in lines if line is not None), next=more)

    async def revision(self, acting: Acting, asked: RevisionAsked) -> RevisionTold:
        """Return what a revision says."""
        overlay, revision = (
            await overlay_of(self._revisions, asked.number),
            await self._revisions.revision(asked.number),
        )
        before = await overlay_of(self._revisions, max(asked.number - 1, 0))
        line = _line(acting, revision, before, overlay) if revision is not None else None
        if line is None:
            raise Missing(f"there is no revision {asked.number}")
        said = overlay_paths({}, overlay.tree)
        return RevisionTold(
            revision=line,
            settings=tuple(
                SaidTold(path=path_text(path), value=None if now is None else _json(now))
                for path, (_, now) in said.items()
                if sees(acting, path)
            ),
        )

    async def compare(self, acting: Acting, asked: CompareAsked) -> Compared:
        """Return what differs."""
        old, new = await overlay_of(self._revisions, asked.old), await overlay_of(self._revisions, asked.new)
        changes = tuple(
            Changed(path=path_text(path), was=_told(was), now=_told(now))
            for path, (was, now) in overlay_paths(old.tree, new.tree).items()
            if sees(acting, path)
        )
        return Compared(old=asked.old, new=asked.new, changes=changes)


async def overlay_of(revisions: Revisions, number: int) -> Overlay:
    """Return what a revision says. Raises `Missing`."""
    overlay = await revisions.overlay(number)
    if overlay is None:
        raise Missing(f"there is no revision {number}")
    return overlay


def _line(acting: Acting, revision: Revision, before: Overlay, after: Overlay) -> RevisionLine | None:
    """Return a revision as the actor may see it; None: it touches nothing of theirs."""
    paths = [path for path in overlay_paths(before.tree, after.tree) if sees(acting, path)]
    if not paths and acting.channels() is not None:
        return None
    return RevisionLine(
        number=revision.number,
        author=revision.author,
        name=revision.name,
        ms=revision.ms,
        reason=revision.reason,
        digest=revision.digest,
        paths=tuple(map(path_text, paths)),
    )


def _told(said: Said) -> str | None:
    """Return what an overlay says of a setting as JSON; null: nothing; `removed`: that it is not there."""
    if said is NOTHING:
        return None
    return "removed" if said is None else _json(said)


def _json(said: Said) -> str:
    return json.dumps(plain(said), ensure_ascii=False)
