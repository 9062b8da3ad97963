"""The menu of commands that Telegram shows, in each language, told only when it has changed."""

from __future__ import annotations

from collections.abc import Mapping

from telegram import Bot, BotCommand

from adapters.telegram.web import translated

Menu = Mapping[str, Mapping[str, str]]
"""What each command does, by its name without the slash and by language (`en`, `zh`)."""

LANGUAGES = {"": "en", "en": "en", "zh": "zh"}
"""Telegram's languages (two letters; none: whoever speaks no other) and ours."""


def menu_for(menu: Menu, language: str) -> list[tuple[str, str]]:
    """Return the commands and what they do, in one language."""
    return [(name, told[language]) for name, told in menu.items()]


async def register(bot: Bot, menu: Menu) -> list[str]:
    """Give Telegram the menu where it has another one; return the languages it was given in. Raises `SendFailed`."""
    given = []
    for code, language in LANGUAGES.items():
        wanted = menu_for(menu, language)
        with translated("getMyCommands"):
            known = await bot.get_my_commands(language_code=code or None)
        if [(command.command, command.description) for command in known] != wanted:
            with translated("setMyCommands", repeatable=True):
                await bot.set_my_commands([BotCommand(*one) for one in wanted], language_code=code or None)
            given.append(code)
    return given
