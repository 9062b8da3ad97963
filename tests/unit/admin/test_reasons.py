"""Why a message ended as it did, in words: for every rule that the code has, in both languages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from adapters.base import MessageEvent, Sender
from config.channels.base import Trigger
from config.loader import Configuration, load
from gateway.admin.reason_words import ADDED, ADMITTED, ENDED, WHOLE, Reason
from gateway.admin.reasons import decided, meaning_of, setting_told
from gateway.admission import DESK, PROBE, UNHEARD
from gateway.errors import AgentFault
from gateway.human_lane import HUMAN
from gateway.inbox.base import Event, EventState, Outcome
from gateway.inbox.dead import BY_HAND
from gateway.routing import Route, encode, route
from gateway.taking_over import Rule
from gateway.usage.quotas import MEASURES, Limit
from gateway.usage.rows import KINDS, Subject, person_subject
from gateway.usage.windows import SPANS

SETTINGS = """\
agents: {default: {kind: openai, timeout_s: 7}, other: {}}
defaults: {bots: answer}
channels:
  web:
    kind: webhook
    secrets: ["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    limits: {per_minute: 3}
    rooms: {r1: {trigger: [mention], threads: {t1: {quota: {person: {messages: {day: 5}}}}}}}
"""


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Configuration:
    file: Path = tmp_path_factory.mktemp("settings") / "my.yaml"
    file.write_text(SETTINGS, "utf-8")
    return load(file, {})


def routed(configuration: Configuration, *, rule: str = "mention", **fields: Any) -> Route:
    message = MessageEvent(
        **({"channel": "web", "room": "r1", "thread": "t1", "chat_type": "group"} | fields),
        sender=Sender(user="U1", tenant="T", account="U1"),
        dedupe_ids=("m",),
        message_id="m1",
        text="hello",
    )
    return route(message, configuration=configuration, chosen_agent=None, rule=rule)


def event(route: Route | None, state: EventState, **outcome: Any) -> Event:
    ended = Outcome(state=state, **outcome) if state not in ("accepted", "running", "replied") else None
    return Event(
        id=1,
        turn_id=1,
        lane="lane",
        channel="web",
        kind="message",
        speaker="U1",
        body=b"" if route is None else encode(route),
        token="",
        fingerprint=None,
        state=state,
        outcome=ended,
        attempts=1,
        accepted_ms=1,
    )


@cache
def decisive() -> frozenset[str]:
    """Return every rule and code by which the gateway may let a message in or end it, read from its own types and source."""
    trees = [ast.parse(path.read_text("utf-8")) for path in sorted(Path("gateway").rglob("*.py"))]
    found = {rule for tree in trees for call in _calls(tree) for rule in _named(call)}
    found |= {fault.code for fault in (AgentFault, *AgentFault.__subclasses__())}
    found |= {*get_args(Trigger), *get_args(Rule), *UNHEARD, PROBE, DESK, HUMAN, BY_HAND}
    found |= {"private", "rate_limited"}  # what admission says by a name of its own
    for act in ("edit", "delete"):
        found |= {act, f"{act}_unknown_message"}
    subjects = (person_subject(1), *(Subject(kind, "", "x") for kind in KINDS))
    found |= {Limit(one, measure, span, 1).rule for one in subjects for measure in MEASURES for span in SPANS}
    return frozenset(found)


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))


def _named(call: ast.Call) -> Iterator[str]:
    """Yield the rules and codes that a call names in so many words."""
    assert isinstance(call.func, ast.Name)
    name, values = call.func.id, {one.arg: one.value for one in call.keywords}
    asked = {
        "Outcome": [values.get("rule"), values.get("code")],
        "Verdict": call.args[1:2],
        "failure": call.args[:1],
        "_applied": call.args[:1],
    }
    for value in asked.get(name, []):
        for node in ast.walk(value) if value is not None else ():
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and re.fullmatch("[a-z][a-z_]+", node.value)
            ):
                yield node.value


class TestSentences:
    def test_every_rule_and_code_has_a_reason(self) -> None:
        """Whatever lets a message in or ends it, wherever the code says so: with none of these does an admin read a bare name."""
        assert {"mention", "not_addressed", "bot_depth", "waiting_for_human", "undeliverable", "by_hand"} <= decisive()
        assert {"context_too_long", "agent_unavailable", "delete_unknown_message", "quota_room_money_day"} <= decisive()
        assert set() == {rule for rule in decisive() if meaning_of(rule) is None}

    def test_no_reason_is_of_a_rule_that_there_is_not(self) -> None:
        """What no code says any more would be words that mislead whoever reads them here."""
        assert set() == (ENDED.keys() | ADMITTED.keys()) - decisive()

    def test_every_state_has_a_sentence(self, configuration: Configuration) -> None:
        """Also where nothing but its state is known."""
        way = routed(configuration)
        for state in get_args(EventState):
            found = decided(event(way, state), way)
            assert found.en.endswith(".")
            assert found.zh.endswith("。")
            assert "rule" not in found.en or state in ("observed", "ignored", "failed", "dead")

    @pytest.mark.parametrize("reason", [*ENDED.values(), *ADMITTED.values(), *WHOLE.values(), *ADDED.values()])
    def test_both_languages(self, reason: Reason) -> None:
        """Neither stands in for the other, and both name the same things."""
        assert re.search("[\u4e00-\u9fff]", reason.zh)
        assert not re.search("[\u4e00-\u9fff]", reason.en)
        assert set(re.findall(r"{\w+}", reason.en)) == set(re.findall(r"{\w+}", reason.zh))

    @pytest.mark.parametrize(
        ("state", "outcome", "en", "setting"),
        [
            ("answered", {}, "It was answered because it mentions the bot.", "trigger"),
            ("accepted", {}, "It waits for its turn to be answered, because it mentions the bot.", "trigger"),
            ("running", {}, "It is being answered now, because it mentions the bot.", "trigger"),
            ("replied", {},
             "It is answered, and the answer is on its way; it was let in because it mentions the bot.", "trigger"),
            ("ignored", {"rule": "bot"},
             "It was written by a program, or by the bot itself; programs are not answered here.", "bots"),
            ("failed", {"code": "agent_timeout"},
             "The agent default did not finish its answer in the time that it has.", "agent:timeout_s"),
            ("failed", {"code": "quota_person_money_month"},
             "The quota of money per month was used up for its sender.", "quota.person.money.month"),
            ("failed", {"code": "quota_agent_tokens_day"},
             "The quota of tokens per day was used up for the agent default.", "agent:quota.tokens.day"),
            ("answered", {"rule": "by_hand"}, "It was given up, and an admin answered it by hand.", None),
            ("ignored", {"rule": "from_tomorrow"}, "It ended by the rule from_tomorrow.", None),
        ],
    )  # fmt: skip
    def test_the_sentence_of_an_end(
        self, configuration: Configuration, state: EventState, outcome: dict[str, str], en: str, setting: str | None
    ) -> None:
        """What ended it counts before what let it in; a rule without words is named."""
        way = routed(configuration)
        found = decided(event(way, state, **outcome), way)
        assert (en, setting) == (found.en, found.setting)
        assert "{" not in found.zh

    def test_what_became_of_what_was_sent(self, configuration: Configuration) -> None:
        """A notice that did not arrive leaves the reason that it would have told; an answer that may not have arrived is no more
        than that."""
        way = routed(configuration)
        dead = event(way, "dead", code="undeliverable", reason="blocked")
        notice = Outcome(state="failed", code="agent_timeout", message="...")
        untold = decided(dead, way, untold=notice)
        doubtful = decided(event(way, "answered"), way, doubtful=True)

        assert ENDED["undeliverable"].en == decided(dead, way).en
        assert ("undeliverable", "agent:timeout_s") == (untold.rule, untold.setting)
        assert untold.en.startswith("The agent default did not finish")
        assert "answer was made" not in untold.en
        assert untold.en.endswith("the platform refused to take it.")
        assert untold.zh.endswith("平台拒绝接收。")
        assert doubtful.en.startswith(
            "It was answered because it mentions the bot. Whether all of it arrived is not known"
        )
        assert "未知" in doubtful.zh

    def test_what_was_erased_or_cannot_be_read(self) -> None:
        """There is still a sentence."""
        erased = decided(event(None, "answered"), None)
        assert "erased" in erased.en
        ended = decided(event(None, "ignored", rule="person_erased"), None)
        assert ENDED["person_erased"].en == ended.en
        unreadable = event(None, "dead", code="unreadable")
        assert ENDED["unreadable"].en == decided(msgspec.structs.replace(unreadable, body=b"?"), None).en


class TestSettings:
    def told(self, configuration: Configuration, setting: str, **fields: Any) -> tuple[str, str | None, str, str]:
        way = routed(configuration, **fields)
        told = setting_told(setting, event(way, "ignored", rule="r"), way, then=configuration, now=configuration)
        assert told.then == told.now
        return told.path, told.now, told.origin, told.at

    def test_where_each_layer_says_it(self, configuration: Configuration) -> None:
        """The path is where the value stands; where nothing says it, where one would."""
        place = "channels.web.rooms.r1.threads.t1"
        path, now, origin, at = self.told(configuration, "trigger")
        assert ("channels.web.rooms.r1.trigger", '["mention"]', f"{place}.trigger") == (path, now, at)
        assert origin.endswith("my.yaml:8 (room)")
        assert "channels.web.limits.per_minute" == self.told(configuration, "limits.per_minute")[0]
        assert ("defaults.bots", '"answer"') == self.told(configuration, "bots")[:2]
        assert f"{place}.quota.person.messages.day" == self.told(configuration, "quota.person.messages.day")[0]
        assert (f"{place}.bot_depth", "built-in") == self.told(configuration, "bot_depth")[::2]
        private = self.told(configuration, "bot_depth", thread=None, room="D1", chat_type="private")
        assert "channels.web.bot_depth" == private[0]

    def test_of_an_agent_and_of_the_gateway(self, configuration: Configuration) -> None:
        """What is no place's."""
        assert ("agents.default.timeout_s", "7.0") == self.told(configuration, "agent:timeout_s")[:2]
        assert "queue.attempts" == self.told(configuration, "root:queue.attempts")[0]

    def test_what_is_not_known_any_more(self, configuration: Configuration) -> None:
        """Settings of then that are gone, a channel that is not configured now."""
        way = routed(configuration)
        stored = event(way, "ignored", rule="bot")
        assert None is setting_told("bots", stored, way, then=None, now=configuration).then
        removed = msgspec.structs.replace(stored, channel="gone")
        told = setting_told("bots", removed, way, then=configuration, now=configuration)
        assert (None, None, "") == (told.then, told.now, told.origin)


def test_a_rule_means_the_same_whichever_turn_it_decided() -> None:
    """Half a sentence of what let a message in, a sentence of what ended it, quotas too; names of the turn left open."""
    told = {
        rule: meaning_of(rule) for rule in ("private", "agent_timeout", "quota_person_messages_day", "stop", "no rule")
    }

    assert told["private"] is not None
    assert "它是私聊消息" == told["private"].zh
    assert told["agent_timeout"] is not None
    assert "The agent … did not finish its answer in the time that it has." == told["agent_timeout"].en
    assert told["quota_person_messages_day"] is not None
    assert told["no rule"] is None
