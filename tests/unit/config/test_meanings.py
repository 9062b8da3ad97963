"""What settings mean is told in both languages."""

from __future__ import annotations

from collections.abc import Iterator

from config.fields import Shape, settings_shape
from config.meanings import _chinese, meaning, named
from config.overlay import FILE_ONLY


def described(shape: Shape, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the descriptions of all that a form can show."""
    if path in FILE_ONLY:
        return
    if path and shape.info is not None and shape.info.description:
        yield shape.info.description
    for name, child in shape.fields.items():
        yield from described(child, (*path, name))
    for below in (shape.item, *shape.variants.values()):
        if below is not None:
            yield from described(below, (*path, "*"))


def names(shape: Shape, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the names of all that a form can show."""
    for name, child in shape.fields.items():
        if (*path, name) not in FILE_ONLY:
            yield name
            yield from names(child, (*path, name))
    for below in (shape.item, *shape.variants.values()):
        if below is not None:
            yield from names(below, (*path, "*"))


def test_every_setting_that_can_be_changed_has_a_chinese_name() -> None:
    """A new one needs its name in config/names_zh.json, and one that went takes its name along."""
    assert set(names(settings_shape())) == set(_chinese("names"))
    assert [] == [name for name in _chinese("names") if _chinese("names")[name].isascii()]


def test_names_are_told_in_the_reader_s_language() -> None:
    """In English the setting's own, as words."""
    assert ("keep turns", "必留轮数") == (named("keep_turns", "en"), named("keep_turns", "zh"))
    assert "log level" == named("log_level", "zh")


def test_every_setting_that_can_be_changed_is_told_in_chinese() -> None:
    """A new or changed description needs its Chinese in config/meanings_zh.json."""
    assert [] == [told for told in dict.fromkeys(described(settings_shape())) if told not in _chinese("meanings")]


def test_nothing_is_told_of_what_is_not_there() -> None:
    """A description that went takes its Chinese along."""
    assert set() == _chinese("meanings").keys() - set(described(settings_shape()))


def test_english_is_the_models_own() -> None:
    """And stands where Chinese is missing."""
    assert ("The agent that answers.", "负责答复的智能体。") == (
        meaning("The agent that answers.", "en"),
        meaning("The agent that answers.", "zh"),
    )
    assert "Address to listen on." == meaning("Address to listen on.", "zh")
