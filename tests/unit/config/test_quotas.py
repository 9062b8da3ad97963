"""Prices and quotas as they may be written, and what of them would do nothing."""

from __future__ import annotations

import pytest

from tests.unit.config.conftest import Load, Refuse

PRICED = """
prices: {currency: EUR, models: {gpt-5-mini: {input: 0.25, cached_input: 0.025, output: 2}}}
agents: {default: {kind: openai, api_key: sk}}
"""


def test_quotas_are_layered(load_text: Load) -> None:
    """A room's own figure goes before its channel's, and leaves the others as they are."""
    configuration = load_text(
        PRICED
        + """
defaults: {quota: {person: {messages: {day: 50}, money: {month: 5}}}}
channels:
  shop:
    kind: console
    quota: {room: {tokens: {day: 1000}}}
    rooms: {vip: {quota: {person: {messages: {day: 500}}}}}
"""
    )

    vip = configuration.effective("shop", "vip").quota

    assert (500, 5.0, 1000) == (vip.person.messages.day, vip.person.money.month, vip.room.tokens.day)
    assert 50 == configuration.effective("shop", "other").quota.person.messages.day


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "agents: {default: {kind: openai, api_key: sk, quota: {money: {day: 1}}}}",
            "agents.default.quota.money: (a section): counts nothing: the price of model 'gpt-5-mini' is not known; "
            "write it under prices.models, or limit tokens",
        ),
        (
            "agents: {default: {kind: openai, api_key: sk}}\n"
            "channels: {console: {kind: console, quota: {person: {money: {month: 1}}}}}",
            "channels.console.quota.person.money: (a section): counts nothing: the price of model 'gpt-5-mini' is not "
            "known; write it under prices.models, or limit tokens",
        ),
        (
            PRICED.replace("sk}}", "sk}, b: {kind: openai, api_key: sk, model: dear}}")
            + "channels: {console: {kind: console, agents: [default, b], quota: {person: {money: {month: 1}}}}}",
            "channels.console.quota.person.money: (a section): counts nothing: the price of model 'dear' is not known; "
            "write it under prices.models, or limit tokens",
        ),
        (
            PRICED.replace("sk}}", "sk}, b: {kind: openai, api_key: sk, model: dear}}")
            + "channels: {console: {kind: console, fallback: b, quota: {channel: {money: {month: 1}}}}}",
            "channels.console.quota.channel.money: (a section): counts nothing: the price of model 'dear' is not known; "
            "write it under prices.models, or limit tokens",
        ),
        (
            "usage: {time_zone: Mars/Olympus}",
            "usage.time_zone: 'Mars/Olympus': is no time zone that this machine knows; write one such as Europe/Berlin",
        ),
        (
            "usage: {time_zone: ../../etc/passwd}",
            "usage.time_zone: '../../etc/passwd': is no time zone that this machine knows; "
            "write one such as Europe/Berlin",
        ),
    ],
)
def test_what_would_do_nothing_is_refused(refused: Refuse, text: str, problem: str) -> None:
    """A quota of money on a model without a price would hold nobody back, also where people choose that model, or it stands in
    for another; and an unknown time zone has no midnight."""
    assert [problem] == [line.partition(" ")[2] for line in refused(text)]


@pytest.mark.parametrize(
    "text",
    [
        "defaults: {quota: {person: {messages: {day: 99999999999999999999}}}}",
        "defaults: {quota: {channel: {money: {month: 1.0e+300}}}}",
        "prices: {models: {m: {input: 1.0e+300, output: 0}}}",
        "prices: {models: {m: {input: .inf, output: 0}}}",
    ],
)
def test_figures_that_no_database_can_count_are_refused(refused: Refuse, text: str) -> None:
    """Where somebody means `any number`, the figure is left out; a call's cost must fit beside everybody's."""
    assert refused(text)


@pytest.mark.parametrize("text", ["{person: {messages: {day: 0}}}", "{person: {money: {day: -1}}}", "{soft: 0}"])
def test_a_quota_of_nothing_is_none(refused: Refuse, text: str) -> None:
    """Who is to be answered never is not on the allow-list; a quota that is used up from the start would promise an end."""
    assert refused(f"defaults: {{quota: {text}}}")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/St_Johns"])
def test_a_day_may_be_anybodys(load_text: Load, zone: str) -> None:
    """Days and months begin where the admin lives."""
    assert zone == load_text(f"usage: {{time_zone: {zone}}}").settings.usage.time_zone


def test_the_demo_agent_costs_nothing(load_text: Load) -> None:
    """A quota of money is no fault where no model answers."""
    assert load_text("defaults: {quota: {person: {money: {day: 1}}}}").settings.defaults.quota.person.money.day
