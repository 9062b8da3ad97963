"""What the page of channels' health says."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "health.title": {"en": "Health of channels", "zh": "渠道健康"},
    "health.title.told": {
        "en": "See whether each channel works, how far it lags, and what fails.",
        "zh": "查看各渠道是否正常、延迟多少、哪里出错。",
    },
    "health.lead": {
        "en": "Signs of life of the last 24 hours. What is counted since the start is this instance's.",
        "zh": "最近 24 小时的状况。自启动以来的计数仅指本实例。",
    },
    "health.ask": {"en": "Ask the platforms now", "zh": "立即询问平台"},
    "health.up": {"en": "Connected", "zh": "已连接"},
    "health.down": {"en": "Not connected", "zh": "未连接"},
    "health.probed": {"en": "The platform says", "zh": "平台回应"},
    "health.probed.ok": {"en": "all is well", "zh": "一切正常"},
    "health.last_event": {"en": "Last message", "zh": "最近的消息"},
    "health.last_delivery": {"en": "Last delivery", "zh": "最近的送达"},
    "health.last_delivery.none": {"en": "none among the newest messages", "zh": "最近的消息中没有"},
    "health.waiting": {"en": "Waiting for a reply", "zh": "等待回复"},
    "health.lag": {"en": "oldest waits {span}", "zh": "最早的已等 {span}"},
    "health.outbox": {"en": "Waiting to be sent", "zh": "等待发送"},
    "health.counted": {
        "en": "More came in than is counted at once; messages are counted from here on:",
        "zh": "消息过多，无法一次全部统计；统计起始时间：",
    },
    "health.errors": {"en": "Asked and got no answer", "zh": "提问后没有得到回答"},
    "health.errors.of": {"en": "{failed} of {ended}", "zh": "{failed} / {ended}"},
    "health.unknown": {"en": "Sends whose end is unknown, since the start", "zh": "结果未知的发送（自启动以来）"},
    "health.limited": {
        "en": "Waits that the platform asked for, since the start",
        "zh": "平台要求的等待（自启动以来）",
    },
    "health.limited.of": {"en": "{count}, {seconds} s together", "zh": "{count} 次，共 {seconds} 秒"},
    "health.left": {"en": "Could not be stored, since the start", "zh": "未能保存（自启动以来）"},
    "health.starts": {"en": "Starts that failed, since the start", "zh": "启动失败次数（自启动以来）"},
    "health.turns": {"en": "Its messages", "zh": "该渠道的消息"},
    "health.reasons": {"en": "Why messages were not answered", "zh": "消息未被回答的原因"},
    "health.rule": {"en": "Rule", "zh": "规则"},
    "health.count": {"en": "Messages", "zh": "消息数"},
    "health.empty": {"en": "No channel is configured yet", "zh": "还没有配置渠道"},
    "health.empty.told": {
        "en": "A channel connects a bot account of some platform, or a program of yours, to this gateway.",
        "zh": "渠道把某个平台上的机器人账号，或者您自己的程序，接入本网关。",
    },
}
