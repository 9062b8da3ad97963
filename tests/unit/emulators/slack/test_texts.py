"""What the local Slack takes as a message: lengths in its units, blocks, mentions, streams, files."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.errors import SlackApiError

from tests.emulators.slack.blocks import check_blocks
from tests.emulators.slack.clock import SteppedClock
from tests.emulators.slack.faults import ApiError
from tests.emulators.slack.richtext import links, pings, rich_text, typed, unescape
from tests.unit.emulators.slack.world import World, client

Json = dict[str, Any]


def section(text: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def markdown(text: str) -> Json:
    return {"type": "markdown", "text": text}


def table(*rows: list[str]) -> Json:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": cell} for cell in row] for row in rows]}


async def post(here: World, **args: Any) -> str:
    """Post; return the warning, the error, or nothing."""
    try:
        answer = await here.web.api_call("chat.postMessage", json={"channel": here.general.id, **args})
    except SlackApiError as exc:
        return str(exc.response["error"])
    return str(answer.get("warning", ""))


async def update(here: World, ts: str, **args: Any) -> str:
    try:
        await here.web.api_call("chat.update", json={"channel": here.general.id, "ts": ts, **args})
    except SlackApiError as exc:
        return str(exc.response["error"])
    return ""


@pytest.mark.parametrize(
    ("args", "outcome"),
    [
        ({"text": ""}, "no_text"),
        ({"text": "  \n"}, "no_text"),
        ({}, "no_text"),
        ({"text": "x" * 40_000}, ""),
        ({"text": "x" * 40_001}, "message_truncated"),
        ({"text": "你" * 40_000}, ""),
        ({"markdown_text": "x" * 12_000}, ""),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"markdown_text": "x", "text": "y"}, "markdown_text_conflict"),
        ({"markdown_text": "x", "blocks": [section("y")]}, "markdown_text_conflict"),
        ({"blocks": [markdown("x" * 12_000)]}, ""),
        ({"blocks": [markdown("x" * 6_000), markdown("y" * 6_001)]}, "msg_blocks_too_long"),
        ({"blocks": [markdown("x" * 12_001)]}, "msg_blocks_too_long"),
        ({"blocks": [section("x" * 3_000) for _ in range(4)]}, ""),
        ({"blocks": [section("x" * 2_900) for _ in range(5)]}, "msg_blocks_too_long"),
        ({"blocks": [section("x" * 3_001)]}, "invalid_blocks"),
        ({"blocks": [section("")]}, "invalid_blocks"),
        ({"blocks": [{"type": "section"}]}, "invalid_blocks"),
        ({"blocks": [{"type": "section", "text": {"type": "bold", "text": "x"}}]}, "invalid_blocks"),
        ({"blocks": [{"type": "section", "fields": [{"type": "mrkdwn", "text": "x" * 2_001}]}]}, "invalid_blocks"),
        ({"blocks": [{"type": "section", "fields": [{"type": "mrkdwn", "text": "x"}]}]}, ""),
        ({"blocks": [markdown("")]}, "invalid_blocks"),
        ({"blocks": [{"type": "divider"}] * 50, "text": "x"}, ""),
        ({"blocks": [{"type": "divider"}] * 51}, "invalid_blocks"),
        ({"blocks": [{"type": "invention"}]}, "invalid_blocks"),
        ({"blocks": ["text"]}, "invalid_blocks"),
        ({"blocks": [{"type": "divider", "block_id": "x" * 256}]}, "invalid_blocks"),
        ({"blocks": [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}]}, "invalid_blocks"),
        ({"blocks": [{"type": "context", "elements": []}]}, "invalid_blocks"),
        ({"blocks": [{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11}]}, "invalid_blocks"),
        ({"blocks": [table(["a", "b"], ["1", "2"])]}, ""),
        ({"blocks": [table(["a", ""])]}, "invalid_blocks"),
        ({"blocks": [table(["a"]), table(["b"])]}, "invalid_blocks"),
        ({"blocks": [table(*[["a"]] * 101)]}, "invalid_blocks"),
        ({"blocks": [table(["a"] * 21)]}, "invalid_blocks"),
        ({"blocks": [table(["x" * 10_001])]}, "invalid_blocks"),
        ({"blocks": [{"type": "table"}]}, "invalid_blocks"),
        ({"blocks": "[not json"}, "invalid_blocks_format"),
        ({"blocks": {"type": "section"}}, "invalid_blocks_format"),
        ({"text": "x", "metadata": {"event_type": "clew"}}, "invalid_metadata_format"),
        ({"text": "x", "metadata": {"event_type": "clew", "event_payload": []}}, "invalid_metadata_format"),
        ({"text": "x", "metadata": "[not json"}, "invalid_metadata_format"),
        ({"text": "x", "metadata": '{"event_type": "clew", "event_payload": {}}'}, ""),
        ({"text": "x", "metadata": {"event_type": "a", "event_payload": {"b": "x" * 8_000}}}, "metadata_too_large"),
    ],
)
async def test_what_a_post_may_hold(here: World, args: Json, outcome: str) -> None:
    """Each limit and one past it (slackapi/bolt-js#2509; vercel/chat: `invalid_blocks` for an empty cell)."""
    assert outcome == await post(here, **args)
    assert (outcome in ("", "message_truncated")) == bool(here.general.messages())


async def test_a_text_too_long_is_cut(here: World) -> None:
    """The tail of a post of more than 40,000 characters is gone."""
    await post(here, text="x" * 40_000 + "tail")

    assert "x" * 40_000 == here.general.messages()[0].text


async def test_an_update_is_measured_in_bytes(here: World) -> None:
    """4,000 bytes of text: a post can't be edited to what could be posted (openclaw/openclaw#115027)."""
    ts = (await here.web.chat_postMessage(channel=here.general.id, text="…"))["ts"]
    outcomes = [
        await update(here, ts, **args)
        for args in (
            {"text": "x" * 4_000},
            {"text": "x" * 4_001},
            {"text": "你" * 1_333},
            {"text": "你" * 1_334},
            {"blocks": [markdown("y" * 12_000)]},
            {"text": ""},
            {"markdown_text": "z" * 12_000},
        )
    ]

    assert ["", "msg_too_long", "", "msg_too_long", "", "no_text", ""] == outcomes


async def test_an_update_by_text_takes_the_blocks_away_and_keeps_the_metadata(here: World) -> None:
    """And shows "(edited)", which one by blocks does not; empty metadata removes it."""
    mark = {"event_type": "clew", "event_payload": {"chunk": "7"}}
    room = here.general.id
    ts = (await here.web.chat_postMessage(channel=room, text="a", blocks=[markdown("**a**")], metadata=mark))["ts"]
    message = here.general.find(ts)
    assert message is not None
    posted = message.shown
    await here.web.chat_update(channel=room, ts=ts, blocks=[markdown("**b**")], text="fallback")
    by_blocks = (message.shown, message.edited)
    await here.web.chat_update(channel=room, ts=ts, text="c")
    by_text = (message.shown, message.edited is not None, message.metadata)
    await here.web.chat_update(channel=room, ts=ts, text="c", metadata={})

    assert "**a**" == posted
    assert ("**b**", None) == by_blocks
    assert ("c", True, mark) == by_text
    assert message.metadata is None
    assert ["**a**", "**b**", "c"] == message.history


async def test_whom_a_message_calls(here: World) -> None:
    """Tokens are live in mrkdwn and markdown blocks alike, in code too; escaped ones are not (PostHog/posthog#95054)."""
    calls: list[Json] = [
        {"text": "<!channel> and <@U0ABC123|ann> and <!subteam^S0ABC|@team>"},
        {"blocks": [markdown("`<!here>` hello")], "text": "fallback <!everyone>"},
        {"text": "&lt;!channel&gt; @here #general mail@here.example"},
        {"text": "hi @here", "link_names": True},
        {"text": "@channel", "parse": "full"},
    ]
    for args in calls:
        assert "" == await post(here, **args)

    assert [{"channel", "U0ABC123", "S0ABC"}, {"here"}, set(), {"here"}, {"channel"}] == [
        set(message.pings) for message in here.general.messages()
    ]


@given(st.text())
def test_what_people_type_is_escaped_and_can_be_read_again(text: str) -> None:
    """No text of a person becomes a token by itself, but the links they type."""
    wire = typed(text)
    block = rich_text(wire, block_id="b")
    read = "".join(part.get("text", part.get("url", "")) for part in block["elements"][0]["elements"])

    if not links(wire) and not pings(text):
        assert text == unescape(wire) == read


def test_tokens_become_their_elements() -> None:
    """Mentions, channels, groups, broadcasts, links with and without a label."""
    wire = (
        "<@U012> in <#C012|general> and <!subteam^S012> <!here> <https://a.example/?b=1&amp;c|a &lt; b> <mailto:x@y.z>"
    )
    elements = rich_text(wire, block_id="b")["elements"][0]["elements"]

    assert [
        {"type": "user", "user_id": "U012"},
        {"type": "channel", "channel_id": "C012"},
        {"type": "usergroup", "usergroup_id": "S012"},
        {"type": "broadcast", "range": "here"},
        {"type": "link", "url": "https://a.example/?b=1&c", "text": "a < b"},
        {"type": "link", "url": "mailto:x@y.z"},
    ] == [element for element in elements if element["type"] != "text"]
    assert ["https://a.example/?b=1&c"] == links(wire)


def test_blocks_cost_a_little_each() -> None:
    """A further block takes about 125 characters of the sum (slackapi/bolt-js#2509)."""
    check_blocks([section("x" * 2_615) for _ in range(4)] + [section("x" * 2_240)])
    with pytest.raises(ApiError, match="msg_blocks_too_long"):
        check_blocks([section("x" * 2_615) for _ in range(4)] + [section("x" * 2_241)])


class TestStreams:
    async def test_a_stream_is_one_message_that_grows(self, here: World) -> None:
        """Started, appended to by text and chunks, stopped with more; readers see the whole, apps hear of start and end."""
        room, root = here.general.id, await here.ann.says(here.general, "go")
        who: Json = {"recipient_user_id": here.ann.id, "recipient_team_id": here.here.id}
        started = await here.web.chat_startStream(channel=room, thread_ts=root, markdown_text="a", **who)
        await here.web.chat_appendStream(channel=room, ts=started["ts"], markdown_text="b")
        chunks = [{"type": "markdown_text", "text": "c"}, {"type": "task_update", "id": "1", "title": "t"}]
        await here.web.chat_appendStream(channel=room, ts=started["ts"], chunks=chunks)
        mark = {"event_type": "clew", "event_payload": {}}
        conflict = await update(here, started["ts"], text="no")
        await here.web.chat_stopStream(
            channel=room, ts=started["ts"], markdown_text="d", blocks=[section("!")], metadata=mark
        )
        message = await here.general.reply(here.bot, after=root)
        await here.platform.settled()

        assert "abcd\n!" == message.shown
        assert mark == message.metadata
        assert "streaming_state_conflict" == conflict
        assert ["message", "message", "message:message_changed"] == here.heard.kinds()
        assert "" == await update(here, started["ts"], text="after the end it is like any other")

    async def test_the_helper_of_the_sdk_works(self, here: World) -> None:
        """`chat_stream` buffers, starts late, and stops; in a DM nobody needs to be named."""
        dm = here.here.dm(here.ann, here.bot)
        root = await here.ann.says(dm, "go")
        stream = await here.web.chat_stream(channel=dm.id, thread_ts=root, buffer_size=10)
        for piece in ("hello ", "world, ", "bye"):
            await stream.append(markdown_text=piece)
        await stream.stop()

        assert "hello world, bye" == (await dm.reply(here.bot, after=root)).shown

    async def test_a_stream_in_a_channel_needs_its_recipient(self, here: World) -> None:
        """Both ids of the asking person (openclaw/openclaw#21213)."""
        room, root = here.general.id, await here.ann.says(here.general, "go")
        args = {"channel": room, "thread_ts": root}
        team = {"recipient_team_id": here.here.id}

        assert "missing_recipient_team_id" == await here.refused("chat.startStream", **args)
        assert "missing_recipient_user_id" == await here.refused("chat.startStream", **args, **team)
        gone = {"recipient_user_id": "U0NOBODY", **team}
        assert "user_not_found" == await here.refused("chat.startStream", **args, **gone)
        assert "invalid_arguments" == await here.refused("chat.startStream", channel=room, **gone)

    async def test_a_stream_ends_by_itself(self, here: World, clock: SteppedClock) -> None:
        """Five minutes after its start, appends or not (slackapi/python-slack-sdk#1859); what stands there can be updated."""
        ts = await self._start(here)
        await clock.advance(299)
        await here.web.chat_appendStream(channel=here.general.id, ts=ts, markdown_text="b")
        await clock.advance(1)
        late = {"channel": here.general.id, "ts": ts, "markdown_text": "lost"}

        assert "message_not_in_streaming_state" == await here.refused("chat.appendStream", **late)
        assert "message_not_in_streaming_state" == await here.refused("chat.stopStream", **late)
        assert "" == await update(here, ts, text="ab and the rest")

    async def test_a_person_can_stop_it(self, here: World) -> None:
        """The next append says so."""
        ts = await self._start(here)
        await here.ann.stops(here.general, ts)

        args = {"channel": here.general.id, "ts": ts, "markdown_text": "more"}
        assert "stopped_by_user" == await here.refused("chat.appendStream", **args)

    async def test_what_can_not_be_streamed(self, here: World) -> None:
        """Another's message, an ordinary one, nothing, too much, unknown chunks and states."""
        ts = await self._start(here)
        mine = (await here.web.chat_postMessage(channel=here.general.id, text="whole"))["ts"]
        other = await here.ann.says(here.general, "hers")
        room = {"channel": here.general.id}
        append: list[tuple[Json, str]] = [
            ({"ts": other, "markdown_text": "x"}, "message_not_owned_by_app"),
            ({"ts": mine, "markdown_text": "x"}, "message_not_in_streaming_state"),
            ({"ts": "1111111111.000000", "markdown_text": "x"}, "message_not_found"),
            ({"ts": ts}, "no_text"),
            ({"ts": ts, "markdown_text": "x" * 12_001}, "msg_too_long"),
            ({"ts": ts, "chunks": [{"type": "song"}]}, "invalid_chunks"),
            (
                {"ts": ts, "markdown_text": "x", "chunks": [{"type": "markdown_text", "text": "y"}]},
                "markdown_text_conflict",
            ),
        ]

        assert [error for _, error in append] == [
            await here.refused("chat.appendStream", **room, **args) for args, _ in append
        ]
        assert "invalid_arguments" == await here.refused("chat.stopStream", **room, ts=ts, session_status="happy")
        too_many = [{"type": "divider"}] * 51
        assert "invalid_blocks" == await here.refused("chat.stopStream", **room, ts=ts, blocks=too_many)

    async def _start(self, here: World) -> str:
        root = await here.ann.says(here.general, "go")
        answer = await here.web.chat_startStream(
            channel=here.general.id,
            thread_ts=root,
            markdown_text="a",
            recipient_user_id=here.ann.id,
            recipient_team_id=here.here.id,
        )
        return str(answer["ts"])


class TestFiles:
    async def test_the_sdks_upload_is_shared_in_the_thread(self, here: World) -> None:
        """Three steps, bytes counted as bytes; the share's ts comes with `files.info`."""
        root = await here.ann.says(here.general, "send it")
        done = await here.web.files_upload_v2(
            channel=here.general.id,
            thread_ts=root,
            content="备忘",
            filename="memo.txt",
            title="Memo",
            initial_comment="here",
        )
        info = (await here.web.files_info(file=done["files"][0]["id"]))["file"]
        message = await here.general.reply(here.bot, after=root)

        assert ("here", "memo.txt", root) == (message.text, message.files[0]["name"], message.thread_ts)
        assert message.ts == info["shares"]["public"][here.general.id][0]["ts"]

    async def test_a_channels_name_is_shared_nowhere(self, here: World) -> None:
        """Without an error (slackapi/python-slack-sdk#1359)."""
        asked = await here.web.files_getUploadURLExternal(filename="a.txt", length=2)
        async with here.platform.pusher.session.post(asked["upload_url"], data=b"abc") as wrong:
            too_long = wrong.status
        async with here.platform.pusher.session.post(asked["upload_url"], data=b"ab") as right:
            fitting = right.status
        async with here.platform.pusher.session.post(asked["upload_url"], data=b"ab") as again:
            twice = again.status
        await here.web.files_completeUploadExternal(files=[{"id": asked["file_id"]}], channel_id="#general")

        assert (400, 200, 404) == (too_long, fitting, twice)
        assert [] == here.general.messages()
        assert {} == (await here.web.files_info(file=asked["file_id"]))["file"]["shares"]
        with pytest.raises(SlackApiError, match="file_not_found"):
            await here.web.files_completeUploadExternal(files=[{"id": "F0"}], channel_id=here.general.id)
        with pytest.raises(SlackApiError, match="file_not_found"):
            await here.web.files_info(file="F0")
        with pytest.raises(SlackApiError, match="invalid_arguments"):
            await here.web.api_call("files.getUploadURLExternal", params={"filename": "a", "length": "two"})

    async def test_a_file_is_for_those_who_may_read_it(self, here: World) -> None:
        """Others get a login page, with status 200."""
        shared = here.here.file("notes.txt", "备忘".encode(), by=here.ann)
        narrow = here.here.install(here.platform.app("Narrow"), scopes=["chat:write"])
        got = []
        for token in (here.bot.token, narrow.token, ""):
            headers = {"Authorization": f"Bearer {token}"}
            async with aiohttp.ClientSession(headers=headers) as session, session.get(shared["url_private"]) as answer:
                got.append((answer.status, answer.content_type, await answer.read()))
        async with here.platform.pusher.session.get(shared["url_private"].replace("-F", "-X")) as missing:
            status = missing.status

        assert (200, "text/plain", "备忘".encode()) == got[0]
        assert [(200, "text/html")] * 2 == [(answer[0], answer[1]) for answer in got[1:]]
        assert 404 == status


async def test_a_reply_can_be_shown_in_the_channel_too(here: World) -> None:
    """`thread_broadcast`, with its root; it stands in history as well."""
    root = await here.ann.says(here.general, "root")
    await here.bob.says(here.general, "everybody!", thread=root, broadcast=True)
    await here.web.chat_postMessage(channel=here.general.id, thread_ts=root, text="me too", reply_broadcast=True)
    history = await here.web.conversations_history(channel=here.general.id)
    await here.platform.settled()

    assert ["message", "message:thread_broadcast", "message:thread_broadcast"] == here.heard.kinds()
    assert root == here.heard.events[1]["root"]["ts"]
    assert ["me too", "everybody!", "root"] == [message["text"] for message in history["messages"]]


async def test_a_reply_to_what_a_reply_belongs_to_is_found_by_either(here: World) -> None:
    """`conversations.replies` by a reply's ts gives its thread; an unknown one is an error; strangers may not read."""
    root = await here.ann.says(here.general, "root")
    reply = await here.bob.says(here.general, "reply", thread=root)
    found = await here.web.conversations_replies(channel=here.general.id, ts=reply)
    outside = here.here.install(here.platform.app("Outside"))

    assert [root, reply] == [message["ts"] for message in found["messages"]]
    with pytest.raises(SlackApiError, match="thread_not_found"):
        await here.web.conversations_replies(channel=here.general.id, ts="1111111111.000000")
    with pytest.raises(SlackApiError, match="not_in_channel"):
        await client(outside).conversations_history(channel=here.general.id)
