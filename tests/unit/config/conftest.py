"""A settings file in a temporary folder, and what the loader says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from config.loader import Configuration, load
from config.problems import InvalidSettings

Load = Callable[..., Configuration]
Refuse = Callable[..., list[str]]


@pytest.fixture
def settings_file(tmp_path: Path) -> Path:
    return tmp_path / "my.yaml"


@pytest.fixture
def load_text(settings_file: Path) -> Load:
    """Load a text as a settings file."""

    def run(text: str, environ: Mapping[str, str] | None = None) -> Configuration:
        settings_file.write_text(dedent(text), "utf-8")
        return load(settings_file, environ or {})

    return run


@pytest.fixture
def refused(load_text: Load, settings_file: Path) -> Refuse:
    """Return the problems of a text as printed, without the folder; fails if there are none."""

    def run(text: str, environ: Mapping[str, str] | None = None) -> list[str]:
        with pytest.raises(InvalidSettings) as caught:
            load_text(text, environ)
        return [str(problem).removeprefix(f"{settings_file.parent}/") for problem in caught.value.problems]

    return run
