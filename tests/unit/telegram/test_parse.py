"""What single Telegram updates mean, beyond the recorded ones."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import EditEvent, MessageEvent, MoveEvent, PresenceEvent, Quote
from adapters.telegram.parse import Ignored, parse
from tests.unit.telegram.samples import ANN, BOT, GROUP, ME, PRIVATE, message, read, said, update

OTHER = {"id": 9, "is_bot": True, "first_name": "Other", "username": "other_bot"}
CHANNEL = {"id": -1009, "type": "channel", "title": "News"}


@pytest.mark.parametrize(
    ("text", "mentioned", "told"),
    [
        ("@clew_bot hi", True, "hi"),
        ("@CLEW_BOT: 你好", True, "你好"),
        ("@clew_bot你好", True, "你好"),
        ("你好@clew_bot", True, "你好@clew_bot"),
        ("你好，@clew_bot，在吗", True, "你好，@clew_bot，在吗"),
        ("👩🏽‍💻👋 hey @Clew_bot!", True, "👩🏽‍💻👋 hey @Clew_bot!"),
        ("@clew_bot_dev hi", False, "@clew_bot_dev hi"),
        ("@clew hi", False, "@clew hi"),
        ("me@clew_bot.example", False, "me@clew_bot.example"),
        ("https://t.me/@clew_bot", False, "https://t.me/@clew_bot"),
        ("@clew_bot", True, ""),
        ("hello", False, "hello"),
    ],
)
def test_a_mention_is_the_bots_whole_name(text: str, mentioned: bool, told: str) -> None:
    """In whatever case, also beside Chinese, where the platform marks none (vercel/chat: `@bot` in `@bot-dev`)."""
    assert (mentioned, told) == (said(text).mentions_bot, said(text).text)


@pytest.mark.parametrize("kind", ["code", "pre"])
def test_a_name_in_code_calls_nobody(kind: str) -> None:
    """Offsets count UTF-16 units: what stands before is four of them."""
    entities = [{"type": kind, "offset": 5, "length": 9}]

    assert not said("👩🏽 @clew_bot", entities=entities).mentions_bot
    assert said("👩🏽 @clew_bot, @clew_bot", entities=entities).mentions_bot


def test_a_bot_that_has_no_name_is_called_by_none() -> None:
    nameless = type(ME)(account=7, username="", name="Clew")
    event = parse(update(message=message("@ 3 pm? @all")), channel="acme", me=nameless)

    assert isinstance(event, MessageEvent)
    assert ("@ 3 pm? @all", False) == (event.text, event.mentions_bot)


def test_a_bot_without_its_name_is_called_by_its_account() -> None:
    def marked(user: dict[str, Any]) -> Any:
        return said("Клю привет", entities=[{"type": "text_mention", "offset": 0, "length": 3, "user": user}])

    assert (True, "привет") == (marked(BOT).mentions_bot, marked(BOT).text)
    assert (False, "Клю привет") == (marked(OTHER).mentions_bot, marked(OTHER).text)


@pytest.mark.parametrize(
    ("text", "quotes", "told"),
    [
        ("他说过\n我住在上海", [(4, 5)], "他说过\n> 我住在上海"),
        (
            "My name is Bob.\nI live in Oslo.\nis that so?",
            [(0, 31)],
            "> My name is Bob.\n> I live in Oslo.\nis that so?",
        ),
        ("👩🏽👩🏽\nhe said\nno", [(9, 7)], "👩🏽👩🏽\n> he said\nno"),
        ("a\n\nb", [(0, 4)], "> a\n> \n> b"),
        ("/new@clew_bot", [(0, 13)], "> /new@clew_bot"),
        ("plain", [(-3, 2)], "plain"),
    ],
)
@pytest.mark.parametrize("kind", ["blockquote", "expandable_blockquote"])
def test_what_stands_in_a_quote_is_told_as_one(text: str, quotes: list[tuple[int, int]], told: str, kind: str) -> None:
    """It is somebody else's word: neither a command nor what its sender says about himself. Counted in UTF-16 units."""
    entities = [{"type": kind, "offset": offset, "length": length} for offset, length in quotes]

    assert told == said(text, entities=entities).text
    assert told == said(None, photo=[{}], caption=text, caption_entities=entities).text


