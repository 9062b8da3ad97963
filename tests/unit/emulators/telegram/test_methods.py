"""The local Telegram answers calls as the platform does: addresses, tokens, parameters, faults. Driven by the real client."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest
from telegram.error import BadRequest, Conflict, InvalidToken, NetworkError, RetryAfter, TimedOut

from tests.emulators.telegram import faults
from tests.emulators.telegram.emulator import Telegram
from tests.unit.emulators.telegram.bot_client import client, post

pytestmark = pytest.mark.filterwarnings("ignore:.*retry_after:telegram.warnings.PTBDeprecationWarning")


@pytest.mark.parametrize("base", ["/bot", "/bot{token}"])
async def test_a_message_goes_out_and_stands_in_the_chat(tg: Telegram, base: str) -> None:
    """Both forms of base URL that the client knows lead to the same place."""
    dm = tg.private(tg.person("小安", language_code="zh-hans"))

    async with client(tg, base=base) as bot:
        sent = await bot.send_message(dm.id, "你好 👋🏽")

    assert ["你好 👋🏽"] == [message.text for message in dm.replies()]
    assert sent.message_id == dm.replies()[0].id
    assert "clew_bot" == bot.username


async def test_what_a_person_says_reaches_the_poller(tg: Telegram) -> None:
    """Language, entities in UTF-16 units and the private chat's id come as the platform gives them."""
    ann = tg.person("Ann", language_code="zh-hans")
    said = ann.says(tg.private(ann), "😀 /help@clew_bot")

    async with client(tg) as bot:
        (update,) = await bot.get_updates(timeout=1)

    assert update.message is not None
    assert update.message.from_user is not None
    assert ("zh-hans", ann.id, said.id) == (
        update.message.from_user.language_code,
        update.message.chat.id,
        update.message.message_id,
    )
    assert [("bot_command", 3, 14)] == [(e.type, e.offset, e.length) for e in update.message.entities]


@pytest.mark.parametrize(
    "how",
    [
        lambda values: {"json": values},
        lambda values: {"data": {k: v if isinstance(v, str) else json.dumps(v) for k, v in values.items()}},
        lambda values: {"params": {k: v if isinstance(v, str) else json.dumps(v) for k, v in values.items()}},
    ],
    ids=["json", "form", "query"],
)
async def test_parameters_are_read_from_wherever_they_stand(tg: Telegram, how: Any) -> None:
    dm = tg.private(tg.person("Ann"))
    values = {
        "chat_id": dm.id,
        "text": "x",
        "link_preview_options": {"is_disabled": True},
        "disable_notification": True,
    }

    status, body = await post(tg, "sendMessage", **how(values))

    assert (200, True) == (status, body["ok"])
    assert {"is_disabled": True} == body["result"]["link_preview_options"]
    assert values == tg.calls[-1].params


async def test_a_multipart_body_is_read_and_method_names_have_no_case(tg: Telegram) -> None:
    form = aiohttp.FormData({"url": "https://a.example/hook"})
    form.add_field("certificate", b"-----BEGIN", filename="cert.pem")

    status, _ = await post(tg, "SETWEBHOOK", data=form)

    assert 200 == status
    assert b"-----BEGIN" == tg.calls[-1].params["certificate"].content


@pytest.mark.parametrize(
    ("method", "values", "code", "text"),
    [
        ("sendMesage", {}, 404, "Not Found: method not found"),
        ("sendMessage", {"chat_id": 1, "txet": "x"}, 400, "unknown parameter 'txet' of sendMessage"),
        ("sendMessage", {"chat_id": 1}, 400, "Bad Request: message text is empty"),
        ("sendMessage", {"text": "x"}, 400, "Bad Request: chat_id is empty"),
        ("sendMessage", {"chat_id": 1, "text": "x"}, 400, "Bad Request: chat not found"),
        ("sendMessage", {"chat_id": 1.5, "text": "x"}, 400, "parameter 'chat_id'"),
        ("sendMessage", {"chat_id": 1, "text": 7}, 400, "parameter 'text': want String"),
        ("sendMessage", {"chat_id": 1, "text": "x", "protect_content": "maybe"}, 400, "want Boolean"),
        ("sendMessage", {"chat_id": 1, "text": "x", "entities": "[{"}, 400, "can't parse entities JSON object"),
        ("sendMessage", {"chat_id": 1, "text": "x", "entities": {}}, 400, "want Array of MessageEntity"),
        (
            "sendMessage",
            {"chat_id": 1, "text": "x", "entities": [{"type": "b"}]},
            400,
            "field 'offset' of MessageEntity",
        ),
        ("sendMessage", {"chat_id": 1, "text": "x", "reply_parameters": {"id": 1}}, 400, "unknown field 'id'"),
        ("sendMessage", {"chat_id": 1, "text": "x", "reply_parameters": 3}, 400, "want ReplyParameters"),
        ("sendMessage", {"chat_id": 1, "text": "x", "reply_markup": {"no": 1}}, 400, "unknown field 'no'"),
        ("sendLocation", {"chat_id": 1, "latitude": "x", "longitude": 1}, 400, "want Float"),
        ("setWebhook", {"url": "x", "certificate": 3}, 400, "want InputFile"),
        ("deleteMessage", {"chat_id": 1}, 400, "message identifier is not specified"),
        ("getFile", {}, 400, 'parameter "file_id" is required'),
        ("sendDice", {"chat_id": 1}, 400, "add it to methods.py"),
    ],
)
async def test_a_call_that_breaks_the_rules_is_refused_and_told_why(
    tg: Telegram, method: str, values: dict[str, Any], code: int, text: str
) -> None:
    status, body = await post(tg, method, json=values)

    assert (code, code, False) == (status, body["error_code"], body["ok"])
    assert text in body["description"]


