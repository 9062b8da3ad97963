"""What people and staff are told of take-overs, in English and Chinese. Data; every text has both languages."""

from __future__ import annotations

from gateway.notices import Language

HUMAN_NOTICES: dict[str, dict[Language, str]] = {
    # To the person.
    "asked": {
        "en": "I have asked for a human to help you here. Until one comes I go on answering.",
        "zh": "已为您请求人工服务。在人工到来之前，仍由我回答。",
    },
    "asked_silent": {
        "en": "I have asked for a human to help you here. Write on if you like: they will read all of it.",
        "zh": "已为您请求人工服务。您可以继续写，人工会看到全部内容。",
    },
    "asked_before": {
        "en": "A human has been asked for already and will answer here.",
        "zh": "已经请求过人工，请稍候，人工会在这里回答。",
    },
    "off": {
        "en": "Nobody can be asked for here.",
        "zh": "这里没有人工服务。",
    },
    "here_already": {
        "en": "{name}, a human, is here and reads what you write.",
        "zh": "人工 {name} 正在这里，会看到您写的内容。",
    },
    "begun": {
        "en": "{name}, a human, is here now and reads what you write. I am silent meanwhile.",
        "zh": "人工 {name} 已接入，会看到您写的内容。期间我不再回答。",
    },
    "said": {"en": "{name} (human):\n\n{text}", "zh": "{name}（人工）：\n\n{text}"},
    "handed_back": {
        "en": "{name} has left, and I answer here again.",
        "zh": "{name} 已离开，接下来由我继续回答。",
    },
    "timed_out": {
        "en": "{name} has not written for a while, so I answer here again. /{prefix}human asks for a human anew.",
        "zh": "{name} 已有一段时间没有回复，接下来由我继续回答。发送 /{prefix}human 可以再次请求人工。",
    },
    "not_taken": {
        "en": "No human is free right now, so I go on answering. /{prefix}human asks again.",
        "zh": "目前没有空闲的人工，仍由我回答。发送 /{prefix}human 可以再次请求。",
    },
    "dismissed": {
        "en": "I go on answering here.",
        "zh": "接下来仍由我回答。",
    },
    "agent_hands_over": {"en": "This is something for a human.", "zh": "这个问题需要由人工来处理。"},
    "taken_over_mark": {"en": "(a human takes over)", "zh": "（人工接手）"},
    # To the staff's room.
    "desk_asked": {
        "en": "**{who}** asks for a human ({why}).{said}\n\nAnswer this message: the first who does takes the conversation over, "
        "and what they write here goes to the person. `!back SUMMARY` hands it back.",
        "zh": "**{who}** 请求人工（{why}）。{said}\n\n回复这条消息即可：第一位回复的人接手对话，其在此写的内容会发给对方。"
        "`!back 小结` 交还对话。",
    },
    "desk_not_passed_on": {
        "en": "This went to nobody: it has {chars} characters, and {most} are the most.",
        "zh": "这条内容没有发出：共 {chars} 个字符，最多 {most} 个。",
    },
    "desk_begun": {
        "en": "{name} has taken over **{who}**.",
        "zh": "{name} 已接手 **{who}**。",
    },
    "desk_heard": {"en": "**{who}**: {text}", "zh": "**{who}**：{text}"},
    "desk_heard_hidden": {"en": "**{who}** has written again.", "zh": "**{who}** 又写了一条消息。"},
    "desk_said": {"en": "{name} (in the console): {text}", "zh": "{name}（在控制台）：{text}"},
    "desk_other_has_it": {
        "en": "{name} has this conversation: what others write here stays here. `!take` takes it over from them.",
        "zh": "这个对话由 {name} 处理，其他人在此写的内容不会发给对方。`!take` 可以接过来。",
    },
    "desk_handed_back": {
        "en": "{name} has handed **{who}** back to the bot.",
        "zh": "{name} 已将 **{who}** 交还给机器人。",
    },
    "desk_timed_out": {
        "en": "**{who}** is with the bot again: nobody wrote for a while.",
        "zh": "**{who}** 已转回机器人：一段时间内没有人回复。",
    },
    "desk_not_taken": {
        "en": "**{who}** is no longer waiting: nobody came in time.",
        "zh": "**{who}** 不再等待：没有人及时接手。",
    },
    "desk_dismissed": {
        "en": "{name} has dismissed the request of **{who}**.",
        "zh": "{name} 已取消 **{who}** 的请求。",
    },
    "desk_over": {
        "en": "This has ended; what is written here goes to nobody.",
        "zh": "这个对话已经结束，在此写的内容不会发给任何人。",
    },
    "why_operator": {"en": "by a colleague", "zh": "由同事提出"},
    "why_person": {"en": "with /human", "zh": "发送了 /human"},
    "why_agent": {"en": "the agent wants help", "zh": "智能体需要帮助"},
    "why_words": {"en": "by what they wrote", "zh": "依据其所写内容"},
    "why_failures": {"en": "answers failed", "zh": "回答多次失败"},
    "why_complaints": {"en": "complaints", "zh": "连续投诉"},
}


def told(name: str, language: Language, /, **values: object) -> str:
    """Return the text in the language, with its values filled in. Raises KeyError for a name that does not exist."""
    return HUMAN_NOTICES[name][language].format(**values)
