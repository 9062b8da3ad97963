"""What a Slack channel's settings must hold before it starts."""

from __future__ import annotations

import pytest

from config.channels.slack import SlackSettings
from config.settings import QueueSettings
from tests.unit.config.conftest import Load, Refuse

SIGNED = {"bot_token": "xoxb-1", "signing_secrets": "[abc]"}
SOCKET = {"bot_token": "xoxb-1", "mode": "socket", "app_token": "xapp-1"}


def _slack(**settings: str) -> str:
    lines = (f"    {key}: {value}\n" for key, value in settings.items())
    return "channels:\n  acme:\n    kind: slack\n" + "".join(lines)


@pytest.mark.parametrize("settings", [SIGNED, SOCKET, {**SIGNED, "api_url": "http://127.0.0.1:9/api/"}])
def test_tokens_of_the_right_kind_are_enough(load_text: Load, settings: dict[str, str]) -> None:
    assert "acme" in load_text(_slack(**settings)).settings.channels


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"signing_secrets": "[abc]"}, "channels.acme.bot_token: (not set)"),
        ({**SIGNED, "bot_token": "xoxp-1"}, "channels.acme.bot_token: ***: does not begin with xoxb-; use the Bot User OAuth"),
        ({"bot_token": "xoxb-1"}, "channels.acme.signing_secrets: (not set): anybody could write to this channel"),
        ({**SIGNED, "signing_secrets": "['']"}, "channels.acme.signing_secrets[0]: ***: is empty"),
        ({**SOCKET, "app_token": "xoxb-2"}, "channels.acme.app_token: ***: does not begin with xapp-"),
        ({"bot_token": "xoxb-1", "mode": "socket"}, "channels.acme.app_token: (not set): is required for mode: socket"),
        ({**SIGNED, "api_url": "http://slack.example/api/"}, "channels.acme.api_url"),
        ({**SIGNED, "slash_prefix": "A b"}, "channels.acme.slash_prefix"),
    ],
)  # fmt: skip
def test_what_is_missing_or_of_another_kind_is_said_with_its_remedy(
    refused: Refuse, settings: dict[str, str], says: str
) -> None:
    """An endpoint that anybody could write to does not start (openclaw/openclaw#32599); no secret is shown."""
    (problem,) = refused(_slack(**settings))

    assert says in problem
    assert "xoxp-1" not in problem


def test_names_that_are_slow_to_come_are_given_up_by_the_channel_first() -> None:
    """It gives those that it has; the gateway, which waits a little longer, would give none."""
    assert SlackSettings.model_fields["names_wait_s"].default < QueueSettings().names_s
