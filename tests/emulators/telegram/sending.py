"""The methods by which a bot speaks: send, edit, delete, draft, act, react."""

from __future__ import annotations

from typing import Any

from tests.emulators.telegram import texts
from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.chats import Action, Chat, Draft
from tests.emulators.telegram.errors import bad_request
from tests.emulators.telegram.messages import Message
from tests.emulators.telegram.spec import ACTIONS
from tests.emulators.telegram.world import World

NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current content "
    "and reply markup of the message"
)
_EMOJI = """
👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥
🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨
🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡
"""
REACTIONS = frozenset(_EMOJI.split())
DELETABLE_S = 48 * 3600


async def send_message(world: World, bot: Bot, params: dict[str, Any]) -> dict[str, Any]:
    text, entities = texts.unmarked(params)
    chat = world.chat(bot, params["chat_id"])
    _may_write(chat, bot)
    topic = topic_of(chat, bot, params.get("message_thread_id"))
    content = texts.stored(text, entities) | _extras(params)
    reply_to = _replied(chat, params.get("reply_parameters"))
    return chat.place(content, sender=bot.user(), bot=bot, topic=topic, reply_to=reply_to).body


async def edit_message_text(world: World, bot: Bot, params: dict[str, Any]) -> dict[str, Any]:
    if "chat_id" not in params:
        raise bad_request("chat_id is empty")
    text, entities = texts.unmarked(params)
    chat = world.chat(bot, params["chat_id"])
    message = chat.message(params.get("message_id", 0))
    if message is None:
        raise bad_request("message to edit not found")
    if message.bot is not bot:
        raise bad_request("message can't be edited")
    if "text" not in message.body:
        raise bad_request("there is no text in the message to edit")
    content = texts.stored(text, entities) | _extras(params)
    if all(message.body.get(name) == content.get(name) for name in ("text", "entities", "reply_markup")):
        raise bad_request(NOT_MODIFIED)
    chat.change(message, content)
    return message.body


async def delete_message(world: World, bot: Bot, params: dict[str, Any]) -> bool:
    chat = world.chat(bot, params["chat_id"])
    message = chat.message(params["message_id"])
    if message is None:
        raise bad_request("message to delete not found")
    foreign = message.bot is not bot and chat.members[bot.id].status != "administrator"
    if (foreign and chat.type != "private") or message.body["date"] < world.clock.now() - DELETABLE_S:
        raise bad_request("message can't be deleted")
    message.deleted = True
    world.bell.ring()
    return True


async def send_chat_action(world: World, bot: Bot, params: dict[str, Any]) -> bool:
    chat = world.chat(bot, params["chat_id"])
    if params["action"] not in ACTIONS:
        raise bad_request("wrong parameter action in request")
    topic = topic_of(chat, bot, params.get("message_thread_id"))
    chat.action = Action(at=world.clock.now(), action=params["action"], topic=topic)
    chat.actions.append(chat.action)
    world.bell.ring()
    return True


async def send_message_draft(world: World, bot: Bot, params: dict[str, Any]) -> bool:
    """A preview of 30 s in a private chat, dismissed by a real message; the same `draft_id` goes on with it."""
    if params["draft_id"] == 0:
        raise bad_request("draft_id must be non-zero")
    if params.get("text"):
        text, entities = texts.unmarked(params)
        text = texts.stored(text, entities)["text"]
    elif world.empty_drafts:
        text = ""
    else:
        raise bad_request("text must be non-empty")
    chat = world.chat(bot, params["chat_id"])
    if chat.type != "private" or not world.drafts_work:
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    topic = topic_of(chat, bot, params.get("message_thread_id"))
    chat.draft = Draft(at=world.clock.now(), id=params["draft_id"], text=text, topic=topic)
    chat.drafts.append(chat.draft)
    world.bell.ring()
    return True


async def set_message_reaction(world: World, bot: Bot, params: dict[str, Any]) -> bool:
    message = world.chat(bot, params["chat_id"]).message(params["message_id"])
    if message is None:
        raise bad_request("message to react not found")
    wanted = params.get("reaction", [])
    if len(wanted) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    if any(reaction.get("emoji") not in REACTIONS for reaction in wanted):  # custom ones are not for bots
        raise bad_request("REACTION_INVALID")
    message.reactions[bot.id] = wanted
    world.bell.ring()
    return True


async def answer_callback_query(world: World, bot: Bot, params: dict[str, Any]) -> bool:
    if len(params.get("text", "")) > 200:
        raise bad_request("MESSAGE_TOO_LONG")
    if world.callbacks.pop(params["callback_query_id"], 0.0) < world.clock.now():
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    return True


def topic_of(chat: Chat, bot: Bot, thread: int | None) -> int | None:
    """Return the topic a send goes to; raises 400 for what is none: General's own id, a reply thread's, a deleted one."""
    if not thread:
        return None
    topic = chat.topics.get(thread)
    if topic is not None and topic.state == "deleted" and chat.silent_deleted_topics:
        return None
    if topic is None or topic.state == "deleted":
        raise bad_request("message thread not found")
    if topic.state == "closed" and chat.members[bot.id].status != "administrator":
        raise bad_request("TOPIC_CLOSED")
    return thread


def _may_write(chat: Chat, bot: Bot) -> None:
    if chat.type == "channel" and chat.members[bot.id].status != "administrator":
        raise bad_request("need administrator rights in the channel chat")
    if chat.muted and chat.members[bot.id].status != "administrator":
        raise bad_request("not enough rights to send text messages to the chat")


def _replied(chat: Chat, reply: dict[str, Any] | None) -> Message | None:
    if reply is None:
        return None
    message = chat.message(reply["message_id"])
    if message is None:
        if reply.get("allow_sending_without_reply"):
            return None
        raise bad_request("message to be replied not found")
    if reply.get("quote") and reply["quote"] not in message.text:
        raise bad_request("QUOTE_TEXT_INVALID")
    return message


def _extras(params: dict[str, Any]) -> dict[str, Any]:
    """Return what stands in the message beside its text."""
    names = ("link_preview_options", "reply_markup")
    for row in params.get("reply_markup", {}).get("inline_keyboard", ()):
        for button in row:
            if len(button.get("callback_data", "-").encode()) not in range(1, 65):
                raise bad_request("BUTTON_DATA_INVALID")
    return {name: params[name] for name in names if name in params}
