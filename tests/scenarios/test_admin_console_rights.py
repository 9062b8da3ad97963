"""Every act through the console's own forms and downloads, by role: what a role holds is done, what it lacks is refused and
noted. The doors for programs: `test_admin_doors.py`."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from gateway.admin.console.parts import PARTS
from gateway.admin.rights import RIGHTS, ROLES, Role
from gateway.admin.table import OPERATIONS
from tests.scenarios.admins import PASSWORD, Admins, Reader
from tests.scenarios.hostile import found, hostile_world

Form = tuple[str, dict[str, str]]

DOWNLOADS = ("/audit/export", "/usage/export", "/settings/export", "/people/PERSON/export")
FORMS: tuple[Form, ...] = (
    ("/takeovers", {"turn": "TURN"}),
    ("/takeovers/TAKEOVER/say", {"text": "您好"}),
    ("/takeovers/TAKEOVER/draft", {}),
    ("/takeovers/TAKEOVER/end", {}),
    ("/turns/TURN/replay", {"changes": "memory.window.turns=1"}),
    ("/dead-letters", {"act": "discard", "turn": "1"}),
    ("/dead-letters/1/retry", {}),
    ("/dead-letters/1/discard", {}),
    ("/dead-letters/1/answer", {"text": "抱歉"}),
    ("/people/PERSON/forget", {"thing": "i1"}),
    ("/people/PERSON/correct", {"thing": "i1", "value": "喝茶"}),
    ("/people/PERSON/link", {"other": "1"}),
    ("/people/PERSON/unlink", {"link": "1"}),
    ("/people/PERSON/request", {"kind": "export"}),
    ("/people/PERSON/erase", {}),
    ("/privacy-requests/1/met", {}),
    ("/settings/form?path=learning", {"v.tasks": "5", "do": "try"}),
    ("/settings/check?path=learning", {"v.tasks": "5"}),
    ("/settings/remove?path=agents.spare", {"expected": "0"}),
    ("/settings/revisions/0", {"expected": "0"}),
    ("/secrets", {"name": "example", "value": "x"}),
    ("/secrets/remove", {"name": "example"}),
    ("/connect/new?kind=console", {"name": "chat", "do": "try"}),
    ("/connect/check?kind=console", {"v.token": "x"}),
    ("/connect/channels/other", {}),
    ("/connect/channels/other/remove", {"expected": "77"}),
    ("/users", {"name": "made by ROLE", "role": "viewer"}),
    ("/users/restore", {"user": "1"}),
    ("/users/USER/grant", {"role": "viewer", "channel": "hook"}),
    ("/users/USER/revoke", {"channel": "hook"}),
    ("/users/USER/password", {}),
    ("/users/USER/end-session", {"session": "987654"}),
    ("/users/USER/remove", {}),
    ("/tokens", {"name": "t"}),
    ("/tokens/revoke", {"token": "987654"}),
    ("/account/end-session", {"session": "987654"}),
    ("/account/password", {"current": PASSWORD, "password": PASSWORD + "!"}),
)
"""A form of every page, as it comes when it is sent; words in capitals stand for what there is. The last one signs out."""

ELSEWHERE = {"takeovers.ask"}
"""No page offers it (`test_admin_doors.py`)."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admins(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Admins]:
    async with hostile_world(tmp_path_factory.mktemp("forms")) as made:
        yield made


async def there_is(admins: Admins, role: Role) -> dict[str, str]:
    """Return what the words in capitals stand for."""
    owner = await admins.token("owner")
    told = {
        word: sorted(found((await admins.ask(owner, "GET", path)).body, key))[0]
        for word, path, key in (
            ("TURN", "/turns?channel=other", "turn"),
            ("TAKEOVER", "/takeovers?channel=other&state=all", "takeover"),
            ("PERSON", "/people?who=alice", "person"),
        )
    }
    return told | {"USER": await admins.user(f"victim of {role}", "viewer"), "ROLE": role}


def filled(forms: tuple[Form, ...], words: dict[str, str]) -> Iterator[Form]:
    def fill(text: str) -> str:
        return re.sub("|".join(words), lambda match: words[match[0]], text)

    for path, fields in forms:
        yield f"/admin{fill(path)}", {name: fill(value) for name, value in fields.items()}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("role", ROLES)
async def test_every_act_by_role(admins: Admins, role: Role) -> None:
    """403 where the role lacks the right, whatever a page offers or hides, and an entry of that in the log; elsewhere the act is
    tried, and no page breaks. Owners come last: what they remove is gone."""
    words, number = await there_is(admins, role), await admins.user(f"by {role}", role)
    statuses = {}
    async with admins.signed_in(f"by {role}") as reader:
        for path in DOWNLOADS:
            ((path, _),) = filled(((path, {}),), words)
            statuses[path] = (await reader.get(path)).status
        for path, fields in filled(FORMS, words):
            statuses[path] = await sent(reader, path, fields)
    entries = []
    after = ""
    while after is not None:
        page = (
            await admins.ask(await admins.token("owner"), "GET", f"/audit?actor=user:{number}&limit=200{after}")
        ).body
        entries += [one for one in page["entries"] if one["door"] == "console"]
        after = f"&after={page['next']}" if page["next"] else None
    acts = {one.name: one.right for one in OPERATIONS if one.audited == "act" and one.name not in ELSEWHERE}
    refused = {one["operation"] for one in entries if one["outcome"] == "refused"}
    tried = {one["operation"] for one in entries if one["outcome"] != "refused"}

    lacked = {name for name, right in acts.items() if right not in RIGHTS[role]}
    lacked |= {"users.password"} if role != "owner" else set()  # another's
    assert lacked == refused & acts.keys(), statuses
    assert {name for name, right in acts.items() if right in RIGHTS[role]} == tried & acts.keys(), statuses
    assert [] == [path for path, status in statuses.items() if status >= 500]


async def sent(reader: Reader, path: str, fields: dict[str, str]) -> int:
    return (await reader.post(path, **fields)).status


def test_every_form_is_among_them() -> None:
    """A page that is added is tried, too."""
    pages = {page.path for part in PARTS for page in part.pages if page.method == "POST" and not page.public}
    field = re.compile(r"{\w+(:([^{}]|{[^{}]*})*)?}")
    tried = [form.partition("?")[0] for form, _ in FORMS]
    unmet = {path for path in pages if not any(re.fullmatch(field.sub("[^/]+", path), form) for form in tried)}

    assert set() == unmet
