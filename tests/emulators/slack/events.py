"""What Slack tells apps, pure: messages, changes, members; and the envelope around them. Keys as in the recorded payloads."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.emulators.slack.apps import Bot
    from tests.emulators.slack.channels import Channel
    from tests.emulators.slack.members import Member
    from tests.emulators.slack.messages import Message

Json = dict[str, Any]

_ICONS = {f"image_{size}": f"https://a.slack-edge.com/80588/img/plugins/app/bot_{size}.png" for size in (36, 48, 72)}
_SERVICE = {"channel_join", "channel_leave", "group_join", "group_leave", "tombstone"}


def texts(part: Any) -> Iterator[str]:
    """Yield the texts in a block (or any part of one), in reading order."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "text" and isinstance(value, str):
                yield value
            elif isinstance(value, dict | list):
                yield from texts(value)
    elif isinstance(part, list):
        for item in part:
            yield from texts(item)


def bot_profile(member: Member) -> Json:
    return {
        "id": member.bot_id,
        "deleted": False,
        "name": member.name,
        "updated": 1_766_422_444,
        "app_id": member.app.id if member.app else "A00OTHER001",
        "user_id": member.id,
        "icons": dict(_ICONS),
        "team_id": member.workspace.id,
    }


def wire(message: Message, *, with_metadata: bool = False) -> Json:
    """Return a message as it stands in history and inside `message_changed`."""
    author = message.author
    document: Json = {"type": "message", "ts": message.ts, "text": message.text}
    if message.subtype is not None:
        document["subtype"] = message.subtype
    if message.subtype == "tombstone":
        document |= {"user": "USLACKBOT", "hidden": True}
    elif message.subtype == "bot_message":
        document |= {"bot_id": author.bot_id, "username": author.name}
    else:
        document["user"] = author.id
        if message.subtype not in _SERVICE:
            document |= {"team": author.workspace.id, "blocks": message.blocks}
    if author.bot_id is not None and "user" in document and message.subtype != "tombstone":
        document |= {
            "bot_id": author.bot_id,
            "app_id": bot_profile(author)["app_id"],
            "bot_profile": bot_profile(author),
        }
    if message.client_msg_id is not None and message.subtype not in _SERVICE:
        document["client_msg_id"] = message.client_msg_id
    if message.thread_ts is not None:
        document["thread_ts"] = message.thread_ts
    if message.parent_user_id is not None:
        document["parent_user_id"] = message.parent_user_id
    if message.edited is not None:
        document["edited"] = message.edited
    if message.replies:
        document |= {"reply_count": message.replies, "reply_users_count": 1, "is_locked": False}
    if message.files:
        document |= {"files": message.files, "upload": False, "display_as_bot": False}
    if message.attachments:
        document["attachments"] = message.attachments
    if message.reactions:
        document["reactions"] = [
            {"name": name, "users": list(users), "count": len(users)} for name, users in message.reactions.items()
        ]
    if with_metadata and message.metadata is not None:
        document["metadata"] = message.metadata
    return copy.deepcopy(document)


def posted(channel: Channel, message: Message, root: Message | None) -> Json:
    """The `message` event."""
    event = wire(message) | {"channel": channel.id, "event_ts": message.ts, "channel_type": channel.kind}
    if message.broadcast and root is not None:
        event["root"] = wire(root)
    return event


def mention(channel: Channel, message: Message, *, to: Bot) -> Json:
    """The `app_mention` event: the same message without `channel_type`; of a stranger's, as its app's team sees it."""
    event = wire(message) | {"type": "app_mention", "channel": channel.id, "event_ts": message.ts}
    home = message.author.workspace
    if home is not to.workspace:
        event |= {
            "team": to.workspace.id,
            "user_team": home.enterprise or home.id,
            "source_team": home.enterprise or home.id,
            "user_profile": {"team": home.enterprise or home.id, "real_name": message.author.name},
        }
    return event


def changed(channel: Channel, message: Message, before: Json, *, ts: str) -> Json:
    """`message_changed`: of an edit, an own update, an unfurled link, a root's counter; and a root's tombstone."""
    now = wire(message)
    if message.subtype != "tombstone":
        team = message.author.workspace.id
        now |= {"source_team": team, "user_team": team}
    return {
        "type": "message",
        "subtype": "message_changed",
        "message": now,
        "previous_message": before,
        "channel": channel.id,
        "hidden": True,
        "ts": ts,
        "event_ts": ts,
        "channel_type": channel.kind,
    }


def deleted(channel: Channel, deleted_ts: str, before: Json, *, ts: str) -> Json:
    return {
        "type": "message",
        "subtype": "message_deleted",
        "previous_message": before,
        "channel": channel.id,
        "hidden": True,
        "deleted_ts": deleted_ts,
        "event_ts": ts,
        "ts": ts,
        "channel_type": channel.kind,
    }


def membership(channel: Channel, member: Member, by: Member | None, *, joined: bool, ts: str) -> Json:
    event: Json = {
        "type": "member_joined_channel" if joined else "member_left_channel",
        "user": member.id,
        "channel": channel.id,
        "channel_type": "G" if channel.kind in ("group", "mpim") else "C",
        "team": member.workspace.id,
        "event_ts": ts,
    }
    if by is not None:
        event["inviter"] = by.id
    if member.workspace.enterprise is not None:
        event["enterprise"] = member.workspace.enterprise
    return event


def reaction(channel: Channel, member: Member, message: Message, name: str, *, ts: str) -> Json:
    """`reaction_added`; without `item_user` where a bot of the old kind wrote (errbotio/errbot#1514)."""
    event: Json = {
        "type": "reaction_added",
        "user": member.id,
        "reaction": name,
        "item": {"type": "message", "channel": channel.id, "ts": message.ts},
        "event_ts": ts,
    }
    if message.subtype != "bot_message":
        event["item_user"] = message.author.id
    return event


def envelope(event: Json, *, to: Bot, channel: Channel | None, event_id: str, at: float) -> Json:
    """The body of a delivery: where it happened, whose installation hears of it.

    A `message` of Slack Connect names its author's team as `team_id` and the hearer's as `context_team_id`; an `app_mention` has
    the hearer's team throughout.
    """
    here = to.workspace
    told_of = event.get("type") != "app_mention"
    team, enterprise = here.id, here.enterprise
    if told_of and event.get("type") == "message" and "team" in event:
        home = to.workspace.slack.workspaces[event["team"]]
        team, enterprise = home.id, home.enterprise
    body: Json = {"token": to.app.verification_token, "team_id": team}
    if enterprise is not None:
        body["enterprise_id"] = enterprise
    if told_of:
        body |= {"context_team_id": here.id, "context_enterprise_id": here.enterprise}
    about = {"et": event["type"], "tid": here.id, "aid": to.app.id} | (
        {"cid": channel.id} if channel is not None else {}
    )
    return body | {
        "api_app_id": to.app.id,
        "event": event,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": int(at),
        "authorizations": [
            {
                "enterprise_id": here.enterprise,
                "team_id": here.id,
                "user_id": to.user.id,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": bool(channel is not None and channel.guests),
        "event_context": "4-" + base64.urlsafe_b64encode(json.dumps(about).encode()).decode().rstrip("="),
    }
