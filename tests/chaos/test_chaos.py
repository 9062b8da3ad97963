"""The short form of `make chaos`, for `make test-all`: three seeds that are always the same, and one that is not."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.__main__ import planned, told
from tests.chaos.people import mix
from tests.chaos.plan import written
from tests.chaos.run import Options, run
from tests.services import running_postgres, running_valkey

SECONDS, SCOPES, EVERY_S = 14.0, 80, 2.0
WITHOUT_REDIS = 14


@pytest.mark.chaos
@pytest.mark.timeout(400)
@pytest.mark.parametrize("seed", [11, 12, WITHOUT_REDIS, None], ids=lambda seed: "drawn" if seed is None else str(seed))
async def test_every_promise_is_kept_whatever_happens(
    seed: int | None, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Three gateways, Slack, Telegram and webhooks by each way, killed, frozen, cut off: every accepted message has one end, in
    order, at its own address; no stored reply costs a second call; what nobody can know is labelled; memory stays at home."""
    chosen = _drawn(pytestconfig) if seed is None else seed
    options = Options(
        seed=chosen, plan=(), seconds=SECONDS, scopes=SCOPES, ways=mix(SCOPES, SECONDS), every_s=EVERY_S,
        redis=chosen != WITHOUT_REDIS,
    )  # fmt: skip
    options = replace(options, plan=planned(options))
    print(f"seed {chosen}\n{written(options.plan)}")
    with running_postgres() as postgres, running_valkey() as valkey:
        report = await run(options, postgres=postgres, valkey=valkey, folder=tmp_path)

    assert not report.violations, told(report, options, tmp_path)


def _drawn(config: pytest.Config) -> int:
    """Return a new seed, or where what failed runs again the one it failed with."""
    cache = config.cache
    assert cache is not None
    last = cache.get("chaos/seed", None) if config.getoption("lf", False) else None
    seed = secrets.randbelow(1_000_000) if last is None else int(last)
    cache.set("chaos/seed", seed)
    return seed
