"""Which function does which method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.emulators.telegram import account, sending
from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.errors import bad_request
from tests.emulators.telegram.world import World

Method = Callable[[World, Bot, dict[str, Any]], Awaitable[Any]]

METHODS: Mapping[str, Method] = {
    "sendMessage": sending.send_message,
    "editMessageText": sending.edit_message_text,
    "deleteMessage": sending.delete_message,
    "sendChatAction": sending.send_chat_action,
    "sendMessageDraft": sending.send_message_draft,
    "setMessageReaction": sending.set_message_reaction,
    "answerCallbackQuery": sending.answer_callback_query,
    "getMe": account.get_me,
    "getUpdates": account.get_updates,
    "setWebhook": account.set_webhook,
    "deleteWebhook": account.delete_webhook,
    "getWebhookInfo": account.get_webhook_info,
    "setMyCommands": account.set_my_commands,
    "getMyCommands": account.get_my_commands,
    "deleteMyCommands": account.delete_my_commands,
    "getChat": account.get_chat,
    "getChatMember": account.get_chat_member,
    "getChatAdministrators": account.get_chat_administrators,
    "getChatMemberCount": account.get_chat_member_count,
    "leaveChat": account.leave_chat,
    "getFile": account.get_file,
}


async def run(world: World, bot: Bot, method: str, params: dict[str, Any]) -> Any:
    """Do what the call asks, at once or (getUpdates) as soon as there is something; returns its `result`."""
    if method not in METHODS:
        raise bad_request(
            f"{method} is a method of the platform that this emulator does not have: add it to methods.py"
        )
    return await METHODS[method](world, bot, params)
