"""Why a message ended as it did, in one plain sentence, in English and Chinese, and the setting that decided. Data.

`setting` is a path of a place's settings (`trigger`); behind `agent:` one of the agent's own, behind `root:` one of the whole
gateway. Words in braces are the turn's.
"""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """A sentence in both languages; `setting` None: no setting decides this."""

    en: str
    zh: str
    setting: str | None = None


ADMITTED: dict[str, Reason] = {
    "private": Reason("it was written to the bot in private", "它是私聊消息"),
    "mention": Reason("it mentions the bot", "它提到了机器人", "trigger"),
    "reply": Reason("it replies to the bot", "它回复了机器人", "trigger"),
    "command": Reason("it is one of the bot's commands", "它是机器人的命令", "trigger"),
    "prefix": Reason(
        "it begins with one of the prefixes that the bot hears here", "它以机器人在这里响应的前缀开头", "prefix"
    ),
    "thread": Reason("the bot had answered in its thread before", "机器人此前在该话题里回答过", "trigger"),
    "always": Reason("every message is answered here", "这里的每条消息都会回答", "trigger"),
    "probe": Reason("it was the gateway's own test of the whole way", "它是网关自己发出的全程测试"),
    "human": Reason("an operator wrote or decided it by hand", "它由人工坐席亲自处理"),
    "desk": Reason("staff wrote it about a conversation that a human has taken over", "它是坐席就人工接管的对话所写"),
    "taken_over": Reason(
        "a human has taken the conversation over and is to hear all of it", "对话已由人工接管，须听到全部内容"
    ),
    "edit": Reason("it is an edit of a message", "它是对一条消息的编辑"),
    "delete": Reason("it tells that a message was deleted", "它通知一条消息已被删除"),
    "move": Reason("it tells that the room has another id now", "它通知群的编号已更换"),
    "joined": Reason("it tells that the bot was brought into the room", "它通知机器人已被加入群"),
    "left": Reason("it tells that the bot is no longer in the room", "它通知机器人已离开群"),
    "observe": Reason(
        "talk that asks nothing of the bot is kept as background here", "这里会把未找机器人的发言留作背景", "observe"
    ),
}
"""Why a message was let in, as half a sentence."""

