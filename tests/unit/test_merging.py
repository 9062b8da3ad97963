"""From what was believed to what changes: who wins, what ends, what is nothing new (B13, B45, F13)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.base import Fact, Ledger, Message, ProfileItem
from memory.candidates import Candidate
from memory.derived import Material
from memory.merging import Merged, Rules, merge, same_value
from memory.slots import SLOTS

ANN, NOW, SCOPE, TTL = 7, 1_790_000_000_000, 5, 1000
OWN = 100
"""The first message of the turn; the ids below are of earlier ones."""


def said(id_: int = OWN, text: str = "…", **fields: Any) -> Message:
    of = {"turn_id": 1, "event_id": id_, "role": "user", "user": "ann", "channel": "web", "conversation": "r"}
    place = {"chat_type": "private", "agent": "default", "speaker_name": "Ann", "person_id": ANN, "created_ms": NOW}
    return Message(id=id_, scope_id=SCOPE, session_id="s-1", text=text, **(of | place | fields))


def fact(slot: str, value: str, id_: int, *, sources: tuple[int, ...] = (1,)) -> Fact:
    return Fact(
        id=id_, scope_id=SCOPE, session_id="s-1", person_id=ANN, speaker_name="Ann", slot=slot, value=value,
        source_ids=sources, status="active", created_ms=NOW, expires_ms=NOW + TTL,
    )  # fmt: skip


def item(
    slot: str,
    value: str,
    id_: int,
    *,
    sources: tuple[int, ...] = (1,),
    scope_id: int = SCOPE,
    chat_type: str = "private",
) -> ProfileItem:
    return ProfileItem(
        id=id_, person_id=ANN, namespace="shared", kind=SLOTS[slot].kind, slot=slot, text=f"…{value}", pinned=False,
        chat_type=chat_type, source_ids=sources, status="active", valid_from_ms=NOW, valid_to_ms=None,
        scope_id=scope_id, value=value,
    )  # fmt: skip


def sets(slot: str, value: str, source_id: int = OWN) -> Candidate:
    return Candidate(op="set", slot=slot, value=value, source_id=source_id, by="rules")


def retracts(slot: str, value: str = "", source_id: int = OWN) -> Candidate:
    return Candidate(op="retract", slot=slot, value=value, source_id=source_id, by="model")


def merged(
    *believed: Candidate,
    facts: tuple[Fact, ...] = (),
    items: tuple[ProfileItem, ...] = (),
    messages: tuple[Message, ...] = (said(), said(OWN + 1)),
    before: Message | None = None,
    language: str = "en",
) -> Merged:
    material = Material(person_id=ANN, messages=messages, before=before, facts=facts, items=items)
    ledger = Ledger(
        turn_id=1, scope_id=SCOPE, session_id="s-1", person_id=ANN, agent="default", revision="r", now_ms=NOW,
        tokenizer="", budget={}, entries=(), failed=(), notes=(), prompt_digest="", usage={},
    )  # fmt: skip
    return merge(believed, material, ledger, Rules(namespace="shared", facts_ttl_ms=TTL, language=language))


def rules(result: Merged) -> list[str]:
    return [rule for _, rule in result.kept]


def facts(result: Merged) -> list[str]:
    return [f"{row.slot}={row.value}" for row in result.facts]


def items(result: Merged) -> list[str]:
    return [row.text for row in result.items]


def test_a_fact_of_the_session_is_no_profile_item() -> None:
    """C27: the step of the task at hand is the session's."""
    result = merged(sets("order", "8821"))

    assert (["order=8821"], [], ["fact_order"]) == (facts(result), items(result), rules(result))
    (row,) = result.facts
    assert (ANN, "Ann", (OWN,), NOW, NOW + TTL) == (
        row.person_id, row.speaker_name, row.source_ids, row.created_ms, row.expires_ms,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("slot", "value", "language", "text", "pinned"),
    [
        ("like", "dark colours", "en", "likes dark colours", False),
        ("like", "深色", "zh", "喜欢深色", False),
        ("allergy", "青霉素", "zh", "对青霉素过敏", True),
        ("allergy", "penicillin", "en", "allergic to penicillin", True),
    ],
)
def test_what_lasts_becomes_an_item_with_its_source(
    slot: str, value: str, language: str, text: str, *, pinned: bool
) -> None:
    """B25, D16: category, time, place and source message on each; hard constraints are pinned."""
    (row,) = merged(sets(slot, value), language=language).items

    assert (text, value, pinned, SLOTS[slot].kind) == (row.text, row.value, row.pinned, row.kind)
    assert ((OWN,), SCOPE, "private", NOW, None) == (
        row.source_ids, row.scope_id, row.chat_type, row.valid_from_ms, row.valid_to_ms,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text", "asked", "language", "expected"),
    [
        ("42", "我平时穿42码", "", "en", "鞋码 42"),
        ("42", "I wear size 42", "", "zh", "shoe size 42"),
        ("42", "我的 size 是 42", "", "en", "鞋码 42"),
        ("42", "42", "请问您穿多大的鞋码？", "en", "鞋码 42"),
        ("42", "42", "What shoe size do you wear?", "zh", "shoe size 42"),
        ("42", "42", "", "zh", "鞋码 42"),
        ("42", "42 👟", "👟?", "en", "shoe size 42"),
    ],
)
def test_an_item_is_worded_in_the_language_it_was_said_in(
    value: str, text: str, asked: str, language: str, expected: str
) -> None:
    """Not in that of the labels around it, which is the platform's word or the setting's; a bare answer in its question's."""
    question = said(OWN - 1, text=asked, role="assistant") if asked else None
    result = merged(sets("shoe_size", value), messages=(said(text=text),), before=question, language=language)

    assert [expected] == items(result)


