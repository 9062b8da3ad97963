"""Rooms on the local Telegram: who sees what, who is who, topics, upgrades, comings and goings."""

from __future__ import annotations

from typing import Any

import pytest
from telegram import Update
from telegram.error import BadRequest, ChatMigrated, Forbidden

from tests.emulators.telegram import content, rooms
from tests.emulators.telegram.emulator import Telegram, telegram
from tests.unit.emulators.telegram.bot_client import client


def heard(tg: Telegram) -> list[str]:
    """The texts that wait for the bot."""
    return [body.get("text", "") for body in bodies(tg)]


def bodies(tg: Telegram) -> list[dict[str, Any]]:
    """What waits for the bot, without the ids and kinds around it."""
    return [next(value for key, value in u.body.items() if key != "update_id") for u in tg.bot.updates.waiting()]


def kinds(tg: Telegram) -> list[str]:
    return [next(key for key in u.body if key != "update_id") for u in tg.bot.updates.waiting()]


# Privacy mode


async def test_privacy_mode_hides_all_but_commands_and_replies_to_the_bot(tg: Telegram) -> None:
    """A plain "@bot question" is not delivered (HKUDS/nanobot#449); a bare command only to the bot that spoke last."""
    ann = tg.person("Ann")
    other = tg.add_bot("other_bot")
    group = tg.group("Team", ann, bots=(tg.bot, other))

    async with client(tg) as bot:
        ann.says(group, "/early")
        said = group.message((await bot.send_message(group.id, "I am here")).message_id)
        for text in ("plain", "@clew_bot question", "/cmd", "/cmd@clew_bot 你好", "/cmd@OTHER_bot", "/cmd@CLEW_BOT"):
            ann.says(group, text)
        ann.says(group, "a reply", reply_to=said)
        ann.says(group, "via", via_bot=tg.bot.user())

    assert ["/cmd", "/cmd@clew_bot 你好", "/cmd@CLEW_BOT", "a reply", "via"] == heard(tg)


async def test_an_admin_hears_everything_and_so_does_a_bot_with_privacy_off(tg: Telegram) -> None:
    """A changed setting counts only once the bot is added anew."""
    ann = tg.person("Ann")
    group, other = tg.group("Team", ann), tg.group("Other", ann)

    rooms.promote(group, tg.bot, by=ann)
    ann.says(group, "heard by an admin")
    tg.bot.reads_all = True
    ann.says(other, "still unheard")
    rooms.remove(other, tg.bot, by=ann)
    rooms.add(other, tg.bot, by=ann)
    ann.says(other, "heard")

    assert [text for text in heard(tg) if text] == ["heard by an admin", "heard"]
    async with client(tg) as bot:
        assert bot.can_read_all_group_messages


async def test_bots_hear_each_other_only_where_both_want_it() -> None:
    async with telegram(reads_all=True, talks_to_bots=True) as tg:
        talker = tg.add_bot("talker_bot")
        group = tg.group("Bots", bots=(tg.bot, talker))
        async with client(tg, talker) as bot:
            await bot.send_message(group.id, "beep")
            tg.bot.talks_to_bots = False
            await bot.send_message(group.id, "unheard")

        assert ["beep"] == heard(tg)
        assert [] == talker.updates.waiting()


# Who is who


async def test_an_anonymous_admin_and_a_channels_voice_hide_the_person(tg: Telegram) -> None:
    """1087968824 is any anonymous admin of any group (tdlib/telegram-bot-api#667); the click shows who it was."""
    ann = tg.person("Ann")
    group = tg.supergroup("Team", ann)
    news = tg.channel("News")
    rooms.promote(group, tg.bot, by=ann)

    ann.says(group, "as the group", as_=group)
    ann.says(group, "as the channel", as_=news)
    async with client(tg) as bot:
        shown = group.message((await bot.send_message(group.id, "press")).message_id)
    assert shown is not None
    ann.presses(shown, "yes")

    _, hidden, voice, click = bodies(tg)
    assert (1087968824, True, group.id) == (hidden["from"]["id"], hidden["from"]["is_bot"], hidden["sender_chat"]["id"])
    assert (136817688, news.id) == (voice["from"]["id"], voice["sender_chat"]["id"])
    assert (ann.id, "yes", shown.id) == (click["from"]["id"], click["data"], click["message"]["message_id"])