@pytest.mark.parametrize(
    ("text", "told", "mentioned"),
    [
        ("/new", "/new", False),
        ("/new@clew_bot", "/new", True),
        ("/new@CLEW_BOT tell me", "/new tell me", True),
        ("/新对话@clew_bot", "/新对话", True),
        ("/home/x@clew_bot", "/home/x@clew_bot", False),
    ],
)
def test_a_command_for_us_is_told_without_its_suffix(text: str, told: str, mentioned: bool) -> None:
    """Also one in Chinese, which the platform does not mark."""
    assert (told, mentioned) == (said(text).text, said(text).mentions_bot)


def test_a_command_for_another_bot_is_nothing_for_us() -> None:
    """Unless it calls us, too."""
    assert Ignored("other_bot") == read(message("/new@other_bot"))
    assert said("/ask@other_bot and @clew_bot").mentions_bot


def test_captions_are_words_and_their_marks_count() -> None:
    """A picture's text stands elsewhere (platform-facts 2.8)."""
    entities = [{"type": "code", "offset": 0, "length": 9}]
    photo = [{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}]

    assert ("look", True) == (
        said(None, photo=photo, caption="@clew_bot look").text,
        said(None, photo=photo, caption="@clew_bot look").mentions_bot,
    )
    assert not said(None, photo=photo, caption="@clew_bot", caption_entities=entities).mentions_bot


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (message(None, photo=[]), "media"),
        (message(None, sticker={}), "media"),
        (message(None, rich_message={"blocks": []}), "rich"),
        (message(None, new_chat_members=[ANN]), "service"),
        (message(None, invented_in_2027={}), "service"),
        (message(**{"from": BOT}), "own"),
        (message(via_bot=BOT), "own"),
        (message(**{"from": None}), "no_sender"),
        (message(chat=None), "malformed"),
        (message(entities=[{"type": "bold"}]), "malformed"),
        (message(message_id="5"), "malformed"),
        (message(message_id="\ud800"), "malformed"),
    ],
)
def test_what_is_nothing_for_us_has_a_reason(body: dict[str, Any], rule: str) -> None:
    assert Ignored(rule) == read(body)


def test_ids_beyond_32_bits_are_kept() -> None:
    event = said(chat=PRIVATE)

    assert ("8000000001", "8000000001", "private") == (event.sender.user, event.room, event.chat_type)
    assert ("Ann 李", "zh-hans", True) == (event.sender.name, event.language, event.sender.trusted)


def test_no_part_of_a_message_is_what_a_store_cannot_keep() -> None:
    """Halves of characters and NUL, wherever they stand."""
    bad = "a\x00\ud800b"
    bob = ANN | {"id": 8, "first_name": bad, "language_code": bad}
    reply = message(bad) | {"message_id": 4, "from": bob}
    event = said(bad, **{"from": bob}, reply_to_message=reply, quote={"text": bad, "position": 0})
    forwarded = said(bad, forward_origin={"type": "hidden_user", "sender_user_name": bad, "date": 1})

    for told in (event, forwarded, said(bad, sender_chat=GROUP | {"title": bad})):
        assert "\x00" not in str(msgspec.to_builtins(told))
        assert msgspec.json.encode(told)


@pytest.mark.parametrize(
    ("fields", "account", "name"),
    [
        ({"from": {"id": 1087968824, "is_bot": True, "first_name": "Group"}, "sender_chat": GROUP}, "-1001", "Team"),
        ({"from": {"id": 136817688, "is_bot": True, "first_name": "Channel"}, "sender_chat": CHANNEL}, "-1009", "News"),
        ({"from": {"id": 777000, "is_bot": False, "first_name": "Telegram"}, "sender_chat": CHANNEL}, "-1009", "News"),
        ({"from": {"id": 1087968824, "is_bot": True, "first_name": "Group"}}, "-1001", "Group"),
        ({"from": None, "sender_chat": CHANNEL, "author_signature": "Zoe"}, "-1009", "Zoe"),
    ],
    ids=["anonymous", "as-channel", "linked", "hidden", "no-from"],
)
def test_who_hides_is_nobody_in_particular(fields: dict[str, Any], account: str, name: str) -> None:
    """The same account stands for every anonymous admin of every group (tdlib/telegram-bot-api#667,
    dgongut/docker-controller-bot#25); and it is no bot."""
    sender = said(**fields).sender

    assert (account, name, False, False) == (sender.user, sender.name, sender.trusted, sender.is_bot)