def test_a_new_value_ends_the_old_one_of_its_slot_only() -> None:
    """B45, mem0ai/mem0#5867, getzep/graphiti#1728: nothing but the same slot's value ends."""
    known = (item("shoe_size", "41", 21), item("clothes_size", "41", 22), item("like", "tea", 23))

    result = merged(sets("shoe_size", "42"), facts=(fact("shoe_size", "41", 11), fact("order", "41", 12)), items=known)

    assert ((11,), (21,)) == (result.superseded_facts, result.superseded_items)
    assert (["shoe_size=42"], ["shoe size 42"]) == (facts(result), items(result))


def test_values_of_a_slot_with_many_stand_side_by_side() -> None:
    """mem0ai/mem0#5867, F6: likes accumulate."""
    result = merged(sets("like", "茶"), items=(item("like", "咖啡", 21),))

    assert ((), ["likes 茶"]) == (result.superseded_items, items(result))


@pytest.mark.parametrize("again", ["8821", " 8821 ", "８８２１"])
def test_the_same_again_is_nothing_new(again: str) -> None:
    """mem0ai/mem0#1674, getzep/graphiti#963: told twice, known once, and nothing ends for it."""
    result = merged(sets("order", again), facts=(fact("order", "8821", 11),))

    assert (["known_already"], [], ()) == (rules(result), facts(result), result.superseded_facts)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Dark Colours", "dark-colours"), ("peanut", "peanuts"), ("ＴＥＡ", "tea"), ("1,000", "1000"), ("c++", "C++")],
)
def test_near_duplicates_are_found_by_code(one: str, other: str) -> None:
    """Case, width, punctuation and an English plural make no second item (redis/agent-memory-server#110)."""
    assert ["known_already"] == rules(
        merged(sets("like", one), facts=(fact("like", other, 1),), items=(item("like", other, 2),))
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("4.5", "45"),
        ("8-10", "810"),
        ("1/2", "12"),
        ("1:30", "130"),
        ("C", "C++"),
        ("C", "C#"),
        ("5", "-5"),
        ("米", "玉米"),
        ("Adam", "Adams"),
        ("कि", "का"),
    ],
)
def test_what_differs_by_a_sign_that_counts_is_no_duplicate(one: str, other: str) -> None:
    """B45: a correction from 45 to 4.5 must arrive; nothing is lost as a near text (Smart-AI-Memory/attune-ai PR#666)."""
    assert not same_value(one, other)
    assert [f"shoe_size={one}"] == facts(merged(sets("shoe_size", one), facts=(fact("shoe_size", other, 1),)))


