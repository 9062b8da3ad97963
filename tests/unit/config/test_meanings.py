"""What settings mean is told in both languages."""

from __future__ import annotations

from collections.abc import Iterator

from config.fields import Shape, settings_shape
from config.meanings import _chinese, meaning
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


def test_every_setting_that_can_be_changed_is_told_in_chinese() -> None:
    """A new or changed description needs its Chinese in config/meanings_zh.json."""
    assert [] == [told for told in dict.fromkeys(described(settings_shape())) if told not in _chinese()]


def test_nothing_is_told_of_what_is_not_there() -> None:
    """A description that went takes its Chinese along."""
    assert set() == _chinese().keys() - set(described(settings_shape()))


def test_english_is_the_models_own() -> None:
    """And stands where Chinese is missing."""
    assert ("The agent that answers.", "负责答复的智能体。") == (
        meaning("The agent that answers.", "en"),
        meaning("The agent that answers.", "zh"),
    )
    assert "Address to listen on." == meaning("Address to listen on.", "zh")
