"""What is said of the instances beside each other: that they run different things, or go by different clocks. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gateway.leases import Instance

WARN_SKEW_S = 1.0
"""Seconds that a clock may be off unremarked: by so much is sent too early or too late what is due."""


def warnings(instances: Sequence[Instance], *, skew_s: float) -> dict[str, str]:
    """Return what an admin should look at, by part. One that has not told its settings yet, or runs an earlier release that tells
    nothing, is not spoken of."""
    found: dict[str, str] = {}
    here = next((one for one in instances if one.here), None)
    others = [one for one in instances if not one.here] if here is not None else []
    if here is not None:
        releases = _told(others, {one.id: one.release for one in others if one.release not in (None, here.release)})
        settings = _told(others, {one.id: one.settings for one in others if one.settings not in (None, here.settings)})
        if releases:
            found["releases"] = f"this instance runs {here.release}; {releases}"
        if settings and here.settings is not None:
            found["instances"] = f"this instance runs by settings {here.settings}; {settings}: give all the same file"
    if abs(skew_s) > WARN_SKEW_S:
        how = "ahead of" if skew_s > 0 else "behind"
        found["clock"] = f"this machine's clock is {abs(skew_s):.1f} s {how} the database's; set it by NTP"
    return found


def _told(others: Sequence[Instance], what: dict[int, str | None]) -> str:
    return ", ".join(f"{what[one.id]} on {one.host}" for one in others if one.id in what)


def unheld(wanted: Collection[str], instances: Sequence[Instance]) -> frozenset[str]:
    """Return those of the leases `wanted` that no instance holds; one slot of several is enough. Where no instance is seen,
    nothing is known."""
    if not instances:
        return frozenset()
    return frozenset(wanted) - {name.partition("/")[0] for one in instances for name in one.leases}
