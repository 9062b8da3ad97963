"""The local Slack's Web API, as the real SDK meets it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.unit.emulators.slack.world import World, client


async def test_a_post_stands_in_its_thread_with_its_metadata_and_is_found_again(here: World) -> None:
    """What was posted is there, and `conversations.replies` finds it by the metadata it carries."""
    root = await here.ann.says(here.general, "hello 你好 👋")
    mark = {"event_type": "clew", "event_payload": {"chunk": "7"}}
    posted = await here.web.chat_postMessage(channel=here.general.id, text="hi", thread_ts=root, metadata=mark)
    replies = await here.web.conversations_replies(channel=here.general.id, ts=root, include_all_metadata=True)
    history = await here.web.conversations_history(channel=here.general.id)

    assert ["hello 你好 👋", "hi"] == [message.shown for message in here.general.messages(root)]
    assert mark == replies["messages"][1]["metadata"]
    assert posted["ts"] == replies["messages"][1]["ts"]
    assert [root] == [message["ts"] for message in history["messages"]]
    assert "metadata" not in history["messages"][0]


async def test_a_ts_is_later_than_any_before_and_loses_its_zeros_as_a_number(here: World) -> None:
    """Message ids are text: unique in the channel, in order, and not what a float makes of them."""
    seen = [await here.ann.says(here.general, str(number)) for number in range(300)]

    assert seen == sorted(set(seen))
    assert any(str(float(ts)) != ts for ts in seen)
    assert [str(number) for number in range(300)] == [message.shown for message in here.general.messages()]


async def test_arguments_are_read_from_json_form_and_query_alike(here: World) -> None:
    """slack_sdk uses all three; only what was made for GET leaves JSON bodies unread, as Slack does."""
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {here.bot.token}"}) as session:
        url = here.platform.api_url
        blocks = json.dumps([{"type": "section", "text": {"type": "mrkdwn", "text": "form"}}])
        calls: list[tuple[str, dict[str, Any]]] = [
            ("chat.postMessage", {"json": {"channel": here.general.id, "text": "json"}}),
            ("chat.postMessage", {"data": {"channel": here.general.id, "blocks": blocks}}),
            ("chat.postMessage", {"params": {"channel": here.general.id, "text": "query"}}),
            ("users.info", {"params": {"user": here.ann.id}}),
            ("users.info", {"json": {"user": here.ann.id}}),
        ]
        answers = []
        for method, arguments in calls:
            async with session.post(url + method, **arguments) as answer:
                answers.append((await answer.json()).get("error"))

    assert [None, None, None, None, "invalid_arguments"] == answers
    assert ["json", "form", "query"] == [message.shown for message in here.general.messages()]


@pytest.mark.parametrize(
    ("token", "error"),
    [("", "not_authed"), ("xoxb-1-wrong", "invalid_auth")],
)
async def test_a_wrong_token_is_refused(here: World, token: str, error: str) -> None:
    """Unlike the npm emulator, `auth.test` believes nobody."""
    with pytest.raises(SlackApiError) as caught:
        await AsyncWebClient(token=token, base_url=here.platform.api_url).auth_test()

    assert error == caught.value.response["error"]
    assert ["auth.test"] == [call.method for call in here.platform.strangers]


async def test_a_revoked_token_says_so(here: World) -> None:
    """An uninstalled app's calls fail, and it hears no more."""
    here.bot.revoked = "account_inactive"
    await here.ann.says(here.general, "anybody?")

    assert "account_inactive" == await here.refused("auth.test")
    await here.platform.settled()
    assert [] == here.heard.events


async def test_each_kind_of_token_is_good_for_its_own_methods(here: World) -> None:
    """The app-level token opens sockets and nothing else; the bot's does not."""
    here.app.socket_mode = True
    level = AsyncWebClient(token=here.app.app_token, base_url=here.platform.api_url)

    assert "not_allowed_token_type" == await here.refused("apps.connections.open")
    assert (await level.apps_connections_open(app_token=here.app.app_token))["url"].startswith("ws://127.0.0.1:")
    with pytest.raises(SlackApiError, match="not_allowed_token_type"):
        await level.auth_test()


async def test_unknown_methods_and_arguments_are_refused(here: World) -> None:
    """A typo is an error, not silence."""
    room = here.general.id

    assert "unknown_method" == await here.refused("chat.postMesage", channel=room)
    assert "invalid_arguments" == await here.refused("chat.postMessage", channel=room, text="x", thread="1")
    assert "invalid_arguments" == await here.refused("chat.postMessage", text="x")
    assert "invalid_arguments" == await here.refused("chat.postMessage", channel=room, text="x", thread_ts=1.5)


