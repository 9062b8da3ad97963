"""What the overview says."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "start.title": {"en": "Overview", "zh": "概览"},
    "start.title.told": {
        "en": "See whether all is well, and what waits for you.",
        "zh": "查看一切是否正常，以及有什么等您处理。",
    },
    "start.well": {"en": "All is well.", "zh": "一切正常。"},
    "start.not_well": {"en": "Something needs you.", "zh": "有事需要您处理。"},
    "start.channels": {"en": "Channels connected", "zh": "已连接的渠道"},
    "start.channels.value": {"en": "{up} of {all}", "zh": "{up} / {all}"},
    "start.channels.none": {"en": "No channel is configured yet", "zh": "还没有配置渠道"},
    "start.channels.none.told": {
        "en": "A channel connects a bot account of some platform, or a program of yours, to this gateway.",
        "zh": "渠道把某个平台上的机器人账号，或者您自己的程序，接入本网关。",
    },
    "start.waiting": {"en": "Waiting for a reply", "zh": "等待回复"},
    "start.waiting.told": {"en": "the oldest for {span}", "zh": "最早的已等 {span}"},
    "start.waiting.none": {"en": "nobody waits", "zh": "没有人在等"},
    "start.answered": {"en": "Answered in 24 hours", "zh": "24 小时内已回答"},
    "start.unanswered": {"en": "Got no answer in 24 hours", "zh": "24 小时内没有得到回答"},
    "start.letters": {"en": "Dead letters", "zh": "未送达"},
    "start.letters.told": {"en": "given up, or perhaps not arrived", "zh": "已放弃或可能未送达"},
    "start.takeovers": {"en": "Asking for a human", "zh": "请求人工"},
    "start.takeovers.told": {"en": "{active} under way", "zh": "{active} 个进行中"},
    "start.requests": {"en": "Privacy requests", "zh": "隐私请求"},
    "start.requests.told": {"en": "not settled yet", "zh": "尚未处理"},
    "start.quotas": {"en": "Near a quota", "zh": "接近配额"},
    "start.quotas.told": {"en": "{over} used up", "zh": "{over} 个已用完"},
    "start.settings": {"en": "The newest settings are not in force:", "zh": "最新的设置没有生效："},
    "start.chart": {"en": "Messages of the last 24 hours", "zh": "最近 24 小时的消息"},
    "start.chart.unit": {"en": "an hour, in UTC", "zh": "每小时，UTC 时间"},
    "start.chart.hour": {"en": "Hour", "zh": "小时"},
    "start.state.answered": {"en": "answered", "zh": "已回答"},
    "start.state.other": {"en": "not meant to be answered", "zh": "无需回答"},
    "start.state.unanswered": {"en": "got no answer", "zh": "没有得到回答"},
    "start.state.waiting": {"en": "under way", "zh": "进行中"},
    "start.table": {"en": "Channels", "zh": "渠道"},
    "start.table.channel": {"en": "Channel", "zh": "渠道"},
    "start.table.kind": {"en": "Kind", "zh": "类型"},
    "start.table.state": {"en": "State", "zh": "状态"},
    "start.table.last": {"en": "Last message", "zh": "最近的消息"},
    "start.table.waiting": {"en": "Waiting", "zh": "等待中"},
    "start.up": {"en": "Connected", "zh": "已连接"},
    "start.down": {"en": "Not connected", "zh": "未连接"},
    "start.places": {"en": "What you can do here", "zh": "您可以在这里做什么"},
}
