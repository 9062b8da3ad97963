"""The manifest that an app is made from, against what Slack asks of the events and methods that Clew uses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.manifest import manifest
from config.channels.slack import SlackSettings
from gateway.__main__ import main
from gateway.commands import MENU, NAMES
from tests.unit.slack.world import World, world

COMMANDS = {"new": "Start a new conversation"}
URL = "https://bot.example.com/channels/acme"


def made(url: str | None = URL, **settings: Any) -> dict[str, Any]:
    chosen = SlackSettings.model_validate({"kind": "slack", "bot_token": "xoxb-1", **settings})
    return manifest(chosen, app_name="Clew", url=url, commands=COMMANDS)


def test_over_http_slack_is_told_where_to_post() -> None:
    told = made()

    assert URL == told["settings"]["event_subscriptions"]["request_url"]
    assert URL == told["features"]["slash_commands"][0]["url"]
    assert not told["settings"]["socket_mode_enabled"]


def test_over_a_socket_there_is_no_url() -> None:
    told = made(mode="socket", url=None)

    assert told["settings"]["socket_mode_enabled"]
    assert "url" not in str(told)


def test_without_a_public_url_the_place_to_write_it_shows() -> None:
    assert "REPLACE" in made(url=None)["settings"]["event_subscriptions"]["request_url"]


def test_slash_commands_can_be_told_from_other_apps() -> None:
    assert ["/clew-new"] == [one["command"] for one in made(slash_prefix="clew-")["features"]["slash_commands"]]


def test_every_command_has_a_line_in_both_languages() -> None:
    assert set(NAMES.values()) == set(MENU)
    assert all({"en", "zh"} == set(told) for told in MENU.values())


async def test_with_its_scopes_and_events_everything_works() -> None:
    """Heard in every kind of conversation, named, answered, shown, found; a scope less would be refused."""
    told = made()
    scopes = told["oauth_config"]["scopes"]["bot"]
    events = frozenset(told["settings"]["event_subscriptions"]["bot_events"])
    async with world(app={"events": events}, scopes=scopes) as there:
        there.here.limits.mode = "off"
        private = there.here.channel("secret", members=[there.ann, there.bot], private=True)
        places = [
            there.general,
            private,
            there.here.dm(there.ann, there.bot),
            there.here.dm(there.ann, there.bob, there.bot),
        ]
        for place in places:
            await answered(there, place)

        assert len(places) == len(there.intake.messages)


async def answered(there: World, place: Any) -> None:
    """One question and its answer, with all that may be done on the way."""
    root = await there.ann.says(
        place, f"hi {there.bot.mention}, this is {place.mention if place.kind == 'group' else '…'}"
    )
    await there.platform.settled()
    await there.adapter.named(there.intake.messages[-1])
    address = there.to(place, thread=root, reply_to=root)
    await there.adapter.sign(address, on=True)
    shown = await there.adapter.show(address, "so far", turn="1", shown=None)
    await there.adapter.send(address, "done", chunk_id=root, shown=shown)
    assert await there.adapter.find(address, chunk_id=root)
    await there.adapter.find(there.to(place), chunk_id=root)
    assert {None} == {call.error for call in there.here.calls}


SETTINGS = """
server: {public_url: "https://bot.example.com/"}
channels:
  acme: {kind: slack, bot_token: xoxb-1, signing_secrets: [abc]}
  console: {kind: console}
"""


@pytest.mark.parametrize(
    ("channel", "code", "says"),
    [
        ("acme", 0, '"request_url": "https://bot.example.com/channels/acme"'),
        ("console", 2, "its platform knows no app manifests"),
        ("nowhere", 2, "is not configured; there are: acme, console"),
    ],
)
def test_the_command_line_prints_it(
    channel: str, code: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`python -m gateway manifest CHANNEL`: to be pasted as it is."""
    path = tmp_path / "my.yaml"
    path.write_text(SETTINGS, "utf-8")

    assert code == main(["manifest", channel, "--config", str(path)])
    told = capsys.readouterr()
    assert says in (told.err if code else told.out)
    assert code or json.loads(told.out)["settings"]["socket_mode_enabled"] is False
