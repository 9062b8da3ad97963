"""Why a message was answered, ignored, observed, or failed: the sentence, and the setting that decided, then and now. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from config.loader import Configuration
from gateway.admin.acts.turns import SettingTold
from gateway.admin.reason_words import ADDED, ADMITTED, ENDED, QUOTA, QUOTA_WORDS, WHOLE, Reason
from gateway.admin.seen import code_of, rule_of
from gateway.inbox.base import Event, Outcome
from gateway.routing import Route

_QUOTA = re.compile(r"quota_(person|room|channel|agent)_(messages|tokens|money)_(minute|day|month)")


class Decided(NamedTuple):
    """What decided, in words; `setting` as in `reason_words.py`."""

    rule: str
    en: str
    zh: str
    setting: str | None


def decided(event: Event, route: Route | None, *, untold: Outcome | None = None, doubtful: bool = False) -> Decided:
    """Return why an event is as it is. `route` None: it was erased, or can't be read. `untold`: what could not be delivered was
    the notice of this; `doubtful`: nobody saw whether all that was sent arrived."""
    if untold is not None:
        first, then = decided(msgspec.structs.replace(event, outcome=untold), route), ADDED["untold"]
        return first._replace(rule=code_of(event), en=f"{first.en} {then.en}", zh=f"{first.zh}{then.zh}")
    found = _decided_by(event, route)
    if not doubtful:
        return found
    return found._replace(en=f"{found.en} {ADDED['doubtful'].en}", zh=f"{found.zh}{ADDED['doubtful'].zh}")


def _decided_by(event: Event, route: Route | None) -> Decided:
    code, rule = code_of(event), rule_of(event, route)
    told = event.outcome.rule if event.outcome is not None else None
    names = {"channel": event.channel, "agent": route.agent if route is not None else "?", "rule": code or rule}
    ended = code or told
    if ended and (found := _ended(ended)) is not None:
        return _decided(ended, found, names)
    if route is None:
        return _decided(rule, WHOLE["erased"] if not event.body else WHOLE["other"], names)
    admitted = ADMITTED.get(told or route.rule)
    if admitted is not None and event.state in WHOLE:
        around = WHOLE[event.state]
        en, zh = around.en.format(admitted=admitted.en), around.zh.format(admitted=admitted.zh)
        return Decided(rule, en, zh, admitted.setting)
    return _decided(code or rule or event.state, WHOLE["other"], names | {"rule": code or rule or event.state})


def _ended(rule: str) -> Reason | None:
    quota = _QUOTA.fullmatch(rule)
    if quota is None:
        return ENDED.get(rule)
    kind, measure, span = quota.groups()
    words = [
        {"subject": QUOTA_WORDS[kind][at], "measure": QUOTA_WORDS[measure][at], "span": QUOTA_WORDS[span][at]}
        for at in (0, 1)
    ]
    path = f"agent:quota.{measure}.{span}" if kind == "agent" else f"quota.{kind}.{measure}.{span}"
    return Reason(QUOTA.en.format(**words[0]), QUOTA.zh.format(**words[1]), path)


def meaning_of(rule: str) -> Reason | None:
    """Return what a rule means, whichever turn it decides; None: it says no more than its name."""
    reason = _ended(rule) or ADMITTED.get(rule)
    names = {"agent": "…", "channel": "…"}
    return None if reason is None else Reason(reason.en.format(**names), reason.zh.format(**names), reason.setting)


def _decided(rule: str, reason: Reason, names: Mapping[str, str]) -> Decided:
    return Decided(rule, reason.en.format(**names), reason.zh.format(**names), reason.setting)


def setting_told(
    setting: str, event: Event, route: Route, *, then: Configuration | None, now: Configuration
) -> SettingTold:
    """Return the setting with its values then and now. `then` None: the settings of then are not known any more."""
    scope, colon, path = setting.partition(":")
    if not colon:
        return _of_place(setting, event, route, then=then, now=now)
    root = ("agents", route.agent, *path.split(".")) if scope == "agent" else tuple(path.split("."))
    full = ".".join(root)
    return SettingTold(path=full, then=_at(then, root), now=_at(now, root), origin="", at=full)


def _of_place(path: str, event: Event, route: Route, *, then: Configuration | None, now: Configuration) -> SettingTold:
    said = route.event
    place = f"channels.{event.channel}.rooms.{said.room}" + (
        f".threads.{said.thread}" if said.thread is not None else ""
    )
    at = f"channels.{event.channel}" if said.chat_type == "private" else place
    origin = _origin(path, event, route, now)
    roots = {
        "defaults": "defaults", "channel": f"channels.{event.channel}", "room": f"channels.{event.channel}.rooms.{said.room}",
        "thread": place,
    }  # fmt: skip
    root = roots.get(origin[0], at)
    return SettingTold(
        path=f"{root}.{path}",
        then=_in_place(then, path, event, route),
        now=_in_place(now, path, event, route),
        origin=origin[1],
        at=f"{at}.{path}",
    )


def _origin(path: str, event: Event, route: Route, configuration: Configuration) -> tuple[str, str]:
    """Return the layer that says the value, and where it stands."""
    if event.channel not in configuration.settings.channels:
        return "", ""
    found = configuration.origins(event.channel, route.event.room, route.event.thread).get(path)
    return ("", "") if found is None else (found.layer, str(found))


def _in_place(configuration: Configuration | None, path: str, event: Event, route: Route) -> str | None:
    if configuration is None or event.channel not in configuration.settings.channels:
        return None
    room = configuration.effective(event.channel, route.event.room, route.event.thread)
    return _json(room.model_dump(mode="json"), path.split("."))


def _at(configuration: Configuration | None, path: tuple[str, ...]) -> str | None:
    if configuration is None:
        return None
    # One section and no more: all rooms together are megabytes.
    section, rest = getattr(configuration.settings, path[0]), path[1:]
    if path[0] == "agents":
        section, rest = section.get(path[1]), path[2:]
    return None if section is None else _json(section.model_dump(mode="json"), rest)


def _json(values: Any, path: list[str] | tuple[str, ...]) -> str | None:
    for step in path:
        if not isinstance(values, dict) or step not in values:
            return None
        values = values[step]
    return msgspec.json.encode(values).decode()
