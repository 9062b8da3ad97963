"""Trimming: which stored messages stand in the window, in which order they go, and by which rule."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.base import Message
from memory.tokens import MESSAGE_OVERHEAD
from memory.window import (
    CURRENT_TURN,
    DELETED,
    KEPT_TURNS,
    LEADING_ASSISTANT,
    LOW_VALUE,
    MESSAGE_CAP,
    OUT,
    TOKEN_BUDGET,
    TURN_LIMIT,
    WINDOW,
    Limits,
    Trimmed,
    stored_cost,
    trim,
)
from tests.unit.talk import asked, row, talk


def limits(**fields: int) -> Limits:
    """Return the defaults of DESIGN 10; `fields` replace."""
    return Limits(**({"turns": 8, "keep_turns": 2, "messages": 20, "tokens": 6000, "hard": 28_000} | fields))


def shown(rows: list[Message], trimmed: Trimmed) -> list[str]:
    return [row.text for row, rule in zip(rows, trimmed.rules, strict=True) if rule not in OUT]


def rules(rows: list[Message], **fields: int) -> list[str]:
    return trim(rows, limits(**fields)).rules


class TestTurns:
    """The window is the newest N turns, the current one included (A32, A35, A36)."""

    def test_ten_turns_and_a_window_of_eight(self) -> None:
        """A36: turns 1 and 2 are absent, turn 3 comes first, turn 10's question is last."""
        rows = [*talk(9), asked(10)]
        trimmed = trim(rows, limits())

        assert "question 3" == shown(rows, trimmed)[0]
        assert "question 10" == shown(rows, trimmed)[-1]
        assert 15 == len(shown(rows, trimmed))
        assert [TURN_LIMIT] * 4 + [WINDOW] * 12 + [KEPT_TURNS] * 2 + [CURRENT_TURN] == trimmed.rules

    def test_the_first_message_of_all(self) -> None:
        """A scope without history is a window of one."""
        assert [CURRENT_TURN] == rules([asked(1)])

    def test_several_messages_of_one_turn_are_one_turn(self) -> None:
        """What was collected and answered together counts once and goes together (langchain-ai/langmem#126)."""
        rows = [row(1, "user", "a", 1), row(2, "user", "b", 1), row(3, "assistant", "c", 1), asked(2)]

        assert [TURN_LIMIT] * 3 + [CURRENT_TURN] == rules(rows, turns=1)
        assert [KEPT_TURNS] * 3 + [CURRENT_TURN] == rules(rows, turns=2)

    @pytest.mark.parametrize("turns", range(1, 8))
    def test_the_window_begins_with_a_users_message(self, turns: int) -> None:
        """A35; langchain4j/langchain4j#1326, langchain-ai/langgraph#6302: whatever the numbers, odd ones too."""
        rows = [row(1, "assistant", "welcome", 0), *talk(6), asked(7)]
        trimmed = trim(rows, limits(turns=turns, messages=turns + 1))

        assert "user" == rows[trimmed.first].role
        assert rows[trimmed.first].text == shown(rows, trimmed)[0]

    def test_a_reply_without_its_question_does_not_lead(self) -> None:
        """A35: rather lose a reply than send an array that begins with one."""
        rows = [row(1, "assistant", "welcome", 0), row(2, "assistant", "still here", 1), asked(2)]

        assert [LEADING_ASSISTANT, LEADING_ASSISTANT, CURRENT_TURN] == rules(rows)

    def test_a_reply_before_the_question_of_its_own_turn_does_not_lead(self) -> None:
        """A turn that begins with the assistant loses that beginning where it comes first; its tokens too."""
        rows = [row(1, "assistant", "hi", 1, tokens=50), row(2, "user", "q", 1, tokens=5), asked(2, tokens=5)]
        trimmed = trim(rows, limits())

        assert [LEADING_ASSISTANT, KEPT_TURNS, CURRENT_TURN] == trimmed.rules
        assert 10 + 2 * MESSAGE_OVERHEAD == trimmed.tokens


