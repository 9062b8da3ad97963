"""What the page of instances says."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "instances.title": {"en": "Instances", "zh": "实例"},
    "instances.title.told": {
        "en": "See which gateways run beside each other, what each does alone, and which have gone.",
        "zh": "查看有哪些网关在并行运行、各自独立负责什么，以及哪些已离开。",
    },
    "instances.lead": {
        "en": "Each as it said at its last sign of life, once a second. One that gives none is given up for dead, and the others"
        " take over what it had.",
        "zh": "各实例每秒报告一次的状况。不再报告的实例会被视为已失效，由其他实例接管其工作。",
    },
    "instances.one": {"en": "One gateway runs.", "zh": "只有一个网关在运行。"},
    "instances.one.file": {
        "en": "A SQLite file has one gateway at a time. For several, put the storage into PostgreSQL.",
        "zh": "一个 SQLite 文件同一时间只能由一个网关使用。需要多个网关时，请改用 PostgreSQL 存储。",
    },
    "instances.one.server": {
        "en": "Start others with the same settings file: they share the work, and take it over if this one fails.",
        "zh": "用同一份设置文件启动更多网关：它们会分担工作，并在本实例失效时接管。",
    },
    "instances.many": {"en": "{count} gateways run.", "zh": "有 {count} 个网关在运行。"},
    "instances.name": {"en": "Instance {number}", "zh": "实例 {number}"},
    "instances.name.none": {"en": "Instance without a number", "zh": "没有编号的实例"},
    "instances.here": {"en": "made this page", "zh": "生成本页面"},
    "instances.live": {"en": "Runs", "zh": "运行中"},
    "instances.stopping": {"en": "Stops", "zh": "正在停止"},
    "instances.late": {"en": "Gives no sign of life", "zh": "没有响应"},
    "instances.other_release": {"en": "another release than this page's", "zh": "与生成本页面的实例版本不同"},
    "instances.other_settings": {"en": "other settings than this page's", "zh": "与生成本页面的实例设置不同"},
    "instances.host": {"en": "Machine and process", "zh": "机器与进程"},
    "instances.release": {"en": "Release", "zh": "版本"},
    "instances.since": {"en": "Since", "zh": "启动时间"},
    "instances.settings": {"en": "Settings", "zh": "设置"},
    "instances.seen": {"en": "Last sign of life", "zh": "最近一次响应"},
    "instances.seen.ago": {"en": "{seconds} s ago", "zh": "{seconds} 秒前"},
    "instances.clock": {"en": "Its clock beside the database's", "zh": "时钟与数据库相比"},
    "instances.clock.off": {"en": "{seconds} s", "zh": "{seconds} 秒"},
    "instances.clock.set": {"en": "set it by NTP", "zh": "请用 NTP 校准"},
    "instances.untold": {"en": "not told", "zh": "未告知"},
    "instances.holds": {"en": "Does what only one may do", "zh": "独自负责"},
    "instances.holds.receive": {"en": "Receives", "zh": "接收"},
    "instances.holds.send": {"en": "Sends", "zh": "发送"},
    "instances.holds.job": {"en": "Jobs", "zh": "后台任务"},
    "instances.holds.erase": {"en": "Erases somebody", "zh": "正在删除某人的数据"},
    "instances.job.retention": {"en": "clean-up", "zh": "清理"},
    "instances.job.counts": {"en": "sums of what was spent", "zh": "用量汇总"},
    "instances.job.links": {"en": "joining of persons", "zh": "合并人员"},
    "instances.job.erasures": {"en": "erasures that broke off", "zh": "中断的删除"},
    "instances.problems": {"en": "What it says is wrong", "zh": "它报告的问题"},
    "instances.nobodys": {"en": "Done by nobody at the moment", "zh": "目前无人负责"},
    "instances.nobodys.told": {
        "en": "Passes on by itself within seconds. If it stays so, the health of channels and the instances' logs say why.",
        "zh": "几秒内会自动交接。如果一直如此，请查看渠道健康和各实例的日志。",
    },
    "instances.departed": {"en": "Gone in the last seven days", "zh": "最近七天离开的实例"},
    "instances.departed.none": {"en": "None has gone in the last seven days.", "zh": "最近七天没有实例离开。"},
    "instances.departed.when": {"en": "When", "zh": "时间"},
    "instances.departed.how": {"en": "How", "zh": "方式"},
    "instances.departed.lost": {"en": "Given up for dead", "zh": "被视为已失效"},
    "instances.departed.left": {"en": "Stopped in good order", "zh": "正常停止"},
    "instances.departed.back": {"en": "runs again", "zh": "已恢复运行"},
}