@given(st.text(max_size=30), st.text(max_size=30))
def test_sameness_is_symmetric_and_each_value_is_itself(one: str, other: str) -> None:
    assert same_value(one, one)
    assert same_value(one, other) == same_value(other, one)


@pytest.mark.parametrize(("before", "now"), [("like", "dislike"), ("dislike", "like")])
def test_b47_who_changes_his_mind_is_not_known_by_both(before: str, now: str) -> None:
    """B47, mem0ai/mem0#5867: the latest wins; only the same thing's opposite ends."""
    known = (item(before, "Coffee", 21), item(before, "tea", 22))

    result = merged(sets(now, "coffee"), facts=(fact(before, "coffee", 11),), items=known)

    assert ((11,), (21,)) == (result.superseded_facts, result.superseded_items)
    assert ["coffee"] == [row.value for row in result.items]


def test_a_constraint_does_not_end_by_its_opposite() -> None:
    """D16: that is asked back, and taken back in words."""
    result = merged(sets("eats", "pork"), items=(item("diet", "pork", 21),))

    assert ((), ["eats pork"]) == (result.superseded_items, items(result))


def test_said_to_a_group_too_it_may_be_shown_there() -> None:
    """What was known from private talk alone becomes the group's to see once it is said there, and stands once."""
    group = (said(chat_type="group"),)

    result = merged(sets("like", "tea"), items=(item("like", "tea", 21),), messages=group)
    again = merged(sets("like", "tea"), items=(item("like", "tea", 21, chat_type="group"),), messages=group)
    private = merged(sets("like", "tea"), items=(item("like", "tea", 21, chat_type="group"),))

    assert ((21,), ["group"]) == (result.superseded_items, [row.chat_type for row in result.items])
    assert ([], []) == (items(again), items(private))


def test_a_constraint_told_to_a_group_does_not_hang_on_that_message_alone() -> None:
    """D16: deleting what was said in the group must not take along what was said in private."""
    result = merged(sets("allergy", "nuts"), items=(item("allergy", "nuts", 21),), messages=(said(chat_type="group"),))

    assert ((), ["allergic to nuts"]) == (result.superseded_items, items(result))


def test_of_one_turn_the_last_word_counts() -> None:
    """Two messages answered together: the second one corrects the first."""
    result = merged(sets("order", "8821"), sets("order", "8812", OWN + 1))

    assert ["order=8812"] == facts(result)
    assert ((), ()) == (result.superseded_facts, result.retracted_facts)


def test_a_retraction_takes_back_facts_and_items() -> None:
    known_facts, known_items = (fact("like", "white", 11),), (item("like", "white", 21), item("like", "tea", 22))

    result = merged(retracts("like", "white"), facts=known_facts, items=known_items)

    assert ((11,), (21,), ["retracted_like"]) == (result.retracted_facts, result.retracted_items, rules(result))


def test_a_retraction_leaves_equal_values_of_other_slots() -> None:
    known_facts = (fact("like", "white", 11), fact("product", "white", 12))

    result = merged(retracts("like", "white"), facts=known_facts, items=(item("dislike", "white", 21),))

    assert ((11,), ()) == (result.retracted_facts, result.retracted_items)


def test_a_retraction_without_a_value_takes_back_all_of_the_slot() -> None:
    result = merged(retracts("like"), items=(item("like", "white", 21), item("like", "tea", 22)))

    assert (21, 22) == result.retracted_items


