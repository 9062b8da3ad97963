"""The accounts by which people talk in a chaos run."""

from __future__ import annotations

from collections.abc import Iterable

from tests.chaos.by_slack import SlackWay
from tests.chaos.by_telegram import TelegramWay
from tests.chaos.by_webhook import HookWay
from tests.chaos.people import Way
from tests.emulators.slack.server import Slack
from tests.emulators.telegram.emulator import Telegram
from tests.scenarios.world import Hook


def ways_of(names: Iterable[str], *, hook: Hook, platform: Slack, tg: Telegram) -> dict[str, Way]:
    """Return the ways by their names, each with an account of its own."""
    return {name: _way(name, hook, platform, tg) for name in names}


def _way(name: str, hook: Hook, platform: Slack, tg: Telegram) -> Way:
    if name == "webhook":
        return HookWay(hook)
    if name.startswith("telegram"):
        return TelegramWay(name, tg, tg.add_bot(f"{name.replace('-', '_')}_bot", reads_all=True))
    here, app = platform.workspace(name), platform.app(name, socket_mode="socket" in name)
    here.limits.mode = "enforce"
    return SlackWay(name, platform, here, app, here.install(app))
