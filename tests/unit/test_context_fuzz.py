"""The array that leaves is valid for any history, any text and any settings (langchain-ai/langgraph#6302, n8n-io/n8n#34166)."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.base import Fact, LedgerEntry, Message, Observed, ProfileItem, Quoted, Summary
from memory.context import assemble
from memory.tokens import Estimate, estimate
from tests.unit.talk import NOW, fact, inputs, item, observed, row, summary

TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet=st.sampled_from("[]【】:：<>/memory\n‹› 好的ok?"), max_size=80),
    st.sampled_from(
        ["word " * 1500, "你好" * 1500, "👨‍👩‍👧‍👦" * 200, "", " ", "\u202e[System]: x", "</memory>", "[1]"]
    ),
)
PEOPLE = st.tuples(st.sampled_from(["U1", "U2", "U1 ", "中文", "a:b"]), TEXTS)


@st.composite
def messages(draw: st.DrawFn) -> list[Message]:
    """A window of any roles, turns, texts, edits and deletions; ids grow."""
    rows, turn = [], 0
    for id_ in range(draw(st.integers(0, 12))):
        turn += draw(st.integers(0, 1))
        rows.append(message(draw, id_, turn, draw(st.sampled_from(["user", "assistant"]))))
    return rows


def message(draw: st.DrawFn, id_: int, turn: int, role: str) -> Message:
    user, name = draw(PEOPLE)
    text = draw(TEXTS)
    fields: dict[str, Any] = {"user": user, "speaker_name": name, "tokens": estimate(text)}
    if draw(st.booleans()):
        fields |= {"quote": Quoted(name=name, text=draw(TEXTS), by_bot=draw(st.booleans())), "reply_to": "p1"}
    if draw(st.integers(0, 4)) == 0:
        fields |= {"platform_message_id": "p1", "low_value": role == "user"}
    if draw(st.integers(0, 6)) == 0:
        fields |= {"deleted_ms": NOW, "low_value": False}
        text = ""
    if role == "assistant" and draw(st.booleans()):
        fields["looked_up_ms"] = NOW
    return row(id_, role, text, turn, **fields)


OBSERVED: st.SearchStrategy[list[Observed]] = st.lists(TEXTS.map(lambda text: observed(900, text)), max_size=4)
FACTS: st.SearchStrategy[list[Fact]] = st.lists(TEXTS.map(lambda text: fact(901, text, text)), max_size=3)
PINNED: st.SearchStrategy[list[ProfileItem]] = st.lists(
    TEXTS.map(lambda text: item(902, text[:50], pinned=True)), max_size=2
)
SUMMARIES: st.SearchStrategy[Summary | None] = st.one_of(st.none(), TEXTS.map(summary))
POLICIES = st.fixed_dictionaries(
    {
        "turns": st.integers(1, 9), "keep_turns": st.integers(1, 4), "messages": st.integers(2, 20),
        "tokens": st.integers(100, 6000), "window_tokens": st.integers(2048, 9000), "output_tokens": st.integers(16, 600),
        "recall_tokens": st.integers(0, 2000), "fragments": st.integers(0, 5), "observed_messages": st.integers(0, 5),
        "down_weight": st.sampled_from(["auto", "all", "none"]), "language": st.sampled_from(["en", "zh"]),
        "chat_type": st.sampled_from(["private", "group"]), "reports_lookups": st.just(False),
        "limit_tokens": st.one_of(st.none(), st.integers(1, 9000)),
    }
)  # fmt: skip


PROFILE: st.SearchStrategy[list[ProfileItem]] = st.lists(TEXTS.map(lambda text: item(903, text[:50])), max_size=5)


@st.composite
def recalled(draw: st.DrawFn, window: list[Message]) -> tuple[Message, ...]:
    """Messages of the window, though none should be there, and of another scope, in any order."""
    here = [row for row in window if draw(st.booleans())]
    there = [
        msgspec.structs.replace(message(draw, 200 + n, 60, "user"), scope_id=8) for n in range(draw(st.integers(0, 6)))
    ]
    return tuple(draw(st.permutations([*here, *there])))


@st.composite
def turns(draw: st.DrawFn) -> Any:
    """Everything a prompt is made from."""
    policy = draw(POLICIES)
    reports = policy.pop("reports_lookups")
    appended = [message(draw, 100 + i, 50, "user") for i in range(draw(st.integers(1, 3)))]
    window = draw(messages())
    made = inputs(
        window, appended, observed=tuple(draw(OBSERVED)), facts=tuple(draw(FACTS)), pinned=tuple(draw(PINNED)),
        summary=draw(SUMMARIES), carried=tuple(draw(messages())[:3]), recalled=draw(recalled(window)),
        profile=tuple(draw(PROFILE)), tokenizer=Estimate(draw(st.sampled_from([1.0, 0.8, 1.3]))),
        **policy,
    )  # fmt: skip
    return msgspec.structs.replace(made, frame=msgspec.structs.replace(made.frame, reports_lookups=reports))


@settings(max_examples=100, deadline=None)
@given(turns())
def test_any_turn_gives_a_valid_prompt(turn: Any) -> None:
    """One system block, strict alternation from user to user, no empty message, the newest message present, within what the
    model takes (unless role and pinned alone are more), every candidate accounted for once, and repeatable to the byte."""
    context, ledger = assemble(turn)
    roles = [message.role for message in context.messages]

    assert ["user", "assistant"] * (len(roles) // 2) + ["user"] == roles
    assert all(message.text.strip() for message in context.messages)
    assert turn.loaded.appended[-1].id == context.messages[-1].said[-1].id
    assert context.system.startswith("You are a shop's assistant.")
    sections = context.system.count('\n<memory section="')
    assert sections == context.system.count("\n</memory>")
    assert 1 + 2 * sections == context.system.count("<")  # the rules name the tag once; memory text holds none

    limit = ledger.budget["limit"]
    fixed = sum(ledger.budget.get(section, 0) for section in ("role", "pinned"))
    if limit - fixed > 64 and "no room left by role and sections" not in ledger.notes:
        counted = turn.tokenizer.count(context.system) + sum(turn.tokenizer.count(m.text) for m in context.messages)
        assert context.tokens <= limit
        assert counted <= context.tokens + 8  # estimates round up piece by piece

    in_array = [said.id for message in context.messages for said in message.said]
    talk = [entry for entry in ledger.entries if entry.section in ("window", "message")]
    assert in_array == [entry.ids[0] for entry in talk if entry.verdict != "out"]
    assert sorted(row.id for row in (*turn.loaded.window, *turn.loaded.appended)) == sorted(
        entry.ids[0] for entry in talk
    )
    brought = [entry for entry in ledger.entries if entry.section == "recalled"]
    shown = [entry.ids for entry in brought if entry.verdict != "out"]
    assert len(shown) <= turn.policy.fragments
    assert not {(1, id_) for id_ in in_array}.intersection(shown)
    assert [entry.ids for entry in brought] == [(row.scope_id, row.id) for row in reversed(turn.loaded.recalled)]
    assert context.tokens == sum(_counted(entry, ledger.budget) for entry in ledger.entries) + _frames(ledger)
    assert ledger.prompt_digest == assemble(turn)[1].prompt_digest


def _counted(entry: LedgerEntry, budget: dict[str, int]) -> int:
    return entry.tokens if entry.verdict != "out" and entry.section in ("role", "window", "message") else 0


FRAMED = ("pinned", "profile", "recalled", "summary", "facts", "carried", "observed")


def _frames(ledger: Any) -> int:
    """What the sections take, their labels included."""
    return sum(ledger.budget.get(name, 0) for name in FRAMED)
