"""Channels in an admin's hands, through the real process on local platforms: of each kind one is added, tested, talked to and
removed while others are talked to, without a restart."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from gateway.admin.channels import TEST_WORDS
from tests.emulators.slack.server import slack
from tests.emulators.telegram.emulator import telegram
from tests.scenarios.admins import Admins
from tests.scenarios.platforms import Side, SlackRoom, SlackSide, TelegramRoom, TelegramSide, asks, echo, shows
from tests.scenarios.stage import Stage, stage
from tests.scenarios.world import SECRET

KEY = base64.b64encode(b"k" * 32).decode()
BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
defaults: {limits: {per_minute: 100000}, first_use_notice: false}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], sync_s: 20}
"""


@dataclass
class Place:
    stage: Stage
    admins: Admins
    sides: dict[str, Side]

    async def add(self, name: str, kind: str, settings: dict[str, Any], **more: Any) -> dict[str, Any]:
        told: dict[str, Any] = await self.admins.local(
            "POST", "/channels", channel=name, kind=kind, settings=settings, **more
        )
        return told

    async def in_force(self, number: int) -> None:
        async with asyncio.timeout(10):
            while number != (await self.admins.local("GET", "/settings"))["number"]:
                await asyncio.sleep(0.02)  # looked at from outside: nothing tells it there

    async def probe(self, name: str, **more: Any) -> dict[str, Any]:
        told: dict[str, Any] = await self.admins.local("POST", f"/channels/{name}/probes", **more)
        return told

    async def remove(self, name: str) -> int:
        told = await self.admins.local("DELETE", f"/channels/{name}")
        await self.in_force(told["number"])
        return int(told["number"])


@asynccontextmanager
async def place(folder: Path) -> AsyncIterator[Place]:
    async with slack() as platform, telegram(reads_all=True) as tg:
        sides: dict[str, Side] = {}
        for name in ("slack-http", "slack-socket"):
            here, app = platform.workspace(name), platform.app(name, socket_mode="socket" in name)
            sides[name] = SlackSide(name, platform, here, app, here.install(app))
        bot = tg.add_bot("new_bot", reads_all=True)
        sides["telegram-polling"] = TelegramSide("telegram-polling", tg, bot, webhook=False)
        async with stage(folder, BODY, script=echo, environ={"CLEW_SECRET_KEY": KEY}) as running:
            yield Place(running, Admins(running), sides)


def room_of(room: object) -> str:
    if isinstance(room, SlackRoom):
        return room.channel.id
    assert isinstance(room, TelegramRoom)
    return str(room.chat.id)


@pytest.mark.parametrize("way", ["slack-http", "slack-socket", "telegram-polling"])
async def test_a_platform_s_channel_is_added_tested_talked_to_and_removed(way: str, tmp_path: Path) -> None:
    """Its secrets go into the vault; the test message stands in the room that was named; people are answered there at once; after
    its removal nobody is, and the channel beside it never noticed."""
    async with place(tmp_path) as there:
        side = there.sides[way]
        settings = yaml.safe_load("{" + side.settings() + "}")
        kind = settings.pop("kind")
        tried = await there.add(way, kind, settings, dry_run=True)
        absent = await there.admins.local("GET", "/settings")
        added = await there.add(way, kind, settings, reason="neu 新")
        await there.in_force(1)
        side.reach(there.stage.gateway.url)
        room = side.group("Straße 街", "Ann")
        language = "zh" if way == "slack-http" else "en"
        probed = await there.probe(way, room=room_of(room), language=language)
        await asks(room, "is this on? 在吗")
        again = await there.probe(way)
        between = await there.stage.hook().say("and here?")
        removed = await there.remove(way)
        sent = side.sends()
        after = await there.stage.hook().say("still here?")
        listed = await there.admins.local("GET", "/secrets")
        log = list(there.stage.gateway.log)

    assert [("channel", way, "added")] == [(one["what"], one["name"], one["how"]) for one in added["touched"]]
    assert tried == added | {"dry_run": True, "in_force": False}
    assert {"hook": "webhook"} == absent["channels"]
    assert (True, None, "sent", None) == (probed["connected"], probed["problem"], probed["sent"], probed["error"])
    assert probed["message"]
    assert ("no", True) == (again["sent"], again["last_event_ms"] is not None)
    assert ["re: and here?", "re: still here?"] == [turn["reply"]["text"] for turn in (between, after)]
    assert 2 == removed
    assert sent == side.sends()
    assert [one["name"] for one in listed["secrets"]]
    assert all(one["name"].startswith(f"channels.{way}.") and one["used"] == [] for one in listed["secrets"])
    assert not [line for line in log if '"hook"' in line and "channel replaced" in line]


