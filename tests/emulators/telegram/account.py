"""The methods by which a bot looks after itself: who it is, its commands, how it gets updates, where it is."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.errors import bad_request
from tests.emulators.telegram.membership import member_json
from tests.emulators.telegram.updates import BY_DEFAULT
from tests.emulators.telegram.world import World

PORTS = (443, 80, 88, 8443)


async def get_me(world: World, bot: Bot, params: dict[str, Any]) -> dict[str, Any]:
    return bot.me()


async def get_updates(world: World, bot: Bot, params: dict[str, Any]) -> list[dict[str, Any]]:
    bot.updates.allow(params.get("allowed_updates"))
    limit = params.get("limit", 100)
    return await bot.updates.poll(
        offset=params.get("offset", 0),
        limit=limit if 1 <= limit <= 100 else 100,
        timeout_s=min(max(params.get("timeout", 0), 0), 50),  # the server's own cap
    )


async def set_webhook(world: World, bot: Bot, params: dict[str, Any]) -> bool:
    url, secret = params["url"], params.get("secret_token", "")
    if url == "":
        return await delete_webhook(world, bot, params)
    parts = urlsplit(url)
    local = parts.hostname in ("127.0.0.1", "localhost", "::1")
    if not local and parts.scheme != "https":
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    if not local and (parts.port or 443) not in PORTS:
        raise bad_request("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
    if len(secret) > 256:
        raise bad_request("secret token is too long")
    if not re.fullmatch(r"[A-Za-z0-9_-]*", secret):
        raise bad_request("secret token contains unallowed characters")
    bot.updates.allow(params.get("allowed_updates"))
    if params.get("drop_pending_updates"):
        bot.updates.drop()
    bot.updates.end_poll("terminated by setWebhook request")
    bot.webhook.set(url, secret=secret, max_connections=min(max(params.get("max_connections", 40), 1), 100))
    bot.updates.pushed = True
    world.bell.ring()
    return True


async def delete_webhook(world: World, bot: Bot, params: dict[str, Any]) -> bool:
    if params.get("drop_pending_updates"):
        bot.updates.drop()
    bot.webhook.clear()
    bot.updates.pushed = False
    world.bell.ring()
    return True


async def get_webhook_info(world: World, bot: Bot, params: dict[str, Any]) -> dict[str, Any]:
    info = {
        "url": bot.webhook.url, "has_custom_certificate": False, "pending_update_count": len(bot.updates.waiting()),
    }  # fmt: skip
    if bot.webhook.url:
        info |= {"max_connections": bot.webhook.max_connections, "ip_address": "127.0.0.1"}
    if bot.webhook.last_error is not None:
        info |= {"last_error_date": int(bot.webhook.last_error_at), "last_error_message": bot.webhook.last_error}
    if bot.updates.allowed != BY_DEFAULT:
        info["allowed_updates"] = sorted(bot.updates.allowed)
    return info


async def set_my_commands(world: World, bot: Bot, params: dict[str, Any]) -> bool:
    commands = params["commands"]
    if len(commands) > 100:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not re.fullmatch(r"/?[a-z0-9_]{1,32}", command["command"]):
            raise bad_request("BOT_COMMAND_INVALID")
        if not command["description"].strip():
            raise bad_request("command description must be non-empty")
        if len(command["description"]) > 256:
            raise bad_request("command description length must not exceed 256")
    kept = [{"command": c["command"].removeprefix("/"), "description": c["description"]} for c in commands]
    bot.commands[_commands_key(world, bot, params)] = kept
    return True


async def get_my_commands(world: World, bot: Bot, params: dict[str, Any]) -> list[dict[str, Any]]:
    return bot.commands.get(_commands_key(world, bot, params), [])


async def delete_my_commands(world: World, bot: Bot, params: dict[str, Any]) -> bool:
    bot.commands.pop(_commands_key(world, bot, params), None)
    return True


async def get_chat(world: World, bot: Bot, params: dict[str, Any]) -> dict[str, Any]:
    chat = world.chat(bot, params["chat_id"])
    gifts = dict.fromkeys(
        ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
    )
    return chat.json() | {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": gifts}


async def get_chat_member(world: World, bot: Bot, params: dict[str, Any]) -> dict[str, Any]:
    member = world.chat(bot, params["chat_id"]).members.get(params["user_id"])
    if member is None:
        raise bad_request("member not found")
    return member_json(member)


async def get_chat_administrators(world: World, bot: Bot, params: dict[str, Any]) -> list[dict[str, Any]]:
    members = world.chat(bot, params["chat_id"]).members.values()
    return [member_json(member) for member in members if member.status in ("creator", "administrator")]


async def get_chat_member_count(world: World, bot: Bot, params: dict[str, Any]) -> int:
    return sum(member.inside for member in world.chat(bot, params["chat_id"]).members.values())


async def leave_chat(world: World, bot: Bot, params: dict[str, Any]) -> bool:
    chat = world.chat(bot, params["chat_id"])
    if chat.type == "private":
        raise bad_request("chat member status can't be changed in private chats")
    chat.members[bot.id].status = "left"
    world.bell.ring()
    return True


async def get_file(world: World, bot: Bot, params: dict[str, Any]) -> dict[str, Any]:
    content = world.files.get(params["file_id"])
    if content is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if len(content) > 20 * 1024 * 1024:
        raise bad_request("file is too big")
    return {
        "file_id": params["file_id"], "file_unique_id": "u" + params["file_id"], "file_size": len(content),
        "file_path": f"files/{params['file_id']}",
    }  # fmt: skip


def _commands_key(world: World, bot: Bot, params: dict[str, Any]) -> tuple[str, str]:
    scope, language = params.get("scope", {"type": "default"}), params.get("language_code", "")
    if language and not re.fullmatch(r"[a-z]{2}", language):
        raise bad_request("invalid language code specified")
    if "chat_id" in scope:
        world.chat(bot, scope["chat_id"])
    return json.dumps(scope, sort_keys=True), language
