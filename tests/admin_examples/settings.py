"""The smallest sensible request of each act about settings, secrets and channels."""

from __future__ import annotations

from typing import Any

_TURNS = {"path": "learning.tasks", "act": "set", "value": 5}

EXAMPLES: dict[str, dict[str, Any]] = {
    "settings.status": {},
    "settings.show": {"channel": "chat"},
    "settings.describe": {"path": "learning"},
    "settings.change": {"changes": [_TURNS], "dry_run": True},
    "settings.check": {"changes": [_TURNS]},
    "settings.history": {},
    "settings.revision": {"number": 1},
    "settings.compare": {"old": 0, "new": 0},
    "settings.roll_back": {"number": 0, "dry_run": True},
    "settings.export": {},
    "secrets.list": {},
    "secrets.put": {"name": "example", "value": "a secret"},
    "secrets.remove": {"name": "example"},
    "channels.add": {"channel": "hook", "kind": "webhook", "dry_run": True},
    "channels.remove": {"channel": "nowhere", "dry_run": True},
    "channels.prepare": {"kind": "webhook", "channel": "hook"},
    "channels.probe": {"channel": "chat"},
}