async def test_a_channels_post_has_no_author_and_is_forwarded_to_its_discussion(tg: Telegram) -> None:
    ann = tg.person("Ann")
    discussion = tg.supergroup("Talk", ann)
    rooms.promote(discussion, tg.bot, by=ann)
    news = tg.channel("News", linked=discussion)

    post = rooms.post(news, "消息 https://a.b/")
    news.change(post, {"text": "edited"})

    assert ["my_chat_member", "channel_post", "message", "edited_channel_post"] == kinds(tg)
    _, posted, forward, edited = bodies(tg)
    assert "from" not in posted
    assert (777000, True, news.id) == (
        forward["from"]["id"],
        forward["is_automatic_forward"],
        forward["sender_chat"]["id"],
    )
    assert post.id == forward["forward_origin"]["message_id"]
    assert "edited" == edited["text"]
    async with client(tg) as bot:
        await bot.send_message(news.id, "by an admin")
        news.members[tg.bot.id].status = "member"
        with pytest.raises(BadRequest, match="administrator rights"):
            await bot.send_message(news.id, "by none")
    rooms.add(tg.channel("Empty", bots=()), tg.bot, by=ann)
    assert "administrator" == bodies(tg)[-1]["new_chat_member"]["status"]


# Edits, replies, media, service messages


async def test_edits_come_with_and_without_a_change(tg: Telegram) -> None:
    """A first reaction or a link's preview makes an edit of nothing (tdlib/telegram-bot-api#388, #773)."""
    ann = tg.person("Ann")
    dm = tg.private(ann)
    said, photo = ann.says(dm, "helo @x_y"), ann.sends(dm, "photo", caption="cap")

    rooms.phantom_edit(said)
    ann.edits(said, "hello @x_y")
    ann.edits(photo, "caption @x_y")

    assert ["edited_message"] * 3 == kinds(tg)[2:]
    assert ["helo @x_y", "hello @x_y"] == heard(tg)[2:4]
    assert ["helo @x_y", "hello @x_y"] == said.texts
    assert ["mention"] == [entity["type"] for entity in photo.entities]
    assert "photo" in photo.body


async def test_a_deleted_message_is_gone_and_no_bot_is_told(tg: Telegram) -> None:
    ann = tg.person("Ann")
    dm = tg.private(ann)
    ann.deletes(ann.says(dm, "oops"))

    assert [] == dm.messages()
    assert ["oops"] == heard(tg)


@pytest.mark.parametrize("kind", sorted(content.KINDS))
async def test_every_kind_of_content_is_taken_by_the_real_parser(tg: Telegram, kind: str) -> None:
    """A rich message has no `text` at all and the parser keeps it as an unknown field."""
    ann = tg.person("Ann", username="ann", last_name="李")
    ann.sends(tg.private(ann), kind)

    async with client(tg) as bot:
        (update,) = await bot.get_updates(timeout=0)

    assert update.message is not None
    assert update.message.text is None
    assert getattr(update.message, kind, None) or kind in update.message.api_kwargs


async def test_a_reply_shows_its_target_but_not_the_targets_own(tg: Telegram) -> None:
    ann, bob = tg.person("Ann"), tg.person("Bob")
    group = tg.supergroup("Team", ann, bob)
    first = ann.says(group, "one")
    second = bob.says(group, "two", reply_to=first)
    third = ann.says(group, "/three@clew_bot", reply_to=second)

    assert second.id == third.reply_to
    assert "reply_to_message" not in third.body["reply_to_message"]
    assert first.id == third.body["message_thread_id"], "a reply thread is no topic"
    assert third.topic is None


async def test_joins_leaves_pins_and_titles_are_service_messages_and_the_bots_own_its_own_update(tg: Telegram) -> None:
    ann, bob = tg.person("Ann"), tg.person("Bob")
    group = tg.group("Team", ann, bots=())

    rooms.add(group, tg.bot, by=ann)
    rooms.add(group, bob, by=ann)
    rooms.pin(group, ann.says(group, "unseen"), by=ann)
    rooms.service(group, by=ann, new_chat_title="团队")
    rooms.remove(group, bob, by=bob, leaves=True)
    rooms.promote(group, tg.bot, by=ann)
    rooms.add(group, bob, by=ann)
    rooms.remove(group, tg.bot, by=ann)

    async with client(tg) as bot:
        updates = await bot.get_updates(timeout=0)
    assert ["left", "member", "administrator"] == [
        u.my_chat_member.old_chat_member.status for u in updates if u.my_chat_member
    ]
    assert "kicked" == bodies(tg)[-1]["new_chat_member"]["status"]
    assert [
        "new_chat_members",
        "new_chat_members",
        "pinned_message",
        "new_chat_title",
        "left_chat_member",
        "new_chat_members",
    ] == [
        next(key for key in body if key not in ("message_id", "from", "chat", "date"))
        for body in bodies(tg)
        if "date" in body and "message_id" in body
    ]


