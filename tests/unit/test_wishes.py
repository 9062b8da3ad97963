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
    ("text", "what"),
    [
        ("forget my address", "my address"),
        ("Please forget my shoe size.", "my shoe size"), ("don't remember my name", "my name"),
        ("can you forget my job?", "my job"), ("delete my address from your memory please", "my address"),
        ("忘掉我的地址", "地址"), ("忘記我的名字", "名字"),
        ("请你忘了我的名字吧", "名字"), ("别记我的过敏", "过敏"), ("把我的地址忘了", "地址"),
        ("将我的生日从记忆里删掉", "生日"), ("帮我忘掉我的地址和鞋码", "地址和鞋码"),
    ],
)  # fmt: skip
def test_a_wish_to_forget_what_has_a_name(text: str, what: str) -> None:
    """By code, so that it is done and not only said to be."""
    assert Command("forget", what) == command_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "forget everything", "Please forget everything about me.", "forget all you know about me", "can you forget everything?",
        "delete everything you know about me", "forget everything that you have learned about me please",
        "忘掉我的一切", "忘掉关于我的一切吧", "把关于我的所有内容都忘了", "请忘记你记得的关于我的全部", "把我的一切都忘了",
        "忘掉關於我的所有內容",
    ],
)  # fmt: skip
def test_a_wish_to_forget_everything(text: str) -> None:
    """Asked back, as the command is: so nobody loses anything by an idiom."""
    assert Command("forget", "all") == command_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "forget everything and start over", "delete everything", "forget everything I said about Oslo", "don't forget everything",
        "忘掉一切烦恼", "别忘了我的一切", "忘掉我的全部订单", "我忘了一切",
        "forget my order", "forget my order number", "delete my address", "forget my sister", "forget my address is in Oslo",
        "don't forget my birthday", "did you forget my name?", "forget my name if you can",
        "忘掉我的订单号", "把我的地址删了", "忘了我的生日了吗", "别忘了我的生日", "忘掉我的地址是上海",
        "忘掉我说的地址", "忘掉我的妹妹",
    ],
)  # fmt: skip
def test_what_may_be_meant_for_the_agent_is_talk(text: str) -> None:
    """An order that is to be forgotten may have to be called off, an address be deleted elsewhere."""
    assert command_in(text) is None


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