@pytest.mark.parametrize(
    ("named", "ends"),
    [
        ("Paris", False),
        ("Porto", True),
        ("porto", True),
        ("my city", True),
        ("the town", True),
        ("city", True),
        ("", True),
    ],
)
def test_a_single_value_is_taken_back_by_itself_or_by_its_slot_never_by_another(named: str, *, ends: bool) -> None:
    """F13: "I don't live in Paris any more" leaves Porto alone, which was said since."""
    result = merged(retracts("city", named), items=(item("city", "Porto", 21),))

    assert ((21,) if ends else ()) == result.retracted_items


@pytest.mark.parametrize(
    ("form", "wish", "ends"),
    [
        ("王总", "别叫我王总了", True),
        ("Bob", "Don't call me Bob", True),
        ("王哥", "别叫我老王", False),
        ("Bob", "reply in English", False),
        ("Bobby", "don't call me Bob", False),
    ],
)
def test_how_somebody_is_called_and_how_he_is_not_never_stand_together(form: str, wish: str, *, ends: bool) -> None:
    """B47, D16: both would be told in every prompt; the latest word counts, whichever it is."""
    now_called = merged(sets("address_as", form), items=(item("wish", wish, 21),))
    now_not = merged(sets("wish", wish), items=(item("address_as", form, 22),))

    assert ((21,) if ends else (), (22,) if ends else ()) == (now_called.superseded_items, now_not.superseded_items)


def test_nothing_known_is_nothing_to_retract() -> None:
    assert ["nothing_to_retract"] == rules(merged(retracts("like", "white"), items=(item("like", "tea", 22),)))


@pytest.mark.parametrize(
    ("said_of", "known"), [("nuts", "peanuts"), ("rice", "licorice"), ("米", "玉米"), ("milk", "goat milk")]
)
def test_a_constraint_ends_only_by_its_own_name(said_of: str, known: str) -> None:
    """D14, D16: no longer allergic to rice says nothing about licorice."""
    assert ["nothing_to_retract"] == rules(merged(retracts("allergy", said_of), items=(item("allergy", known, 21),)))


@pytest.mark.parametrize(
    ("said_of", "known"), [("Penicillin", "penicillin"), ("peanut", "peanuts"), ("青霉素", "青霉素")]
)
def test_a_constraint_ends_by_its_name_however_it_is_written(said_of: str, known: str) -> None:
    assert (21,) == merged(retracts("allergy", said_of), items=(item("allergy", known, 21),)).retracted_items


def test_a_like_ends_by_a_whole_word_of_it_not_by_part_of_one() -> None:
    known = (item("like", "green tea", 21), item("like", "steak", 22), item("like", "辣的", 23))
    exactly = (*known, item("like", "tea", 24))

    assert (24,) == merged(retracts("like", "tea"), items=exactly).retracted_items
    assert (21,) == merged(retracts("like", "tea"), items=known).retracted_items
    assert (23,) == merged(retracts("like", "辣"), items=known).retracted_items


def test_a_correction_in_two_steps_leaves_the_new_value_in_either_order() -> None:
    """B45: small models like to name the old value as a retraction beside the new one; 8812 must outlive that."""
    old = (fact("order", "8821", 11),)

    first = merged(retracts("order", "8821"), sets("order", "8812"), facts=old)
    last = merged(sets("order", "8812"), retracts("order", "8821"), facts=old)
    again = merged(sets("order", "8812"), retracts("order", "8821"), facts=(fact("order", "8812", 12),))

    assert ["order=8812"] == facts(first) == facts(last)
    assert ((11,), (11,)) == (first.retracted_facts, last.superseded_facts)
    assert ((), ["known_already", "nothing_to_retract"]) == (again.retracted_facts, rules(again))


def test_what_was_said_a_message_earlier_can_be_taken_back() -> None:
    result = merged(sets("order", "8821"), retracts("order", "the order number", OWN + 1))

    assert ([], ["fact_order", "retracted_order"]) == (facts(result), rules(result))