async def test_an_admin_that_asked_for_it_hears_of_every_change_of_membership(tg: Telegram) -> None:
    ann, bob = tg.person("Ann"), tg.person("Bob")
    group = tg.group("Team", ann)
    tg.bot.updates.allow(["chat_member"])
    rooms.promote(group, tg.bot, by=ann)
    rooms.add(group, bob, by=ann)

    async with client(tg) as bot:
        (update,) = await bot.get_updates(timeout=0)
        assert update.chat_member is not None
        assert bob.id == update.chat_member.new_chat_member.user.id
        ann.reacts(ann.says(group, "x"), "👍")
        await bot.get_updates(timeout=0, allowed_updates=Update.ALL_TYPES)
        ann.reacts(group.messages()[-1], "👍")
    assert "message_reaction" == kinds(tg)[-1]


# Topics


async def test_a_topics_message_carries_its_creation_as_if_it_replied_to_it(tg: Telegram) -> None:
    """Every message of a topic the bot created looks like a reply to the bot, and so passes privacy mode."""
    ann = tg.person("Ann")
    forum = tg.supergroup("Help", ann, forum=True)
    billing = rooms.open_topic(forum, "Billing", by=ann)
    ours = rooms.open_topic(forum, "Ours", by=tg.bot)

    ann.says(forum, "hidden", topic=billing)
    ann.says(forum, "looks like a reply", topic=ours)
    ann.says(forum, "/in@clew_bot General")

    created, in_ours, in_general = bodies(tg)
    assert created["forum_topic_created"]["name"] == "Billing"
    assert (ours.id, True, ours.id) == (
        in_ours["message_thread_id"], in_ours["is_topic_message"], in_ours["reply_to_message"]["message_id"],
    )  # fmt: skip
    assert forum.messages()[-2].reply_to is None
    assert "message_thread_id" not in in_general
    assert in_general["chat"]["is_forum"]


async def test_sends_go_into_open_topics_only(tg: Telegram) -> None:
    """General is addressed without an id: 1 is an error (tdlib/telegram-bot-api#798), and so is a reply thread's
    (tdlib/telegram-bot-api#447)."""
    ann = tg.person("Ann")
    forum, plain = tg.supergroup("Help", ann, forum=True), tg.supergroup("Plain", ann)
    topic, closed, gone = (rooms.open_topic(forum, name, by=ann) for name in ("a", "b", "c"))
    rooms.close_topic(forum, closed, by=ann)
    ann.says(forum, "in it", topic=gone)
    rooms.delete_topic(gone)
    thread = ann.says(plain, "reply", reply_to=ann.says(plain, "root")).body["message_thread_id"]

    async with client(tg) as bot:
        sent = await bot.send_message(forum.id, "x", message_thread_id=topic.id)
        assert (topic.id, True) == (sent.message_thread_id, sent.is_topic_message)
        general = await bot.send_message(forum.id, "x")
        assert general.message_thread_id is None
        for chat, thread_id in ((forum, 1), (forum, gone.id), (forum, 9999), (plain, thread)):
            with pytest.raises(BadRequest, match="Message thread not found"):
                await bot.send_message(chat.id, "x", message_thread_id=thread_id)
            with pytest.raises(BadRequest, match="Message thread not found"):
                await bot.send_chat_action(chat.id, "typing", message_thread_id=thread_id)
        with pytest.raises(BadRequest, match=r"(?i)topic_closed"):
            await bot.send_message(forum.id, "x", message_thread_id=closed.id)
        rooms.promote(forum, tg.bot, by=ann)
        await bot.send_message(forum.id, "x", message_thread_id=closed.id)

    assert [] == [message for message in forum.messages() if message.topic == gone.id]


async def test_private_chats_have_topics_where_the_bot_has_them_on(tg: Telegram) -> None:
    """A topic deleted in mid-turn may swallow what is sent into it (tdlib/telegram-bot-api#854)."""
    ann = tg.person("Ann")
    with pytest.raises(ValueError, match="no topics"):
        rooms.open_topic(tg.private(ann), "x", by=ann)
    topical = tg.add_bot("topic_bot", topics=True)
    dm = tg.private(ann, topical)
    topic = rooms.open_topic(dm, "Trip", by=ann)
    said = ann.says(dm, "in the topic", topic=topic)

    async with client(tg, topical) as bot:
        assert (await bot.get_me()).has_topics_enabled
        await bot.send_message(dm.id, "answer", message_thread_id=topic.id)
        rooms.delete_topic(topic)
        with pytest.raises(BadRequest):
            await bot.send_message(dm.id, "late", message_thread_id=topic.id)
        dm.silent_deleted_topics = True
        await bot.send_message(dm.id, "swallowed", message_thread_id=topic.id)

    assert (topic.id, None) == (said.topic, said.reply_to)
    assert [("swallowed", None)] == [(message.text, message.topic) for message in dm.messages()]