ENDED: dict[str, Reason] = {
    "not_addressed": Reason(
        "Nothing in it asked the bot for an answer: it neither mentioned the bot nor did anything else that is heard"
        " here, and other talk is not kept in this place.",
        "消息没有找机器人：既没有提到它，也没有触发这里的其他响应条件，而且这里不保留其他发言。",
        "trigger",
    ),
    "observe": Reason(
        "Nothing in it asked the bot for an answer; it was kept as background for later questions.",
        "消息没有找机器人，只作为背景保留，供以后的问题参考。",
        "trigger",
    ),
    "bot": Reason(
        "It was written by a program, or by the bot itself; programs are not answered here.",
        "消息由程序（或机器人自己）发出，这里不回答程序。",
        "bots",
    ),
    "bot_depth": Reason(
        "Programs had been answering each other for too long without a person; the bot waits for somebody to write.",
        "程序之间连续对话已达上限，机器人等待真人发言。",
        "bot_depth",
    ),
    "empty": Reason(
        "It had no text to answer (a picture, a sticker or a file alone).",
        "消息没有可以回答的文字（只有图片、贴纸或文件）。",
    ),
    "not_allowed": Reason(
        "Its sender is not among the people who may talk to the bot here, or hides who they are.",
        "发送者不在这里允许使用机器人的名单上，或隐藏了身份。",
        "allow.people",
    ),
    "too_long": Reason(
        "It was longer than a message may be here; its sender was told, if they had asked the bot.",
        "消息超过了这里允许的长度；如果是找机器人的，已告知发送者。",
        "limits.message_chars",
    ),
    "rate_limited": Reason(
        "Its sender had written more messages within a minute than one person may.",
        "发送者一分钟内的消息数超过了上限。",
        "limits.per_minute",
    ),
    "stopped": Reason(
        "Its sender stopped it with /stop before an answer had begun.", "发送者在回答开始前用 /stop 停止了它。"
    ),
    "deleted_before_answer": Reason(
        "It was deleted, or emptied by an edit, before it was answered.", "消息在得到回答前已被删除或编辑为空。"
    ),
    "person_erased": Reason(
        "Its sender's data were erased; nothing of it is kept but that it was there.",
        "发送者的数据已被清除，只保留它曾存在的记录。",
    ),
    "channel_removed": Reason(
        "The channel {channel} was not configured any more when its turn came.",
        "轮到它时，渠道 {channel} 已不在配置里。",
    ),
    "agent_missing": Reason(
        "The agent {agent} that was to answer is not configured any more.",
        "应当回答的智能体 {agent} 已不在配置里。",
        "agent",
    ),
    "agent_unavailable": Reason(
        "The agent {agent} could not be reached, also after trying again; no fallback answered for it.",
        "多次重试后仍无法连接智能体 {agent}，也没有后备智能体代答。",
        "fallback",
    ),
    "agent_timeout": Reason(
        "The agent {agent} did not finish its answer in the time that it has.",
        "智能体 {agent} 没有在限定时间内完成回答。",
        "agent:timeout_s",
    ),
    "agent_refused": Reason(
        "The service behind the agent {agent} refused the request: a wrong key, an unknown model, or content that it"
        " won't answer.",
        "智能体 {agent} 背后的服务拒绝了请求：密钥错误、模型不存在，或内容被拒。",
        "agent:model",
    ),
    "agent_broken": Reason(
        "The answer of the agent {agent} broke off, or nothing that can be shown came of it.",
        "智能体 {agent} 的回答中途中断，或没有可显示的内容。",
        "agent:output_tokens",
    ),
    "context_too_long": Reason(
        "The model behind the agent {agent} takes less than the prompt was long, also after it was made shorter once.",
        "提示词即使缩短一次后，仍超出智能体 {agent} 的模型可接收的长度。",
        "agent:window_tokens",
    ),
    "agent_failed": Reason("Something went wrong while the agent {agent} answered.", "智能体 {agent} 回答时出了问题。"),
    "gave_up": Reason(
        "Answering it broke off again and again, so it was given up after the last try.",
        "回答反复中断，最后一次尝试后放弃。",
        "root:queue.attempts",
    ),
    "undeliverable": Reason(
        "The answer was made, and the platform refused to take it.", "回答已生成，但平台拒绝接收。"
    ),
    "unreadable": Reason(
        "It was stored by another release, and this one can't read it.", "消息由其他版本保存，当前版本无法读取。"
    ),
    "not_applied": Reason(
        "It could not be carried out; the log of that moment says why.", "它未能执行，当时的日志里有原因。"
    ),
    "stop": Reason(
        "It was /stop: what its sender was waiting for was stopped.", "这是 /stop：已停止发送者正在等待的回答。"
    ),
    "nothing_to_stop": Reason("It was /stop, and there was nothing to stop.", "这是 /stop，但没有可停止的内容。"),
    "taken_over": Reason(
        "A human has this conversation, so the bot was not asked.", "该对话由人工接管，因此没有询问机器人。"
    ),
    "waiting_for_human": Reason(
        "This conversation waits for a human, and the bot is silent meanwhile.",
        "该对话正在等待人工，其间机器人不作答。",
        "takeover.while_waiting",
    ),
    "retried": Reason("It was given up, and an admin had it answered again.", "它曾被放弃，管理员让它重新回答。"),
    "by_hand": Reason("It was given up, and an admin answered it by hand.", "它曾被放弃，由管理员亲自回答。"),
    "edit_unknown_message": Reason(
        "It is an edit of a message that is not known here, so there was nothing to change.",
        "它编辑的消息这里没有，无需更改。",
    ),
    "delete_unknown_message": Reason(
        "It tells of the deletion of a message that is not known here.", "它通知删除的消息这里没有。"
    ),
}
"""Why a message ended without an answer, or as what."""

QUOTA = Reason("The quota of {measure} per {span} was used up for {subject}.", "{subject}的{span}{measure}配额已用完。")
QUOTA_WORDS: dict[str, tuple[str, str]] = {
    "person": ("its sender", "发送者"),
    "room": ("this room", "本群"),
    "channel": ("this channel", "本渠道"),
    "agent": ("the agent {agent}", "智能体 {agent} "),
    "messages": ("messages", "消息"),
    "tokens": ("tokens", "词元"),
    "money": ("money", "费用"),
    "minute": ("minute", "每分钟"),
    "day": ("day", "每天"),
    "month": ("month", "每月"),
}

WHOLE: dict[str, Reason] = {
    "answered": Reason("It was answered because {admitted}.", "它得到了回答，因为{admitted}。"),
    "applied": Reason("It was carried out because {admitted}.", "它已执行，因为{admitted}。"),
    "replied": Reason(
        "It is answered, and the answer is on its way; it was let in because {admitted}.",
        "回答已生成，正在发送；之所以回答，是因为{admitted}。",
    ),
    "running": Reason("It is being answered now, because {admitted}.", "正在回答，因为{admitted}。"),
    "accepted": Reason(
        "It waits for its turn to be answered, because {admitted}.", "正在排队等待回答，因为{admitted}。"
    ),
    "other": Reason("It ended by the rule {rule}.", "它按规则 {rule} 结束。"),
    "erased": Reason(
        "Its sender's data were erased; nothing of it is kept but that it was there.",
        "发送者的数据已被清除，只保留它曾存在的记录。",
    ),
}
"""By state: the sentence around why it was let in; and for what has no words of its own."""

ADDED: dict[str, Reason] = {
    "untold": Reason(
        "What was to be told could not be delivered: the platform refused to take it.",
        "要告知的内容未能送达：平台拒绝接收。",
    ),
    "doubtful": Reason(
        "Whether all of it arrived is not known: the platform never confirmed it.", "是否全部送达未知：平台没有确认。"
    ),
}
"""What is said behind such a sentence, of what became of what was sent."""
