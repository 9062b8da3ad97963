"""What a Slack channel needs before it can start: its tokens and secrets, of the right kind for its mode. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from config.channels.slack import SlackSettings
from config.credentials import safe_source
from config.problems import Fault, Path

_REMEDY = "set it to the Signing Secret of the app's Basic Information page"


def check_slack(path: Path, channel: SlackSettings, faulty: Callable[[Path], bool]) -> Iterator[Fault]:
    """An endpoint that anybody could write to must not start (openclaw/openclaw#32599, NousResearch/hermes-agent#7089)."""
    if not channel.bot_token.get_secret_value().startswith("xoxb-"):
        remedy = "use the Bot User OAuth Token of the app's OAuth & Permissions page"
        yield (*path, "bot_token"), "does not begin with xoxb-", remedy
    if channel.mode == "socket":
        yield from _socket(path, channel)
    elif not channel.signing_secrets and not faulty((*path, "signing_secrets")):
        yield (*path, "signing_secrets"), "anybody could write to this channel", f"{_REMEDY}, or use mode: socket"
    for n, secret in enumerate(channel.signing_secrets):
        if not secret.get_secret_value().strip():
            yield (*path, "signing_secrets", n), "is empty", _REMEDY
    if not safe_source(channel.api_url):
        yield (*path, "api_url"), "would carry the token in the open", "use https, or http on loopback"


def _socket(path: Path, channel: SlackSettings) -> Iterator[Fault]:
    remedy = "make an App-Level Token with connections:write on the app's Basic Information page"
    if channel.app_token is None:
        yield (*path, "app_token"), "is required for mode: socket", remedy
    elif not channel.app_token.get_secret_value().startswith("xapp-"):
        yield (*path, "app_token"), "does not begin with xapp-", remedy