async def test_a_method_needs_its_scope(here: World) -> None:
    """An app installed with too few scopes is told which one is missing, so that a manifest can be proved."""
    narrow = here.here.install(here.platform.app("Narrow"), scopes=["chat:write", "channels:read"])
    here.general.let_in(narrow)
    web = client(narrow)
    await web.chat_postMessage(channel=here.general.id, text="allowed")
    with pytest.raises(SlackApiError) as caught:
        await web.conversations_history(channel=here.general.id)

    assert ("missing_scope", "channels:history") == (caught.value.response["error"], caught.value.response["needed"])
    with pytest.raises(SlackApiError, match="missing_scope"):
        await web.chat_postMessage(channel=here.general.id, text="in disguise", username="Boss")


async def test_where_a_bot_may_write(here: World) -> None:
    """Unknown, foreign, archived and private places are told apart as Slack tells them apart."""
    elsewhere = here.here.channel("elsewhere", members=[here.ann])
    secret = here.here.channel("secret", members=[here.ann], private=True)
    old = here.here.channel("old", members=[here.ann, here.bot])
    old.archived = True
    errors = [
        await here.refused("chat.postMessage", channel=channel, text="x")
        for channel in ("C0NOWHERE01", "#general", elsewhere.id, secret.id, old.id)
    ]

    assert ["channel_not_found", "channel_not_found", "not_in_channel", "channel_not_found", "is_archived"] == errors


async def test_an_accounts_id_stands_for_the_dm_with_it(here: World) -> None:
    """`conversations.open` and posting to a user id meet in one DM."""
    opened = await here.web.conversations_open(users=here.ann.id)
    posted = await here.web.chat_postMessage(channel=here.ann.id, text="psst")
    group = await here.web.conversations_open(users=[here.ann.id, here.bob.id], return_im=True)

    assert opened["channel"]["id"] == posted["channel"] == here.here.dm(here.ann, here.bot).id
    assert posted["channel"].startswith("D")
    assert group["channel"]["is_mpim"]
    assert "user_not_found" == await here.refused("conversations.open", users="U0NOBODY")


async def test_threads_are_named_by_their_root(here: World) -> None:
    """An empty, a malformed, an unknown ts and a reply's are refused (vercel/chat changelog: empty string thread)."""
    root = await here.ann.says(here.general, "root")
    reply = await here.bob.says(here.general, "reply", thread=root)
    errors = [
        await here.refused("chat.postMessage", channel=here.general.id, text="x", thread_ts=ts)
        for ts in ("", "yesterday", "1111111111.000000", reply)
    ]

    assert ["invalid_thread_ts", "invalid_thread_ts", "thread_not_found", "invalid_thread_ts"] == errors


async def test_only_own_messages_can_be_changed(here: World) -> None:
    """Another's message, a gone one and a wrong ts (slackapi/bolt-python#1185) are refused."""
    other = await here.ann.says(here.general, "mine")
    mine = (await here.web.chat_postMessage(channel=here.general.id, text="ours"))["ts"]
    room = here.general.id
    await here.web.chat_update(channel=room, ts=mine, text="ours, better")
    errors = [
        await here.refused("chat.update", channel=room, ts=other, text="x"),
        await here.refused("chat.delete", channel=room, ts=other),
        await here.refused("chat.update", channel=room, ts="1111111111.000000", text="x"),
    ]
    changed = here.general.find(mine)
    assert changed is not None
    shown, before = changed.shown, changed.history
    await here.web.chat_delete(channel=room, ts=mine)

    assert ["cant_update_message", "cant_delete_message", "message_not_found"] == errors
    assert ("ours, better", ["ours"]) == (shown, before)
    assert "message_not_found" == await here.refused("chat.update", channel=room, ts=mine, text="x")


async def test_ephemeral_messages_are_for_one_and_not_in_history(here: World) -> None:
    """They cannot be updated either."""
    told = await here.web.chat_postEphemeral(channel=here.general.id, user=here.ann.id, text="only you")
    stranger = here.here.person("Zoe")

    assert [(here.ann.id, "only you")] == [(who, message.shown) for who, message in here.general.ephemerals]
    assert [] == here.general.messages()
    refusal = await here.refused("chat.update", channel=here.general.id, ts=told["message_ts"], text="x")
    assert "message_not_found" == refusal
    args = {"channel": here.general.id, "user": stranger.id, "text": "x"}
    assert "user_not_in_channel" == await here.refused("chat.postEphemeral", **args)


