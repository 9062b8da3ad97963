"""What the overview says."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "start.title": {"en": "Overview", "zh": "概览"},
    "start.title.told": {
        "en": "See whether all is well, and what waits for you.",
        "zh": "查看一切是否正常，以及有什么等您处理。",
    },
    "start.lead": {"en": "What can be done here, with the rights you have.", "zh": "凭您的权限，可以在这里做什么。"},
}
