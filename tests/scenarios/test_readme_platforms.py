"""The Slack page and the Telegram page, followed as a newcomer would, with a local platform in the real one's place.

Settings and commands are taken from the pages. Only what says where things are is added: the platform, the port, the file.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.emulators.slack.server import slack
from tests.emulators.telegram.emulator import telegram
from tests.scenarios.world import ROOT, command, gateway

PUBLIC = "https://bot.example.com"
SLACK = (ROOT / "adapters" / "slack" / "README.md").read_text("utf-8")
TELEGRAM = (ROOT / "adapters" / "telegram" / "README.md").read_text("utf-8")


def settings_of(page: str, folder: Path, *, api_url: str, public: bool = False) -> Path:
    """Write the page's settings, its room's beneath them, as `my.yaml`; `public`: with the lines that stand there as comments
    for who has a public address."""
    channel, room = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    if public:
        channel = re.sub(r"^( *)# ", r"\1", channel, flags=re.MULTILINE).replace("mode: socket\n", "mode: http\n")
        channel = channel.replace("server: {", "server: {port: 0, ")
    place = ("" if public else "server: {port: 0}\n") + f"storage: sqlite:///{folder}/clew.db\n"
    path = folder / "my.yaml"
    path.write_text(f"{place}{channel}    api_url: {api_url}\n{room}", "utf-8")
    return path


def commands_of(page: str) -> list[list[str]]:
    """Return the arguments of every `python -m gateway …` that the page names."""
    return [shlex.split(found) for found in re.findall(r"python -m gateway ([^`\n]+)", page)]


async def run(page: str, verb: str, config: Path, **env: str) -> str:
    """Run the page's command with this verb, by these settings; return what it prints."""
    arguments = next(one for one in commands_of(page) if one[0] == verb)
    code, out, err = await command(*(config if one == "my.yaml" else one for one in arguments), **env)
    assert 0 == code, err
    return out


async def test_the_slack_page_leads_to_an_answer(tmp_path: Path) -> None:
    """Settings, manifest, app, secrets, start: then a direct message and a mention in a channel are answered, with no scope
    and no event but the manifest's."""
    async with slack() as platform:
        config = settings_of(SLACK, tmp_path, api_url=platform.api_url)
        made = json.loads(await run(SLACK, "manifest", config))
        here = platform.workspace("Acme")
        app = platform.app(
            socket_mode=made["settings"]["socket_mode_enabled"],
            events=frozenset(made["settings"]["event_subscriptions"]["bot_events"]),
        )
        bot = here.install(app, scopes=made["oauth_config"]["scopes"]["bot"])
        ann = here.person("Ann")
        secrets = {"SLACK_BOT_TOKEN": bot.token, "SLACK_APP_TOKEN": app.app_token}
        assert "ok" in await run(SLACK, "check", config, **secrets)
        async with gateway(config, **secrets):
            direct, general = here.dm(ann, bot), here.channel("general", members=[ann, bot])
            hello = await ann.says(direct, "hello")
            await direct.reply(bot, after=hello)
            mention = await ann.says(general, f"{bot.mention} hello")
            answer = await general.reply(bot, after=mention)
            shown = await run(SLACK, "show", config, **secrets)

        assert mention == answer.thread_ts
        assert '["mention", "reply", "prefix"]' in shown
        assert [] == here.violations


async def test_the_telegram_page_leads_to_an_answer(tmp_path: Path) -> None:
    """A bot with privacy mode off, settings, start: then a private message and a mention in a group are answered."""
    async with telegram(reads_all=True) as platform:
        config = settings_of(TELEGRAM, tmp_path, api_url=platform.url)
        ann = platform.person("Ann")
        private, group = platform.private(ann), platform.supergroup("Team", ann)
        assert "ok" in await run(TELEGRAM, "check", config, TELEGRAM_TOKEN=platform.bot.token)
        async with gateway(config, TELEGRAM_TOKEN=platform.bot.token):
            for chat, text in ((private, "hello"), (group, f"@{platform.bot.username} hello")):
                ann.says(chat, text)
                await chat.wait_for(lambda one: one.bot is platform.bot and "demo" in one.text, timeout_s=20)
            shown = await run(TELEGRAM, "show", config, TELEGRAM_TOKEN=platform.bot.token)

        assert '"jobs"' in next(line for line in shown.splitlines() if line.startswith("agent "))
        assert [] == platform.violations