async def test_people_rooms_and_teams_can_be_asked_for(here: World) -> None:
    """Names, languages and kinds, as the gateway resolves them."""
    bob = (await here.web.users_info(user=here.bob.id, include_locale=True))["user"]
    bot = (await here.web.bots_info(bot=here.bot.bot_id))["bot"]
    room = (await here.web.conversations_info(channel=here.general.id, include_num_members=True))["channel"]
    team = (await here.web.team_info())["team"]
    me = await here.web.auth_test()
    dm = here.here.dm(here.ann, here.bot)
    private = (await here.web.conversations_info(channel=dm.id))["channel"]

    assert ("Bob", "zh-CN", False) == (bob["profile"]["display_name"], bob["locale"], bob["is_bot"])
    assert ("Clew", here.bot.id) == (bot["name"], bot["user_id"])
    assert ("general", 3, True) == (room["name"], room["num_members"], room["is_member"])
    assert (here.here.id, "Acme") == (team["id"], team["name"])
    assert (here.here.id, here.bot.id, here.bot.bot_id) == (me["team_id"], me["user_id"], me["bot_id"])
    assert (True, here.ann.id) == (private["is_im"], private["user"])
    for method, args in (("users.info", {"user": "U0"}), ("bots.info", {"bot": "B0"}), ("team.info", {"team": "T0"})):
        with pytest.raises(SlackApiError, match="not_found"):
            await here.web.api_call(method, params=args)


async def test_lists_come_in_pages(here: World) -> None:
    """History newest first, members and replies alike, until the cursor is empty."""
    written = [await here.ann.says(here.general, str(number)) for number in range(5)]
    read: list[str] = []
    cursor = ""
    while True:
        page = await here.web.conversations_history(channel=here.general.id, limit=2, cursor=cursor)
        read += [message["ts"] for message in page["messages"]]
        if not page["has_more"]:
            break
        cursor = page["response_metadata"]["next_cursor"]
    members = await here.web.conversations_members(channel=here.general.id, limit=2)
    between = await here.web.conversations_history(
        channel=here.general.id, oldest=written[1], latest=written[3], inclusive=True
    )
    after = await here.web.conversations_history(channel=here.general.id, oldest=written[3])

    assert written[::-1] == read
    assert 2 == len(members["members"])
    assert written[1:4][::-1] == [message["ts"] for message in between["messages"]]
    assert [written[4]] == [message["ts"] for message in after["messages"]]
    for wrong in ({"limit": "0"}, {"limit": "many"}, {"cursor": "!"}, {"oldest": "noon"}):
        with pytest.raises(SlackApiError, match="invalid_"):
            await here.web.api_call("conversations.history", params={"channel": here.general.id, **wrong})


async def test_a_reaction_is_added_once(here: World) -> None:
    """The second time is an error, and the event says what it was for."""
    ts = await here.ann.says(here.general, "nice")
    await here.web.reactions_add(channel=here.general.id, name="thumbsup", timestamp=ts)
    args = {"channel": here.general.id, "timestamp": ts}

    assert "already_reacted" == await here.refused("reactions.add", name="thumbsup", **args)
    assert "invalid_name" == await here.refused("reactions.add", name=":+1 :", **args)
    await here.platform.settled()
    assert "reaction_added" == here.heard.events[-1]["type"]
    assert here.ann.id == here.heard.events[-1]["item_user"]


async def test_a_status_is_shown_in_its_thread_until_the_bot_writes_there(here: World) -> None:
    """Threads have one each; the empty text takes it away (NousResearch/hermes-agent#24117)."""
    first, second = [await here.ann.says(here.general, text) for text in ("one", "two")]
    for thread in (first, second):
        await here.web.assistant_threads_setStatus(
            channel_id=here.general.id, thread_ts=thread, status="is thinking…", loading_messages=["a", "b"]
        )
    shown = [here.general.status(thread) for thread in (first, second)]
    await here.web.chat_postMessage(channel=here.general.id, text="done", thread_ts=first)
    after = [here.general.status(thread) for thread in (first, second)]
    await here.web.assistant_threads_setStatus(channel_id=here.general.id, thread_ts=second, status="")

    assert ["is thinking…", "is thinking…"] == shown
    assert ["", "is thinking…"] == after
    assert "" == here.general.status(second)
    with pytest.raises(SlackApiError, match="invalid_arguments"):
        await here.web.assistant_threads_setStatus(
            channel_id=here.general.id, thread_ts=first, status="x", loading_messages=["x"] * 11
        )


async def test_waiting_for_what_stands_in_a_channel(here: World) -> None:
    """A test waits for the event, and is told what stands there when it does not come."""
    root = await here.ann.says(here.general, "go")

    async def answer() -> None:
        await here.web.chat_postMessage(channel=here.general.id, text="first", thread_ts=root)
        await here.web.chat_postMessage(channel=here.general.id, text="second", thread_ts=root)

    _, message = await asyncio.gather(answer(), here.general.reply(here.bot, after=root, count=2))

    assert "second" == message.shown
    with pytest.raises(AssertionError, match="second"):
        await here.general.wait_for(lambda messages: len(messages) > 9, timeout_s=0.01)