class TestFilter:
    """Stage 1: fillers and deleted messages (A34, C05, C06, C11)."""

    def test_a_filler_goes_and_its_turn_does_not_count(self) -> None:
        """ "ok" takes no turn's place: one more turn of substance stands in the window."""
        rows = [*talk(3), row(8, "user", "ok", 4, low_value=True), row(9, "assistant", "anything else", 4), asked(5)]

        assert [WINDOW] * 4 + [KEPT_TURNS] * 2 + [LOW_VALUE, KEPT_TURNS, CURRENT_TURN] == rules(rows, turns=4)

    def test_the_reply_to_a_filler_rides_with_the_turn_before(self) -> None:
        """It stays as long as that turn does, and goes with it."""
        rows = [*talk(3), row(8, "user", "ok", 4, low_value=True), row(9, "assistant", "ships today", 4), asked(5)]

        assert ["question 3", "answer 3", "ships today", "question 5"] == shown(rows, trim(rows, limits(turns=2)))
        assert ["question 5"] == shown(rows, trim(rows, limits(turns=1)))

    def test_the_message_to_answer_is_never_filtered(self) -> None:
        """Whoever says "thanks" now is answered now."""
        assert [CURRENT_TURN] == rules([asked(1, "thanks", low_value=True)])

    def test_a_filler_beside_a_question_is_dropped_alone(self) -> None:
        """Only the filler of a turn goes, not the turn."""
        rows = [
            row(1, "user", "ok", 1, low_value=True),
            row(2, "user", "and size 42", 1),
            row(3, "assistant", "a", 1),
            asked(2),
        ]

        assert [LOW_VALUE, KEPT_TURNS, KEPT_TURNS, CURRENT_TURN] == rules(rows)

    def test_only_fillers_and_their_replies(self) -> None:
        """A session of small talk leaves the question alone in the window."""
        rows = [row(1, "user", "hi", 1, low_value=True), row(2, "assistant", "hello", 1), asked(2)]

        assert [LOW_VALUE, LEADING_ASSISTANT, CURRENT_TURN] == rules(rows)

    def test_a_deleted_question_takes_its_reply_along(self) -> None:
        """What was deleted leaves no text, not in the reply to it either; the turns around stay."""
        rows = [*talk(2), asked(3)]
        rows[2] = row(4, "user", "", 2, deleted_ms=1)
        trimmed = trim(rows, limits())

        assert [KEPT_TURNS, KEPT_TURNS, DELETED, DELETED, CURRENT_TURN] == trimmed.rules
        assert sum(stored_cost(rows[i]) for i in (0, 1, 4)) == trimmed.tokens

    def test_a_turn_with_one_deleted_message_of_two_stays(self) -> None:
        """The reply also answered what was not deleted."""
        rows = [row(1, "user", "", 1, deleted_ms=1), row(2, "user", "b", 1), row(3, "assistant", "c", 1), asked(2)]

        assert [DELETED, KEPT_TURNS, KEPT_TURNS, CURRENT_TURN] == rules(rows)

    def test_a_deleted_reply_goes_alone(self) -> None:
        """The question keeps its place."""
        rows = [row(1, "user", "a", 1), row(2, "assistant", "", 1, deleted_ms=1), asked(2)]

        assert [KEPT_TURNS, DELETED, CURRENT_TURN] == rules(rows)


