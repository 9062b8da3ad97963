"""What the pages say on which channels are added, tested and removed."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "connect.title": {"en": "Channels", "zh": "渠道"},
    "connect.title.told": {
        "en": "Connect a platform's account or an endpoint, send a test message, take it away again; all without a restart.",
        "zh": "接入平台账号或端点、发送测试消息、再将其移除，全程无需重启。",
    },
    "connect.lead": {
        "en": "A channel is one account on a platform, or one endpoint. Adding or removing one touches no other.",
        "zh": "一个渠道对应平台上的一个账号或一个端点。添加或移除渠道不影响其他渠道。",
    },
    "connect.none": {"en": "No channel yet", "zh": "尚无渠道"},
    "connect.none.told": {
        "en": "Choose what to connect below; people can talk to the bot there at once.",
        "zh": "请在下方选择要接入的类型；接入后即可在那里与机器人对话。",
    },
    "connect.channel": {"en": "Channel", "zh": "渠道"},
    "connect.kind": {"en": "Kind", "zh": "类型"},
    "connect.kind.console": {
        "en": "The gateway's own chat page, to try a bot in a browser.",
        "zh": "网关自带的聊天页面，可在浏览器里试用机器人。",
    },
    "connect.kind.webhook": {
        "en": "A program of yours that sends messages over HTTP and fetches the replies.",
        "zh": "您自己的程序，通过 HTTP 发送消息并获取回复。",
    },
    "connect.kind.platform": {
        "en": "A bot account on that platform, in its private and group chats.",
        "zh": "该平台上的机器人账号，用于私聊和群聊。",
    },
    "connect.settings": {"en": "Settings", "zh": "设置"},
    "connect.test": {"en": "Test", "zh": "测试"},
    "connect.add": {"en": "Add a channel", "zh": "添加渠道"},
    "connect.add.of": {"en": "Add a channel: {kind}", "zh": "添加渠道：{kind}"},
    "connect.add.go": {"en": "Add it", "zh": "添加"},
    "connect.prepare": {"en": "What the platform has to be told first", "zh": "需要先在平台上设置的内容"},
    "connect.prepare.lead": {
        "en": "A platform gives out its tokens once it knows of the bot. Choose the channel's name now; the address has it.",
        "zh": "平台在登记机器人之后才会发放令牌。请先在此确定渠道名称，它会出现在地址中。",
    },
    "connect.prepare.show": {"en": "Show", "zh": "显示"},
    "connect.mode": {"en": "How events come in", "zh": "事件接入方式"},
    "connect.address": {"en": "Address for events", "zh": "接收事件的地址"},
    "connect.address.told": {
        "en": "Where the platform, or your program, posts events; not needed where the gateway asks for them by itself.",
        "zh": "平台或您的程序将事件发送到此地址；如由网关主动获取事件，则不需要。",
    },
    "connect.address.none": {
        "en": "The gateway does not know where it is reached from outside: server.public_url in the settings file says so."
        " Where it asks for events by itself, that is not needed.",
        "zh": "网关不知道自己的外部访问地址：请在配置文件中设置 server.public_url。如由网关主动获取事件，则不需要。",
    },
    "connect.manifest": {"en": "Manifest of the app", "zh": "应用清单（manifest）"},
    "connect.manifest.told": {
        "en": "Make a new app from it on the platform's page for developers: it asks for just the rights that are needed."
        " Then install the app, and copy its tokens from there.",
        "zh": "在平台的开发者页面上用它创建新应用：其中只申请所需的权限。随后安装应用，并从那里复制令牌。",
    },
    "connect.name": {"en": "Name", "zh": "名称"},
    "connect.name.help": {
        "en": "Small letters, digits and -. It stands in every conversation's key, so choose one that stays.",
        "zh": "小写字母、数字和 -。它是每个对话标识的一部分，请选择长期不变的名称。",
    },
    "connect.more": {"en": "More settings of this kind", "zh": "该类型的更多设置"},
    "connect.more.told": {
        "en": "All others can be changed later; their defaults are good for most.",
        "zh": "其余设置可稍后更改，默认值适用于多数情况。",
    },
    "connect.added": {"en": "The channel is added; test it here.", "zh": "渠道已添加，可在此测试。"},
    "connect.remove": {"en": "Remove", "zh": "移除"},
    "connect.remove.ask": {"en": "Remove the channel {name}?", "zh": "移除渠道 {name}？"},
    "connect.remove.told": {
        "en": "Its connection ends, nobody is answered there. What was said stays; so do its secrets, for the way back.",
        "zh": "连接将断开，那里的消息不再得到回复。已有的对话内容会保留；密钥也会保留，以便回退。",
    },
    "connect.remove.secrets": {
        "en": "Take its secrets out, too: to go back, they have to be entered again first.",
        "zh": "同时移除其密钥：如需回退，须先重新输入。",
    },
    "connect.removed": {"en": "The channel is removed.", "zh": "渠道已移除。"},
    "connect.test.of": {"en": "Test {name}", "zh": "测试 {name}"},
    "connect.test.lead": {
        "en": "Its credentials are tried at the platform. Name a room to have a test message sent there, as every reply is.",
        "zh": "将向平台验证其凭据。如填写房间，还会沿回复的实际路径发送一条测试消息。",
    },
    "connect.room": {"en": "Room, by the platform's id", "zh": "房间（平台的 ID）"},
    "connect.room.help": {
        "en": "Left empty, no message is sent. Everybody in that room sees it.",
        "zh": "留空则不发送。该房间内的所有人都会看到测试消息。",
    },
    "connect.thread": {"en": "Thread, if any", "zh": "话题（如有）"},
    "connect.language": {"en": "Language of the message", "zh": "消息语言"},
    "connect.test.go": {"en": "Test now", "zh": "立即测试"},
    "connect.result": {"en": "Result", "zh": "结果"},
    "connect.connected": {"en": "Connection", "zh": "连接"},
    "connect.connected.yes": {"en": "works ({took} ms)", "zh": "正常（{took} 毫秒）"},
    "connect.connected.no": {"en": "does not work", "zh": "异常"},
    "connect.warning": {"en": "To mind", "zh": "请注意"},
    "connect.message": {"en": "Test message", "zh": "测试消息"},
    "connect.sent.no": {"en": "none was sent", "zh": "未发送"},
    "connect.sent.collected": {
        "en": "none can be sent: callers of this channel fetch their replies",
        "zh": "无法发送：此渠道的调用方自行获取回复",
    },
    "connect.sent.waiting": {"en": "on its way still; look again in a moment", "zh": "仍在发送中，请稍后再看"},
    "connect.sent.sent": {"en": "delivered", "zh": "已送达"},
    "connect.sent.unknown": {
        "en": "may have arrived: the platform's answer was lost",
        "zh": "可能已送达：平台的应答丢失",
    },
    "connect.sent.dead": {"en": "refused by the platform", "zh": "被平台拒绝"},
    "connect.message.id": {"en": "Its id there", "zh": "平台上的消息 ID"},
    "connect.last": {"en": "Last event from there", "zh": "最近一次收到的事件"},
}
