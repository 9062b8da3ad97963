"""A settings file is followed while the gateway runs (openclaw#70524: no restart for a change)."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from config.loader import Configuration, load
from config.overlay import Overlay
from config.problems import InvalidSettings
from config.reload import BURST_MS, LOOK_MS, SETTLE_MS, Outcome, _looks, from_file, watch


def turns(outcome: Outcome) -> object:
    """Return the one value that the tests change, or the problem."""
    if isinstance(outcome, InvalidSettings):
        return f"{outcome.problems[0].path}: {outcome.problems[0].value}: {outcome.problems[0].problem}"
    return outcome.settings.memory.window.turns


def text(number: object) -> str:
    return f"memory: {{window: {{turns: {number}}}}}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "etc" / "my.yaml"
    file.parent.mkdir()
    file.write_text(text(4), "utf-8")
    return file


@asynccontextmanager
async def watching(file: Path) -> AsyncIterator[AsyncGenerator[Outcome, None]]:
    """Watch a file that was loaded a moment ago."""
    stream = watch(file, from_file(file, {}), current=load(file, {}))
    try:
        yield stream
    finally:
        await stream.aclose()


async def after(stream: AsyncGenerator[Outcome, None]) -> Outcome:
    """Return the next outcome; it comes within the two seconds that are promised, and some for a busy machine."""
    async with asyncio.timeout(10):
        return await anext(stream)


async def test_changes_arrive_and_invalid_ones_are_told(file: Path) -> None:
    """Valid, invalid, another fault, and back to what was good before: each is told once, in order."""
    async with watching(file) as stream:
        seen = []
        for number in (5, "x", "y", 5):
            file.write_text(text(number), "utf-8")
            seen.append(turns(await after(stream)))

    assert [5, 5] == [seen[0], seen[3]]
    assert str(seen[1]).startswith("memory.window.turns: 'x': is not a whole number")
    assert str(seen[2]).startswith("memory.window.turns: 'y'")


def test_a_change_is_live_within_two_seconds() -> None:
    """By the clock alone, should the system tell of no change: a look, and the longest burst before it."""
    assert LOOK_MS + BURST_MS + SETTLE_MS < 2000


async def test_a_change_between_loading_and_watching_is_not_lost(file: Path) -> None:
    """`current` is what counts, not what the file said when the watching began."""
    current = load(file, {})
    file.write_text(text(5), "utf-8")
    stream = watch(file, from_file(file, {}), current=current)

    assert turns(await after(stream)) == 5
    await stream.aclose()


async def test_what_changes_nothing_is_not_told(file: Path) -> None:
    """Remarks, spelling, other files and a touched file pass in silence; the next real change is the next word."""
    async with watching(file) as stream:
        waiting = asyncio.ensure_future(after(stream))
        file.write_text("# a remark\nmemory:\n  window:\n    turns: '4'\n", "utf-8")
        (file.parent / "other.yaml").write_text(text(9), "utf-8")
        os.utime(file)
        file.write_text(text(6), "utf-8")

        assert turns(await waiting) == 6


async def test_an_editor_that_renames_is_followed(file: Path) -> None:
    """Writing beside and moving over, as editors do, again and again."""
    async with watching(file) as stream:
        for number in (5, 6):
            beside = file.with_suffix(".tmp")
            beside.write_text(text(number), "utf-8")
            beside.replace(file)

            assert turns(await after(stream)) == number


async def test_a_mounted_volume_that_swaps_links_is_followed(tmp_path: Path) -> None:
    """A config map: the file is a link through ..data, and only ..data changes."""
    for version, number in (("v1", 4), ("v2", 5), ("v3", 6)):
        (tmp_path / version).mkdir()
        (tmp_path / version / "my.yaml").write_text(text(number), "utf-8")
    data = tmp_path / "..data"
    data.symlink_to("v1")
    file = tmp_path / "my.yaml"
    file.symlink_to("..data/my.yaml")
    async with watching(file) as stream:
        for version, number in (("v2", 5), ("v3", 6)):
            (tmp_path / "new").symlink_to(version)
            (tmp_path / "new").replace(data)

            assert turns(await after(stream)) == number


async def test_a_link_to_a_file_elsewhere_is_followed(tmp_path: Path, file: Path) -> None:
    """The file the link leads to is edited in place."""
    link = tmp_path / "link.yaml"
    link.symlink_to(file)
    async with watching(link) as stream:
        file.write_text(text(5), "utf-8")

        assert turns(await after(stream)) == 5


async def test_a_missing_file_is_told_and_its_return_too(file: Path) -> None:
    """Deleted, then the whole folder replaced: the watching goes on."""
    async with watching(file) as stream:
        file.unlink()
        gone = turns(await after(stream))
        shutil.rmtree(file.parent)
        file.parent.mkdir()
        file.write_text(text(5), "utf-8")

        assert "can't be read (No such file or directory)" in str(gone)
        assert turns(await after(stream)) == 5


async def test_a_secret_file_is_followed(file: Path, tmp_path: Path) -> None:
    """A secret that is replaced is used, one that goes missing is told, one that comes later mends the settings."""
    folder = tmp_path / "run"
    folder.mkdir()
    key = folder / "key"
    key.write_text("one", "utf-8")
    file.write_text(f"agents: {{default: {{api_key: 'file:{key}'}}}}\n", "utf-8")
    async with watching(file) as stream:
        key.write_text("two\n", "utf-8")
        second = await after(stream)
        key.unlink()
        gone = await after(stream)
        key.write_text("three", "utf-8")
        third = await after(stream)

    assert isinstance(second, Configuration)
    assert isinstance(third, Configuration)
    assert ["two", "three"] == [
        agent.settings.agents["default"].api_key.get_secret_value()  # type: ignore[union-attr]
        for agent in (second, third)
    ]
    assert "there is no file" in str(gone)


async def test_a_cancelled_watcher_ends(file: Path) -> None:
    """Stopping the gateway leaves no task and no thread behind."""
    async with watching(file) as stream:
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.to_thread(load, file, {})
        waiting.cancel()

        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_without_file_events_the_clock_serves(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A folder that can't be watched costs speed, not the watching; once is said so."""
    looks = _looks({str(tmp_path / "gone"): (1, 1)}, asyncio.Event())
    async with asyncio.timeout(10):
        for _ in range(3):
            await anext(looks)
    await looks.aclose()

    assert ["settings file is watched by the clock"] == [record.message for record in caplog.records]


