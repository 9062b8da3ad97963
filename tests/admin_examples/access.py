"""The smallest sensible request of each act about access."""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "users.me": {},
    "users.list": {},
    "users.show": {"user": "1"},
    "users.add": {"name": "new user 新"},
    "users.remove": {"user": "1"},
    "users.restore": {"user": "1"},
    "users.grant": {"user": "1", "role": "viewer"},
    "users.revoke": {"user": "1"},
    "users.password": {"user": "1"},
    "tokens.list": {},
    "tokens.create": {"name": "ci"},
    "tokens.revoke": {"token": "1"},
    "sessions.list": {},
    "sessions.end": {"session": "1"},
    "audit.list": {},
    "audit.export": {},
}
