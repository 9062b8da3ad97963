"""The service of README.md, as far as it can be told without systemd: what it starts is there, and has what it needs."""

from __future__ import annotations

import configparser
import re
import shlex
from pathlib import Path

import pytest

from config.settings import Settings
from gateway.__main__ import main
from tests.scenarios.world import ROOT

CHECKOUT = "/opt/clew"


@pytest.fixture(scope="module")
def service() -> configparser.SectionProxy:
    text = (ROOT / "README.md").read_text("utf-8")
    (unit,) = re.findall(r"```ini\n(\[Unit\].*?)```", text, re.DOTALL)
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(unit)
    return parser["Service"]


def test_it_starts_what_is_there(
    service: configparser.SectionProxy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The interpreter that `make install` makes, and a command that reads its settings where the unit says they are."""
    program, *command = shlex.split(service["ExecStart"])
    assert service["WorkingDirectory"] == CHECKOUT
    assert (ROOT / Path(program).relative_to(CHECKOUT)).exists()
    assert ["-m", "gateway", "serve", "--config", "/etc/clew/clew.yaml"] == command

    missing = str(tmp_path / "clew.yaml")
    assert 0 != main(["serve", "--config", missing])
    assert missing in capsys.readouterr().err


def test_it_stops_later_than_the_gateway_does(service: configparser.SectionProxy) -> None:
    """Running turns get their time, and then what they have said is sent."""
    server = Settings.model_validate({"agents": {"default": {"kind": "demo"}}}).server

    assert int(service["TimeoutStopSec"]) >= 2 * server.stop_s


def test_what_may_be_missing_stops_no_start(service: configparser.SectionProxy) -> None:
    """systemd.exec(5): a path that is not there fails the unit, but for those behind a `-`; on PostgreSQL nobody makes the
    folder."""
    assert "strict" == service["ProtectSystem"]
    assert f"-{CHECKOUT}/.clew" == service["ReadWritePaths"]
