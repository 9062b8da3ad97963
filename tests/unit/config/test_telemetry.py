"""Settings of traces and of the gateway's own probe."""

from __future__ import annotations

import pytest

from config.masking import secrets_of
from config.telemetry import TelemetrySettings, check_telemetry, installed
from tests.unit.config.conftest import Load, Refuse

COLLECTOR = "http://127.0.0.1:4318/v1/traces"
HOOK = f"channels:\n  hook: {{kind: webhook, secrets: [whsec_{'eHh4' * 11}]}}\n  chat: {{kind: console}}\n"
SLACK = "  acme: {kind: slack, bot_token: xoxb-1, signing_secrets: [abc]}\n"


def test_nothing_is_traced_or_probed_unless_asked_for(load_text: Load) -> None:
    settings = load_text("{}").settings

    assert (None, None) == (settings.telemetry.traces_url, settings.probe.every_s)


def test_a_collectors_key_is_a_secret(load_text: Load) -> None:
    """It is masked in logs, and stands in no document."""
    configuration = load_text(
        f"telemetry: {{traces_url: '{COLLECTOR}', headers: {{x-key: '${{KEY}}', Authorization: Bearer of-file}}}}\n",
        {"KEY": "from-environment"},
    )

    assert {"from-environment", "Bearer of-file"} == set(secrets_of(configuration.settings))
    assert "from-environment" not in configuration.document + repr(configuration.settings)
    assert "of-file" not in configuration.document
    assert "${KEY}" in configuration.document


def test_without_the_packages_it_is_said_what_to_install() -> None:
    """The extra is optional: whoever asks for traces without it hears so before the start, with the command."""
    telemetry = TelemetrySettings(traces_url=COLLECTOR)

    ((path, problem, remedy),) = check_telemetry(telemetry, has=lambda module: module == "opentelemetry.sdk")
    assert ("telemetry", "traces_url") == path
    assert "not installed" in problem
    assert "--extra telemetry" in remedy
    assert [] == list(check_telemetry(telemetry, has=lambda module: True))
    assert [] == list(check_telemetry(TelemetrySettings(), has=lambda module: False))


def test_what_is_not_there_is_not_installed() -> None:
    assert [True, False, False] == [
        installed(name) for name in ("json.decoder", "json.nothing", "no_such.package.at.all")
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("telemetry: {traces_url: 'ftp://h/v1'}", "telemetry.traces_url: 'ftp://h/v1': is no address of this kind; write http"),
        ("telemetry: {sample: 1.5}", "telemetry.sample: '1.5': is more than 1"),
        ("telemetry: {headers: {'a b': c}}", "telemetry.headers"),
        (f"telemetry: {{traces_url: '{COLLECTOR}', headers: {{a: ' '}}}}", "telemetry.headers.a: ***: is empty"),
        (f"probe: {{every_s: 60}}\n{HOOK}", "probe.channel: (not set): is missing; name the channel that is to be probed"),
        (f"probe: {{every_s: 60, channel: gone}}\n{HOOK}", "probe.channel: 'gone': is no configured channel; use hook or chat"),
        ("probe: {every_s: 60, channel: gone}\n", "probe.channel: 'gone': is no configured channel; configure it"),
        (f"probe: {{every_s: 60, channel: acme}}\n{HOOK}{SLACK}", "probe.room: (not set): is missing, and channel 'acme' posts"),
        ("probe: {every_s: 1}", "probe.every_s: '1': is less than 5"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_said_with_its_remedy(refused: Refuse, text: str, says: str) -> None:
    (problem,) = refused(text)

    assert says in problem


def test_a_channel_whose_callers_collect_needs_no_room(load_text: Load) -> None:
    for probe in ("channel: hook", "channel: chat", "channel: acme, room: C1"):
        assert load_text(f"probe: {{every_s: 60, {probe}}}\n{HOOK}{SLACK}").settings.probe.every_s