@pytest.mark.parametrize("fields", [{"from": OTHER}, {"via_bot": OTHER}])
def test_what_a_program_wrote_is_told_as_such(fields: dict[str, Any]) -> None:
    """Two bots would talk for ever (NousResearch/hermes-agent#91481)."""
    assert said(**fields).sender.is_bot


@pytest.mark.parametrize(
    ("fields", "thread"),
    [
        ({"message_thread_id": 77, "is_topic_message": True}, "77"),
        ({"message_thread_id": 77}, None),
        ({"message_thread_id": 77, "reply_to_message": message(message_id=77)}, None),
        ({}, None),
        ({"chat": PRIVATE, "message_thread_id": 77, "is_topic_message": True}, "77"),
    ],
    ids=["topic", "reply-thread", "reply", "general", "private-topic"],
)
def test_a_thread_is_a_topic_only_where_it_is_said_to_be_one(fields: dict[str, Any], thread: str | None) -> None:
    """tdlib/telegram-bot-api#447, python-telegram-bot#4739."""
    assert thread == said(**fields).thread


def test_a_reply_to_the_bot_is_one() -> None:
    target = message("I said", message_id=3, **{"from": BOT})
    event = said(reply_to_message=target)

    assert (True, "3") == (event.reply_to_bot, event.in_reply_to)
    assert Quote(name="Clew", text="I said", by_bot=True) == event.quote


def test_a_topic_that_the_bot_opened_is_no_message_that_is_replied_to() -> None:
    """Every message in it names its creation (teloxide `topic_message`)."""
    opening = message(None, message_id=77, forum_topic_created={"name": "t"}, **{"from": BOT})
    event = said(message_thread_id=77, is_topic_message=True, reply_to_message=opening)

    assert (False, None, None) == (event.reply_to_bot, event.in_reply_to, event.quote)


@pytest.mark.parametrize(
    ("fields", "quote"),
    [
        ({"reply_to_message": message("all of it")}, Quote(name="Ann 李", text="all of it")),
        (
            {"reply_to_message": message("all of it"), "quote": {"text": "of", "position": 4}},
            Quote(name="Ann 李", text="of"),
        ),
        ({"reply_to_message": message("x", sender_chat=CHANNEL)}, Quote(name="News", text="x")),
        ({"reply_to_message": message("x", **{"from": None})}, Quote(name="?", text="x")),
        (
            {"reply_to_message": message("x", forward_origin={"type": "user", "sender_user": OTHER})},
            Quote(name="Other", text="x", by_bot=True),
        ),
        (
            {
                "reply_to_message": message("abc", forward_origin={"type": "hidden_user", "sender_user_name": "Zoe"}),
                "quote": {"text": "b"},
            },
            Quote(name="Zoe", text="b"),
        ),
        (
            {
                "reply_to_message": message(
                    "x",
                    sender_chat=CHANNEL,
                    is_automatic_forward=True,
                    forward_origin={"type": "channel", "chat": CHANNEL, "message_id": 1},
                )
            },
            Quote(name="News", text="x"),
        ),
        ({"reply_to_message": message(None, photo=[])}, None),
        ({"external_reply": {"origin": {"type": "user", "sender_user": ANN}}}, None),
        (
            {"external_reply": {"origin": {"type": "user", "sender_user": OTHER}}, "quote": {"text": "x"}},
            Quote(name="Other", text="x", by_bot=True),
        ),
        ({"external_reply": {}, "quote": {"text": "x"}}, Quote(name="?", text="x")),
    ],
)
def test_what_is_replied_to_comes_along(fields: dict[str, Any], quote: Quote | None) -> None:
    assert quote == said(**fields).quote


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "sender_user": ANN}, "Ann 李"),
        ({"type": "hidden_user", "sender_user_name": "Zoe"}, "Zoe"),
        ({"type": "chat", "sender_chat": GROUP}, "Team"),
        ({"type": "channel", "chat": CHANNEL, "message_id": 1}, "News"),
        ({"type": "of 2027"}, "?"),
    ],
)
def test_a_forwarded_message_is_data_and_asks_for_nothing(origin: dict[str, Any], name: str) -> None:
    """Not its sender's instruction, nor a call of the bot (platform-facts 2.8)."""
    event = said("/stop @clew_bot /new@other_bot", forward_origin=origin)

    assert ("", False) == (event.text, event.mentions_bot)
    assert Quote(name=name, text="/stop @clew_bot /new@other_bot") == event.quote


