"""What the pages of signing in say."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "sign_in.title": {"en": "Sign in", "zh": "登录"},
    "sign_in.name": {"en": "Name", "zh": "用户名"},
    "sign_in.password": {"en": "Password", "zh": "密码"},
    "sign_in.go": {"en": "Sign in", "zh": "登录"},
    "sign_in.by_provider": {"en": "Sign in with {provider}", "zh": "使用 {provider} 登录"},
    "sign_in.or": {"en": "or with a password of this gateway", "zh": "或使用本网关的密码"},
    "sign_in.left": {"en": "You are signed out.", "zh": "您已退出登录。"},
    "sign_in.done": {"en": "You are signed in", "zh": "您已登录"},
    "sign_in.on": {"en": "Go on", "zh": "继续"},
    "sign_in.problem.wrong": {
        "en": "This name and this password do not belong together.",
        "zh": "用户名或密码不正确。",
    },
    "sign_in.problem.wait": {
        "en": "There were too many wrong tries. Try again in {count} s.",
        "zh": "错误次数过多，请在 {count} 秒后再试。",
    },
    "sign_in.problem.no_rights": {
        "en": "You are known there, but nothing lets you in here. Ask an owner of this gateway for a role.",
        "zh": "身份已确认，但您在这里没有任何权限。请让网关的所有者授予角色。",
    },
    "sign_in.problem.off": {
        "en": "No identity provider is configured for this gateway.",
        "zh": "本网关没有配置身份提供方。",
    },
    "sign_in.problem.provider": {
        "en": "The identity provider signed nobody in. Try again; if it stays so, this tells an owner why:",
        "zh": "身份提供方未能完成登录。请重试；如果问题依旧，以下信息可以帮助所有者查明原因：",
    },
    "sign_in.problem.turned_away": {
        "en": "You were not signed in. Begin again; if it stays so, this tells an owner why:",
        "zh": "未能登录。请重新开始；如果问题依旧，以下信息可以帮助所有者查明原因：",
    },
    "sign_in.problem.open": {
        "en": "Nobody signs in over this line: anybody on the way could read the password. Reach the console by https (and set "
        "server.public_url, or server.trusted_proxies for your proxy), or on the gateway's own machine.",
        "zh": "不能通过此连接登录：途中任何人都可能读到密码。请使用 https 访问控制台（并设置 server.public_url，"
        "或为代理设置 server.trusted_proxies），或者在网关所在的机器上访问。",
    },
}
