"""Talks of hundreds of turns: the store keeps everything, each prompt stays small, and reading decides what it holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory.policy import Policy
from memory.tokens import MESSAGE_OVERHEAD
from tests.contracts.columns import SqliteColumn
from tests.unit.remembering import Talk, remembering, rules, scope, texts

TURNS = 250
SMALL = Policy(system="Be kind.", window_tokens=3_000, output_tokens=500, tokens=1_500, candidates=60)
FACTS = ("我在上海做了五年分布式 Java", "the order's tail is 8821 and the shoes pinch", "👟 " * 30, "长" * 1_500)


def said(turn: int) -> str:
    return f"{turn}: {FACTS[turn % len(FACTS)]}"


async def test_hundreds_of_turns_fit_a_small_model(tmp_path: Path) -> None:
    """E18 to E20, E22, E30, D17, A03: whatever has been said, the prompt has the newest of it and its role, is within the
    budget, and costs a bounded read; nothing is refused, nothing is asked of the person. The role is never part of the window
    (B06); two rows a turn keep every word, whatever the prompts left out (C04, C12, C14, E04)."""
    column = SqliteColumn(tmp_path)
    async with remembering(column) as talk:
        for turn in range(TURNS):
            prepared = await talk.ask(said(turn), policy=SMALL)
            context, tokenizer = prepared.context, prepared.inputs.tokenizer
            counted = sum(tokenizer.count(message.text) + MESSAGE_OVERHEAD for message in context.messages)

            assert context.system.startswith("Be kind.")
            assert tokenizer.count(context.system) + counted <= SMALL.window_tokens - SMALL.output_tokens
            assert texts(prepared)[-1].startswith(f"{turn}: ")
            assert len(rules(prepared)) <= SMALL.candidates + 1
            assert sum(len(message.said) for message in context.messages) <= 20, "B05"
            await talk.answer(prepared, f"answer {turn} 好")

    rows = await column.sql("SELECT role, text FROM messages ORDER BY id")
    expected = [
        (role, text) for n in range(TURNS) for role, text in (("user", said(n)), ("assistant", f"answer {n} 好"))
    ]
    assert expected == rows


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with remembering(SqliteColumn(tmp_path)) as opened:
        for turn in range(1, 21):
            await opened.say(f"question {turn}", f"answer {turn}")
        yield opened


async def test_another_window_needs_no_other_rows(talk: Talk) -> None:
    """C13: the window is a way of reading; made larger it shows what it did not show before."""
    small = await talk.ask("and now?", policy=Policy(turns=2))
    large = await talk.ask("and now?", policy=Policy(turns=11, messages=40))

    assert "question 20" == texts(small)[0]
    assert "question 12" == texts(large)[0]


async def test_what_is_said_is_stored_before_anybody_answers(talk: Talk) -> None:
    """E07: the person's message is a row before the agent is asked, the reply one after."""
    prepared = await talk.ask("last words", policy=Policy())
    before = await talk.memory.load(scope(), person_id=None, policy=Policy(), agent_change="fresh")
    await talk.answer(prepared, "heard")
    after = await talk.memory.load(scope(), person_id=None, policy=Policy(), agent_change="fresh")

    assert ["answer 20", "last words"] == [row.text for row in before.window[-2:]]
    assert ["last words", "heard"] == [row.text for row in after.window[-2:]]
