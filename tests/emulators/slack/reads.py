"""What an app may ask: who it is, who and what is there, and what was said."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, TypeVar

from tests.emulators.slack import events
from tests.emulators.slack.channels import Channel
from tests.emulators.slack.faults import ApiError
from tests.emulators.slack.members import profile
from tests.emulators.slack.messages import Message
from tests.emulators.slack.methods import TS, Asked, Method, need

Json = dict[str, Any]
T = TypeVar("T")


def auth_test(asked: Asked) -> Json:
    here, me = asked.workspace, asked.me
    answer = {
        "url": f"https://{here.domain}.slack.com/",
        "team": here.name,
        "user": me.user.name.lower(),
        "team_id": here.id,
        "user_id": me.id,
        "bot_id": me.bot_id,
        "is_enterprise_install": False,
    }
    return answer | ({"enterprise_id": here.enterprise} if here.enterprise is not None else {})


def users_info(asked: Asked) -> Json:
    known = dict(asked.workspace.members)
    for channel in asked.workspace.channels.values():
        known |= channel.members  # strangers of Slack Connect
    member = known.get(asked.args["user"])
    if member is None:
        raise ApiError("user_not_found")
    return {"user": profile(member, seen_from=asked.workspace, with_locale=asked.flag("include_locale"))}


def bots_info(asked: Asked) -> Json:
    for member in asked.workspace.members.values():
        if member.bot_id is not None and member.bot_id == asked.args.get("bot"):
            kept = ("id", "deleted", "name", "updated", "app_id", "user_id", "icons")
            return {"bot": {key: value for key, value in events.bot_profile(member).items() if key in kept}}
    raise ApiError("bot_not_found")


def team_info(asked: Asked) -> Json:
    here = asked.workspace
    if asked.args.get("team") not in (None, here.id):
        raise ApiError("team_not_found")
    team = {
        "id": here.id,
        "name": here.name,
        "domain": here.domain,
        "email_domain": "",
        "icon": {"image_default": True},
    }
    return {"team": team | ({"enterprise_id": here.enterprise} if here.enterprise is not None else {})}


def conversations_info(asked: Asked) -> Json:
    channel = asked.channel(scope="read")
    return {"channel": _described(channel, asked)}


def conversations_members(asked: Asked) -> Json:
    page, more = _page(sorted(asked.channel(scope="read").members), asked)
    return {"members": page, "response_metadata": {"next_cursor": more}}


def conversations_open(asked: Asked) -> Json:
    if "channel" in asked.args:
        channel = asked.channel()
    else:
        ids = [user for user in str(asked.args.get("users", "")).split(",") if user]
        people = [asked.workspace.members.get(user) for user in ids]
        if not ids or not all(people):
            raise ApiError("user_not_found" if ids else "users_list_not_supplied")
        if any(person is not None and person.bot_id for person in people):
            raise ApiError("cannot_dm_bot")
        need(asked.me, "im:write" if len(ids) == 1 else "mpim:write")
        channel = asked.workspace.dm(asked.me, *(person for person in people if person is not None))
    return {"channel": _described(channel, asked) if asked.flag("return_im") else {"id": channel.id}}


def conversations_history(asked: Asked) -> Json:
    """Newest first: roots, and replies that were sent to the channel too."""
    channel = _readable(asked)
    there = [one for one in channel.messages() if one.thread_ts in (None, one.ts) or one.broadcast]
    page, more = _page(_between(there, asked)[::-1], asked)
    return _messages(page, more, asked)


def conversations_replies(asked: Asked) -> Json:
    """Oldest first: the root, always, and its replies."""
    channel = _readable(asked)
    root = channel.find(asked.args["ts"])
    if root is None:
        raise ApiError("thread_not_found")
    thread = root.thread_ts or root.ts
    replies = [one for one in channel.messages(thread) if one.ts != thread]
    first = [one for one in (channel.find(thread),) if one is not None]
    page, more = _page([*first, *_between(replies, asked)], asked)
    return _messages(page, more, asked)


def _readable(asked: Asked) -> Channel:
    channel = asked.channel(scope="history")
    if asked.me.id not in channel.members:
        raise ApiError("not_in_channel")
    return channel


def _between(messages: list[Message], asked: Asked) -> list[Message]:
    inclusive = asked.flag("inclusive")
    oldest, latest = (_bound(asked, name) for name in ("oldest", "latest"))
    return [
        one
        for one in messages
        if (oldest is None or one.order > oldest or (inclusive and one.order == oldest))
        and (latest is None or one.order < latest or (inclusive and one.order == latest))
    ]


def _bound(asked: Asked, name: str) -> tuple[int, int] | None:
    value = str(asked.args.get(name) or "")
    if not value or value == "0":
        return None
    if not TS.fullmatch(value):
        raise ApiError(f"invalid_ts_{name}")
    seconds, micros = value.split(".")
    return int(seconds), int(micros)


def _page(items: Sequence[T], asked: Asked) -> tuple[list[T], str]:
    """Return a page and the cursor of the next; empty: none."""
    try:
        limit = int(asked.args.get("limit") or 100)
        cursor = str(asked.args.get("cursor") or "")
        at = int(base64.b64decode(cursor).decode().removeprefix("at:")) if cursor else 0
    except ValueError:
        raise ApiError("invalid_limit" if not asked.args.get("cursor") else "invalid_cursor") from None
    if not 1 <= limit <= 999:
        raise ApiError("invalid_limit")
    more = base64.b64encode(f"at:{at + limit}".encode()).decode() if at + limit < len(items) else ""
    return list(items[at : at + limit]), more


def _messages(page: list[Message], more: str, asked: Asked) -> Json:
    told = asked.flag("include_all_metadata")
    answer: Json = {"messages": [events.wire(one, with_metadata=told) for one in page], "has_more": bool(more)}
    return answer | ({"response_metadata": {"next_cursor": more}} if more else {})


def _described(channel: Channel, asked: Asked) -> Json:
    kind = channel.kind
    document: Json = {
        "id": channel.id,
        "created": 1_770_000_000,
        "is_archived": channel.archived,
        "is_channel": kind == "channel",
        "is_group": kind == "group",
        "is_im": kind == "im",
        "is_mpim": kind == "mpim",
        "is_private": kind != "channel",
        "is_member": asked.me.id in channel.members,
        "is_ext_shared": bool(channel.guests),
        "is_org_shared": False,
        "context_team_id": asked.workspace.id,
        "shared_team_ids": [workspace.id for workspace in channel.workspaces],
    }
    if kind == "im":
        return document | {"user": next(user for user in channel.members if user != asked.me.id)}
    name = f"mpdm-{channel.name}-1" if kind == "mpim" else channel.name
    document |= {"name": name, "name_normalized": name, "topic": {"value": ""}, "purpose": {"value": ""}}
    return document | ({"num_members": len(channel.members)} if asked.flag("include_num_members") else {})


_RANGE = ("cursor", "inclusive", "include_all_metadata", "latest", "limit", "oldest")
METHODS = (
    Method(name="auth.test", answer=auth_test, tier=None),
    Method(
        name="users.info",
        answer=users_info,
        required=("user",),
        optional=("include_locale",),
        scope="users:read",
        tier=4,
        form_only=True,
    ),
    Method(name="bots.info", answer=bots_info, optional=("bot",), scope="users:read", form_only=True),
    Method(
        name="team.info",
        answer=team_info,
        optional=("team", "domain", "include_slackbot_availability"),
        scope="team:read",
        form_only=True,
    ),
    Method(
        name="conversations.info",
        answer=conversations_info,
        required=("channel",),
        optional=("include_locale", "include_num_members"),
        form_only=True,
    ),
    Method(
        name="conversations.members",
        answer=conversations_members,
        required=("channel",),
        optional=("cursor", "limit"),
        tier=4,
        form_only=True,
    ),
    Method(
        name="conversations.open",
        answer=conversations_open,
        optional=("channel", "users", "return_im", "prevent_creation"),
    ),
    Method(
        name="conversations.history",
        answer=conversations_history,
        required=("channel",),
        optional=_RANGE,
        form_only=True,
    ),
    Method(
        name="conversations.replies",
        answer=conversations_replies,
        required=("channel", "ts"),
        optional=_RANGE,
        form_only=True,
    ),
    Method(
        name="apps.connections.open",
        answer=lambda asked: {"url": asked.app.sockets.ticket()},
        tier=3,
        token="app",
    ),
)