@pytest.mark.parametrize("folder", ["there", "gone"])
async def test_a_nudge_is_looked_at_at_once(file: Path, folder: str) -> None:
    """What is laid over the file has no events of its own: whoever knows of it nudges, and nothing waits for the clock."""
    nudge = asyncio.Event()
    looks = _looks({str(file.parent if folder == "there" else file.parent / "gone"): (1, 1)}, nudge)
    await anext(looks)
    nudge.set()
    seen = [await anext(looks), await anext(looks)]
    await looks.aclose()

    assert True in seen
    assert not nudge.is_set()


async def test_a_nudge_brings_what_is_laid_over_the_file(file: Path) -> None:
    """The file stays as it is, and its overlay gets another number: that is another configuration."""
    overlays = [Overlay(number=1, tree={}), Overlay(number=2, tree={"memory": {"window": {"turns": 5}}})]
    nudge = asyncio.Event()

    async def loading() -> Outcome:
        return load(file, {}, overlays[-1])

    stream = watch(file, loading, current=load(file, {}, overlays[0]), nudge=nudge)

    first = await after(stream)
    overlays.append(Overlay(number=3, tree={}))
    nudge.set()
    second = await after(stream)
    await stream.aclose()

    assert [5, 4] == [turns(first), turns(second)]
