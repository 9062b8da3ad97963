"""`people erase` on a machine where no gateway's file is: by a running gateway that is named, or as one instance among others."""

from __future__ import annotations

import json
from pathlib import Path

from tests.scenarios.admins import Admins
from tests.scenarios.stage import echo, stage
from tests.scenarios.world import command, rows

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"]}}
memory: {model: none}
"""


async def test_by_a_gateway_that_is_named(tmp_path: Path, postgres_url: str) -> None:
    """It forgets what it held in memory, too, and its audit log says who asked. Without its token, or where it is away, nothing
    is done, and that is said; an account that nobody is known by is looked for in the queues all the same."""
    async with stage(tmp_path, BODY, script=echo, storage=postgres_url) as running:
        config, url = running.gateway.config, running.gateway.url
        token = await Admins(running).token("owner")
        hook = running.hook()
        for sender in ("alice", "bob"):
            await hook.say("Quittengelee", sender=sender)
        refused = await command(
            "people", "erase", "webhook:hook:alice", "--url", url, "--config", config, CLEW_TOKEN="no"
        )
        away = await command("people", "erase", "webhook:hook:alice", "--config", config, CLEW_URL="http://127.0.0.1:1")
        before = rows(postgres_url, "SELECT count(*) FROM identities")
        code, out, err = await command(
            "people", "erase", "webhook:hook:alice", "--json", "--url", url, "--config", config, CLEW_TOKEN=token
        )
        unknown = await command(
            "people", "erase", "webhook:hook:nobody", "--url", url, "--config", config, CLEW_TOKEN=token
        )
        beside = await command("people", "erase", "webhook:hook:bob", "--json", "--config", config)
        left = rows(postgres_url, "SELECT count(*) FROM identities WHERE account = 'alice'")
        audited = rows(
            postgres_url, "SELECT actor FROM admin_audit WHERE operation = 'people.erase' AND outcome = 'done'"
        )

    assert 1 == refused[0]
    assert 1 == away[0]
    assert "http://127.0.0.1:1" in away[2]
    assert [(2,)] == before
    assert 0 == code, err
    assert 1 <= json.loads(out)["erased"]["inbox_events"]
    assert [(0,)] == left
    assert 1 == len(audited)
    assert 0 == unknown[0]
    assert 1 <= json.loads(beside[1])["erased"]["inbox_events"]
    assert [(0,)] == rows(postgres_url, "SELECT count(*) FROM identities WHERE account = 'bob'")