class TestBudget:
    """Stage 2: whole turns go, oldest first (B07, B08, C07, C08, E19, E20)."""

    def test_the_oldest_turns_go_first_and_whole(self) -> None:
        """langchain-ai/langmem#126, spring-projects/spring-ai#5940: never half a turn."""
        rows = [*talk(6, tokens=96), asked(7, tokens=96)]

        assert [TOKEN_BUDGET] * 8 + [KEPT_TURNS] * 4 + [CURRENT_TURN] == rules(rows, tokens=650, keep_turns=3)
        assert [TOKEN_BUDGET] * 6 + [WINDOW] * 4 + [KEPT_TURNS] * 2 + [CURRENT_TURN] == rules(rows, tokens=799)
        assert [TOKEN_BUDGET] * 4 + [WINDOW] * 6 + [KEPT_TURNS] * 2 + [CURRENT_TURN] == rules(rows, tokens=900)

    def test_a_large_turn_in_between_ends_the_window(self) -> None:
        """No gap: what is older than the turn that does not fit goes too."""
        rows = [*talk(5, tokens=10), asked(6, tokens=10)]
        rows[4] = row(6, "user", "paste", 3, tokens=5000)

        assert [TOKEN_BUDGET] * 6 + [WINDOW] * 2 + [KEPT_TURNS] * 2 + [CURRENT_TURN] == rules(rows, tokens=1000)

    def test_the_newest_turns_stay_though_they_are_over_budget(self) -> None:
        """C08: the last K turns are kept while the model can take them."""
        rows = [*talk(3, tokens=4000), asked(4, tokens=4000)]

        assert [TOKEN_BUDGET] * 4 + [KEPT_TURNS] * 2 + [CURRENT_TURN] == rules(rows)

    def test_the_cost_that_is_handed_in_counts(self) -> None:
        """A prompt's own counting (names, marks, another tokenizer) replaces the stored one."""
        rows = [*talk(4), asked(5)]
        trimmed = trim(rows, limits(tokens=500), cost=lambda row: 100)

        assert [TOKEN_BUDGET] * 4 + [WINDOW] * 2 + [KEPT_TURNS] * 2 + [CURRENT_TURN] == trimmed.rules
        assert 500 == trimmed.tokens


class TestCap:
    """Stage 3: the message cap, a net below the estimate (C09, C10)."""

    def test_the_cap_drops_whole_turns(self) -> None:
        """Twenty messages at most, and never half a turn for it."""
        rows = [*talk(30), asked(31)]

        assert 19 == len(shown(rows, trim(rows, limits(turns=100))))
        assert MESSAGE_CAP == rules(rows, turns=100)[0]

    def test_the_budget_comes_before_the_cap(self) -> None:
        """Where the budget already closed the window, the cap has nothing to say."""
        assert TOKEN_BUDGET == rules([*talk(30, tokens=500), asked(31)], turns=100)[0]

    def test_kept_turns_obey_the_cap(self) -> None:
        """A small cap is small, whatever K is; the message to answer is above it."""
        rows = [*talk(3), asked(4), row(9, "user", "more", 4), row(10, "user", "and more", 4)]

        assert [MESSAGE_CAP] * 6 + [CURRENT_TURN] * 3 == rules(rows, messages=2)


