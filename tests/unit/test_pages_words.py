"""The console's words: everything is said in both languages, and nothing is said nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from gateway.admin.console import parts, sign_in_words
from gateway.admin.console.page import Shelves
from gateway.admin.console.part import Part, words_of
from gateway.admin.console.words import language_of, translator
from gateway.admin.people import COUNTED
from memory.erasure import nothing

PARTS = (*parts.PARTS, Part(name="sign_in", words=sign_in_words.WORDS))
CONSOLE = Path(__file__).parents[2] / "gateway" / "admin" / "console"
SOURCES = {
    path: path.read_text("utf-8")
    for path in sorted(CONSOLE.rglob("*"))
    if path.suffix == ".html" or (path.suffix == ".py" and not path.stem.endswith("_words"))
}
PAGES = {path: source for path, source in SOURCES.items() if path.suffix == ".html"}
WORDS = words_of(PARTS)


def written(source: str) -> set[str]:
    """Every quoted key, and every quoted beginning of one (`"part.state." ~ state`, `f"part.state.{state}"`)."""
    return set(re.findall(r"""["']([a-z_]+\.[\w.\-]*)["'{]""", source))


def test_every_key_says_something_in_both_languages() -> None:
    silent = [(key, language) for key, said in WORDS.items() for language in ("en", "zh") if not said[language].strip()]

    assert [] == silent


def test_both_languages_fill_in_the_same_values() -> None:
    def values(text: str) -> set[str]:
        return {name for _, name, _, _ in Formatter().parse(text) if name is not None}

    assert [] == [key for key, said in WORDS.items() if values(said["en"]) != values(said["zh"])]


def test_chinese_is_chinese() -> None:
    """A translation that was forgotten is still English; names and units may be."""
    foreign = [
        key
        for key, said in WORDS.items()
        if said["en"] == said["zh"] and len(re.sub(r"\{\w*\}", "", said["en"]).split()) > 1
    ]

    assert [] == foreign


def test_every_key_is_used_by_a_page() -> None:
    used = set().union(*map(written, SOURCES.values())) | {f"{entry.word}.told" for part in PARTS for entry in part.nav}
    beginnings = tuple(key for key in used if key.endswith("."))

    assert [] == [key for key in WORDS if key not in used and not key.startswith(beginnings or ("\0",))]


def test_every_key_that_a_page_uses_is_there() -> None:
    names = {part.name for part in PARTS}
    missing = [
        f"{path.name}: {key}"
        for path, source in SOURCES.items()
        for key in re.findall(r"""\bt\(\s*["']([a-z][\w.\-]*)["']\s*[,)]""", source)
        if key not in WORDS and key.partition(".")[0] in names
    ]

    assert [] == missing


def test_every_place_of_the_navigation_is_told_in_a_sentence() -> None:
    bare = [
        entry.word for part in PARTS for entry in part.nav if not {entry.word, f"{entry.word}.told"} <= WORDS.keys()
    ]

    assert [] == bare


def test_every_kind_of_row_that_an_erasure_counts_has_words() -> None:
    kinds = {*nothing(), *COUNTED, "usage_days", "takeovers"}

    assert [] == [kind for kind in sorted(kinds) if f"people.row.{kind}" not in WORDS]


async def test_every_template_can_be_read() -> None:
    shelf = await Shelves().shelf()

    for name in shelf.templates.list_templates():
        shelf.templates.get_template(name)


def test_templates_keep_to_the_policy() -> None:
    """No inline style, script or handler: the browser would refuse it. Nothing unescaped."""
    forbidden = re.compile(r"""\sstyle=|<style|<script(?! src=)|\son[a-z]+=["']|\|\s*safe\b|hx-on|javascript:""")
    found = [f"{path.name}: {hit.group()}" for path, source in PAGES.items() for hit in forbidden.finditer(source)]

    assert [] == found
    assert [] == [path.name for path, source in SOURCES.items() if "Markup(" in source]


def test_every_form_that_changes_something_carries_its_token() -> None:
    """A form without one is refused, which nobody should find out by pressing its button."""
    forms = re.compile(r"<form\b[^>]*method=[\"']post[\"'][^>]*>(.*?)</form>", re.DOTALL)
    bare = [
        f"{path.name}: {form.group()[:80]}"
        for path, source in PAGES.items()
        for form in forms.finditer(source)
        if "csrf()" not in form.group(1)
    ]

    assert [] == bare


def test_words_carry_their_parts_name() -> None:
    with pytest.raises(ValueError, match="'other'"):
        words_of((Part(name="other", words={"shell.x": {"en": "x", "zh": "某"}}),))


@pytest.mark.parametrize(
    ("chosen", "accept", "expected"),
    [
        ("zh", "en", "zh"),
        ("en", "zh-CN", "en"),
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "en-GB,en;q=0.9,zh;q=0.8", "en"),
        (None, "en;q=0.5, zh-TW;q=0.9", "zh"),
        (None, "fr, zh;q=0.3, en;q=0.2", "zh"),
        (None, "de, fr", "en"),
        (None, "zh;q=0, en", "en"),
        (None, "zh;q=nonsense", "en"),
        ("klingon", "", "en"),
        (None, ",;=,;q=", "en"),
    ],
)
def test_the_chosen_language_counts_then_the_browsers(chosen: str | None, accept: str, expected: str) -> None:
    assert expected == language_of(chosen, accept)


def test_words_are_filled_in_by_name() -> None:
    t = translator({"x.a": {"en": "{count} of {all}", "zh": "{all} 中的 {count}"}}, "zh")

    assert "9 中的 3" == t("x.a", count=3, all=9)
    with pytest.raises(KeyError):
        t("x.b")
