"""What who holds a right for some channels only may see and change of the settings: what is these channels' own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from config.editing import references
from config.overlay import Said
from gateway.admin.operations import Acting, Invalid
from gateway.admin.planning import Admit, Steps, channels_touched

_DESK = ("takeover", "desk")
_OWN = re.compile(r"channels\.(?P<channel>[\w-]+)(?:[.\[]|$)")


def sees(acting: Acting, steps: Steps) -> bool:
    """Whether the actor may see what stands at a path."""
    return acting.channels() is None or (len(steps) > 1 and steps[0] == "channels" and acting.may("see", steps[1]))


def sees_path(acting: Acting, text: str) -> bool:
    """As `sees`, of a path as people write it; what is no path, only who sees everything sees."""
    own = _OWN.match(text)
    return acting.channels() is None or (own is not None and acting.may("see", own["channel"]))


@contextmanager
def within(acting: Acting) -> Iterator[None]:
    """Tell of what can't be only what the actor may see: the file, or another channel, may have a problem of its own."""
    try:
        yield
    except Invalid as fault:
        told = tuple(one for one in fault.problems if sees_path(acting, one.path))
        if len(told) == len(fault.problems):
            raise
        first = "; ".join(f"{one.path}: {one.problem}; {one.remedy}" for one in told[:3])
        elsewhere = "the settings have a problem elsewhere, which an admin of the whole gateway has to mend first"
        raise Invalid(first or elsewhere, problems=told) from None


def admitting(acting: Acting) -> Admit:
    """Return what lets an actor change only what they may. Who holds one channel only also refers to its secrets only, as
    another's would go wherever that channel's go, and to its rooms only, as staff would be told in another's name."""

    def admit(touched: Mapping[Steps, tuple[Said, Said]]) -> None:
        channels = list(dict.fromkeys(channels_touched(touched)))
        for channel in channels:
            acting.require(channel)
        for path, (_, now) in touched.items():
            for name in references(now):
                acting.require(channel_of_secret(name))
            if path[-2:] == _DESK and isinstance(now, str):
                acting.require(now.partition("/")[0])
        if channels:
            acting.channel = channels[0] if len(channels) == 1 else None  # of no single one

    return admit


def channel_of_secret(name: str) -> str | None:
    """Return the channel whose own a secret is by its name; None: the gateway's."""
    first, *rest = name.split(".")
    return rest[0] if first == "channels" and len(rest) > 1 else None
