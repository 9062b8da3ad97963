"""What the pages of one's own account say."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "account.title": {"en": "My account", "zh": "我的账户"},
    "account.title.told": {
        "en": "Your rights, your password, and where you are signed in.",
        "zh": "您的权限、密码和登录会话。",
    },
    "account.rights": {"en": "What you may do", "zh": "您的权限"},
    "account.rights.none": {"en": "Nothing. Ask an owner for a role.", "zh": "暂无权限。请让所有者授予角色。"},
    "account.everywhere": {"en": "all of the gateway", "zh": "整个网关"},
    "account.role": {"en": "Role", "zh": "角色"},
    "account.for": {"en": "For", "zh": "适用范围"},
    "account.password": {"en": "Change your password", "zh": "修改密码"},
    "account.password.current": {"en": "Current password", "zh": "当前密码"},
    "account.password.new": {"en": "New password", "zh": "新密码"},
    "account.password.help": {
        "en": "At least 12 characters; four words are easy to keep in mind.",
        "zh": "至少 12 个字符；几个词连在一起既好记又安全。",
    },
    "account.password.go": {"en": "Change it", "zh": "修改"},
    "account.password.elsewhere": {
        "en": "You sign in at the identity provider; this gateway knows no password of yours.",
        "zh": "您通过身份提供方登录，本网关没有您的密码。",
    },
    "account.password.changed": {
        "en": "Your password is another one now. Sign in with it.",
        "zh": "密码已修改，请使用新密码登录。",
    },
    "account.sessions": {"en": "Where you are signed in", "zh": "登录会话"},
    "account.session.from": {"en": "From", "zh": "来源"},
    "account.session.browser": {"en": "Browser", "zh": "浏览器"},
    "account.session.since": {"en": "Since", "zh": "开始"},
    "account.session.seen": {"en": "Last seen", "zh": "最近活动"},
    "account.session.ends": {"en": "Ends", "zh": "到期"},
    "account.session.end": {"en": "Sign out there", "zh": "退出该会话"},
    "account.session.ended": {"en": "That session is over.", "zh": "该会话已结束。"},
    "account.tokens": {"en": "API tokens", "zh": "API 令牌"},
    "account.tokens.told": {
        "en": "For programs that use the API in your name.",
        "zh": "供程序以您的名义调用 API。",
    },
    "account.tokens.lead": {
        "en": "A token never does more than you may at that moment. Programs send it as “Authorization: Bearer …”.",
        "zh": "令牌的权限任何时候都不会超过您本人。程序以 “Authorization: Bearer …” 的形式发送。",
    },
    "account.tokens.whose": {"en": "Whose tokens", "zh": "令牌范围"},
    "account.tokens.own": {"en": "Yours", "zh": "我的"},
    "account.tokens.all": {"en": "Everybody's", "zh": "全部"},
    "account.tokens.none": {"en": "There are no tokens", "zh": "还没有令牌"},
    "account.tokens.none.told": {
        "en": "Make one for a script, a CI job or the command line on another machine.",
        "zh": "可以为脚本、CI 任务或另一台机器上的命令行创建一个。",
    },
    "account.token.name": {"en": "Name", "zh": "名称"},
    "account.token.name.help": {"en": "What it is for, so that you know it again.", "zh": "用途说明，便于以后辨认。"},
    "account.token.user": {"en": "User", "zh": "用户"},
    "account.token.local": {"en": "the machine", "zh": "本机"},
    "account.token.grant": {"en": "May do", "zh": "权限"},
    "account.token.grant.help": {"en": "As little as it needs.", "zh": "只授予必要的权限。"},
    "account.token.grant.all": {"en": "all that you may", "zh": "与您相同的全部权限"},
    "account.token.days": {"en": "Days until it ends", "zh": "有效天数"},
    "account.token.ends": {"en": "Ends", "zh": "到期"},
    "account.token.used": {"en": "Last used (within the hour)", "zh": "最近使用（精确到小时）"},
    "account.token.make": {"en": "Make a token", "zh": "创建令牌"},
    "account.token.go": {"en": "Make it", "zh": "创建"},
    "account.token.made": {"en": "Your new token", "zh": "新令牌"},
    "account.token.made.told": {
        "en": "It is shown this once and kept nowhere. Whoever has it may do what it may.",
        "zh": "令牌只显示这一次，系统不会保存。持有者即拥有其权限。",
    },
    "account.token.back": {"en": "To the tokens", "zh": "返回令牌列表"},
    "account.token.revoke": {"en": "Revoke", "zh": "撤销"},
    "account.token.revoke.sure": {"en": "Revoke {name}?", "zh": "撤销 {name}？"},
    "account.token.revoke.told": {
        "en": "Programs that use it are refused from now on. Tokens that were made with it end too.",
        "zh": "使用它的程序将立即被拒绝。用它创建的令牌也会一并失效。",
    },
    "account.token.revoked": {"en": "The token has ended.", "zh": "令牌已失效。"},
}