class TestCuttingInside:
    """What may not be dropped and does not fit is cut inside (langchain4j/langchain4j#3133, #2617, langchain-ai/langmem#77)."""

    def test_an_oversized_message_to_answer_is_cut(self) -> None:
        """The newest user message is present whatever happens."""
        trimmed = trim([asked(1, tokens=50_000)], limits(hard=1000))

        assert [CURRENT_TURN] == trimmed.rules
        assert {0: 1000} == trimmed.cuts
        assert 1000 == trimmed.tokens

    def test_a_large_turn_is_cut_inside_and_its_small_messages_are_not(self) -> None:
        """All messages larger than a common level are cut to it; the others are whole."""
        rows = [row(1, "user", "a", 1, tokens=996), row(2, "assistant", "b", 1, tokens=16), asked(2, tokens=96)]
        trimmed = trim(rows, limits(hard=500))

        assert {0: 380} == trimmed.cuts
        assert 500 == trimmed.tokens

    def test_older_turns_give_way_before_the_message_to_answer(self) -> None:
        """With room for the question alone, the kept turn goes whole rather than to shreds."""
        rows = [*talk(1, tokens=900), asked(2, tokens=896)]
        trimmed = trim(rows, limits(hard=1000))

        assert [TOKEN_BUDGET, TOKEN_BUDGET, CURRENT_TURN] == trimmed.rules
        assert {} == trimmed.cuts
        assert 2 == trimmed.first

    def test_a_reply_that_rode_with_a_dropped_turn_goes_with_it(self) -> None:
        """The array still begins with a user's message."""
        rows = [
            *talk(1, tokens=900),
            row(4, "user", "ok", 2, low_value=True),
            row(5, "assistant", "x", 2, tokens=5),
            asked(3, tokens=896),
        ]
        trimmed = trim(rows, limits(hard=1000))

        assert [TOKEN_BUDGET, TOKEN_BUDGET, LOW_VALUE, TOKEN_BUDGET, CURRENT_TURN] == trimmed.rules

    def test_many_messages_to_answer_share_what_there_is(self) -> None:
        """Collected messages are cut to one level; where that says nothing, the oldest of them go, never the newest."""
        rows = [row(i, "user", f"m{i}", 1, tokens=500) for i in range(1, 11)]
        trimmed = trim(rows, limits(hard=200))

        assert [TOKEN_BUDGET] * 7 + [CURRENT_TURN] * 3 == trimmed.rules
        assert {7: 66, 8: 66, 9: 66} == trimmed.cuts

    def test_nothing_older_stays_where_the_current_turn_had_no_room(self) -> None:
        """Dropping a message to answer and keeping an older turn, however small, would turn the talk around."""
        rows = [row(0, "user", "m0", 0, tokens=0), *(row(i, "user", f"m{i}", 1, tokens=200) for i in range(1, 4))]
        trimmed = trim(rows, limits(hard=100))

        assert [TOKEN_BUDGET, TOKEN_BUDGET, TOKEN_BUDGET, CURRENT_TURN] == trimmed.rules


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Any rows: turns of any shape, fillers, deletions, replies without questions; the last row is a user's."""
    rows: list[Message] = []
    turn = 0
    for id_ in range(draw(st.integers(0, 25))):
        turn += draw(st.integers(0, 1))
        rows.append(_any_row(draw, id_, turn, role=draw(st.sampled_from(["user", "assistant"]))))
    turn += 1
    return rows + [_any_row(draw, 100 + id_, turn, role="user") for id_ in range(draw(st.integers(1, 3)))]


def _any_row(draw: st.DrawFn, id_: int, turn: int, *, role: str) -> Message:
    fields: dict[str, Any] = {"tokens": draw(st.integers(0, 300))}
    if draw(st.integers(0, 5)) == 0:
        fields["low_value"] = role == "user"
    if draw(st.integers(0, 5)) == 0:
        fields["deleted_ms"] = 1
    return row(id_, role, f"m{id_}", turn, **fields)


@settings(max_examples=150)
@given(
    histories(),
    st.builds(
        limits,
        turns=st.integers(1, 9),
        keep_turns=st.integers(1, 9),
        messages=st.integers(2, 20),
        tokens=st.integers(50, 2000),
        hard=st.integers(64, 3000),
    ),
)
def test_any_history_gives_a_valid_window(rows: list[Message], limits: Limits) -> None:
    """Over arbitrary candidates and limits: within what fits, begins with a user's message, ends with the newest, one stretch
    of whole turns, nothing dropped in the current turn but for want of room, every row with a rule."""
    trimmed = trim(rows, limits)
    kept = [i for i, rule in enumerate(trimmed.rules) if rule not in OUT]
    current = rows[-1].turn_id
    costs = {i: trimmed.cuts.get(i, stored_cost(rows[i])) for i in kept}

    assert len(rows) == len(trimmed.rules)
    assert sum(costs.values()) == trimmed.tokens <= limits.hard
    assert trimmed.first == kept[0]
    assert "user" == rows[kept[0]].role
    assert len(rows) - 1 == kept[-1]
    assert all(rows[i].deleted_ms is None and not rows[i].low_value for i in kept if rows[i].turn_id != current)
    assert all(trimmed.rules[i] in {LOW_VALUE, DELETED} for i in range(kept[0], len(rows)) if i not in kept)
    heard = {rows[i].turn_id for i in kept if rows[i].role == "user"}
    assert len(heard) <= limits.turns
    if len(heard) > limits.keep_turns:
        assert trimmed.tokens <= max(limits.tokens, sum(costs[i] for i in kept if trimmed.rules[i] != WINDOW))
    if len(heard) > 1:
        assert len(kept) <= limits.messages or not [i for i in kept if rows[i].turn_id != current]
