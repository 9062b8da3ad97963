"""What a Telegram channel's settings must hold before it starts."""

from __future__ import annotations

import pytest

from tests.unit.config.conftest import Load, Refuse

POLLING = {"token": "123456:ABC-DEF_1"}
WEBHOOK = {**POLLING, "mode": "webhook", "secret_token": "s3cret_-"}
PUBLIC = "server: {public_url: 'https://clew.example:8443/x'}\n"


def _telegram(before: str = "", **settings: str) -> str:
    lines = (f"    {key}: {value}\n" for key, value in settings.items())
    return before + "channels:\n  bot:\n    kind: telegram\n" + "".join(lines)


@pytest.mark.parametrize(
    ("before", "settings"),
    [
        ("", POLLING),
        (PUBLIC, WEBHOOK),
        ("server: {public_url: 'http://127.0.0.1:9'}\n", {**WEBHOOK, "api_url": "http://127.0.0.1:8081"}),
        ("", {**POLLING, "allow": "{people: ['8000000001']}"}),
    ],
)
def test_a_token_is_enough_and_a_webhook_needs_a_secret_and_an_address(
    load_text: Load, before: str, settings: dict[str, str]
) -> None:
    assert "bot" in load_text(_telegram(before, **settings)).settings.channels


@pytest.mark.parametrize(
    ("before", "settings", "says"),
    [
        ("", {}, "channels.bot.token: (not set)"),
        ("", {"token": "xoxb-1"}, "channels.bot.token: ***: has not the form 123456:ABC-DEF; copy it from @BotFather"),
        (PUBLIC, {**POLLING, "mode": "webhook"}, "channels.bot.secret_token: (not set): anybody could write to this"),
        (PUBLIC, {**WEBHOOK, "secret_token": "'a b'"}, "channels.bot.secret_token: ***: has other characters"),
        ("", WEBHOOK, "channels.bot.mode: 'webhook': needs an address that Telegram can call; set server.public_url"),
        ("server: {public_url: 'http://clew.example'}\n", WEBHOOK, "channels.bot.mode: 'webhook': needs an address"),
        ("server: {public_url: 'https://clew.example:8080'}\n", WEBHOOK, "https on port 443, 80, 88 or 8443"),
        ("", {**POLLING, "api_url": "http://bots.example"}, "channels.bot.api_url"),
        ("", {**POLLING, "poll_s": "60"}, "channels.bot.poll_s: '60': is more than 50; use 50 or less"),
        ("", {**POLLING, "poll_s": "0"}, "channels.bot.poll_s: '0': is less than 1; use 1 or more"),
        ("", {**POLLING, "allow": "{people: ['5', '1087968824']}"}, "channels.bot.allow.people[1]: '1087968824': is no"),
        ("", {**POLLING, "rooms": "{'-1': {allow: {people: ['136817688']}}}"}, "whoever writes as a channel"),
        ("", {**POLLING, "rooms": "{'-1': {threads: {'2': {allow: {people: ['777000']}}}}}"}, "Telegram itself"),
    ],
)  # fmt: skip
def test_what_is_missing_or_unsafe_is_said_with_its_remedy(
    refused: Refuse, before: str, settings: dict[str, str], says: str
) -> None:
    """Nobody is let in by an account that every anonymous admin has (dgongut/docker-controller-bot#25); no secret is
    shown."""
    (problem,) = refused(_telegram(before, **settings))

    assert says in problem
    assert "ABC-DEF_1" not in problem
