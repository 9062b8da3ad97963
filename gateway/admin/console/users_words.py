"""What the pages of users say."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "users.title": {"en": "Users", "zh": "用户与权限"},
    "users.title.told": {
        "en": "Who may sign in here, and what each may do.",
        "zh": "谁可以登录控制台，各自能做什么。",
    },
    "users.lead": {
        "en": "What is taken away is gone with the next request, on every instance.",
        "zh": "收回的权限在下一次请求时立即失效，对所有实例都是如此。",
    },
    "users.name": {"en": "Name", "zh": "用户名"},
    "users.signs_in": {"en": "Signs in by", "zh": "登录方式"},
    "users.signs_in.password": {"en": "password", "zh": "密码"},
    "users.signs_in.provider": {"en": "identity provider", "zh": "身份提供方"},
    "users.signs_in.not": {"en": "not at all", "zh": "不能登录"},
    "users.roles": {"en": "Roles", "zh": "角色"},
    "users.roles.none": {"en": "none", "zh": "无"},
    "users.last": {"en": "Last signed in", "zh": "上次登录"},
    "users.made": {"en": "Made", "zh": "创建时间"},
    "users.add": {"en": "Add a user", "zh": "添加用户"},
    "users.add.go": {"en": "Add", "zh": "添加"},
    "users.added": {"en": "The user is made.", "zh": "用户已创建。"},
    "users.role": {"en": "Role", "zh": "角色"},
    "users.role.help": {
        "en": "The help page tells what each may do.",
        "zh": "各角色的权限见帮助页面。",
    },
    "users.channel": {"en": "For", "zh": "适用范围"},
    "users.everywhere": {"en": "all of the gateway", "zh": "整个网关"},
    "users.password": {"en": "Password", "zh": "密码"},
    "users.password.new": {"en": "New password", "zh": "新密码"},
    "users.password.help": {
        "en": "At least 12 characters. Leave it empty to have one made.",
        "zh": "至少 12 个字符。留空则自动生成。",
    },
    "users.password.set": {
        "en": "The password is another one now, and all sessions are over.",
        "zh": "密码已更换，所有会话均已结束。",
    },
    "users.password.once": {"en": "A password was made for {name}", "zh": "已为 {name} 生成密码"},
    "users.password.once.told": {
        "en": "It is shown this once and kept nowhere. Hand it over safely; it can be changed under “My account”.",
        "zh": "密码只显示这一次，系统不会保存。请安全地转交；对方可以在“我的账户”中修改。",
    },
    "users.back": {"en": "To the user", "zh": "返回该用户"},
    "users.grant": {"en": "Give a role", "zh": "授予角色"},
    "users.grant.go": {"en": "Give", "zh": "授予"},
    "users.grant.told": {
        "en": "It takes the place of the role given there before.",
        "zh": "将取代该范围内此前授予的角色。",
    },
    "users.granted": {"en": "The role is given.", "zh": "角色已授予。"},
    "users.by_claims": {"en": "by the identity provider, until", "zh": "由身份提供方授予，有效期至"},
    "users.revoke": {"en": "Take away", "zh": "收回"},
    "users.revoke.sure": {"en": "Take this role away from {name}?", "zh": "收回 {name} 的这个角色？"},
    "users.revoke.told": {
        "en": "It ends with their next request, and so does what their API tokens may do by it.",
        "zh": "自其下一次请求起失效，其 API 令牌的相应权限也一并失效。",
    },
    "users.revoked": {"en": "The role is taken away.", "zh": "角色已收回。"},
    "users.reset": {"en": "Set another password", "zh": "重设密码"},
    "users.reset.go": {"en": "Set password", "zh": "设置密码"},
    "users.reset.sure": {"en": "Set another password for {name}?", "zh": "为 {name} 重设密码？"},
    "users.reset.told": {"en": "All their sessions end.", "zh": "其所有会话都将结束。"},
    "users.sessions": {"en": "Signed in", "zh": "登录会话"},
    "users.sessions.none": {"en": "Nowhere.", "zh": "目前没有登录。"},
    "users.session.from": {"en": "From", "zh": "来源"},
    "users.session.browser": {"en": "Browser", "zh": "浏览器"},
    "users.session.since": {"en": "Since", "zh": "开始"},
    "users.session.seen": {"en": "Last seen", "zh": "最近活动"},
    "users.session.end": {"en": "Sign out", "zh": "强制退出"},
    "users.session.ended": {"en": "That session is over.", "zh": "该会话已结束。"},
    "users.acts": {"en": "What they did", "zh": "操作记录"},
    "users.remove": {"en": "Remove", "zh": "移除"},
    "users.remove.sure": {"en": "Remove {name}?", "zh": "移除 {name}？"},
    "users.remove.told": {
        "en": "Rights, sessions and API tokens end at once. The audit log keeps the number. Who comes from the identity "
        "provider stays out, until restored by their number.",
        "zh": "其权限、会话和 API 令牌立即失效。审计日志保留其编号。"
        "来自身份提供方的用户也无法再登录，除非按其编号恢复。",
    },
    "users.restore": {"en": "Restore a removed user", "zh": "恢复已移除的用户"},
    "users.restore.told": {
        "en": "For who signs in by the identity provider: the audit log has their number, in the entry of their removal.",
        "zh": "适用于通过身份提供方登录的用户：编号见审计日志中移除该用户的记录。",
    },
    "users.restore.go": {"en": "Restore", "zh": "恢复"},
    "users.restored": {"en": "The user may sign in again.", "zh": "该用户可以重新登录。"},
    "users.number": {"en": "User's number", "zh": "用户编号"},
    "users.removed": {"en": "The user is removed.", "zh": "用户已移除。"},
}
