"""When the bot is looked at again, on a clock of its own."""

from __future__ import annotations

import asyncio
from typing import Any

from telegram import User
from telegram.error import NetworkError

from adapters.errors import Throttled
from adapters.telegram.looking import Lookout
from tests.virtual_time import in_virtual_time


class Api:
    """Answers getMe with what is planned, then for ever with nothing; `times` tells when it was asked."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.times: list[float] = []
        self.done = asyncio.Event()

    async def get_me(self) -> User:
        self.times.append(asyncio.get_running_loop().time())
        if not self.answers:
            self.done.set()
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return User(7, "Clew", is_bot=True, username=answer, can_read_all_group_messages=True)


def watched(*answers: str | Exception) -> tuple[list[float], list[str], list[str | None]]:
    """Look until nothing more is planned; return when, which names were seen, and what was wrong at each of them."""

    async def story() -> tuple[list[float], list[str], list[str | None]]:
        api: Any = Api(*answers)
        lookout = Lookout("acme", api, url=None, secret="", every_s=600, again_s=30)
        names: list[str] = []
        problems: list[str | None] = []

        def seen(me: Any) -> None:
            names.append(me.username)
            problems.append(lookout.problem)

        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(lookout.run(seen))
            await api.done.wait()
            running.cancel()
        return api.times, names, [*problems, lookout.problem]

    return in_virtual_time(story())


def test_it_is_looked_at_every_now_and_then() -> None:
    assert ([600, 1200, 1800], ["one", "two"], [None, None, None]) == watched("one", "two")


def test_what_is_wrong_is_looked_at_again_soon() -> None:
    times, _, problems = watched(NetworkError("x"), NetworkError("x"), "one", "two")

    assert [600, 630, 660, 1260, 1860] == times
    assert ["getMe: the answer was lost (NetworkError, NoneType)", None, None] == problems


def test_a_wait_that_the_platform_asks_for_is_kept() -> None:
    assert [600, 690, 1290] == watched(Throttled("429", retry_after_s=90), "one")[0]


def test_a_fault_that_nobody_foresaw_ends_nothing() -> None:
    """Least of all the channel, whose updates have nothing to do with it."""
    times, names, problems = watched(KeyError("what nobody expects"), "one")

    assert ([600, 630, 1230], ["one"]) == (times, names)
    assert ["the bot can't be looked at (KeyError)", None] == problems
