"""Who is what in a chat, as the platform tells it: `ChatMember` objects and the updates about their change."""

from __future__ import annotations

from typing import Any

from tests.emulators.telegram.chats import Chat, Member

_ADMIN_RIGHTS = """
can_be_edited is_anonymous can_manage_chat can_delete_messages can_manage_video_chats can_restrict_members can_promote_members
can_change_info can_invite_users can_post_stories can_edit_stories can_delete_stories
"""


def member_json(member: Member) -> dict[str, Any]:
    """The `ChatMember` object of the member's status."""
    body: dict[str, Any] = {"status": member.status, "user": member.user}
    if member.status == "administrator":
        return body | dict.fromkeys(_ADMIN_RIGHTS.split(), False) | {"can_manage_chat": True}
    if member.status == "creator":
        return body | {"is_anonymous": False}
    return body | {"until_date": 0} if member.status == "kicked" else body


def change_member(chat: Chat, user_id: int, status: Any, *, by: dict[str, Any]) -> None:
    """Give a member another status; a bot hears of its own change (`my_chat_member`), admins of everybody's."""
    member = chat.members[user_id]
    old = member_json(member)
    member.status = status
    body = {
        "chat": chat.json(), "from": by, "date": int(chat.world.clock.now()),
        "old_chat_member": old, "new_chat_member": member_json(member),
    }  # fmt: skip
    if member.bot is not None:
        member.bot.updates.put("my_chat_member", body, queue=chat.id)
    for other in chat.bots():
        if other.bot and other is not member and other.status == "administrator":
            other.bot.updates.put("chat_member", body, queue=chat.id)
    chat.world.bell.ring()
