"""What the page of help says."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "help.title": {"en": "Help", "zh": "帮助"},
    "help.title.told": {
        "en": "Look up what can be done here, by whom, and what the words mean.",
        "zh": "查阅这里能做什么、谁可以做，以及各个词的含义。",
    },
    "help.lead": {
        "en": "What can be done here, by whom, and what the words mean.",
        "zh": "这里能做什么、谁可以做，以及各个词的含义。",
    },
    "help.jobs": {"en": "What do you want to do?", "zh": "您想做什么？"},
    "help.roles": {"en": "Who may do what", "zh": "谁可以做什么"},
    "help.roles.told": {
        "en": "A role is held for the whole gateway, or for single channels. An owner gives and takes roles.",
        "zh": "角色可以针对整个网关，也可以只针对某些渠道。角色由所有者授予和收回。",
    },
    "help.right": {"en": "Right", "zh": "权限"},
    "help.yes": {"en": "yes", "zh": "可以"},
    "help.no": {"en": "no", "zh": "不可以"},
    "help.yours": {"en": "Your roles:", "zh": "您的角色："},
    "help.right.see": {
        "en": "See health, figures, settings, and which turns there were and why; never a word that was said",
        "zh": "查看运行状况、数据、设置，以及有哪些轮次和原因；看不到任何对话内容",
    },
    "help.right.read": {
        "en": "Read what people and agents said; each look is recorded",
        "zh": "阅读对话内容；每次查看都会被记录",
    },
    "help.right.handle": {
        "en": "Take conversations over, answer by hand, deal with dead letters",
        "zh": "接管对话、人工回复、处理未送达的消息",
    },
    "help.right.people": {
        "en": "See what memory knows of a person; correct, forget, link",
        "zh": "查看关于某人的记忆；更正、遗忘、关联账号",
    },
    "help.right.configure": {"en": "Change settings, secrets and channels", "zh": "更改设置、密钥和渠道"},
    "help.right.erase": {"en": "Export and erase a person's data", "zh": "导出和删除某人的数据"},
    "help.right.audit": {"en": "Read the audit log", "zh": "查看审计日志"},
    "help.right.access": {"en": "Make users, give roles, make tokens", "zh": "管理用户、角色和令牌"},
    "help.doors": {"en": "Other doors", "zh": "其他入口"},
    "help.doors.told": {
        "en": "Whatever can be done here, a program can do by the API with a token, and whoever runs the gateway on its command "
        "line: the same acts, the same rights, the same audit log.",
        "zh": "这里能做的一切，程序可以凭令牌通过 API 来做，网关的运维人员也可以在命令行里做：操作、权限和审计日志都相同。",
    },
    "help.doors.api": {"en": "The API's description", "zh": "API 说明"},
    "help.doors.cli": {"en": "The command line", "zh": "命令行"},
    "help.words": {"en": "Words", "zh": "词汇"},
    "help.word.channel": {"en": "Channel", "zh": "渠道"},
    "help.word.channel.told": {
        "en": "One configured connection to a platform: a bot account with a name of its own.",
        "zh": "到某个平台的一个已配置连接：一个有自己名称的机器人账号。",
    },
    "help.word.room": {"en": "Room, thread", "zh": "房间、话题"},
    "help.word.room.told": {
        "en": "The place inside a platform, and the place inside that one. Settings may differ for each.",
        "zh": "平台里的地点，以及其中更小的地点。每个都可以有自己的设置。",
    },
    "help.word.scope": {"en": "Scope", "zh": "范围"},
    "help.word.scope.told": {
        "en": "Those who share one short-term memory: one person in private, everybody of a conversation in a group.",
        "zh": "共享同一短期记忆的范围：私聊是一个人，群聊是对话中的所有人。",
    },
    "help.word.turn": {"en": "Turn", "zh": "轮次"},
    "help.word.turn.told": {
        "en": "What somebody said, and everything up to the reply.",
        "zh": "某人说的话，直到回复为止的全部过程。",
    },
    "help.word.ledger": {"en": "Ledger", "zh": "账本"},
    "help.word.ledger.told": {
        "en": "The record of a turn: everything that could have gone into its prompt, what did, what did not, and by which rule.",
        "zh": "一个轮次的记录：哪些内容可能进入提示词、哪些进入了、哪些没有，以及依据哪条规则。",
    },
    "help.word.window": {"en": "Window", "zh": "窗口"},
    "help.word.window.told": {
        "en": "The last turns of a conversation, word for word. Older ones reach the model by summary, facts and recall.",
        "zh": "对话中最近的若干轮，模型能看到原文。更早的内容通过摘要、事实和回忆获知。",
    },
    "help.word.dead": {"en": "Dead letter", "zh": "未送达"},
    "help.word.dead.told": {
        "en": "A message or a reply that was given up after several tries. It is kept until somebody deals with it.",
        "zh": "多次尝试后放弃的消息或回复。会一直保留，直到有人处理。",
    },
}
