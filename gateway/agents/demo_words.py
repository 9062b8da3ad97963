"""What the demo agent understands and says, in English and Chinese. Data; every text has both languages."""

from __future__ import annotations

import re
from typing import Literal

Topic = Literal[
    "count",
    "self",
    "people",
    "who_said",
    "first_words",
    "about_me",
    "your_words",
    "last_words",
    "my_words",
    "words_of",
]

# Tried in this order on the question, in lower case; the first that fits wins. Groups hold a name or a piece of text.
_SOURCES: dict[Topic, tuple[str, ...]] = {
    "count": (
        r"how many messages",
        r"how much (can|do) you see",
        r"(几|多少)条(消息|讯息|信息)",
    ),
    "self": (
        r"\b(who|what) are you\b",
        r"\bare you (an? )?(ai|bot|human|model|real)\b",
        r"你是(谁|什么|机器人|真人|人|ai|模型)",
    ),
    "people": (
        r"\bwho(('s| is) (here|in this)| can you see| else)\b",
        r"谁在|有谁|有哪些人",
    ),
    "who_said": (
        r"\bwho (just )?(said|wrote|mentioned)\b(?P<w>.*)",
        r"(?P<x>.*?)(这|那)?(句话?|话)?是?谁(刚才|刚刚)?说(的|过|了)(?P<y>.*)",
    ),
    "first_words": (
        r"what did i (first say|say (first|at first))\b",
        r"\b(my|the) first (message|thing i)\b",
        r"我(一开始|最早|最开始|第一(句|次|条))",
    ),
    "about_me": (
        r"\b(know|remember) (anything )?(about|of) me\b",
        r"\bwho am i\b",
        r"我是谁",
        r"(知道|记得|了解|记住|关于)(了|过)?我(?!们)",
    ),
    "your_words": (
        r"\bwhat did you (just )?(say|answer|write)\b",
        r"你(刚才|刚刚|之前|上次|上一句)?(说|回答|答)(了|过|的)?(什么|啥|些什么)",
    ),
    "last_words": (
        r"\bwhat did i just (say|write|ask)\b",
        r"\bwhat was my last\b",
        r"我(刚才|刚刚|刚|上一句|上一条)(说|写|问|讲)?(了|过|的)?(是)?(什么|啥)",
    ),
    "my_words": (
        r"\bwhat (did|have) i (say|said|written|write|tell|told)\b",
        r"我(之前|以前|前面|都)?(说|写|问|讲|告诉)(了|过)?(你)?(什么|啥|哪些|些什么)",
    ),
    "words_of": (
        r"\bwhat (did|has|have) (?P<x>.+?) (just )?(say|said|write|written|wrote)\b",
        r"\byou know about (?P<y>.+)",
        r"(?P<z>.+?)(刚才|刚刚|之前|以前|都)?(说|写|讲)(了|过)?(什么|啥|哪些|些什么)",
    ),
}
PATTERNS = tuple((topic, re.compile("|".join(sources))) for topic, sources in _SOURCES.items())

THAT = frozenset({"", "that", "this", "it", "so", "这", "那"})  # "who said that?": whatever was said last
EVERYBODY = frozenset({"we", "they", "everybody", "everyone", "people", "大家", "我们", "他们", "所有人"})

TEXTS: dict[str, dict[str, str]] = {
    "self": {
        "en": (
            "I am Clew's demo agent: a few fixed rules, not a language model. "
            "I understand nothing; I only quote what the gateway put in front of me."
        ),
        "zh": "我是 Clew 的演示智能体：只有几条固定规则，不是语言模型。我什么也不理解，只能引用网关放到我面前的内容。",
    },
    "ask": {
        "en": "Try “what did I say?”, “who said that?”, “what do you know about me?” or “how many messages can you see?”.",
        "zh": "可以试试：“我刚才说了什么？”“这是谁说的？”“你知道我什么？”“你能看到几条消息？”",
    },
    "drawer": {
        "en": "What I was shown is in the drawer beside this reply.",
        "zh": "我看到的全部内容，都在这条回复旁边的抽屉里。",
    },
    "set_up": {
        "en": "To talk to a real model, an administrator sets the agent's key or base_url.",
        "zh": "想和真正的模型对话，请管理员设置智能体的 key 或 base_url。",
    },
    "echo": {"en": "You wrote: {quote}", "zh": "您写的是：{quote}"},
    "count": {
        "en": "I can see {all} messages: {people} from people and {mine} of my own replies; your question is one of them.",
        "zh": "我能看到 {all} 条消息：{people} 条来自人，{mine} 条是我自己的回复；您的这个问题也算在内。",
    },
    "beyond": {
        "en": "Anything older is outside what I was given for this turn.",
        "zh": "更早的内容没有放进这一轮给我的材料里。",
    },
    "my_words": {"en": "Of what I can see, you said:\n{list}", "zh": "在我能看到的内容里，您说过：\n{list}"},
    "last_words": {"en": "Just before this, you said: {quote}", "zh": "在这之前，您刚说的是：{quote}"},
    "first_words": {"en": "The first thing from you that I can see: {quote}", "zh": "我能看到的您最早的一句：{quote}"},
    "no_words": {
        "en": "I can see nothing that you said before this message.",
        "zh": "在这条消息之前，我看不到您说过的话。",
    },
    "your_words": {"en": "My last reply was: {quote}", "zh": "我上一条回复是：{quote}"},
    "no_reply": {"en": "I can see no earlier reply of mine.", "zh": "我看不到自己之前的回复。"},
    "said_by": {"en": "{speaker} said: {quote}", "zh": "{speaker}说的：{quote}"},
    "nobody_said": {
        "en": "Nobody said that in the messages I can see.",
        "zh": "在我能看到的消息里，没有人说过这个。",
    },
    "words_of": {
        "en": "Of what I can see, {speaker} said:\n{list}",
        "zh": "在我能看到的内容里，{speaker}说过：\n{list}",
    },
    "unknown_name": {
        "en": "I can see no message from {speaker}.",
        "zh": "我看不到{speaker}的消息。",
    },
    "people": {"en": "I can see messages from: {names}.", "zh": "我能看到这些人的消息：{names}。"},
    "alone": {
        "en": "This is private: I can see only you and my own replies.",
        "zh": "这是私聊：我只能看到您和我自己的回复。",
    },
    "about_me": {
        "en": "Of what I was shown, this is yours:\n{list}",
        "zh": "在给我看的材料里，这些是您的：\n{list}",
    },
    "nothing_about_me": {
        "en": "Nothing yet: before this message I was shown nothing of yours.",
        "zh": "还没有：在这条消息之前，我没有看到您的任何内容。",
    },
    "you": {"en": "You", "zh": "您"},
    "me": {"en": "I", "zh": "我"},
    "comma": {"en": ", ", "zh": "、"},
    "space": {"en": " ", "zh": ""},
}