def test_a_channels_post_in_its_own_group_is_the_channels_word() -> None:
    origin = {"type": "channel", "chat": CHANNEL, "message_id": 1}

    assert "news" == said("news", sender_chat=CHANNEL, forward_origin=origin, is_automatic_forward=True).text


def test_an_edit_names_its_message_and_reads_as_the_message_would() -> None:
    body = message("@clew_bot /new@x 你好", edit_date=1_700_000_009)
    edit = read(body, kind="edited_message")

    assert isinstance(edit, EditEvent)
    assert ("5", said("@clew_bot /new@x 你好").text) == (edit.message_id, edit.text)


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "@clew_bot", "reply_to_message": message("what is Rome?")},
        {"text": "a story", "forward_origin": {"type": "user", "sender_user": ANN}},
    ],
    ids=["asked-of-a-reply", "forwarded"],
)
def test_an_edit_quotes_what_its_message_does(fields: dict[str, Any]) -> None:
    """Reactions and link previews are told as edits, and a question about a quote must not seem emptied by them."""
    edit = read(message(**fields, edit_date=9), kind="edited_message")

    assert isinstance(edit, EditEvent)
    assert "" == edit.text
    assert said(**fields).quote == edit.quote is not None


def test_two_edits_within_one_second_are_two() -> None:
    """The platform's clock has no smaller part; and what is changed back and forth comes back in the end. The same update is
    the same edit; one of the same number after a quiet week is another (platform-facts 2.2)."""
    edits = [
        read(message(text, edit_date=9), kind="edited_message", number=number)
        for number, text in enumerate(["b", "c", "b"])
    ]
    again = read(message("b", edit_date=9), kind="edited_message", number=2)
    anew = read(message("d", edit_date=700_000), kind="edited_message", number=2)
    ids = [edit.dedupe_ids for edit in (*edits, anew) if isinstance(edit, EditEvent)]

    assert 4 == len({one for some in ids for one in some}) == len(ids)
    assert isinstance(again, EditEvent)
    assert ids[2] == again.dedupe_ids


@pytest.mark.parametrize("fields", [{"photo": []}, {"video": {}}, {"rich_message": {"blocks": []}}])
def test_words_that_were_taken_out_are_an_edit_to_none(fields: dict[str, Any]) -> None:
    """A caption removed, or words replaced by what can't be read: the old ones are not said any more."""
    edit = read(message(None, **fields), kind="edited_message")

    assert isinstance(edit, EditEvent)
    assert ("5", "") == (edit.message_id, edit.text)


def test_edits_of_what_never_has_words_or_of_our_own_are_nothing() -> None:
    """A place that is shared live is edited every few seconds."""
    assert Ignored("media") == read(message(None, location={}), kind="edited_message")
    assert Ignored("service") == read(message(None, pinned_message={}), kind="edited_message")
    assert Ignored("own") == read(message(**{"from": BOT}), kind="edited_message")
    assert Ignored("own") == read(message(None, photo=[], **{"from": BOT}), kind="edited_message")


@pytest.mark.parametrize("fields", [{"from": ANN}, {"from": BOT}, {"from": None}])
def test_a_migration_is_one_move_by_whichever_of_its_messages(fields: dict[str, Any]) -> None:
    """Both are told, in any order, in the two rooms (TelegramBots/Telegram.Bot#171)."""
    old = {"id": -5, "type": "group", "title": "Team"}
    to = read(message(None, chat=old, migrate_to_chat_id=-1001, **fields))
    back = read(message(None, chat=GROUP, migrate_from_chat_id=-5, **fields), number=2)

    assert isinstance(to, MoveEvent)
    assert isinstance(back, MoveEvent)
    assert ("-5", "-1001") == (to.room, to.new_room) == (back.room, back.new_room)
    assert to.dedupe_ids[1] == back.dedupe_ids[1]
    assert to.dedupe_ids[0] != back.dedupe_ids[0]


