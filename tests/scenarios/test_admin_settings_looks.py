"""Settings, secrets and channels in the console, in a real browser: an admin's jobs from form to effect, for everybody."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator
from typing import Literal

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.admin_browsing import Window, window
from tests.browsing import chromium
from tests.scenarios.admins import PASSWORD, Admins
from tests.scenarios.stage import Stage, echo, stage
from tests.scenarios.world import SECRET

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

KEY = base64.b64encode(b"k" * 32).decode()
ROOM = 'C07."群"'
BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: one}
  second: {kind: openai, base_url: "MODEL", model: two}
defaults: {agent: default, limits: {per_minute: 100000}}
channels:
  chat: {kind: console}
  hook: {kind: webhook, secrets: ["${HOOK}"], sync_s: 20}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    folder = tmp_path_factory.mktemp("settings")
    async with stage(folder, BODY, script=echo, environ={"CLEW_SECRET_KEY": KEY}) as running:
        await Admins(running).user("Olga", "owner")
        await Admins(running).user("Ada", "admin")
        await Admins(running).user("Vera", "viewer", "hook")
        yield running


async def sign_in(reader: Window, name: str = "Ada") -> None:
    await reader.open("/admin/sign-in")
    await reader.page.locator("input[name=name]").fill(name)
    await reader.page.locator("input[name=password]").fill(PASSWORD)
    await reader.page.locator("main form button.main").click()
    await reader.page.wait_for_url("**/admin")


def set_(path: str, value: object) -> dict[str, object]:
    return {"path": path, "act": "set", "value": value}


async def test_a_room_is_set_tried_saved_and_taken_back(browser: Browser, world: Stage) -> None:
    """From the channel's page to a room of its own: the trial shows what would change without saving, the form keeps what was
    entered, saving works on the next message, and the history leads back."""
    async with window(browser, world.gateway.url) as reader:
        await sign_in(reader)
        page = reader.page
        await reader.open("/admin/settings")
        await page.get_by_role("link", name="hook", exact=True).click()
        await page.locator("#entry-rooms").fill(ROOM)
        await page.get_by_role("button", name="Open").click()
        await page.locator("select[name='v.agent']").select_option("second")
        await page.locator("main summary", has_text="Memory").click()
        await page.locator("input[name='v.memory.window.turns']").fill("3")
        await page.locator("input[name=reason]").fill("kürzer 更短")
        await page.get_by_role("button", name="Show what would change").click()
        await expect(page.locator("#tried")).to_contain_text("becomes second: talk there begins anew")
        await expect(page.locator("select[name='v.agent']")).to_have_value("second")
        await reader.shoot("settings-tried")
        await page.get_by_role("button", name="Save", exact=True).click()
        await expect(page.locator("main")).to_contain_text("Revision 1 is made")
        await Admins(world).local("GET", "/settings")
        turn = await world.hook().say("hello", conversation=ROOM, chat_type="group")
        await reader.open("/admin/settings/history")
        await expect(page.locator("tbody")).to_contain_text("kürzer 更短")
        await page.get_by_role("link", name="1", exact=True).click()
        await reader.shoot("settings-revision")
        await Admins(world).local("POST", "/settings/revisions", changes=[set_("memory.window.turns", 5)])
        await reader.open("/admin/settings/revisions/1")
        await page.get_by_role("button", name="Go back to this").click()
        await page.get_by_role("dialog").get_by_role("button", name="Go back to this").click()
        await expect(page.locator("main")).to_contain_text("Revision 3 is made")

    assert "answered" == turn["status"]
    assert "two" == world.model.models[-1]


async def test_what_is_wrong_is_said_at_its_field(browser: Browser, world: Stage) -> None:
    """With the value, the problem and the remedy; what else was entered is still there, and nothing is saved."""
    async with window(browser, world.gateway.url) as reader:
        await sign_in(reader)
        page = reader.page
        await reader.open("/admin/settings/form?path=learning")
        await page.locator("input[name='v.tasks']").fill("many")
        await page.locator("input[name='v.tries']").fill("7")
        await page.get_by_role("button", name="Save", exact=True).click()
        await expect(page.locator(".field.wrong")).to_contain_text("is not a whole number: write digits only")
        await expect(page.locator("input[name='v.tries']")).to_have_value("7")
        assert "aria-invalid" in await page.locator(".field.wrong").inner_html()


async def test_what_is_wrong_is_said_while_one_types(browser: Browser, world: Stage) -> None:
    """At its field, without a button; it goes as soon as it is mended, and what no field is at fault for stands beneath."""
    async with window(browser, world.gateway.url) as reader:
        await sign_in(reader)
        page = reader.page
        await reader.open("/admin/settings/form?path=learning")
        await page.locator("input[name='v.tasks']").press_sequentially("many")
        await expect(page.locator("#f-v-tasks-error")).to_contain_text("is not a whole number: write digits only")
        await page.locator("input[name='v.tries']").fill("0")
        await expect(page.locator("#f-v-tries-error")).to_contain_text("is less than 1")
        await expect(page.locator("#f-v-tasks-error")).to_contain_text("is not a whole number")
        await reader.shoot("settings-while-typing")
        await page.locator("input[name='v.tasks']").fill("5")
        await expect(page.locator("#f-v-tasks-error")).to_be_empty()
        await reader.open("/admin/connect/new?kind=webhook")
        await page.locator("input[name='v.secrets']").fill("geheim")
        await expect(page.locator("#f-v-secrets-error")).to_contain_text("does not begin with whsec_")
        await page.locator("input[name='v.secrets']").fill(SECRET)
        await expect(page.locator("#f-v-secrets-error")).to_be_empty()
        await page.locator("input[name=name]").fill("Größer")
        await expect(page.locator("#checked")).to_contain_text("is not a name")

        assert [] == reader.errors


async def test_a_form_takes_no_one_s_change_back(world: Stage) -> None:
    """One that was shown before somebody else's change, however that came about, is not saved as it stands: what its reader did
    not touch would be as it was. Shown again it tells all that it would change by now."""
    admins = Admins(world)
    async with admins.signed_in("Ada") as reader:
        form = "/admin/settings/form?path=usage"
        shown = re.search(r'name="shown" value="(\w+)"', (await reader.get(form)).text)
        assert shown is not None
        told = await admins.local("POST", "/settings/revisions", changes=[set_("usage.days", 401)])
        # As drawn by an instance to which the newest revision was on its way.
        fields = {"shown": shown[1], "expected": str(told["number"]), "do": "save"}
        late = await reader.post(form, **fields | {"v.days": "400", "v.wait_s": "2"})
        now = await admins.local("GET", "/settings/form?path=usage")

    assert 409 == late.status
    assert {"usage.days": ("401.0", "400.0"), "usage.wait_s": ("not written", "2.0")} == {
        path: (was, now)
        for path, was, now in re.findall(
            r'<th scope="row"><code>([\w.]+)</code>.*?</th><td>.*?>([^<]+)<.*?</td><td>.*?>([^<]+)<',
            late.text.partition("Deleted for good")[0],
        )
    }
    assert 401 == next(one["value"] for one in now["fields"] if one["name"] == "days")


async def test_a_channel_is_added_tested_and_removed(browser: Browser, world: Stage) -> None:
    """From the choice of its kind to its end; its secret is entered once, shown nowhere, gone with it if that is wanted."""
    async with window(browser, world.gateway.url) as reader:
        await sign_in(reader)
        page = reader.page
        await reader.open("/admin/connect")
        await page.locator("main").get_by_role("link", name="webhook").click()
        await page.locator("input[name=name]").fill("second")
        await page.locator("input[name='v.secrets']").fill(SECRET)
        await page.get_by_role("button", name="Show what would change").click()
        await expect(page.locator("#tried")).to_contain_text("channel second begins")
        assert SECRET not in await page.locator("#tried").inner_html()
        await reader.shoot("connect-new")
        await page.get_by_role("button", name="Add it").click()
        await expect(page.locator("h1")).to_have_text("Test second")
        await page.get_by_role("button", name="Test now").click()
        await expect(page.locator(".card [role=status]")).to_contain_text("works")
        await reader.shoot("connect-test")
        turn = await world.hook("second").say("hello")
        await reader.open("/admin/secrets")
        await expect(page.locator("tbody")).to_contain_text("vault:channels.second.secrets.0")
        content = await page.content()
        await reader.open("/admin/connect")
        row = page.locator("tr", has_text="second")
        await row.get_by_role("button", name="Remove").click()
        await page.get_by_role("dialog").get_by_label("Take its secrets out").check()
        await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        await expect(page.locator("main")).to_contain_text("The channel is removed.")
        await reader.open("/admin/secrets")
        await expect(page.locator("main")).not_to_contain_text("channels.second")

    assert "answered" == turn["status"]
    assert SECRET not in content


async def test_a_viewer_of_one_channel_sees_its_settings_and_can_change_nothing(browser: Browser, world: Stage) -> None:
    """No other channel, no button to save, and no page that only promises."""
    async with window(browser, world.gateway.url) as reader:
        await sign_in(reader, "Vera")
        page = reader.page
        await reader.open("/admin/settings")
        await expect(page.locator("main")).not_to_contain_text("chat")
        await page.get_by_role("link", name="hook", exact=True).click()
        assert 0 == await page.get_by_role("button", name="Save", exact=True).count()
        response = await reader.open("/admin/settings/form?path=channels.chat")
        assert 403 == response.status


PAGES = (
    "/admin/settings",
    "/admin/settings/form?path=channels.hook.rooms.R1",
    "/admin/settings/form?path=agents.default",
    "/admin/settings/revisions/1",
    "/admin/settings/compare?old=0&new=1",
    "/admin/secrets",
    "/admin/connect",
    "/admin/connect/new?kind=webhook",
    "/admin/connect/prepare?kind=slack&name=acme&mode=socket",
    "/admin/connect/channels/hook",
)


@pytest.mark.parametrize(("language", "theme", "phone"), [("en", "light", False), ("zh", "dark", True)])
async def test_the_pages_can_be_read_and_pressed_by_everybody(
    browser: Browser, world: Stage, language: Literal["en", "zh"], theme: Literal["light", "dark"], phone: bool
) -> None:
    """Both languages, light and dark, desktop and phone: axe finds nothing, nothing is too wide or too small."""
    await Admins(world).local("POST", "/settings/revisions", changes=[set_("channels.hook.rooms.R1.agent", "second")])
    async with window(browser, world.gateway.url, language=language, theme=theme, phone=phone, checked=True) as reader:
        await sign_in(reader)
        for path in PAGES:
            response = await reader.open(path)
            name = path.removeprefix("/admin/").replace("/", "-").replace("?", "-")
            await reader.shoot(f"{name}-{language}-{theme}-{'phone' if phone else 'desktop'}")

            assert 200 == response.status, path
            assert [] == await reader.violations()
            assert 0 == await reader.too_wide(), path
            assert [] == await reader.too_small(), path


async def test_without_scripts_it_works_the_same(browser: Browser, world: Stage) -> None:
    """The trial is a page then; it says that secrets have to be entered again."""
    async with window(browser, world.gateway.url, java_script_enabled=False) as reader:
        await sign_in(reader)
        page = reader.page
        await reader.open("/admin/settings/form?path=learning")
        await page.locator("input[name='v.tries']").fill("6")
        await page.get_by_role("button", name="Show what would change").click()
        await expect(page.locator("main")).to_contain_text("learning.tries")
        await expect(page.locator("input[name='v.tries']")).to_have_value("6")
        await page.get_by_role("button", name="Save", exact=True).click()
        await expect(page.locator("main")).to_contain_text("is made. It is in force here")
