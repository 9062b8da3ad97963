"""The languages that rules know. A text in both is read by both."""

from __future__ import annotations

import re

from memory.rules.chinese import manner as chinese
from memory.rules.chinese import needs as chinese_needs
from memory.rules.chinese import person as chinese_person
from memory.rules.chinese import task as chinese_task
from memory.rules.chinese import tastes as chinese_tastes
from memory.rules.english import manner as english
from memory.rules.english import needs, person, task, tastes
from memory.rules.rule import Language

CHINESE = Language(
    script=re.compile(r"[\u3400-\u9fff]"),
    rules=(*chinese_needs.RULES, *chinese_person.RULES, *chinese_tastes.RULES, *chinese_task.RULES),
    manner=chinese.MANNER,
)
ENGLISH = Language(
    script=re.compile(r"[A-Za-z]{2}|\bI\b"),
    rules=(*needs.RULES, *person.RULES, *tastes.RULES, *task.RULES),
    manner=english.MANNER,
)
LANGUAGES = (CHINESE, ENGLISH)
