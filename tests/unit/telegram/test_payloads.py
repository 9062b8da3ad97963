"""Every recorded payload goes through the parser to an outcome that has a name: the whole table, to be read.

`recorded` are captured updates, the others the fixtures and bug reports of three SDKs; sources and licences beside them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from telegram import Update

from adapters.telegram.parse import Ignored, parse
from tests.unit.telegram.payloads import bot_of, outcome, recorded

RECORDED = {
    "chat-sdk-private-photo": "ignored: media",
    "chat-sdk-private-text/mention": "message private mention 7527593: hi",
    "chat-sdk-private-text/followUp": "message private 7527593: how are you",
}
NUTGRAM = {
    "Messages/rich_message": "ignored: rich",
    "Updates/animation": "ignored: media",
    "Updates/audio": "ignored: media",
    "Updates/business_connection": "ignored: unused",
    "Updates/business_message": "ignored: unused",
    "Updates/callback_query": "ignored: unused",
    "Updates/callback_query_complex": "ignored: unused",
    "Updates/callback_query_inaccessible_message": "ignored: unused",
    "Updates/callback_query_without_message": "ignored: unused",
    "Updates/channel_chat_created": "ignored: service",
    "Updates/channel_post": "ignored: channel_post",
    "Updates/chat_boost": "ignored: unused",
    "Updates/chat_join_request": "ignored: unused",
    "Updates/chat_member": "ignored: unused",
    "Updates/chat_owner_changed": "ignored: service",
    "Updates/chat_owner_left": "ignored: service",
    "Updates/chat_shared": "ignored: service",
    "Updates/checklist": "ignored: media",
    "Updates/checklist_tasks_added": "ignored: service",
    "Updates/checklist_tasks_done": "ignored: service",
    "Updates/chosen_inline_result": "ignored: unused",
    "Updates/command": "message private 10081232: /test",
    "Updates/command_message": "message private 456: /start",
    "Updates/command_tag_valid": "message private mention 10081232: /test",
    "Updates/command_tag_wrong": "ignored: other_bot",
    "Updates/command_with_parameters": "message private 456: /register HR John Doe",
    "Updates/community_chat_added": "ignored: service",
    "Updates/community_chat_removed": "ignored: service",
    "Updates/connected_website": "ignored: service",
    "Updates/contact": "ignored: media",
    "Updates/delete_chat_photo": "ignored: service",
    "Updates/deleted_business_messages": "ignored: unused",
    "Updates/dice": "ignored: media",
    "Updates/direct_message_price_changed": "ignored: service",
    "Updates/document": "ignored: media",
    "Updates/edited_business_message": "ignored: unused",
    "Updates/edited_channel_post": "ignored: channel_post",
    "Updates/edited_message": "edit private 999999999: Editing this message",
    "Updates/entities": "message private 321654: test bold underline 😆👍 l",
    "Updates/food": "message private 456: I want 12 portions of pi",
    "Updates/forum_topic_closed": "ignored: service",
    "Updates/forum_topic_created": "ignored: service",
    "Updates/forum_topic_edited": "ignored: service",
    "Updates/forum_topic_reopened": "ignored: service",
    "Updates/game": "ignored: media",
    "Updates/giveaway": "ignored: service",
    "Updates/giveaway_completed": "ignored: service",
    "Updates/giveaway_created": "ignored: service",
    "Updates/giveaway_winners": "ignored: service",
    "Updates/group_chat_created": "ignored: service",
    "Updates/guest_message": "ignored: unused",
    "Updates/inline_query": "ignored: unused",
    "Updates/invoice": "ignored: media",
    "Updates/left_chat_member": "ignored: service",
    "Updates/location": "ignored: media",
    "Updates/managed_bot": "ignored: unused",
    "Updates/managed_bot_created": "ignored: service",
    "Updates/message": "message private 456: Ciao",
    "Updates/message_auto_delete_timer_changed": "ignored: service",
    "Updates/message_boost_added": "ignored: service",
    "Updates/message_different_topic": "message group topic 123456: aaaa",
    "Updates/message_different_topic_reply": "message group topic quote 123456: bbbb",
    "Updates/message_forward_origin": "message private quote 456: ",
    "Updates/message_general_topic": "message group 123456: foo",
    "Updates/message_general_topic_reply": "message group quote 123456: bbbb",
    "Updates/message_poll": "ignored: media",
    "Updates/message_reaction": "ignored: unused",
    "Updates/message_reaction_count": "ignored: unused",
    "Updates/message_topic": "message group topic 123456: lòklò",
    "Updates/migrate_from_chat_id": "move group 12345: 987654321 -> 12345",
    "Updates/migrate_to_chat_id": "move group 12345: 12345 -> 123456789",
    "Updates/my_chat_member": "ignored: membership",
    "Updates/new_chat_members": "ignored: service",
    "Updates/new_chat_photo": "ignored: service",
    "Updates/new_chat_title": "ignored: service",
    "Updates/not_command": "message private 10081232: aa /test",
    "Updates/paid_media_purchased": "ignored: unused",
    "Updates/passport_data": "ignored: service",
    "Updates/photo": "message private 11111111: asdasdasdasdasdasd",
    "Updates/pinned_message": "ignored: service",
    "Updates/poll": "ignored: unused",
    "Updates/poll_answer": "ignored: unused",
    "Updates/poll_option_added": "ignored: service",
    "Updates/poll_option_deleted": "ignored: service",
    "Updates/pre_checkout_query": "ignored: unused",
    "Updates/proximity_alert_triggered": "ignored: service",
    "Updates/refunded_payment": "ignored: service",
    "Updates/removed_chat_boost": "ignored: unused",
    "Updates/rich_message": "ignored: rich",
    "Updates/shipping_query": "ignored: unused",
    "Updates/sticker": "ignored: media",
    "Updates/story": "ignored: media",
    "Updates/subscription": "ignored: unused",
    "Updates/successful_payment": "ignored: service",
    "Updates/supergroup_chat_created": "ignored: service",
    "Updates/text": "message private 12345678: aaaaaaaaaa",
    "Updates/users_shared": "ignored: service",
    "Updates/venue": "ignored: media",
    "Updates/video": "ignored: media",
    "Updates/video_chat_ended": "ignored: service",
    "Updates/video_chat_participants_invited": "ignored: service",
    "Updates/video_chat_scheduled": "ignored: service",
    "Updates/video_chat_started": "ignored: service",
    "Updates/video_note": "ignored: media",
    "Updates/voice": "ignored: media",
    "Updates/web_app_data": "ignored: service",
}
TELOXIDE = {
    "test_inaccessible_message": "ignored: service",
    "test_regular_message": "ignored: service",
    "de_media_forwarded": "ignored: media",
    "de_shared_chat": "ignored: service",
    "de_media_group_forwarded": "ignored: media",
    "de_text": "message private 250918540: Лол кек 😂",
    "de_sticker": "ignored: media",
    "de_image": "ignored: media",
    "issue_419": "message group quote untrusted -1001160242915: ",
    "issue_427": "move group -1001555296434: -599075523 -> -1001555296434",
    "issue_481": "ignored: media",
    "issue_475": "ignored: service",
    "parse_caption_entities": "message private 27433968: www.example.com",
    "topic_created": "ignored: service",
    "topic_message": "message group topic 1253681278: blah",
    "empty_message": "ignored: service",
    "issue_874": "ignored: service",
    "giveaway": "ignored: service",
    "giveaway_created": "ignored: service",
    "giveaway_completed": "ignored: service",
    "giveaway_winners": "ignored: service",
    "paid_message_price_changed": "ignored: service",
    "suggested_post_approved": "ignored: service",
    "suggested_post_approval_failed": "ignored: service",
    "suggested_post_declined": "ignored: service",
    "suggested_post_paid": "ignored: service",
    "suggested_post_refunded": "ignored: service",
    "gift_info": "ignored: service",
    "unique_gift_info": "ignored: service",
    "chat_boost_added": "ignored: service",
    "effect_id": "message private 1459074222: El Psy Kongroo",
    "show_caption_above_media": "message private 1459074222: El Psy Kongroo",
    "deserialize": "ignored: service",
    "deserialize_user": "ignored: service",
    "deserialize_chat": "ignored: service",
    "message": "message private 218485655: hello there",
    "issue_1107": "message group 5964236329: /report",
    "de_private_chat_text_message": "message private 408258968: 4",
    "pinned_message_works": "ignored: service",
    "dice_works": "ignored: media",
    "new_update_kind_error": "ignored: unused",
    "issue_523": "presence private went 0",
    "message_reaction_updated": "ignored: unused",
    "message_reaction_count_updated": "ignored: unused",
    "chat_boost_updated": "ignored: unused",
    "chat_boost_removed": "ignored: unused",
    "paid_media_purchased_de": "ignored: unused",
}
TELEGRAMBOTS = {
    "ResponseWithoutError/0": "message private quote 1111111: Bold and italics",
    "Update": "message private quote 1111111: Bold and italics",
}

FOLDERS = {"recorded": RECORDED, "nutgram": NUTGRAM, "teloxide": TELOXIDE, "telegrambots-java": TELEGRAMBOTS}
ALL = [(name, body) for folder in FOLDERS for name, body in recorded(folder).items()]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_update_has_a_named_outcome(folder: str) -> None:
    """No update is lost without a reason, and none is malformed, whatever else it holds (platform-facts 5)."""
    found = {name: outcome(parse(body, channel="acme", me=bot_of(name))) for name, body in recorded(folder).items()}

    assert FOLDERS[folder] == found


@pytest.mark.parametrize("name", ["Updates/poll", "Updates/message_poll", "unique_gift_info"])
def test_what_the_sdk_cannot_read_is_no_poison_here(name: str) -> None:
    """One of these in a batch stops the SDK's poller for ever (platform-facts 2.4; python-telegram-bot#301)."""
    body = dict(ALL)[name]
    with pytest.raises(TypeError):
        Update.de_json(body, None)

    assert isinstance(parse(body, channel="acme", me=bot_of(name)), Ignored)


@pytest.mark.parametrize(("name", "body"), ALL, ids=[name for name, _ in ALL])
def test_fields_of_a_later_release_change_nothing(name: str, body: dict[str, Any]) -> None:
    """At every level of every object (eternnoir/pyTelegramBotAPI#2175)."""
    me = bot_of(name)

    assert parse(body, channel="acme", me=me) == parse(grown(body), channel="acme", me=me)


def grown(value: Any) -> Any:
    if isinstance(value, list):
        return [grown(one) for one in value]
    if isinstance(value, dict):
        return {key: grown(one) for key, one in value.items()} | {"of_tomorrow": {"kind": 1}}
    return json.loads(json.dumps(value))
