"""What the pages of the audit log say."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "audit.title": {"en": "Audit log", "zh": "审计日志"},
    "audit.title.told": {
        "en": "Who did or read what, and when. Nobody changes it.",
        "zh": "谁在何时做了什么、查看了什么。任何人都不能修改。",
    },
    "audit.lead": {
        "en": "Every act, every look at what people said, and every refusal. It holds numbers and names of settings, no words.",
        "zh": "记录每一次操作、每一次查看用户消息以及每一次被拒绝的尝试。只包含编号和设置名称，不含任何消息内容。",
    },
    "audit.filter": {"en": "Show", "zh": "筛选"},
    "audit.when": {"en": "When", "zh": "时间"},
    "audit.actor": {"en": "Who", "zh": "操作者"},
    "audit.actor.help": {"en": "user:7, token:3, local", "zh": "例如 user:7、token:3、local"},
    "audit.actor.local": {"en": "whoever runs the machine", "zh": "本机管理员"},
    "audit.actor.nobody": {"en": "nobody signed in", "zh": "未登录者"},
    "audit.operation": {"en": "Act", "zh": "操作"},
    "audit.operation.help": {"en": "users.add, or a part of it: users", "zh": "例如 users.add，或只写前半部分 users"},
    "audit.outcome": {"en": "Outcome", "zh": "结果"},
    "audit.outcome.done": {"en": "done", "zh": "完成"},
    "audit.outcome.refused": {"en": "refused", "zh": "被拒绝"},
    "audit.outcome.failed": {"en": "failed", "zh": "失败"},
    "audit.any": {"en": "any", "zh": "全部"},
    "audit.channel": {"en": "Channel", "zh": "渠道"},
    "audit.since": {"en": "From day (UTC)", "zh": "起始日期（UTC）"},
    "audit.until": {"en": "To day (UTC)", "zh": "截止日期（UTC）"},
    "audit.door.console": {"en": "console", "zh": "控制台"},
    "audit.door.api": {"en": "API", "zh": "API"},
    "audit.door.cli": {"en": "command line", "zh": "命令行"},
    "audit.about": {"en": "About", "zh": "详情"},
    "audit.look": {"en": "read", "zh": "查看"},
    "audit.export": {"en": "Download as JSON lines", "zh": "下载（JSON Lines）"},
    "audit.none": {"en": "Nothing yet", "zh": "暂无记录"},
    "audit.none.told": {
        "en": "As soon as somebody changes something or reads a conversation, it stands here.",
        "zh": "一旦有人做出更改或查看对话，就会出现在这里。",
    },
    "audit.none.filtered": {
        "en": "Nothing fits. Leave a field empty to see more.",
        "zh": "没有符合条件的记录。清空部分条件可以看到更多。",
    },
}
