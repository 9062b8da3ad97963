"""What the pages of persons say."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "people.title": {"en": "People", "zh": "人员"},
    "people.title.told": {
        "en": "Find somebody, see what is known of them and from where, correct, join, export, erase.",
        "zh": "查找人员，查看已知信息及其来源，更正、合并、导出或删除。",
    },
    "people.lead": {
        "en": "Somebody is one person with one or more accounts. Each look at one is in the audit log.",
        "zh": "一个人可以有一个或多个账号。每次查看都会记入审计日志。",
    },
    "people.who": {"en": "Who", "zh": "查找"},
    "people.who.help": {
        "en": "A part of a name by which they have called themselves; or, whole, the account's id as the platform writes it, "
        "KIND:TENANT:ACCOUNT, or a person's number.",
        "zh": "用过的名字的一部分；或完整的平台账号 ID、KIND:TENANT:ACCOUNT、人员编号。",
    },
    "people.find": {"en": "Find", "zh": "查找"},
    "people.nobody": {"en": "Nobody is known by that.", "zh": "没有找到。"},
    "people.others": {
        "en": "Others fit as well. Write more of the name.",
        "zh": "还有其他符合条件的人员，请输入更完整的名字。",
    },
    "people.none": {"en": "Nobody is known yet", "zh": "还没有任何人员"},
    "people.none.told": {
        "en": "Whoever writes to the bot on any channel is known from then on.",
        "zh": "任何人在任一渠道给机器人写消息后，都会出现在这里。",
    },
    "people.start": {"en": "Whom are you looking for?", "zh": "您要找谁？"},
    "people.start.told": {
        "en": "You see who has written on your channels, and what is known of them from there.",
        "zh": "您可以看到在您负责的渠道写过消息的人，以及来自这些渠道的信息。",
    },
    "people.person": {"en": "Person", "zh": "人员"},
    "people.accounts": {"en": "Accounts", "zh": "账号"},
    "people.account": {"en": "Account", "zh": "账号"},
    "people.channels": {"en": "Has written on", "zh": "使用过的渠道"},
    "people.since": {"en": "Known since", "zh": "首次出现"},
    "people.talks": {"en": "Their conversations", "zh": "查看对话"},
    "people.names": {"en": "Has called themselves", "zh": "用过的名字"},
    "people.erased": {"en": "erased", "zh": "已删除"},
    "people.known": {"en": "What is known", "zh": "已知信息"},
    "people.known.none": {"en": "Nothing.", "zh": "暂无。"},
    "people.known.more": {"en": "{count} more are not shown.", "zh": "另有 {count} 条未显示。"},
    "people.elsewhere": {
        "en": "{count} more are known from channels that you have no right for, or were entered by hand.",
        "zh": "另有 {count} 条来自您无权查看的渠道，或为手动录入。",
    },
    "people.unlearned": {
        "en": "{count} messages are still to be learned from.",
        "zh": "还有 {count} 条消息尚未处理。",
    },
    "people.thing": {"en": "Known", "zh": "内容"},
    "people.thing.choose": {"en": "Choose: {text}", "zh": "选择：{text}"},
    "people.kind.pinned": {"en": "always minded", "zh": "始终遵守"},
    "people.kind.profile": {"en": "lasting", "zh": "长期"},
    "people.kind.session": {"en": "this session", "zh": "本次会话"},
    "people.private": {"en": "said in private", "zh": "私聊中所说"},
    "people.entered": {"en": "entered by hand", "zh": "手动录入"},
    "people.sources": {"en": "From", "zh": "来源"},
    "people.sources.hidden": {"en": "a message you may not read", "zh": "您无权阅读的消息"},
    "people.forget": {"en": "Forget what is chosen", "zh": "忘记所选内容"},
    "people.forget.told": {
        "en": "It goes, and is never learned from those messages again.",
        "zh": "所选内容将被移除，且不会再从这些消息中学到。",
    },
    "people.forgotten": {"en": "It is forgotten.", "zh": "已忘记。"},
    "people.correct": {"en": "Correct", "zh": "更正"},
    "people.correct.to": {"en": "Right is", "zh": "正确内容"},
    "people.corrected": {"en": "It is corrected.", "zh": "已更正。"},
    "people.links": {"en": "Joined accounts", "zh": "已合并的账号"},
    "people.links.none": {"en": "No account was joined to this person.", "zh": "没有合并过账号。"},
    "people.link.when": {"en": "Joined", "zh": "合并时间"},
    "people.link.until": {"en": "Can be undone until", "zh": "可撤销至"},
    "people.link": {"en": "Join with another person", "zh": "与另一人合并"},
    "people.link.look": {"en": "See what it would do", "zh": "预览合并"},
    "people.link.plan": {
        "en": "Person {survivor} is known for longer and stays. They get these accounts of person {absorbed}, with all that is "
        "known of them. Of what there can be one of, the newer counts.",
        "zh": "人员 {survivor} 出现得更早，将被保留，并获得人员 {absorbed} 的以下账号及全部已知信息。"
        "只能有一个值的内容以较新者为准。",
    },
    "people.link.sure": {"en": "Make them one person?", "zh": "确定合并为同一人？"},
    "people.link.go": {"en": "Join", "zh": "合并"},
    "people.link.told": {
        "en": "Whoever writes from one of the accounts is answered by what is known of both. Can be undone for 30 days.",
        "zh": "之后从任一账号发来的消息，都会根据双方的已知信息来回答。30 天内可以撤销。",
    },
    "people.linked": {"en": "They are one person now.", "zh": "已合并为同一人。"},
    "people.other": {"en": "The other person's number", "zh": "另一人的编号"},
    "people.other.help": {"en": "Find them by their account first.", "zh": "请先通过账号查到其编号。"},
    "people.unlink": {"en": "Undo", "zh": "撤销"},
    "people.unlink.sure": {"en": "Take these accounts out again?", "zh": "确定撤销合并？"},
    "people.unlink.told": {
        "en": "Each gets back what was theirs. What was learned since stays here, and what was forgotten since does not come "
        "back.",
        "zh": "双方恢复各自原有的信息。合并后学到的内容保留在这里，合并后忘记的内容不会恢复。",
    },
    "people.unlinked": {"en": "The accounts are apart again.", "zh": "账号已分开。"},
    "people.data": {"en": "All of their data", "zh": "全部数据"},
    "people.export": {"en": "Download", "zh": "导出"},
    "people.erase": {"en": "Erase", "zh": "删除"},
    "people.erase.count": {"en": "Count what would go", "zh": "统计将删除的内容"},
    "people.erase.would": {"en": "That much is stored of this person:", "zh": "该人员目前存储的数据："},
    "people.erase.sure": {"en": "Erase this person everywhere?", "zh": "确定在所有位置删除此人？"},
    "people.erase.told": {
        "en": "Messages, what was learned of them, accounts, replies on their way: all of it goes, on all channels, and can't be "
        "brought back. The audit log keeps numbers alone.",
        "zh": "消息、已知信息、账号、待发送的回复，所有渠道的全部数据都会删除，无法恢复。审计日志仅保留编号。",
    },
    "people.erased.title": {"en": "Person {person} is erased", "zh": "人员 {person} 已删除"},
    "people.erased.receipt": {"en": "The receipt: rows that went, by kind.", "zh": "回执：各类已删除的行数。"},
    "people.rows.kind": {"en": "Kind", "zh": "类别"},
    "people.rows.count": {"en": "Rows", "zh": "行数"},
    "people.back": {"en": "To all people", "zh": "返回人员列表"},
    "people.requests": {"en": "Privacy requests", "zh": "隐私请求"},
    "people.requests.told": {
        "en": "What people have asked for that is still to be done, each with its day.",
        "zh": "用户提出的、尚待处理的请求及其期限。",
    },
    "people.requests.lead": {
        "en": "Asked for in chat (/forget me) or noted by hand. The law gives one month; an erasure meets its request by itself.",
        "zh": "用户在聊天中提出（/forget 我的数据）或由管理员登记。法定期限为一个月；执行删除后请求自动完成。",
    },
    "people.requests.none": {"en": "Nothing is open", "zh": "没有待处理的请求"},
    "people.requests.none.told": {
        "en": "When somebody asks in chat to be erased, or you note a request on their page, it stands here until it is met.",
        "zh": "当用户在聊天中请求删除，或您在其页面登记请求后，会显示在这里，直到处理完成。",
    },
    "people.request": {"en": "Note a request", "zh": "登记请求"},
    "people.request.told": {
        "en": "For what somebody asked outside of chat, by mail for example.",
        "zh": "用于登记聊天之外（例如邮件）提出的请求。",
    },
    "people.request.kind": {"en": "They want", "zh": "请求内容"},
    "people.request.erasure": {"en": "to be erased", "zh": "删除数据"},
    "people.request.export": {"en": "their data", "zh": "获取数据"},
    "people.request.asked": {"en": "Asked", "zh": "提出时间"},
    "people.request.due": {"en": "Due", "zh": "期限"},
    "people.request.where": {"en": "Where", "zh": "来源"},
    "people.request.by_hand": {"en": "noted by hand", "zh": "管理员登记"},
    "people.request.overdue": {"en": "overdue", "zh": "已逾期"},
    "people.request.noted": {"en": "The request is noted.", "zh": "请求已登记。"},
    "people.request.met": {"en": "It is met", "zh": "标记为已完成"},
    "people.request.settled": {"en": "The request is closed.", "zh": "请求已关闭。"},
    "people.unfinished": {"en": "Erasures that go on by themselves", "zh": "正在进行的删除"},
}