# Upgrades, and no longer being wanted


@pytest.mark.parametrize("first", ["old", "new"])
async def test_an_upgrade_is_told_in_both_rooms_in_either_order_and_sends_name_the_new_one(
    tg: Telegram, first: Any
) -> None:
    """A bot that misses it goes silent for good (TelegramBots/Telegram.Bot#171, tdlib/telegram-bot-api#266)."""
    ann = tg.person("Ann")
    group = tg.group("Team", ann)

    new = rooms.migrate(group, by=ann, first=first)

    told = {body["chat"]["id"]: body for body in bodies(tg)}
    assert [group.id, new.id][:: 1 if first == "old" else -1] == list(told)
    assert (new.id, group.id) == (told[group.id]["migrate_to_chat_id"], told[new.id]["migrate_from_chat_id"])
    assert ("supergroup", True) == (told[new.id]["chat"]["type"], str(new.id).startswith("-100"))
    async with client(tg) as bot:
        with pytest.raises(ChatMigrated) as moved:
            await bot.send_message(group.id, "x")
        await bot.send_message(moved.value.new_chat_id, "x")
    assert ["x"] == [message.text for message in new.replies()]
    ann.says(new, "/go@clew_bot")
    assert "/go@clew_bot" == heard(tg)[-1]


async def test_who_does_not_want_the_bot_is_refused_with_the_reason(tg: Telegram) -> None:
    ann, stranger, ghost = tg.person("Ann"), tg.person("Stranger"), tg.person("Ghost", id=7)
    dm, group = tg.private(ann), tg.supergroup("Team", ann, username="team")
    gone, never, foreign = (
        tg.group("Gone", ann),
        tg.supergroup("Open", username="open", bots=()),
        tg.group("F", bots=()),
    )
    ghost.deactivated = True
    other = tg.add_bot("other_bot")

    async with client(tg) as bot:

        async def refusal(chat_id: int | str) -> str:
            with pytest.raises((Forbidden, BadRequest)) as refused:
                await bot.send_message(chat_id, "x")
            return refused.value.message

        ann.blocks(tg.bot)
        assert "Forbidden: bot was blocked by the user" == await refusal(dm.id)
        ann.unblocks(tg.bot)
        await bot.send_message(dm.id, "x")
        assert "Forbidden: user is deactivated" == await refusal(ghost.id)
        assert "Forbidden: bot can't initiate conversation with a user" == await refusal(stranger.id)
        assert "Forbidden: bots can't send messages to bots" == await refusal(other.id)
        assert "Chat not found" == await refusal(foreign.id)
        assert "Chat not found" == await refusal("@nowhere")
        assert "Forbidden: bot is not a member of the supergroup chat" == await refusal(never.id)
        await bot.send_message("@team", "by name")
        rooms.remove(gone, tg.bot, by=ann)
        assert "Forbidden: bot was kicked from the group chat" == await refusal(gone.id)
        group.muted = True
        assert "Not enough rights to send text messages to the chat" == await refusal(group.id)
        assert await bot.leave_chat(group.id)
        assert "Forbidden: bot is not a member of the supergroup chat" == await refusal(group.id)
        with pytest.raises(BadRequest, match="private"):
            await bot.leave_chat(dm.id)

    assert ["kicked", "member", "kicked"] == [body["new_chat_member"]["status"] for body in bodies(tg)]


async def test_a_bot_can_ask_about_a_room_and_who_is_in_it(tg: Telegram) -> None:
    ann, bob = tg.person("Ann"), tg.person("Bob")
    group = tg.group("Team", ann, bob)
    rooms.promote(group, tg.bot, by=ann)

    async with client(tg) as bot:
        assert ("Team", "group") == ((chat := await bot.get_chat(group.id)).title, chat.type)
        assert "creator" == (await bot.get_chat_member(group.id, ann.id)).status
        assert ["creator", "administrator"] == [member.status for member in await bot.get_chat_administrators(group.id)]
        assert 3 == await bot.get_chat_member_count(group.id)
        with pytest.raises(BadRequest, match="Member not found"):
            await bot.get_chat_member(group.id, 1)
