"""When something was true, and of whom: what ended, what is still to come, what holds for tonight only, and who said it."""

from __future__ import annotations

import pytest

from tests.unit.test_rules_english import of

ENDED = [
    ("I used to live in Berlin, now I'm in Porto", "-city=Berlin"),
    ("I don't live in Rome, I live in Milan", "city=Milan"),
    ("I moved out of Berlin", "-city=Berlin"),
    ("I left Google last month", "-employer=Google"),
    ("I used to work for Siemens", "-employer=Siemens"),
    ("I used to be allergic to cats but not anymore", "-allergy=cats"),
    ("I used to be a vegetarian", "-eats=vegetarian"),
    ("I can eat gluten again", "-diet=gluten"),
    ("Unlike my sister I'm not lactose intolerant", "-diet=lactose"),
    ("Please stop calling me Mr. Smith", "wish=stop calling me Mr. Smith -address_as=Mr. Smith"),
    ("I no longer want a refund", "-request=refund"),
    ("我以前住在北京，现在住在上海", "city=上海"),
    ("我以前住北京", "-city=北京"),
    ("你记错了，我不住北京", "-city=北京"),
    ("我以前对海鲜过敏，现在好了", "-allergy=海鲜"),
    ("我以前喜欢蓝色", "-like=蓝色"),
    ("我没说过我喜欢猫", "-like=猫"),
    ("我以前在阿里", "-employer=阿里"),
    ("我现在吃辣了", "-diet=辣"),
    ("我不是素食者", "-eats=素食"),
    ("我不去日本了", "-destination=日本"),
    ("我不退货了", "-request=退货"),
    ("我改名叫李雷了", "name=李雷"),
    ("我不喜欢猫了，现在喜欢狗", "-like=猫 like=狗"),
]

NOT_TRUE_OF_HIM_NOW = [
    # was
    "When I lived in Rome I was a chef",
    "I was a teacher for 20 years",
    "我小时候住在长沙",
    "我在腾讯工作过三年",
    "我曾在腾讯上班",
    "I'm no doctor but",
    "I am 42",
    "I like neither tea nor coffee",
    # will be, or is wished for
    "我梦见我是医生",
    "我不是会员",
    "脚长265",
    "我要退货吗",
    "I'm moving to Lisbon next month",
    "I'd love to live in Tokyo one day",
    "我下个月搬去杭州",
    "我快要搬到上海了",
    "我想住在大理",
    "我想当医生",
    "我下个月入职字节",
    "我要去阿里上班了",
    # for now only
    "I can't eat right now",
    "I don't drink coffee after 5pm",
    "I can't drive tonight",
    "I can't fly to Rome on Monday",
    "Keep it short this time",
    "I need a lift to the airport",
    "今天不喝酒了",
    "我今天不能喝酒",
    # not of him
    "I moved to marketing",
    "I'm allergic to work",
    "Allergies: none",
    "我对象喜欢靠窗",
    "我家狗狗5岁，对鸡肉过敏",
    "我对工作过敏哈哈",
    "我喜欢死了",
    "我不确定是不是对芒果过敏",
    "不要给我推销",
    # not said by him, or not meant
    "Anna: I'm allergic to latex",
    "[10:32] Anna: I'm vegan",
    "My profile says I live in Rome",
    "You think I live in Rome but I don't",
    "Translate to French: I am allergic to nuts",
    "Write an email saying I'm pregnant",
    "Say I'm allergic to nuts, what could I eat?",
    "Let's role-play: I'm a doctor and you're the patient",
    "In my book I'm a pilot",
    "小王：我对海鲜过敏",
    "李经理：我吃素",
    "系统显示我住在北京，不对",
    "帮我翻译成英文：我对花生过敏",
    "写个故事，我是一名护士",
    "就当我住在巴黎吧",
]

HIS_ALL_THE_SAME = [
    ("My doctor told me I'm allergic to aspirin", "allergy=aspirin"),
    ("Note: I'm allergic to latex", "allergy=latex"),
    ("@anna I'm allergic to latex", "allergy=latex"),
    ("im allergic to nuts n shellfish", "allergy=nuts allergy=shellfish"),
    ("I don't eat pork at all", "diet=pork"),
    ("I'm allergic to nuts/eggs + milk", "allergy=nuts allergy=eggs allergy=milk"),
    ("I live in St. Louis", "city=St. Louis"),
    ("I am a size 42", "shoe_size=42"),
    ("I'm blind in my left eye", "access=blind in my left eye"),
    ("I like Thai food more than Chinese", "like=Thai food"),
    ("My shoe size is 42, no wait, 43", "shoe_size=43"),
    ("医生说我对青霉素过敏", "allergy=青霉素"),
    ("我对鸡蛋过敏，不对，是牛奶", "allergy=牛奶"),
    ("帮我订去罗马的机票", "destination=罗马"),
    ("我对花生＋牛奶过敏", "allergy=花生 allergy=牛奶"),
    ("我喜欢C++", "like=C++"),
    ("备注：我对海鲜过敏", "allergy=海鲜"),
    ("我穿42码，不对，43", "shoe_size=43"),
    ("我以前就对海鲜过敏", "allergy=海鲜"),
    ("晚上十点以后别打我电话", "wish=晚上十点以后别打我电话"),
    ("别推荐香菜给我", "dislike=香菜"),
    ("我是李经理", "address_as=李经理"),
    ("我住喺香港", "city=香港"),
    ("我係護士", "role=護士"),
    ("我唔食牛肉", "diet=牛肉"),
]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Anna", "What is your daughter's name?"),
        ("Anna", "What's the name on the order?"),
        ("nuts", "What is your son allergic to?"),
        ("nuts", "Is anybody in your group allergic to something?"),
        ("May 5", "What's your wife's birthday?"),
        ("Contoso", "Which company made the printer?"),
        ("安娜", "您女儿叫什么名字？"),
        ("花生", "孩子对什么过敏？"),
        ("42", "您儿子穿几码的鞋？"),
        ("王芳", "收件人姓名是？"),
        ("北京", "您母亲住在哪个城市？"),
        ("8821", "快递单号是多少？"),
    ],
)
def test_an_answer_about_somebody_else_says_nothing_of_the_speaker(text: str, asked: str) -> None:
    """D14, B49: "nuts" after "what is your son allergic to?" would be pinned as his own."""
    assert of(text, asked=asked) == ""


@pytest.mark.parametrize(("text", "expected"), ENDED)
def test_what_ended_is_taken_back_by_its_value(text: str, expected: str) -> None:
    """F13: who left Berlin loses Berlin only, wherever he lives now."""
    assert expected == of(text)


@pytest.mark.parametrize("text", NOT_TRUE_OF_HIM_NOW)
def test_what_is_not_true_of_the_speaker_now_gives_nothing(text: str) -> None:
    """B24, B48, F11: a wrong memory is worse than none, and a pinned one is told in every prompt."""
    assert of(text) == ""


@pytest.mark.parametrize(("text", "expected"), HIS_ALL_THE_SAME)
def test_what_only_looks_like_that_is_still_found(text: str, expected: str) -> None:
    """D14, B49: the same caution must not lose what counts."""
    assert expected == of(text)