@pytest.mark.parametrize("body", ["[1]", "{"])
async def test_a_body_that_is_no_json_object_is_refused(tg: Telegram, body: str) -> None:
    status, _ = await post(tg, "getMe", data=body, headers={"Content-Type": "application/json"})

    assert 400 == status


@pytest.mark.parametrize(("token", "code"), [("1:wrong", 401), ("nonsense", 404)])
async def test_a_wrong_token_is_refused(tg: Telegram, token: str, code: int) -> None:
    status, body = await post(tg, "getMe", token=token)

    assert code == status == body["error_code"]


async def test_the_client_takes_a_wrong_token_for_what_it_is(tg: Telegram) -> None:
    tg.bot.token = "1:wrong"

    with pytest.raises(InvalidToken):
        async with client(tg):
            raise AssertionError

    async with aiohttp.ClientSession(trust_env=False) as session, session.get(tg.url + "/elsewhere") as response:
        assert 404 == response.status


@pytest.mark.parametrize(
    ("rung", "raised", "arrives"),
    [
        (faults.server_error(), NetworkError, False),
        (faults.server_error(done=True), NetworkError, True),
        (faults.html(), NetworkError, False),
        (faults.html(done=True), NetworkError, True),
        (faults.cut(done=False), NetworkError, False),
        (faults.cut(done=True), NetworkError, True),
        (faults.lost(done=False), TimedOut, False),
        (faults.lost(done=True), TimedOut, True),
        (faults.slow(1.0), TimedOut, True),
        (faults.throttled(222), RetryAfter, False),
        (faults.conflicting(), Conflict, False),
        (faults.FINE, None, True),
    ],
)
async def test_each_rung_of_the_ladder_fails_as_planned_and_once(
    tg: Telegram, rung: faults.Fault, raised: type[Exception] | None, arrives: bool
) -> None:
    """A fault comes before the message was stored or after: accepted and the answer lost is the case that makes a blind
    resend a duplicate (NousResearch/hermes-agent#3899)."""
    dm = tg.private(tg.person("Ann"))

    impatience_s = 0.3 if rung.lost or rung.delay_s else 5
    async with client(tg) as bot:
        tg.faults.plan("sendMessage", rung)
        assert {"sendMessage": 1} == tg.faults.left()
        if raised is None:
            await bot.send_message(dm.id, "x")
        else:
            with pytest.raises(raised):
                await bot.send_message(dm.id, "x", read_timeout=impatience_s)

        assert arrives == bool(dm.replies())
        assert {} == tg.faults.left()
        assert 1 == len(tg.called("sendMessage"))


async def test_calls_are_recorded_with_their_answers(tg: Telegram) -> None:
    dm = tg.private(tg.person("Ann"))

    async with client(tg) as bot:
        await bot.send_message(dm.id, "one")
        with pytest.raises(BadRequest):
            await bot.send_message(dm.id, "x" * 4097)
    calls = await tg.wait_called("sendMessage", times=2)

    assert [(200, None), (400, "Bad Request: message is too long")] == [(call.status, call.error) for call in calls]
    assert [dm.id, dm.id] == [call.chat_id for call in calls]
    assert dm.replies()[0].id == calls[0].result["message_id"]


async def test_several_bots_share_a_platform_but_no_private_chat(tg: Telegram) -> None:
    """One person's chats with two bots have the same id and nothing else in common."""
    ann, other = tg.person("Ann"), tg.add_bot("other_bot")
    ann.says(tg.private(ann, other), "for the other")

    async with client(tg) as first, client(tg, other) as second:
        assert () == await first.get_updates(timeout=0)
        (update,) = await second.get_updates(timeout=0)
        await second.send_message(ann.id, "hello")

    assert update.message is not None
    assert "for the other" == update.message.text
    assert [] == tg.private(ann).messages()


async def test_a_file_a_person_sent_can_be_fetched(tg: Telegram) -> None:
    ann = tg.person("Ann")
    sent = ann.sends(tg.private(ann), "document", caption="看 this")

    async with client(tg) as bot:
        (update,) = await bot.get_updates(timeout=0)
        assert update.message is not None
        assert update.message.document is not None
        file = await update.message.document.get_file()
        content = await file.download_as_bytearray()
        with pytest.raises(BadRequest, match="Wrong file_id or the file is temporarily unavailable"):
            await bot.get_file("nonsense")
        foreign = f"{tg.url}/file/bot1:x/files/{file.file_id}"
        async with aiohttp.ClientSession(trust_env=False) as session, session.get(foreign) as response:
            assert 404 == response.status

    assert b"\x89PNG synthetic" == bytes(content)
    assert "看 this" == sent.text
