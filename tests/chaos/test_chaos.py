"""The short form of `make chaos`, for `make test-all`: seeds that hold every kind of trouble, and outside CI a new one."""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.__main__ import planned, told
from tests.chaos.people import mix
from tests.chaos.plan import written
from tests.chaos.run import Options, run
from tests.scenarios.world import ROOT
from tests.services import running_postgres, running_valkey

SECONDS, SCOPES, EVERY_S = 14.0, 80, 2.0
SEEDS = (315, 54, 3514)
"""Seeds whose plans of this length hold every kind of trouble (`tests/unit/chaos/test_plan.py`)."""
WITHOUT_REDIS = 14

LEFT = ROOT / ".chaos"
"""Where a run that broke a promise leaves its logs, and what was done when."""


@pytest.mark.chaos
@pytest.mark.timeout(400)
@pytest.mark.parametrize("seed", [*SEEDS, WITHOUT_REDIS, *([] if "CI" in os.environ else ["drawn"])])
async def test_every_promise_is_kept_whatever_happens(seed: int | str, tmp_path: Path) -> None:
    """Three gateways, Slack, Telegram and webhooks by each way, killed, frozen, cut off: every accepted message has one end, in
    order, at its own address; no stored reply costs a second call; what nobody can know is labelled; memory stays at home."""
    chosen = secrets.randbelow(1_000_000) if isinstance(seed, str) else seed
    options = Options(
        seed=chosen, plan=(), seconds=SECONDS, scopes=SCOPES, ways=mix(SCOPES, SECONDS), every_s=EVERY_S,
        redis=chosen != WITHOUT_REDIS,
    )  # fmt: skip
    options = replace(options, plan=planned(options))
    print(f"seed {chosen}\n{written(options.plan)}")
    with running_postgres() as postgres, running_valkey() as valkey:
        report = await run(options, postgres=postgres, valkey=valkey, folder=tmp_path)

    if report.violations:
        (tmp_path / "done.plan").write_text("\n".join(report.done) + "\n", "utf-8")
        shutil.copytree(tmp_path, LEFT / str(chosen), dirs_exist_ok=True)
    assert not report.violations, told(report, options, LEFT / str(chosen))
