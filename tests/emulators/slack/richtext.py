"""Slack's message text, pure: what people type becomes mrkdwn with its escapes, and the rich text blocks Slack makes of it."""

from __future__ import annotations

import re
from typing import Any

Json = dict[str, Any]

TOKEN = re.compile(
    r"<(?:@(?P<user>[UW][A-Z0-9]+)(?:\|[^<>]*)?"
    r"|#(?P<channel>[CGD][A-Z0-9]+)(?:\|[^<>]*)?"
    r"|!subteam\^(?P<group>S[A-Z0-9]+)(?:\|[^<>]*)?"
    r"|!(?P<range>here|channel|everyone)(?:\|[^<>]*)?"
    r"|(?P<url>(?:https?://|mailto:|tel:)[^<>|\s]+)(?:\|(?P<label>[^<>]*))?)>"
)
_BARE_URL = re.compile(r"https?://[^\s<>|]+")
_PLAIN_RANGE = re.compile(r"(?<!\S)@(here|channel|everyone)\b")


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def typed(text: str) -> str:
    """Return the mrkdwn of what a person typed: tokens (`<@U…>`, `<#C…>`) stay, bare URLs become links, the rest is escaped."""
    return _between(text, TOKEN, keep=lambda match: match.group(), rest=_typed_plain)


def _typed_plain(text: str) -> str:
    return _between(text, _BARE_URL, keep=lambda match: f"<{escape(match.group())}>", rest=escape)


def _between(text: str, pattern: re.Pattern[str], *, keep: Any, rest: Any) -> str:
    parts, at = [], 0
    for match in pattern.finditer(text):
        parts += [rest(text[at : match.start()]), keep(match)]
        at = match.end()
    return "".join([*parts, rest(text[at:])])


def rich_text(mrkdwn: str, *, block_id: str) -> Json:
    """Return the rich text block that Slack makes of a plain message."""
    elements: list[Json] = []
    at = 0
    for match in TOKEN.finditer(mrkdwn):
        if match.start() > at:
            elements.append({"type": "text", "text": unescape(mrkdwn[at : match.start()])})
        elements.append(_element(match))
        at = match.end()
    if at < len(mrkdwn):
        elements.append({"type": "text", "text": unescape(mrkdwn[at:])})
    return {
        "type": "rich_text",
        "block_id": block_id,
        "elements": [{"type": "rich_text_section", "elements": elements}],
    }


def _element(match: re.Match[str]) -> Json:
    found = match.groupdict()
    if found["user"]:
        return {"type": "user", "user_id": found["user"]}
    if found["channel"]:
        return {"type": "channel", "channel_id": found["channel"]}
    if found["group"]:
        return {"type": "usergroup", "usergroup_id": found["group"]}
    if found["range"]:
        return {"type": "broadcast", "range": found["range"]}
    link = {"type": "link", "url": unescape(found["url"])}
    return link | ({"text": unescape(found["label"])} if found["label"] else {})


def pings(text: str, *, link_names: bool = False) -> frozenset[str]:
    """Return whom the text calls: account ids, user groups, and `here`, `channel`, `everyone`.

    In code spans too: Slack is not asked to be lenient here, so that a reply may not rely on it.
    """
    found = {match["user"] or match["group"] or match["range"] for match in TOKEN.finditer(text)} - {None}
    if link_names:
        found |= set(_PLAIN_RANGE.findall(text))
    return frozenset(found)


def links(mrkdwn: str) -> list[str]:
    """Return the web addresses in the text: what Slack would unfurl."""
    tokens = [unescape(match["url"]) for match in TOKEN.finditer(mrkdwn) if (match["url"] or "").startswith("http")]
    return tokens + _BARE_URL.findall(TOKEN.sub(" ", mrkdwn))
