"""An app that is removed from its workspace and comes back, through the real process: its replies wait for it."""

from __future__ import annotations

from pathlib import Path

from tests.emulators.slack.faults import refused
from tests.emulators.slack.server import slack
from tests.scenarios.platforms import echo
from tests.scenarios.test_slack import AGENT, channel_of
from tests.scenarios.world import gateway, model_server, write_config

QUEUE = "queue: {poll_s: 0.2, send_attempts: 2, send_wait_s: 0.1, restart_s: 0.1}\n"


async def test_replies_wait_until_slack_takes_a_token_again(tmp_path: Path) -> None:
    """A channel that does not run uses up none of a reply's tries, however often it is started in vain."""
    async with slack() as platform, model_server(echo) as model:
        here, app = platform.workspace("Acme"), platform.app()
        bot, ann = here.install(app), here.person("Ann")
        private = here.dm(ann, bot)
        channel = channel_of(app, bot, more=", stream: false")
        config = write_config(tmp_path, f"{AGENT.format(url=model.url)}channels:\n  acme: {channel}\n{QUEUE}")
        async with gateway(config) as process:
            app.events_url = f"{process.url}/channels/acme"
            here.will("chat.postMessage", refused("token_revoked"))
            here.will("auth.test", *[refused("token_revoked")] * 4)
            await ann.says(private, "one")
            await private.wait_for(lambda messages: [one.shown for one in messages] == ["one", "re: one"], 20)

    assert 2 == len(here.called("chat.postMessage"))
    assert 6 == len(here.called("auth.test"))
