"""`chat.*` and what goes with it: post, update, delete, ephemeral, status, reactions."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.emulators.slack import events
from tests.emulators.slack.blocks import Content, content
from tests.emulators.slack.faults import ApiError
from tests.emulators.slack.methods import TS, Asked, Method, need

Json = dict[str, Any]
_REACTION = re.compile(r"[\w+'-]+(::skin-tone-[2-6])?")
_LOOK = ("icon_emoji", "icon_url", "username")
_CONTENT = ("text", "blocks", "attachments", "markdown_text", "as_user", "link_names", "parse")


def post(asked: Asked) -> Json:
    channel = asked.place()
    what = content(asked.args, update=False)
    thread = asked.thread(channel)
    _check_look(asked)
    message = channel.post(
        author=asked.me.user,
        text=what.text,
        blocks=what.blocks,
        attachments=what.attachments or (),
        metadata=what.metadata or None,
        thread=thread,
        broadcast=thread is not None and asked.flag("reply_broadcast"),
        link_names=_link_names(asked),
        unfurl=asked.flag("unfurl_links", True) or asked.flag("unfurl_media", True),
    )
    answer = {"channel": channel.id, "ts": message.ts, "message": events.wire(message, with_metadata=True)}
    return answer | _warned(what)


def update(asked: Asked) -> Json:
    channel = asked.channel()
    if not TS.fullmatch(asked.args["ts"]):
        raise ApiError("message_not_found")
    message = asked.message(channel)
    if message.author is not asked.me.user:
        raise ApiError("cant_update_message")
    if message.stream is not None and message.stream.over(asked.platform.clock.now()) is None:
        raise ApiError("streaming_state_conflict")
    what = content(asked.args, update=True)
    channel.change(
        message,
        text=what.text,
        blocks=what.blocks,
        edited_by=None if what.blocks else asked.me.bot_id,  # an update by blocks does not show "(edited)"
        attachments=what.attachments,
        metadata=what.metadata,
        link_names=_link_names(asked),
    )
    answer = {"channel": channel.id, "ts": message.ts, "text": message.text, "message": events.wire(message)}
    return answer | _warned(what)


def delete(asked: Asked) -> Json:
    channel = asked.channel()
    message = asked.message(channel)
    if message.author is not asked.me.user:
        raise ApiError("cant_delete_message")
    channel.remove(message)
    return {"channel": channel.id, "ts": message.ts}


def post_ephemeral(asked: Asked) -> Json:
    channel = asked.place()
    if asked.args["user"] not in channel.members:
        raise ApiError("user_not_in_channel")
    what = content(asked.args, update=False)
    _check_look(asked)
    message = channel.post(
        author=asked.me.user,
        text=what.text,
        blocks=what.blocks,
        attachments=what.attachments or (),
        thread=asked.thread(channel),
        ephemeral_for=asked.args["user"],
    )
    return {"message_ts": message.ts} | _warned(what)


def set_status(asked: Asked) -> Json:
    """Show what the bot does in a thread. Two minutes long, until the next message there, or until it is empty."""
    channel = asked.place("channel_id")
    thread = asked.thread(channel)
    assert thread is not None
    loading = asked.args.get("loading_messages", [])
    if isinstance(loading, str):
        loading = json.loads(loading)
    if not isinstance(asked.args["status"], str) or len(loading) > 10:
        raise ApiError("invalid_arguments", "[ERROR] no more than 10 items allowed [json-pointer:/loading_messages]")
    channel.set_status(thread, asked.args["status"])
    return {}


def add_reaction(asked: Asked) -> Json:
    channel = asked.channel()
    message = asked.message(channel, "timestamp")
    if not _REACTION.fullmatch(asked.args["name"]):
        raise ApiError("invalid_name")
    if not channel.react(asked.me.user, message.ts, asked.args["name"]):
        raise ApiError("already_reacted")
    return {}


def _check_look(asked: Asked) -> None:
    if any(asked.args.get(name) for name in _LOOK):
        need(asked.me, "chat:write.customize")


def _link_names(asked: Asked) -> bool:
    return asked.flag("link_names") or asked.args.get("parse") == "full"


def _warned(what: Content) -> Json:
    if not what.warnings:
        return {}
    return {"warning": ",".join(what.warnings), "response_metadata": {"warnings": list(what.warnings)}}


METHODS = (
    Method(
        name="chat.postMessage",
        answer=post,
        required=("channel",),
        optional=(
            *_CONTENT,
            *_LOOK,
            *("thread_ts", "reply_broadcast", "unfurl_links", "unfurl_media", "mrkdwn", "metadata", "container_id"),
        ),
        scope="chat:write",
        tier=None,
        posts=True,
    ),
    Method(
        name="chat.update",
        answer=update,
        required=("channel", "ts"),
        optional=(*_CONTENT, "file_ids", "reply_broadcast", "metadata"),
        scope="chat:write",
    ),
    Method(name="chat.delete", answer=delete, required=("channel", "ts"), optional=("as_user",), scope="chat:write"),
    Method(
        name="chat.postEphemeral",
        answer=post_ephemeral,
        required=("channel", "user"),
        optional=(*_CONTENT, *_LOOK, "thread_ts"),
        scope="chat:write",
        tier=4,
    ),
    Method(
        name="assistant.threads.setStatus",
        answer=set_status,
        required=("channel_id", "thread_ts", "status"),
        optional=("loading_messages", *_LOOK),
        scope="chat:write",
        tier=5,
    ),
    Method(
        name="reactions.add",
        answer=add_reaction,
        required=("channel", "name", "timestamp"),
        scope="reactions:write",
    ),
)
