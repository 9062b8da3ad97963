"""What the pages of take-overs say."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "takeovers.title": {"en": "Take-overs", "zh": "人工接管"},
    "takeovers.title.told": {
        "en": "Answer people yourself: who waits for a human, and which conversations one has.",
        "zh": "由人工回答：谁在等待人工，哪些对话已由人工接管。",
    },
    "takeovers.lead": {
        "en": "While a human has a conversation the bot is silent in it. All of it stays in the transcript, and the bot knows it "
        "when it is handed back.",
        "zh": "人工接管期间机器人不再回答。全部内容都留在记录里，交还之后机器人也知道。",
    },
    "takeovers.empty": {"en": "Nobody waits for a human", "zh": "没有人在等待人工"},
    "takeovers.empty.told": {
        "en": "People ask with /human; agents and rules may ask, too (settings: takeover). You can also take over the "
        "conversation of any message by its turn's number.",
        "zh": "用户发送 /human 即可请求人工，智能体和规则也可以请求（设置项 takeover）。您也可以按消息的编号接管它所在的对话。",
    },
    "takeovers.which": {"en": "Which", "zh": "范围"},
    "takeovers.live": {"en": "Waiting and under way", "zh": "等待中和进行中"},
    "takeovers.ended": {"en": "Ended", "zh": "已结束"},
    "takeovers.none_ended": {"en": "None has ended yet.", "zh": "还没有结束的接管。"},
    "takeovers.who": {"en": "Conversation", "zh": "对话"},
    "takeovers.private": {"en": "private", "zh": "私聊"},
    "takeovers.group": {"en": "group", "zh": "群聊"},
    "takeovers.erased": {"en": "the person was erased", "zh": "用户已被删除"},
    "takeovers.state": {"en": "State", "zh": "状态"},
    "takeovers.state.asked": {"en": "waits for a human", "zh": "等待人工"},
    "takeovers.state.active": {"en": "a human answers", "zh": "人工回答中"},
    "takeovers.state.ended": {"en": "ended", "zh": "已结束"},
    "takeovers.how": {"en": "How it ended", "zh": "结束方式"},
    "takeovers.how.handed_back": {"en": "handed back", "zh": "已交还"},
    "takeovers.how.timed_out": {"en": "back with the bot: nobody wrote for a while", "zh": "超时，已转回机器人"},
    "takeovers.how.not_taken": {"en": "nobody came in time", "zh": "无人及时接手"},
    "takeovers.how.dismissed": {"en": "dismissed", "zh": "已取消"},
    "takeovers.how.moved": {"en": "its room became another one", "zh": "房间已并入另一个房间"},
    "takeovers.how.erased": {"en": "the person was erased", "zh": "用户已被删除"},
    "takeovers.by": {"en": "Asked for", "zh": "请求来源"},
    "takeovers.by.operator": {"en": "by an operator", "zh": "由管理人员"},
    "takeovers.by.person": {"en": "by the person", "zh": "由用户"},
    "takeovers.by.agent": {"en": "by the agent", "zh": "由智能体"},
    "takeovers.by.words": {"en": "by words in a message", "zh": "依据消息内容"},
    "takeovers.by.failures": {"en": "because answers failed", "zh": "因回答多次失败"},
    "takeovers.by.complaints": {"en": "because of complaints", "zh": "因连续投诉"},
    "takeovers.operator": {"en": "Who has it", "zh": "处理人"},
    "takeovers.nobody": {"en": "nobody yet", "zh": "暂无"},
    "takeovers.you": {"en": "you", "zh": "您"},
    "takeovers.since": {"en": "Since", "zh": "开始时间"},
    "takeovers.ends": {"en": "Ends by itself", "zh": "自动结束时间"},
    "takeovers.note": {"en": "Why", "zh": "原因"},
    "takeovers.summary": {"en": "Left for the agent", "zh": "留给智能体的说明"},
    "takeovers.take": {"en": "Take over", "zh": "接管"},
    "takeovers.take_from": {"en": "Take over from {name}", "zh": "从 {name} 接手"},
    "takeovers.take_from.told": {
        "en": "{name} has this conversation. What they write will no longer go to the person.",
        "zh": "{name} 正在处理这个对话。接手之后，其所写内容不再发给用户。",
    },
    "takeovers.taken": {"en": "You have this conversation now.", "zh": "您已接管这个对话。"},
    "takeovers.by_turn": {"en": "Take over by a message", "zh": "按消息接管"},
    "takeovers.turn": {"en": "Turn", "zh": "消息编号"},
    "takeovers.turn.help": {
        "en": "The number of any message of the conversation, as its trace shows it.",
        "zh": "对话中任意一条消息的编号，见其处理过程。",
    },
    "takeovers.talk": {"en": "Conversation", "zh": "对话内容"},
    "takeovers.talk.hidden": {
        "en": "What people say is shown only to roles that may read it.",
        "zh": "对话内容只对有阅读权限的角色显示。",
    },
    "takeovers.talk.none": {"en": "Nothing was said in this session yet.", "zh": "本次会话还没有内容。"},
    "takeovers.said.person": {"en": "person", "zh": "用户"},
    "takeovers.said.agent": {"en": "agent", "zh": "智能体"},
    "takeovers.said.human": {"en": "human", "zh": "人工"},
    "takeovers.said.note": {"en": "note for the agent, not seen by the person", "zh": "留给智能体的说明，用户看不到"},
    "takeovers.said.deleted": {"en": "deleted", "zh": "已删除"},
    "takeovers.answer": {"en": "Your answer", "zh": "您的回答"},
    "takeovers.answer.help": {
        "en": "It goes to the person under your name. Markdown is shown as the platform can.",
        "zh": "将以您的名义发给用户，支持 Markdown。",
    },
    "takeovers.send": {"en": "Send", "zh": "发送"},
    "takeovers.sent": {"en": "On its way.", "zh": "正在发送。"},
    "takeovers.back": {"en": "Hand back", "zh": "交还"},
    "takeovers.back.sure": {"en": "Hand this conversation back to the bot?", "zh": "把这个对话交还给机器人？"},
    "takeovers.back.told": {
        "en": "The person is told, and the bot answers again. It knows what was said here.",
        "zh": "用户会收到通知，之后由机器人回答。机器人知道这里说过的内容。",
    },
    "takeovers.back.summary": {"en": "Summary for the agent", "zh": "给智能体的小结"},
    "takeovers.back.summary.help": {
        "en": "What it should know besides: what was decided, what is open. The person does not see it.",
        "zh": "还需要让它知道的：做了什么决定、还有什么未解决。用户看不到。",
    },
    "takeovers.draft": {"en": "Draft a summary", "zh": "起草小结"},
    "takeovers.drafted": {"en": "A draft: read it before you hand back.", "zh": "这是草稿，交还前请先核对。"},
    "takeovers.backed": {"en": "The bot answers there again.", "zh": "已交还给机器人。"},
    "takeovers.dismiss": {"en": "Dismiss", "zh": "取消请求"},
    "takeovers.dismiss.sure": {"en": "Is no human needed here?", "zh": "确定不需要人工？"},
    "takeovers.dismiss.told": {
        "en": "The person is told that the bot goes on answering.",
        "zh": "用户会收到通知，仍由机器人回答。",
    },
    "takeovers.over": {
        "en": "You do not have this conversation any more: what you write below goes to nobody. Load the page anew to see how it "
        "stands.",
        "zh": "这个对话已不由您处理，您在下面写的内容不会发出。重新载入页面可查看现状。",
    },
    "takeovers.more": {"en": "Its trace", "zh": "处理过程"},
}
