"""The smallest sensible request of each act about persons."""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "people.find": {"who": "webhook:acme:客户"},
    "people.show": {"person": "1"},
    "people.forget": {"person": "1", "things": ["i1"]},
    "people.correct": {"person": "1", "thing": "i1", "value": "喝茶"},
    "people.link": {"person": "1", "other": "2"},
    "people.unlink": {"link": "1"},
    "people.export": {"person": "1"},
    "people.erase": {"person": "1"},
    "people.requests": {},
    "people.request": {"person": "1", "kind": "erasure"},
    "people.met": {"request": "1"},
}
