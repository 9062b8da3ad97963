"""The settings of an earlier turn are read once, however often somebody looks at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from config.loader import Configuration, load
from gateway.admin.service import REMEMBERED, Admin

SETTINGS = """\
agents: {default: {kind: demo}}
channels: {web: {kind: webhook, secrets: ["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="], bot_depth: %d}}
"""


class Documents:
    """A store that has nothing but revisions, and counts who asks for them."""

    def __init__(self, documents: dict[str, str]) -> None:
        self.documents = documents
        self.asked: list[str] = []

    async def revision(self, revision: str) -> str | None:
        self.asked.append(revision)
        return self.documents.get(revision)


def configuration(folder: Path, depth: int) -> Configuration:
    file = folder / "clew.yaml"
    file.write_text(SETTINGS % depth, "utf-8")
    return load(file, {})


async def test_a_revision_is_read_once_as_long_as_it_is_among_the_last(tmp_path: Path) -> None:
    """Reading one of a thousand rooms takes most of a second."""
    made = [configuration(tmp_path, depth) for depth in range(1, REMEMBERED + 2)]
    store: Any = Documents({one.revision: one.document for one in made})
    admin = Admin(memory=None, store=store)  # type: ignore[arg-type]  # not asked

    for one in (*made, made[-1], made[1]):
        found = await admin.configuration_of(one.revision)
        assert found is not None
        assert one.revision == found.revision
        assert one.effective("web").bot_depth == found.effective("web").bot_depth
    assert [one.revision for one in made] == store.asked
    await admin.configuration_of(made[0].revision)
    assert made[0].revision == store.asked[-1]


async def test_what_is_gone_or_of_another_release_is_none() -> None:
    """And is asked for again: it may come back with a backup."""
    store: Any = Documents({"other": '{"channels": 5}'})
    admin = Admin(memory=None, store=store)  # type: ignore[arg-type]  # not asked

    assert None is await admin.configuration_of("gone")
    assert None is await admin.configuration_of("other")
    assert None is await admin.configuration_of("gone")
    assert ["gone", "other", "gone"] == store.asked