@pytest.mark.parametrize(
    ("before", "now", "present"),
    [
        ({"status": "left"}, {"status": "member"}, True),
        ({"status": "member"}, {"status": "kicked"}, False),
        ({"status": "left"}, {"status": "restricted", "is_member": True}, True),
        ({"status": "member"}, {"status": "administrator"}, None),
        ({"status": "left"}, {"status": "restricted", "is_member": False}, None),
    ],
)
def test_the_bots_own_coming_and_going_is_told(before: Any, now: Any, present: bool | None) -> None:
    body = {"chat": GROUP, "from": ANN, "date": 1, "old_chat_member": before, "new_chat_member": now}
    event = read(body, kind="my_chat_member")

    if present is None:
        assert Ignored("membership") == event
    else:
        assert isinstance(event, PresenceEvent)
        assert (present, "-1001", "8000000001") == (event.present, event.room, event.sender.user)
        assert ANN.get("language_code") == event.language


@pytest.mark.parametrize("account", [1087968824, 136817688, 777000])
def test_who_hides_brings_the_bot_in_as_nobody_in_particular(account: int) -> None:
    """The same account stands for every anonymous admin (tdlib/telegram-bot-api#667); its language is nobody's."""
    hiding = {"id": account, "is_bot": True, "first_name": "Group", "language_code": "en"}
    body = {
        "chat": GROUP, "from": hiding, "date": 1,
        "old_chat_member": {"status": "left"}, "new_chat_member": {"status": "member"},
    }  # fmt: skip
    event = read(body, kind="my_chat_member")

    assert isinstance(event, PresenceEvent)
    assert ("-1001", False, None) == (event.sender.user, event.sender.trusted, event.language)


def test_an_update_nested_without_end_is_malformed() -> None:
    body = message()
    for _ in range(3_000):
        body = message() | {"reply_to_message": body}

    assert Ignored("malformed") == read(body)


def test_broadcast_channels_are_no_rooms() -> None:
    """Nobody talks with the bot there, so nobody is told what it keeps."""
    body = {
        "chat": GROUP | {"type": "channel"}, "from": ANN, "date": 1,
        "old_chat_member": {"user": ANN, "status": "left"}, "new_chat_member": {"user": ANN, "status": "administrator"},
    }  # fmt: skip

    assert Ignored("membership") == read(body, kind="my_chat_member")


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (update(channel_post=message()), "channel_post"),
        (update(edited_channel_post=message()), "channel_post"),
        (update(invented_in_2027={}), "unused"),
        (update(), "unused"),
        (update(message=5), "malformed"),
        (update(message=None), "malformed"),
        (update(my_chat_member={}), "malformed"),
        ({"message": message()}, "malformed"),
        ({}, "malformed"),
    ],
)
def test_other_updates_have_a_reason_too(body: dict[str, Any], rule: str) -> None:
    """Never an exception: it would be in the way of the next one (platform-facts 0.10)."""
    assert Ignored(rule) == parse(body, channel="acme", me=ME)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(st.characters()),
       lambda inner: st.lists(inner, max_size=3)
       | st.dictionaries(st.sampled_from([*message(), "caption", "quote", "forward_origin", "x"]), inner, max_size=5),
       max_leaves=20))  # fmt: skip
def test_nothing_raises(body: Any) -> None:
    parse({"update_id": 1, "message": body}, channel="acme", me=ME)
    if isinstance(body, dict):
        parse({"update_id": 1, "message": message() | body}, channel="acme", me=ME)


@given(st.text(st.characters(exclude_categories=[])))
def test_every_text_can_be_kept(text: str) -> None:
    """Also with lone surrogates and NUL in it."""
    marks = [{"type": "code", "offset": 0, "length": len(text) + 9}]
    event = read(message(None) | {"text": text, "entities": marks})

    if not isinstance(event, Ignored):
        assert "\x00" not in getattr(event, "text", "")
        getattr(event, "text", "").encode()


def test_a_retry_has_the_same_ids_and_an_old_number_no_old_message() -> None:
    """After a quiet week the numbers begin anew somewhere (platform-facts 2.2)."""
    first, again = said(), said()
    later = read(message("hello", message_id=6))

    assert first.dedupe_ids == again.dedupe_ids
    assert not isinstance(later, Ignored)
    assert not {*first.dedupe_ids} & {*later.dedupe_ids}


def test_two_bots_in_one_group_have_ids_of_their_own() -> None:
    theirs = parse(update(message=message()), channel="acme", me=type(ME)(account=9, username="b", name="b"))

    assert not isinstance(theirs, Ignored)
    assert not {*said().dedupe_ids} & {*theirs.dedupe_ids}