async def test_the_test_message_is_what_the_room_shows(tmp_path: Path) -> None:
    """People there see that it is a test, in the language that the admin chose."""
    async with place(tmp_path) as there:
        side = there.sides["telegram-polling"]
        settings = yaml.safe_load("{" + side.settings() + "}")
        await there.add("tg", settings.pop("kind"), settings)
        await there.in_force(1)
        room = side.private()
        await there.probe("tg", room=room_of(room), language="zh")
        await shows(room, TEST_WORDS["zh"])


async def test_what_is_wrong_with_a_channel_is_told(tmp_path: Path) -> None:
    """Credentials that the platform won't take, a room that isn't there, callers that fetch their replies, an unknown channel:
    each is said, and none of them is an error of the gateway's."""
    async with place(tmp_path) as there:
        side = there.sides["telegram-polling"]
        settings = yaml.safe_load("{" + side.settings() + "}")
        kind = settings.pop("kind")
        await there.add("wrong", kind, settings | {"token": "99999999:AAH" + "x" * 32})
        await there.add("right", kind, settings)
        await there.in_force(2)
        wrong = await there.probe("wrong")
        nowhere = await there.probe("right", room="-100999")
        fetched = await there.probe("hook", room="c1")
        token = await there.admins.token("admin")
        unknown = await there.admins.ask(token, "POST", "/channels/gone/probes", {})
        twice = await there.admins.ask(token, "POST", "/channels", {"channel": "hook", "kind": "webhook"})
        odd = await there.admins.ask(token, "POST", "/channels", {"channel": "odd", "kind": "irc"})
        bare = await there.admins.ask(token, "POST", "/channels", {"channel": "odd", "kind": kind})

    assert (False, "no") == (wrong["connected"], wrong["sent"])
    assert wrong["problem"]
    assert (True, "dead") == (nowhere["connected"], nowhere["sent"])
    assert "Chat not found" in nowhere["error"]
    assert (True, "collected", None) == (fetched["connected"], fetched["sent"], fetched["last_event_ms"])
    assert [404, 422, 422, 422] == [answer.status for answer in (unknown, twice, odd, bare)]
    assert "there is one named 'hook'" in twice.body["detail"]
    assert "'irc' is no kind of channel" in odd.body["detail"]
    assert "channels.odd.token" == bare.body["problems"][0]["path"]


async def test_the_page_and_a_webhook_come_and_go_as_well(tmp_path: Path) -> None:
    """The chat page and an endpoint of a program's, without a restart."""
    async with place(tmp_path) as there:
        await there.add("page", "console", {})
        await there.add("second", "webhook", {"secrets": [SECRET], "sync_s": 20})
        await there.in_force(2)
        page, second = await there.probe("page"), await there.probe("second", room="c1")
        async with there.stage.session.get(f"{there.stage.gateway.url}/") as response:
            status = response.status
        turn = await there.stage.hook("second").say("hello")
        await there.remove("page")
        await there.remove("second")
        async with there.stage.session.get(f"{there.stage.gateway.url}/") as response:
            gone = response.status

    assert (True, True, "collected") == (page["connected"], second["connected"], second["sent"])
    assert (200, 404) == (status, gone)
    assert "re: hello" == turn["reply"]["text"]


