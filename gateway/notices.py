"""What the gateway itself says to people, in English and Chinese. Data; every text has both languages."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "zh"]

NOTICES: dict[str, dict[Language, str]] = {
    "agent_unavailable": {
        "en": "I can't reach what answers here right now. Your message is kept; please send it again in a moment.",
        "zh": "现在连不上负责回答的服务。您的消息已经保存，请稍后再发一次。",
    },
    "agent_timeout": {
        "en": "The answer took too long and was given up. Please try again, perhaps with a shorter question.",
        "zh": "回答用时过长，已经放弃。请再试一次，问题短一些也许更快。",
    },
    "agent_refused": {
        "en": "The service that answers here refused this request. An administrator has to look at it.",
        "zh": "负责回答的服务拒绝了这次请求，需要管理员处理。",
    },
    "agent_broken": {
        "en": "The answer broke off before it was complete. Please try again.",
        "zh": "回答还没完成就中断了，请再试一次。",
    },
    "context_too_long": {
        "en": "This is more than the model can take at once. Please send a shorter message, or start anew with /new.",
        "zh": "内容超出了模型一次能处理的长度。请发短一些，或用 /new 开始新的对话。",
    },
    "agent_failed": {
        "en": "Something went wrong while answering. Please try again.",
        "zh": "回答时出了问题，请再试一次。",
    },
    "agent_missing": {
        "en": "The agent {agent} is not configured any more. An administrator has to look at it.",
        "zh": "智能体 {agent} 已不在配置里，需要管理员处理。",
    },
    "channel_removed": {
        "en": "This channel is not configured any more, so your message was not answered.",
        "zh": "这个渠道已不在配置里，您的消息没有得到回答。",
    },
    "gave_up": {
        "en": "Your message could not be answered after several tries. It is kept, and an administrator can see it.",
        "zh": "多次尝试后仍无法回答您的消息。消息已保存，管理员可以看到。",
    },
    "undeliverable": {
        "en": "The answer could not be delivered. It is kept, and an administrator can see why.",
        "zh": "回答未能送达。回答已保存，管理员可以看到原因。",
    },
    "unreadable": {
        "en": "Your message was stored by another release and can't be read any more. An administrator can see it.",
        "zh": "您的消息由其他版本保存，现在无法读取。管理员可以看到。",
    },
    "too_long": {
        "en": "Your message has {chars} characters; at most {limit} can be taken. Please send it in parts.",
        "zh": "您的消息有 {chars} 个字符，最多只能接收 {limit} 个。请分几次发送。",
    },
    "rate_limited": {
        "en": "That was more than {limit} messages in a minute. Please wait a little and send it again.",
        "zh": "一分钟内超过了 {limit} 条消息。请稍等片刻再发。",
    },
    "stopped": {"en": "Stopped.", "zh": "已停止。"},
    "stopped_mark": {"en": "(stopped)", "zh": "（已停止）"},
    "help": {
        "en": (
            "What you can write:\n"
            "/new – start a new conversation; what was said before stays stored but is not used\n"
            "/stop – stop the answer that is being written for you\n"
            "/memory – what of this conversation the next answer can use\n"
            "{agent_line}"
            "/help – this list"
        ),
        "zh": (
            "可以使用的命令：\n"
            "/new – 开始新的对话；之前的内容仍会保存，但不再使用\n"
            "/stop – 停止正在为您写的回答\n"
            "/memory – 下一次回答能用到这次对话里的哪些内容\n"
            "{agent_line}"
            "/help – 显示这个列表"
        ),
    },
    "help_agent": {
        "en": "/agent NAME – let another agent answer you here: {agents}\n",
        "zh": "/agent 名称 – 换一个智能体回答您：{agents}\n",
    },
    "new": {
        "en": "A new conversation begins here.",
        "zh": "新的对话从这里开始。",
    },
    "agent_set": {"en": "From now on {agent} answers you here.", "zh": "从现在起由 {agent} 回答您。"},
    "agent_is": {
        "en": "{agent} answers you here. You can choose: {agents}. Write /agent NAME.",
        "zh": "现在由 {agent} 回答您。可选：{agents}。请写 /agent 名称。",
    },
    "agent_unknown": {
        "en": "There is no agent {asked!r} to choose here. You can choose: {agents}.",
        "zh": "这里没有可选的智能体 {asked!r}。可选：{agents}。",
    },
    "agent_fixed": {
        "en": "{agent} answers here; no other agent can be chosen.",
        "zh": "这里由 {agent} 回答，不能另选智能体。",
    },
    "memory_head": {
        "en": "The next answer can use these {count} messages of this conversation:",
        "zh": "下一次回答可以用到这次对话里的 {count} 条消息：",
    },
    "memory_empty": {
        "en": "Nothing of this conversation is in use: it is new.",
        "zh": "这是新的对话，还没有可用的内容。",
    },
    "memory_bot": {"en": "bot", "zh": "机器人"},
    "memory_you": {"en": "you", "zh": "您"},
}


def notice(name: str, language: Language, /, **values: object) -> str:
    """Return the notice in the language, with its values filled in. Raises KeyError for a name that does not exist."""
    return NOTICES[name][language].format(**values)
