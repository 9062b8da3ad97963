"""Two gateways behind a load balancer that sends each request of an admin to the other one: none keeps what a page needs."""

from __future__ import annotations

import asyncio
import html
import re
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp

from tests.scenarios.admins import PASSWORD, Admins, Answer, Reader
from tests.scenarios.stage import Stage, stage
from tests.scenarios.world import Gateway, gateway

BODY = """
admin: {secret_key: "Y2xldy1jbGV3LWNsZXctY2xldy1jbGV3LWNsZXctISE=", sign_in: {wait_s: 600}}
queue: {poll_s: 0.2, lease_s: 2}
agents: {default: {kind: openai, base_url: "MODEL", model: one}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], sync_s: 20}
  page: {kind: console}
"""


@dataclass
class Balanced(Reader):
    """A browser whose requests go to one instance after the other."""

    instances: list[Gateway] = field(default_factory=list)
    sent: int = 0

    async def _send(self, method: str, path: str, headers: dict[str, str], **more: Any) -> Answer:
        self.url = self.instances[self.sent % len(self.instances)].url
        self.sent += 1
        return await super()._send(method, path, headers, **more)


@dataclass
class Two:
    stage: Stage
    one: Gateway
    other: Gateway
    admins: Admins

    @asynccontextmanager
    async def browser(self, name: str = "Ada") -> AsyncIterator[Balanced]:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            reader = Balanced(session, self.one.url, instances=[self.one, self.other])
            await reader.sign_in(name)
            yield reader


@asynccontextmanager
async def two(folder: Path, storage: str) -> AsyncIterator[Two]:
    async with stage(folder, BODY, storage=storage) as here, gateway(here.gateway.config) as other:
        admins = Admins(here)
        await admins.user("Ada")
        yield Two(here, here.gateway, other, admins)


async def until(page: Callable[[], Any], *words: str) -> str:
    """Load a page anew until it says all of this: what another process does tells nobody here."""
    async with asyncio.timeout(30):
        while True:
            text = (await page()).text
            if all(word in text for word in words):
                return text
            await asyncio.sleep(0.1)


def field_of(page: str, name: str) -> str:
    found = re.search(rf'name="{re.escape(name)}" value="([^"]*)"', page)
    assert found is not None, name
    return html.unescape(found[1])


async def test_a_browser_between_two_instances(tmp_path: Path, postgres_url: str) -> None:
    """Signing in, forms and their tokens, what is told on the next page, a setting that deletes, a change that comes late,
    signing out: each step is another instance's than the one before."""
    async with two(tmp_path, postgres_url) as there, there.browser() as ada:
        await there.stage.hook().say("早上好 ☀️", sender="ann")
        both = await until(lambda: ada.get("/admin/instances"), "2 gateways run.")
        assert "other settings" not in both
        assert 1 == both.count("made this page")

        # A setting that deletes: not without a word of what goes, and a word that it is meant.
        form = "/admin/settings/form?path=retention"
        page = (await ada.get(form)).text
        (days,) = set(re.findall(r'name="([^"]*message_days)"', page))
        fields = {name: field_of(page, name) for name in ("expected", "shown")} | {days: "1"}
        tried = await ada.post(form, headers={"HX-Request": "true"}, do="try", **fields)
        assert 'form="settings"' in tried.text, "its tick goes with the form"
        refused = await ada.post(form, do="save", **fields)
        assert 422 == refused.status
        assert "Deleted for good" in refused.text
        assert "what was said, in memory" in refused.text
        assert "1" == field_of(refused.text, days)
        digest = field_of(refused.text, "delete")
        stale = await ada.post(form, do="save", delete=digest, **(fields | {days: "2"}))
        assert 422 == stale.status, "what was looked at was another change"
        saved = await ada.post(form, do="save", delete=digest, **fields)
        assert 303 == saved.status, saved.text

        # What was changed meanwhile is met at the other instance, too, once it has heard of it.
        await until(lambda: ada.get("/admin/settings"), "retention.message_days")
        late = await ada.post(form, do="save", **fields)
        assert 409 == late.status

        # Whatever the navigation leads to, and what is taken along.
        places = sorted(set(re.findall(r'href="(/admin/[a-z-]+)"', (await ada.get("/admin")).text)))
        assert len(places) > 12
        for place in places:
            assert 200 == (await ada.get(place)).status, place
        person = re.findall(r'href="(/admin/people/\d+)"', (await ada.get("/admin/people")).text)[0]
        taken = await ada.get(f"{person}/export")
        assert 200 == taken.status
        assert "早上好" in taken.text

        made = await ada.post("/admin/tokens", name="钥匙", days="3")
        found = re.search(r"<code>(clew[^<]+)</code>", made.text)
        assert found is not None, made.text
        for one in (there.one, there.other):
            told = await Admins(replace(there.stage, gateway=one)).ask(found[1], "GET", "/instances")
            assert 200 == told.status

        assert 303 == (await ada.post("/admin/sign-out")).status
        for _ in range(2):
            assert 303 == (await ada.get("/admin/turns")).status, "signed out on both"