def test_what_an_earlier_run_made_of_the_turn_counts_as_unknown() -> None:
    """It is replaced when this run is stored, so it must come again (getzep/graphiti#963)."""
    earlier = fact("order", "8821", 11, sources=(OWN,)), item("like", "tea", 21, sources=(OWN,))

    result = merged(sets("order", "8821"), sets("like", "tea"), facts=earlier[:1], items=earlier[1:])

    assert (["order=8821", "like=tea"], ["likes tea"]) == (facts(result), items(result))


def test_equal_ids_in_another_scope_are_other_messages() -> None:
    elsewhere = item("like", "tea", 21, sources=(OWN,), scope_id=SCOPE + 1)

    result = merged(sets("like", "tea"), items=(elsewhere,))

    assert ([], ["known_already"]) == (items(result), rules(result))


def test_a_slot_nobody_foresaw_holds_one_value_for_the_session() -> None:
    result = merged(sets("flight_number", "MU5101"), facts=(fact("flight_number", "MU5102", 11),))

    assert (["flight_number=MU5101"], [], (11,)) == (facts(result), items(result), result.superseded_facts)


def test_a_name_that_is_none_changes_nothing() -> None:
    assert Merged(
        facts=(), items=(), superseded_facts=(), retracted_facts=(), superseded_items=(), retracted_items=(), kept=()
    ) == merged(sets("Not A Slot", "x"))


class TestService:
    """What a session was about stays known as one service event (B21, B60)."""

    def test_it_grows_with_the_session(self) -> None:
        first = merged(sets("request", "refund"))
        known = (item("service", "refund", 21, sources=(1,)),)
        second = merged(sets("order", "8821"), facts=(fact("request", "refund", 11),), items=known)

        assert ["service history: refund"] == items(first)
        assert (["service history: refund (8821)"], (21,)) == (items(second), second.superseded_items)
        assert (1, OWN) == second.items[0].source_ids

    def test_no_request_makes_none(self) -> None:
        assert [] == items(merged(sets("order", "8821"), sets("product", "跑鞋")))

    def test_said_again_after_it_was_forgotten_it_is_kept_again(self) -> None:
        """The facts come from earlier messages only; the event cites the message that says it now."""
        result = merged(sets("request", "refund"), facts=(fact("request", "refund", 11),))

        assert ["service history: refund"] == items(result)
        assert (1, OWN) == result.items[0].source_ids

    def test_talk_of_something_else_brings_back_no_event_that_was_forgotten(self) -> None:
        assert ["likes tea"] == items(merged(sets("like", "tea"), facts=(fact("request", "refund", 11),)))

    def test_said_again_it_is_nothing_new(self) -> None:
        known = (item("service", "refund (8821)", 21),)

        result = merged(
            sets("order", "8821"), facts=(fact("request", "refund", 11), fact("order", "8821", 12)), items=known
        )

        assert ([], ()) == (items(result), result.superseded_items)

    def test_a_taken_back_order_leaves_it(self) -> None:
        known = (item("service", "refund (8821)", 21),)
        held = (fact("request", "refund", 11), fact("order", "8821", 12))

        result = merged(retracts("order", "8821"), facts=held, items=known)

        assert (["service history: refund"], (21,), (12,)) == (
            items(result),
            result.retracted_items,
            result.retracted_facts,
        )

    def test_a_taken_back_request_takes_it_along(self) -> None:
        result = merged(
            retracts("request"), facts=(fact("request", "refund", 11),), items=(item("service", "refund", 21),)
        )

        assert ([], (21,)) == (items(result), result.retracted_items)

    def test_another_sessions_event_stays(self) -> None:
        """B21: three returns are three events."""
        earlier = (
            item("service", "refund (8700)", 21, sources=(9,), scope_id=SCOPE),
            item("service", "x", 22, scope_id=3),
        )

        result = merged(sets("request", "refund"), sets("order", "8821"), items=earlier)

        assert (["service history: refund (8821)"], ()) == (items(result), result.superseded_items)


