"""What the console channel sends: its headers, and the two small pages shown instead of the chat page. Pure."""

from __future__ import annotations

from html import escape
from typing import Literal

Language = Literal["en", "zh"]

HEADERS = {
    # Text only ever becomes text nodes; Trusted Types make the browser refuse everything else.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}

GATE_HEADERS = HEADERS | {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # under `no-referrer` a form is posted with `Origin: null`, as a foreign one
}

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

_WORDS: dict[str, dict[Language, str]] = {
    "token_title": {"en": "This chat page asks for its token", "zh": "此聊天页面需要令牌"},
    "token_about": {
        "en": "It stands in the gateway's settings: token, of the console channel. This browser will remember it.",
        "zh": "令牌写在网关设置里，是 console 通道的 token。浏览器会记住它。",
    },
    "token_label": {"en": "Token", "zh": "令牌"},
    "token_wrong": {"en": "That is not the token.", "zh": "令牌不对。"},
    "token_wait": {
        "en": "Too many wrong tokens came from your address. Wait a minute, then try again.",
        "zh": "您的地址输错令牌的次数太多。请等一分钟再试。",
    },
    "token_enter": {"en": "Enter", "zh": "进入"},
    "not_local_title": {"en": "This chat page is for its own machine only", "zh": "此聊天页面只对本机开放"},
    "not_local_about": {
        "en": "Open it as http://localhost with the gateway's port, without a proxy in between; or set a token for the "
        "console channel in the gateway's settings.",
        "zh": "请在运行网关的机器上用 http://localhost 加端口号打开，中间不要有代理；或者在网关设置里为 console 通道设置 token。",
    },
}

_PAGE = """<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Clew</title>
<link rel="icon" href="/chat/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/chat/static/page.css">
</head>
<body class="gate">
<main>
<img src="/chat/static/icon.svg" alt="" width="44" height="44">
<h1>{title}</h1>
<p>{about}</p>
{rest}</main>
</body>
</html>
"""

_FORM = """<form method="post" action="/chat/token">
{wrong}<label for="token">{label}</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button type="submit">{enter}</button>
</form>
"""


def language_of(accept_language: str) -> Language:
    """Return the language a browser prefers, by its `Accept-Language`: Chinese if that comes first, else English."""
    return "zh" if accept_language.strip().lower().startswith("zh") else "en"


def token_page(language: Language, *, told: Literal["wrong", "wait"] | None = None) -> str:
    """Return the page that asks for the token. `told`: the one given was `wrong`, or there were too many wrong ones."""
    alert = f'<p class="wrong" role="alert">{_say(f"token_{told}", language)}</p>\n' if told else ""
    form = _FORM.format(wrong=alert, label=_say("token_label", language), enter=_say("token_enter", language))
    return _page("token", language, rest=form)


def not_local_page(language: Language) -> str:
    """Return the page for somebody who is elsewhere, where no token is set."""
    return _page("not_local", language)


def _page(name: str, language: Language, *, rest: str = "") -> str:
    return _PAGE.format(
        lang="zh-Hans" if language == "zh" else "en",
        title=_say(f"{name}_title", language),
        about=_say(f"{name}_about", language),
        rest=rest,
    )


def _say(key: str, language: Language) -> str:
    return escape(_WORDS[key][language])
