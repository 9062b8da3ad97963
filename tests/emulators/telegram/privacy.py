"""Which messages of a room a bot gets to see. Pure; platform-facts 2.6 and the platform's page on privacy mode."""

from __future__ import annotations

from typing import Any

from tests.emulators.telegram.entities import cut

_SERVICE = """
new_chat_members left_chat_member new_chat_title new_chat_photo delete_chat_photo group_chat_created supergroup_chat_created
channel_chat_created migrate_to_chat_id migrate_from_chat_id pinned_message forum_topic_created forum_topic_edited
forum_topic_closed forum_topic_reopened general_forum_topic_hidden general_forum_topic_unhidden video_chat_started
video_chat_ended boost_added message_auto_delete_timer_changed
"""
SERVICE = frozenset(_SERVICE.split())


def visible(
    body: dict[str, Any], *, bot_id: int, username: str, reads_all: bool, bot_spoke_last: bool, talks_to_bots: bool
) -> bool:
    """Tell whether the room's message is delivered to the bot. `reads_all`: privacy mode was off when it joined, or it is
    an admin. `bot_spoke_last`: no other bot has spoken since it did."""
    sender = body.get("from", {})
    if sender.get("id") == bot_id:
        return False
    if SERVICE & body.keys():
        return True
    if sender.get("is_bot") and "sender_chat" not in body and not talks_to_bots:
        return False
    if reads_all:
        return True
    if body.get("via_bot", {}).get("id") == bot_id:
        return True
    if body.get("reply_to_message", {}).get("from", {}).get("id") == bot_id:
        return True
    return any(_commands(body, mark, username, bot_spoke_last) for mark in body.get("entities", ()))


def _commands(body: dict[str, Any], mark: dict[str, Any], username: str, bot_spoke_last: bool) -> bool:
    if mark["type"] != "bot_command":
        return False
    _command, _, target = cut(body["text"], mark["offset"], mark["length"]).partition("@")
    return target.lower() == username.lower() if target else bot_spoke_last