async def test_what_was_saved_is_shown_wherever_the_next_page_is_made(tmp_path: Path, postgres_url: str) -> None:
    """The instance that shows it next has to hear of it first: who looks at once sees what they have just saved, by the form and
    over REST, time and again."""
    async with two(tmp_path, postgres_url) as there, there.browser() as ada:
        token, form = await there.admins.token("admin"), "/admin/settings/form?path=usage"
        seen, told, numbers = [], [], []
        for seconds in range(2, 8):
            page = (await ada.get(form)).text
            (name,) = set(re.findall(r'name="([^"]*wait_s)"', page))
            fields = {each: field_of(page, each) for each in ("expected", "shown")} | {name: str(seconds)}
            ada.instances.reverse()
            saved = await ada.post(form, do="save", **fields)
            assert 303 == saved.status, saved.text
            other = there.other if ada.url == there.one.url else there.one
            ada.instances = [other]
            status, shown = await asyncio.gather(
                Admins(replace(there.stage, gateway=other)).ask(token, "GET", "/settings"), ada.get(form)
            )
            ada.instances = [there.one, there.other]
            numbers.append((status.body["number"], status.body["newest"]))
            told.append(html.unescape(shown.text).count(f'name="{name}" value="{seconds}"'))
            seen.append(seconds)

    assert [1] * len(seen) == told
    assert [(n, n) for n in range(1, 7)] == numbers


async def test_who_guesses_waits_at_both(tmp_path: Path, postgres_url: str) -> None:
    """Wrong passwords said to one and the other are one budget, and the right one is not looked at then."""
    async with two(tmp_path, postgres_url) as there, aiohttp.ClientSession() as session:
        statuses = []
        for guess in [*(f"guess {n}" for n in range(5)), PASSWORD, PASSWORD]:
            one = (there.one, there.other)[len(statuses) % 2]
            form = {"name": "Ada", "password": guess}
            async with session.post(f"{one.url}/admin/sign-in", data=form, allow_redirects=False) as response:
                statuses.append(response.status)

    assert [422] * 5 + [429] * 2 == statuses


async def test_the_day_on_which_one_of_two_hangs(tmp_path: Path, postgres_url: str) -> None:
    """The other tells who is late, then who was lost and that it came back; a form that was opened at the hung one is sent to the
    other."""
    async with two(tmp_path, postgres_url) as there, there.browser() as ada:
        await until(lambda: ada.get("/admin/instances"), "2 gateways run.")
        ada.instances = [there.other]
        form = "/admin/settings/form?path=defaults"
        page = (await ada.get(form)).text
        there.other.tell(signal.SIGSTOP)
        ada.instances = [there.one]
        sent = await ada.post(form, do="save", **{name: field_of(page, name) for name in ("expected", "shown")})
        assert 303 == sent.status, sent.text
        lost = await until(lambda: ada.get("/admin/instances"), "One gateway runs.", "Given up for dead")
        assert f"/{there.other.pid}<" in lost
        assert "lost in the last hour" in (await ada.get("/admin")).text
        async with there.stage.session.get(f"{there.one.url}/metrics") as response:
            assert "clew_instances_lost 1.0" in (await response.text()).splitlines()
        there.other.tell(signal.SIGCONT)
        await until(lambda: ada.get("/admin/instances"), "2 gateways run.", "runs again")


async def test_rest_names_what_would_be_deleted_and_waits_for_a_word(tmp_path: Path, postgres_url: str) -> None:
    """On whichever instance: a dry run counts what goes, the change is refused without `delete`, and so is the way back to it."""
    async with two(tmp_path, postgres_url) as there:
        await there.stage.hook().say("什么时候发货？", sender="li")
        there.stage.sql(
            "SELECT set_config('clew.person', '*', false);"
            "UPDATE messages SET created_ms = created_ms - 400000000000, turn_id = 7"
        )
        token = await there.admins.token("admin")
        both = [Admins(replace(there.stage, gateway=one)) for one in (there.one, there.other)]
        change = {"changes": [{"path": "retention.message_days", "act": "set", "value": 30}]}

        tried = await both[0].ask(token, "POST", "/settings/revisions", change | {"dry_run": True})
        refused = await both[1].ask(token, "POST", "/settings/revisions", change)
        made = await both[0].ask(token, "POST", "/settings/revisions", change | {"delete": True})
        longer = await both[1].ask(
            token, "POST", "/settings/revisions", {"changes": [{"path": "retention.message_days", "act": "reset"}]}
        )
        back = await both[0].ask(token, "POST", "/settings/rollbacks", {"number": 1})
        meant = await both[1].ask(token, "POST", "/settings/rollbacks", {"number": 1, "delete": True})

    (gone,) = tried.body["deletes"]
    assert ("retention.message_days", "messages", 2) == (gone["path"], gone["what"], gone["count"])
    assert gone["oldest_ms"] < gone["before_ms"]
    assert 422 == refused.status
    assert "retention.message_days" in refused.text
    assert [200, 200] == [made.status, longer.status], (made.text, longer.text)
    assert 422 == back.status
    assert 200 == meant.status, meant.text
    assert PASSWORD not in tried.text
