"""What is known of embedders: the dimensions of their vectors, and from which cosine a memory answers a question.

A threshold means something for the model it was measured with and for no other (requirements F9): texts that have nothing to do
with each other score 0.1 with one model and 0.8 with the next. `python -m tests.bench.calibrate` measures one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One model. `threshold` None: nobody has measured one, so the settings must say it. `adjustable`: its service makes
    vectors of other dimensions when asked."""

    dims: int
    threshold: float | None = None
    adjustable: bool = False


USEM3 = Known(
    dims=512, threshold=0.27
)  # two texts that say the same score 0.4 and more, but that is not what recall asks

SERVED: Mapping[str, Known] = {
    "text-embedding-3-small": Known(dims=1536, threshold=0.72, adjustable=True),  # as article [001] tuned it (B26)
    "text-embedding-3-large": Known(dims=3072, adjustable=True),
    "text-embedding-ada-002": Known(dims=1536),
    "text-embedding-v3": Known(dims=1024, adjustable=True),
    "text-embedding-v4": Known(dims=1024, adjustable=True),
}
"""Models behind OpenAI-compatible services, by the name that the service knows."""
