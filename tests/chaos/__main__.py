"""`python -m tests.chaos [--seed N] [--plan FILE] [--seconds S] [--instances N] [--scopes N] [--ways NAME,…]`: one chaos run.

Prints the seed and the plan before it begins, what was done and what came of it at the end, and, of a run that failed, the
command that replays it. Exit code 1: a promise was broken.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tests.chaos.people import WAYS, mix
from tests.chaos.plan import Act, drawn, read, written
from tests.chaos.run import LEASE_S, Options, Report, run
from tests.services import running_postgres, running_valkey

SHOWN = 40


def main(arguments: list[str]) -> int:
    options, folder = _options(arguments)
    print(f"chaos: seed {options.seed}, {options.instances} instances, {options.scopes} scopes, {options.seconds:g} s")
    print(written(options.plan), flush=True)
    with running_postgres() as postgres, running_valkey() as valkey:
        report = asyncio.run(run(options, postgres=postgres, valkey=valkey, folder=folder))
    (folder / "done.plan").write_text("\n".join(report.done) + "\n", "utf-8")
    print(told(report, options, folder))
    return 1 if report.violations else 0


def told(report: Report, options: Options, folder: Path) -> str:
    """Return what a run has to say for itself."""
    said = ["done:", *report.done, ""]
    said += [f"{count:7} {what}" for what, count in sorted(report.counts.items())]
    said += ["", "errors logged:"] + [f"{count:7} {what}" for what, count in report.complaints.most_common(15)]
    said += ["", f"{report.seconds:.0f} s; logs and what was done when: {folder}"]
    if not report.violations:
        return "\n".join([*said, "every promise was kept"])
    said += ["", f"{len(report.violations)} BROKEN PROMISES:"]
    said += [f"  {violation}" for violation in report.violations[:SHOWN]]
    usual = mix(options.scopes, options.seconds)
    ways = "" if tuple(options.ways) == usual else f" --ways {','.join(options.ways)}"
    ways += "" if options.redis else " --without-redis"
    ways += f" --every {options.every_s:g}"
    ways += "" if list(options.plan) == planned(options) else f" --plan {folder / 'done.plan'}"
    again = f"--seconds {options.seconds:g} --instances {options.instances} --scopes {options.scopes}{ways}"
    return "\n".join([*said, f"again: python -m tests.chaos --seed {options.seed} {again}"])


def planned(options: Options) -> list[Act]:
    """Return the plan that the seed stands for."""
    return drawn(
        options.seed, seconds=options.seconds, instances=options.instances, lease_s=LEASE_S, every_s=options.every_s
    )


def _options(arguments: list[str]) -> tuple[Options, Path]:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="of the talk, and of the plan; drawn if not given")
    parser.add_argument("--plan", type=Path, default=None, help="acts to carry out instead of the seed's")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long people talk")
    parser.add_argument("--every", type=float, default=3.0, help="seconds from one trouble to the next, or so")
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--scopes", type=int, default=150)
    parser.add_argument("--without-redis", action="store_true", help="PostgreSQL alone")
    parser.add_argument("--ways", default=None, help="by which people talk")
    given = parser.parse_args(arguments)
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    ways = mix(given.scopes, given.seconds) if given.ways is None else tuple(given.ways.split(","))
    if unknown := set(ways) - set(WAYS):
        parser.error(f"no such ways: {', '.join(sorted(unknown))}; there are: {', '.join(WAYS)}")
    folder = Path(tempfile.mkdtemp(prefix=f"clew-chaos-{seed}-{time.strftime('%H%M%S')}-"))
    options = Options(
        seed=seed, plan=(), seconds=given.seconds, instances=given.instances, scopes=given.scopes, ways=ways,
        redis=not given.without_redis, every_s=given.every,
    )  # fmt: skip
    plan = planned(options) if given.plan is None else read(given.plan.read_text("utf-8"))
    return replace(options, plan=plan), folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