async def test_a_removed_channel_comes_back_as_it_was_or_leaves_no_secret(tmp_path: Path) -> None:
    """Its secrets stay for the way back, which brings it back as it was; where they are to go, nothing is left in the vault, and
    the way back says which secret is missing."""
    async with place(tmp_path) as there:
        await there.add("second", "webhook", {"secrets": [SECRET], "sync_s": 20})
        await there.in_force(1)
        await there.remove("second")
        kept = [one["name"] for one in (await there.admins.local("GET", "/secrets"))["secrets"]]
        await there.admins.local("POST", "/settings/rollbacks", number=1)
        await there.in_force(3)
        turn = await there.stage.hook("second").say("hello again")
        token = await there.admins.token("admin")
        tried = await there.admins.ask(token, "DELETE", "/channels/second?secrets=true&dry_run=true")
        still = [one["name"] for one in (await there.admins.local("GET", "/secrets"))["secrets"]]
        gone = await there.admins.ask(token, "DELETE", "/channels/second?secrets=true")
        left = (await there.admins.local("GET", "/secrets"))["secrets"]
        back = await there.admins.ask(token, "POST", "/settings/rollbacks", {"number": 1})

    assert ["channels.second.secrets.0"] == kept == still
    assert "re: hello again" == turn["reply"]["text"]
    assert ["channels.second.secrets.0"] == tried.body["dropped"] == gone.body["dropped"]
    assert [] == left
    assert 422 == back.status
    assert "there is no secret 'channels.second.secrets.0'" in back.text


async def test_a_channel_that_does_not_start_with_its_new_settings_says_so(tmp_path: Path) -> None:
    """It runs on by those it had, and neither the change nor its test claims otherwise; the next good ones end that."""
    async with place(tmp_path) as there:
        side = there.sides["slack-http"]
        settings = yaml.safe_load("{" + side.settings() + "}")
        good = settings["bot_token"]
        await there.add("acme", settings.pop("kind"), settings)
        await there.in_force(1)
        fine = await there.probe("acme")
        wrong = {"path": "channels.acme.bot_token", "value": "xoxb-of-nobody"}
        stayed = await there.admins.local("POST", "/settings/revisions", changes=[wrong])
        tested = await there.probe("acme")
        mended = await there.admins.local("POST", "/settings/revisions", changes=[wrong | {"value": good}])
        again = await there.probe("acme")

    assert (True, True) == (fine["connected"], again["connected"])
    assert (["acme"], True, {}) == (list(stayed["stayed"]), stayed["in_force"], mended["stayed"])
    assert "invalid_auth" in stayed["stayed"]["acme"]
    assert (False, True) == (tested["connected"], "it runs on by those it had" in tested["problem"])


async def test_a_platform_is_told_of_a_channel_before_it_gives_out_its_tokens(tmp_path: Path) -> None:
    """The address for events and the app's manifest, of a channel to come as of one that is there; where nobody knows the address
    that is said, and a kind whose platform makes no apps has no manifest."""
    async with place(tmp_path) as there:
        token = await there.admins.token("admin")

        async def prepared(kind: str, **more: str) -> dict[str, Any]:
            query = urlencode({"channel": "acme"} | more)
            return dict((await there.admins.ask(token, "GET", f"/channel-kinds/{kind}?{query}")).body)

        called, held = await prepared("slack"), await prepared("slack", mode="socket")
        hook, odd = await prepared("webhook"), await prepared("irc")
        config, seen = there.stage.gateway.config, len(there.stage.gateway.log)
        public = 'server: {public_url: "https://clew.example/", '
        config.write_text(config.read_text("utf-8").replace("server: {", public), "utf-8")
        await there.stage.gateway.logged("settings changed", after=seen)
        known = await prepared("slack")

    assert "https://REPLACE-WITH-YOUR-PUBLIC-URL" in called["manifest"]
    assert json.loads(held["manifest"])["settings"]["socket_mode_enabled"]
    assert {"address": None, "manifest": None} == hook
    assert "'irc' is no kind of channel" in odd["detail"]
    assert "https://clew.example/channels/acme" == known["address"]
    assert known["address"] in known["manifest"]