SLOT_NAMES = st.sampled_from([*SLOTS, "flight_number"])
VALUES = st.sampled_from(["8821", "8812", "tea", "茶", "Tea ", "4.5", "45", "🙂 x"])
OPS: st.SearchStrategy[Literal["set", "retract"]] = st.sampled_from(["set", "retract"])
CANDIDATES = st.builds(
    Candidate, op=OPS, slot=SLOT_NAMES, value=VALUES, source_id=st.sampled_from([OWN, OWN + 1]), by=st.just("model")
)


@given(st.lists(CANDIDATES, max_size=8), st.lists(st.tuples(SLOT_NAMES, VALUES), max_size=5))
def test_whatever_comes_no_slot_holds_two_values_and_nothing_ends_twice(
    believed: list[Candidate], known: list[tuple[str, str]]
) -> None:
    """A single slot never gets two live values; each row ends once; every candidate has its rule; twice gives the same."""
    believed.sort(key=lambda one: one.source_id)
    held = dict(known)
    facts_before = tuple(fact(slot, value, n) for n, (slot, value) in enumerate(held.items(), 1))
    items_before = tuple(
        item(slot, value, n) for n, (slot, value) in enumerate(held.items(), 1) if slot in SLOTS and slot != "service"
    )

    result = merged(*believed, facts=facts_before, items=items_before)

    ended_facts = (*result.superseded_facts, *result.retracted_facts)
    ended_items = (*result.superseded_items, *result.retracted_items)
    assert len(set(ended_facts)) == len(ended_facts)
    assert len(set(ended_items)) == len(ended_items)
    live = [row.slot for row in facts_before if row.id not in ended_facts] + [row.slot for row in result.facts]
    lasting = [row.slot for row in items_before if row.id not in ended_items] + [row.slot for row in result.items]
    for slots in (live, lasting):
        singles = [slot for slot in slots if slot not in SLOTS or SLOTS[slot].single]
        assert len(set(singles)) == len(singles)
    assert len(believed) == len(result.kept)
    assert result == merged(*believed, facts=facts_before, items=items_before)


@pytest.mark.parametrize("slot", ["city", "shoe_size"])
def test_an_older_word_does_not_outdo_a_later_one(slot: str) -> None:
    """A turn that waited, or whose message is edited, is learned from after what was said elsewhere meanwhile: B45, B47."""
    later = {"valid_from_ms": NOW + 1}
    entered = msgspec.structs.replace(item(slot, "44", 21, sources=(), scope_id=0), **later)
    noted = msgspec.structs.replace(fact(slot, "44", 11), created_ms=NOW + 1)

    by_item = merged(sets(slot, "42"), items=(entered,))
    by_fact = merged(sets(slot, "42"), facts=(noted,))
    same = merged(sets(slot, "44"), items=(entered,))
    gone = merged(retracts(slot), items=(entered,), facts=(noted,))

    for outdone in (by_item, by_fact):
        assert (["outdated"], [], [], ()) == (rules(outdone), facts(outdone), items(outdone), outdone.superseded_items)
    assert ["known_already"] == rules(same)
    assert (["nothing_to_retract"], (), ()) == (rules(gone), gone.retracted_items, gone.retracted_facts)


def test_an_older_liking_does_not_outdo_a_later_dislike() -> None:
    """Of what has many values only the opposite can be outdone."""
    later = {"valid_from_ms": NOW + 1}
    dislike = msgspec.structs.replace(item("dislike", "white", 21), **later)
    like = msgspec.structs.replace(item("like", "tea", 22), **later)

    assert ["outdated"] == rules(merged(sets("like", "white"), items=(dislike,)))
    assert ["profile_like"] == rules(merged(sets("like", "green"), items=(dislike, like)))
