"""What counts as a wish in plain words: the whole message, in both languages, and nothing that says more."""

from __future__ import annotations

import pytest

from gateway.commands import Command
from gateway.wishes import command_in

UNLEARN = Command("unlearn")


@pytest.mark.parametrize(
    "text",
    [
        "forget that", "Forget that.", "  forget   this! ", "please forget that", "Forget that, please", "ok, forget that please",
        "forget what I just said", "Forget what I said", "forget what i told you just now", "don't remember that",
        "Don’t remember this", "do not remember that", "dont store that", "never remember that", "forget my last message",
        "unlearn that", "actually, forget about that",
        "忘了这个", "忘掉这个吧", "别记这个", "别记住这个。", "不要记这个", "不要记住这句话", "忘掉我刚才说的",
        "忘了我刚才说的话", "请忘记我刚才说的", "请你忘了这件事", "把我刚才说的忘了", "我刚才说的别记", "这个不要记",
        "刚才那句话别记",
        "忘掉我剛才說的", "別記這個", "不要記住這個！", "忘了，这个",
    ],
)  # fmt: skip
def test_a_wish_to_forget(text: str) -> None:
    """What was said last is to be forgotten; politeness, punctuation, apostrophes and traditional characters do not count."""
    assert UNLEARN == command_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "forget it", "forget that I like tea", "don't forget that", "did you forget that?", "I forget that", "forget me",
        "forget that my order is 8821", "never mind", "remember that", "can you forget that one time",
        "we should forget that idea", "what do you know about me?", "that's wrong, it is 8812", "forget", "",
        "别忘了这个", "不要忘了这个", "忘了", "算了", "我忘了这个怎么做", "忘了这个密码怎么办", "你记得我什么", "记住这个",
        "忘了吧", "别忘记我刚才说的", "你忘了这个吗", "forget that " * 20,
    ],
)  # fmt: skip
def test_what_says_more_is_talk(text: str) -> None:
    """Idioms, questions, the contrary, and wishes about one thing only go to the agent."""
    assert command_in(text) is None


def test_commands_are_commands() -> None:
    """By their names, as ever."""
    assert Command("forget", "all yes") == command_in("/forget all yes")
    assert Command("forget", "2") == command_in("／忘记 2")