async def test_the_telegram_page_keeps_strangers_out(tmp_path: Path) -> None:
    """By the line that stands there, and but for the room that it opens."""
    async with telegram(reads_all=True) as platform:
        ann, zoe = platform.person("Ann"), platform.person("Zoe")
        opened, theirs = platform.supergroup("Team", ann, zoe), platform.supergroup("Theirs", zoe)
        closing, opening = re.findall(r"`(allow: .*?)`", TELEGRAM)
        page = TELEGRAM.replace(
            "kind: telegram\n", f"kind: telegram\n    {closing.replace('8000000001', str(ann.id))}\n", 1
        )
        page = page.replace("agent: jobs\n", f"agent: jobs\n        {opening}\n").replace(
            "-1001234567890", str(opened.id)
        )
        config = settings_of(page, tmp_path, api_url=platform.url)
        async with gateway(config, TELEGRAM_TOKEN=platform.bot.token):
            strange = [platform.private(zoe), theirs]
            for who, chats in ((zoe, [*strange, opened]), (ann, [platform.private(ann)])):
                for chat in chats:
                    who.says(chat, f"@{platform.bot.username} hello")
            for chat in (opened, platform.private(ann)):
                await chat.wait_for(lambda one: one.bot is platform.bot and "demo" in one.text, timeout_s=20)

        assert [[], []] == [chat.replies() for chat in strange]


SOURCES = "\n".join(
    path.read_text("utf-8")
    for folder in ("adapters", "gateway", "tests/emulators")  # the last: what the platforms say in their own words
    for path in sorted((ROOT / folder).rglob("*.py"))
)


@pytest.mark.parametrize("page", [SLACK, TELEGRAM], ids=["slack", "telegram"])
def test_every_error_that_a_page_explains_is_one_that_is_said(page: str) -> None:
    """Word for word, so that who searches the page for what stands in the log finds it."""
    table = page.partition("## What errors mean")[2].partition("\n## ")[0]
    seen = [row.split(" | ")[0] for row in table.splitlines() if row.startswith("| ")][1:]
    said = [part.strip() for cell in seen for quoted in re.findall(r"`([^`]+)`", cell) for part in quoted.split("…")]

    assert 10 < len(said)
    assert [] == [part for part in said if not all(word in SOURCES for word in part.split(": "))]


async def test_the_slack_page_leads_to_an_answer_with_a_public_address(tmp_path: Path) -> None:
    """The manifest says where Slack posts; the address answers Slack's challenge once the secret is known, and events come."""
    async with slack() as platform:
        config = settings_of(SLACK, tmp_path, api_url=platform.api_url, public=True)
        made = json.loads(await run(SLACK, "manifest", config))
        url = made["settings"]["event_subscriptions"]["request_url"]
        app = platform.app(events=frozenset(made["settings"]["event_subscriptions"]["bot_events"]))
        here = platform.workspace("Acme")
        bot = here.install(app, scopes=made["oauth_config"]["scopes"]["bot"])
        async with gateway(config, SLACK_BOT_TOKEN=bot.token, SLACK_SIGNING_SECRET=app.signing_secret) as process:
            await app.subscribe(url.replace(PUBLIC, process.url))
            ann = here.person("Ann")
            direct = here.dm(ann, bot)
            await direct.reply(bot, after=await ann.says(direct, "你好"))

        assert f"{PUBLIC}/channels/acme-slack" == url
        assert not made["settings"]["socket_mode_enabled"]


async def test_the_telegram_page_leads_to_an_answer_with_a_public_address(tmp_path: Path) -> None:
    """The webhook is set by itself."""
    async with telegram() as platform:
        config = settings_of(TELEGRAM, tmp_path, api_url=platform.url, public=True)
        private = platform.private(ann := platform.person("Ann"))
        async with gateway(config, TELEGRAM_TOKEN=platform.bot.token, TELEGRAM_SECRET="a" * 64) as process:
            platform.hosts[PUBLIC] = process.url
            ann.says(private, "你好")
            await private.wait_for(lambda one: one.bot is platform.bot, timeout_s=20)

        assert platform.called("setWebhook")


WRONG: list[tuple[str, str, dict[str, Any], str]] = [
    ("slack", SLACK, {"SLACK_BOT_TOKEN": "xoxb-wrong", "SLACK_APP_TOKEN": "xapp-1"}, "auth.test: invalid_auth"),
    ("telegram", TELEGRAM, {"TELEGRAM_TOKEN": "1:wrong"}, "the token is wrong"),
]


@pytest.mark.parametrize(("kind", "page", "env", "says"), WRONG, ids=["slack", "telegram"])
async def test_a_wrong_token_is_said_in_the_words_of_the_page(
    kind: str, page: str, env: dict[str, str], says: str, tmp_path: Path
) -> None:
    """The first row of the table of errors is what stands in the log."""
    async with slack() as here, telegram() as there:
        url = here.api_url if kind == "slack" else there.url
        async with gateway(settings_of(page, tmp_path, api_url=url), **env) as process:
            await process.logged(says)

    assert f"| `{says}`" in page
