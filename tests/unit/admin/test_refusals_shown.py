"""No page keeps silent about why it did nothing: also where no field is at fault, and in both languages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gateway.admin.acts import access, credentials, dead_letters, takeover
from gateway.admin.operations import Acting, Disagrees, FieldProblem, GatewayFault, Handlers, Invalid, Operation
from tests.unit.admin.acting import OWNER
from tests.unit.admin.reading import reading

MANY = "there are 50 tokens already; revoke one that nobody uses"
ENDED = "take-over '5' has ended (timed_out)"
TAKEN = takeover.TakeoverTold(
    takeover="5", channel="hook", room="r", thread=None, chat_type="private", user="zoe", state="active", asked_by="person",
    operator="Ana", mine=True, created_ms=1, since_ms=1, touched_ms=1, ends_ms=2, how=None, turn="7",
)  # fmt: skip


def giving(result: object) -> Callable[[Acting, Any], Awaitable[Any]]:
    async def give(acting: Acting, asked: Any) -> Any:
        return result

    return give


def refusing(fault: GatewayFault) -> Callable[[Acting, Any], Awaitable[Any]]:
    async def refuse(acting: Acting, asked: Any) -> Any:
        raise fault

    return refuse


SHOWN: dict[Operation, object] = {
    credentials.TOKENS_LIST: credentials.TokensPage(tokens=(), next=None),
    dead_letters.LIST: dead_letters.LettersPage(letters=(), next=None),
    takeover.SHOW: TAKEN,
    takeover.MESSAGES: takeover.MessagesTold(messages=(), note=None, summary=None),
    access.USERS_LIST: access.UsersPage(users=(), next=None),
}


def acts(refused: Operation, fault: GatewayFault) -> Handlers:
    return {each: giving(told) for each, told in SHOWN.items()} | {refused: refusing(fault)}


@pytest.mark.parametrize(
    ("operation", "fault", "path", "form", "status", "en", "zh"),
    [
        (
            credentials.TOKENS_CREATE, Invalid(MANY), "/tokens", {"name": "ci"}, 422,
            "revoke one that nobody uses", "请撤销不再使用的令牌",
        ),
        (
            dead_letters.MANY_AT_ONCE, Invalid("turn 5: only a message can be answered; discard it"), "/dead-letters",
            {"turn": "5", "act": "discard"}, 422, "only a message can be answered", "只有消息可以回答",
        ),
        (
            takeover.HAND_BACK, Invalid("summary: 2001 characters; write at most 2000"), "/takeovers/5/end", {}, 422,
            "write at most 2000", "最多 2000 个字符",
        ),
        (takeover.HAND_BACK, Disagrees(ENDED), "/takeovers/5/end", {}, 409, "has ended", "已结束（超时）"),
        (
            access.USERS_ADD,
            Invalid("…", problems=(FieldProblem(path="grants", value="", problem="is empty", remedy="set it"),)),
            "/users", {"name": "Zoé", "role": "viewer"}, 422, "is empty; set it", "为空；请填写",
        ),
    ],
    ids=["tokens", "letters", "summary", "ended", "a field that the form has not"],
)  # fmt: skip
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_form_that_is_shown_again_says_why(
    operation: Operation,
    fault: GatewayFault,
    path: str,
    form: dict[str, str],
    status: int,
    en: str,
    zh: str,
    language: str,
) -> None:
    async with reading(acts(operation, fault), by=OWNER, language=language) as pages:
        page = await pages.post(path, form, status=status)

    assert (en if language == "en" else zh) in page.replace("&#39;", "'")


async def test_a_page_that_refuses_leads_back_to_where_one_came_from() -> None:
    """Only within the console, and not to the page itself."""
    async with reading(acts(credentials.TOKENS_REVOKE, Disagrees(MANY)), by=OWNER) as pages:
        for came, back in (
            ("/admin/tokens?of=everybody", 'href="/admin/tokens?of=everybody"'),
            ("/admin/nothing", ""),
            ("https://elsewhere.example/admin/tokens", 'href="/admin/tokens"'),
            ("/elsewhere", ""),
        ):
            headers = {"Referer": came if came.startswith("https") else f"{pages.url}{came}"}
            async with pages.session.get(f"{pages.url}/admin/nothing", headers=headers) as response:
                page = await response.text()

            assert 404 == response.status
            assert bool(back) is (">Back</a>" in page)
            assert back in page
