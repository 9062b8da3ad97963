"""The checker of the chaos runs finds what is wrong: each fault is planted into evidence in which all is well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.checker import RULES, allowed, check
from tests.chaos.evidence import WHOLE, Call, Chunk, Evidence, Post, Row, Said, canaries, canary, tokens

HOME, GROUP = "Ann", "town/7"
PRIVATE, SPOKEN, HERS, NEVER = canary(1), canary(2), canary(3), canary(4)


def answer(*answered: str) -> str:
    return f"re: {' '.join(f'«{one}»' for one in answered)} 好的 {WHOLE}"


def said(token: str, person: str, place: str, *words: str, **more: Any) -> Said:
    return Said(
        token=token, way="telegram", place=place, group=place == GROUP, person=person, words=frozenset(words), **more
    )


def row(
    number: int, token: str, *, turn: int | None = None, lane: str = HOME, state: str = "answered", **more: Any
) -> Row:
    return Row(id=number, seq=number, turn=turn or number, lane=lane, token=token, state=state, **more)


SAID = {
    one.token: one
    for one in (
        said("A.1", "Ann", HOME, PRIVATE),
        said("A.2", "Ann", HOME),
        said("A.3", "Ann", HOME),
        said("G.1", "Bob", GROUP, SPOKEN),
        said("G.2", "Ann", GROUP, HERS),
        said("A.4", "Ann", HOME, accepted=False),
    )
}
ROWS = (
    row(1, "A.1"),
    row(2, "A.2"),
    row(3, "A.3", turn=2),
    row(4, "G.1", lane=GROUP),
    row(5, "G.2", lane=GROUP, state="failed", why="agent_unavailable"),
)
CHUNKS = (
    Chunk(turn=1, state="sent", text=answer("A.1"), message="10", place=HOME),
    Chunk(turn=2, state="sent", text=answer("A.2", "A.3"), message="11", place=HOME),
    Chunk(turn=4, state="sent", text=answer("G.1"), message="10", place=GROUP),
    Chunk(turn=5, state="sent", text="Something went wrong.", message="11", place=GROUP),
)
POSTS = (
    Post(place=HOME, id="10", text=answer("A.1"), at=(10,)),
    Post(place=HOME, id="11", text=answer("A.2", "A.3"), at=(11,)),
    Post(place=GROUP, id="10", text=answer("G.1"), at=(10,)),
    Post(place=GROUP, id="11", text="Something went wrong.", at=(11,)),
)
CALLS = (
    Call(at_ms=100, instance=0, tokens=("A.1",), words=frozenset({PRIVATE})),
    Call(at_ms=200, instance=1, tokens=("A.2", "A.3"), words=frozenset({PRIVATE, HERS})),
    Call(at_ms=150, instance=2, tokens=("G.1",), words=frozenset({SPOKEN})),
    Call(at_ms=160, instance=2, tokens=("G.2",), words=frozenset({SPOKEN, HERS})),
)
WELL = Evidence(said=SAID, rows=ROWS, chunks=CHUNKS, posts=POSTS, calls=CALLS, stored={1: 110, 2: 210, 4: 155})


def changed(number: int, **changes: Any) -> Any:
    """The rows, chunks or posts with one of them changed."""

    def of(whole: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*whole[:number], replace(whole[number], **changes), *whole[number + 1 :])

    return of


CUT = "re: «A\n\n（已停止）"
SPILT = frozenset({PRIVATE})
LOST = replace(SAID["A.4"], accepted=True)
UNSURE = changed(0, state="unknown", message=None)(CHUNKS)

POISON = changed(4, state="dead", why="poison", attempts=8)(ROWS)
NOTHING: dict[str, Any] = {"chunks": (), "posts": (), "calls": ()}
FINAL_UNHEARD = ("ignored", "observed", "failed", "applied")


def all_rows(**changes: Any) -> tuple[Row, ...]:
    return tuple(replace(one, **changes) for one in ROWS)


PLANTED: dict[str, list[tuple[str, Evidence]]] = {
    "one_end": [
        ("is not stored", replace(WELL, said=SAID | {"A.4": LOST})),
        ("stored 2 times", replace(WELL, rows=(*ROWS, row(9, "A.1")))),
        ("no end: running", replace(WELL, rows=changed(4, state="running")(ROWS))),
        ("sees running", replace(WELL, said=SAID | {"A.1": replace(SAID["A.1"], seen="running")})),
    ],
    "answered": [
("is dead poison after 8 starts, with nobody", replace(WELL, rows=POISON, chunks=CHUNKS[:3], posts=POSTS[:3])),
        *[("asked, and is " + state, replace(WELL, rows=all_rows(state=state), **NOTHING)) for state in FINAL_UNHEARD],
        ("asked, and is failed", replace(WELL, chunks=CHUNKS[:3], posts=POSTS[:3])),
        ("of 5 who asked 5 were only told", replace(WELL, rows=all_rows(state="failed"))),
        ("of 5 who asked 5 were only told", replace(WELL, rows=all_rows(state="dead"))),
    ],
    "visible": [
        ("no whole answer", replace(WELL, posts=POSTS[1:], chunks=changed(0, message=None)(CHUNKS))),
        ("where no such message is", replace(WELL, posts=POSTS[:3])),
        ("leaves out ['A.2']", replace(WELL, posts=changed(1, text=answer("A.3"))(POSTS))),
        ("which shows 're: «A.1»", replace(WELL, posts=changed(0, text="re: «A.1» 好")(POSTS))),
    ],
    "in_order": [
        ("«A.1» stands behind", replace(WELL, posts=changed(0, at=(12,))(POSTS))),
        ("«A.1» after «A.3», by instance 0", replace(WELL, calls=changed(0, at_ms=205)(CALLS), stored={})),
    ],
    "stopped_by_its_speaker": [
        ("nobody wanted that", replace(WELL, chunks=changed(0, text=CUT)(CHUNKS), posts=changed(0, text=CUT)(POSTS))),
        ("nobody wanted that", replace(WELL, chunks=CHUNKS[1:], posts=(Post(place=HOME, id="1", text=CUT), *POSTS[1:]))),
    ],
    "right_address": [
        ("turn 5 goes to Ann", replace(WELL, chunks=changed(3, place=HOME)(CHUNKS))),
        ("was said in Ann", replace(WELL, posts=changed(1, place=GROUP)(POSTS))),
        ("which nobody said", replace(WELL, posts=(*POSTS, Post(place=HOME, id="12", text=answer("Z.1"))))),
    ],
    "asked_once": [
        ("5 ms after", replace(WELL, calls=(*CALLS, Call(at_ms=115, instance=2, tokens=("A.1",))))),
    ],
    "labelled": [
        ("stands 2 times", replace(WELL, posts=(*POSTS, Post(place=HOME, id="12", text=answer("A.2", "A.3"), at=(12,))))),
        ("could be asked", replace(WELL, chunks=changed(0, state="unknown", message=None, askable=True)(CHUNKS))),
        ("of 4 pieces nobody knows", replace(WELL, posts=(), chunks=tuple(replace(one, state="unknown") for one in CHUNKS))),
        ("was sent by nobody", replace(WELL, posts=(*POSTS, Post(place=HOME, id="12", text="Stopped.", at=(12,))))),
    ],
    "memory_at_home": [
        (f"holds {PRIVATE}, of Ann", replace(WELL, calls=changed(3, words=frozenset({PRIVATE}))(CALLS))),
        (f"holds {SPOKEN}, of Bob", replace(WELL, calls=changed(0, words=frozenset({SPOKEN}))(CALLS))),
        ("about nothing that was said", replace(WELL, calls=(*CALLS, Call(at_ms=9, instance=0, tokens=(), words=SPILT)))),
        (f"town/7 shows {PRIVATE}", replace(WELL, posts=changed(3, text=f"I know of {PRIVATE}.")(POSTS))),
        (f"holds {NEVER}, of None", replace(WELL, calls=changed(2, words=frozenset({NEVER}))(CALLS))),
    ],
}  # fmt: skip


def test_nothing_is_found_where_all_is_well() -> None:
    """Answers alone and together, a notice, what a speaker said elsewhere in a group, a message that was never taken."""
    assert [] == check(WELL)
    assert set(PLANTED) == {rule.__name__ for rule in RULES}


@pytest.mark.parametrize(
    ("rule", "words", "evidence"),
    [(rule, words, evidence) for rule, planted in PLANTED.items() for words, evidence in planted],
    ids=[f"{rule}-{number}" for rule, planted in PLANTED.items() for number in range(len(planted))],
)
def test_each_fault_is_found(rule: str, words: str, evidence: Evidence) -> None:
    """By the rule it breaks, with words that say where."""
    found = [violation for violation in check(evidence) if violation.rule == rule]

    assert [] != [violation for violation in found if words in str(violation)], found
    assert rule == found[0].rule


def test_what_nobody_can_tell_is_allowed_where_it_is_labelled() -> None:
    """A send without a receipt: it stands twice, in disorder, or not at all."""
    twice = (*POSTS, Post(place=HOME, id="12", text=answer("A.1"), at=(12,)))

    assert [] == check(replace(WELL, chunks=UNSURE, posts=POSTS[1:]))
    assert [] == check(replace(WELL, chunks=UNSURE, posts=twice))
    assert 1 == allowed(replace(WELL, chunks=UNSURE, posts=twice))["answers that stand twice"]


def test_what_was_looked_up_and_sent_again_may_stand_twice() -> None:
    """Only where the platform was asked about its room."""
    twice = (*POSTS, Post(place=HOME, id="12", text=answer("A.1"), at=(12,)))

    assert [] == check(replace(WELL, posts=twice, chunks=changed(0, attempts=2, looked=True)(CHUNKS)))
    assert check(replace(WELL, posts=twice, chunks=changed(0, attempts=2)(CHUNKS)))
    assert check(replace(WELL, posts=twice, chunks=changed(0, looked=True)(CHUNKS)))


def test_what_was_shown_before_the_reply_may_be_left_behind() -> None:
    """By a process that died before it could store which message that was; not by one that shows it behind the reply."""
    before = (*POSTS, Post(place=HOME, id="9", text=answer("A.1"), at=(9,)))
    behind = (*POSTS, Post(place=HOME, id="12", text=answer("A.1"), at=(12,)))
    again = changed(0, attempts=2)(ROWS)

    assert [] == check(replace(WELL, posts=before, rows=again))
    assert check(replace(WELL, posts=behind, rows=again))
    assert check(replace(WELL, posts=before))


def test_an_answer_that_was_stopped_need_not_be_whole() -> None:
    """It says so at its end, wherever it stands; without its tokens, if it was stopped so early."""
    wanted = replace(WELL, said=SAID | {"A.2": replace(SAID["A.2"], stops=True)})
    gone = replace(WELL, said=SAID | {"A.1": replace(SAID["A.1"], removed=True)})

    for well in (wanted, gone):
        assert [] == check(replace(well, posts=changed(0, text=CUT)(POSTS), chunks=changed(0, text=CUT)(CHUNKS)))
        collected = Post(place=HOME, id="1", text=CUT)
        assert [] == check(replace(well, posts=(collected, *POSTS[1:]), chunks=CHUNKS[1:]))
    assert check(replace(WELL, posts=changed(0, text="re: «A")(POSTS), chunks=changed(0, text="re: «A")(CHUNKS)))


def test_what_was_taken_away_need_not_be_answered() -> None:
    """Before its turn began, or while it ran."""
    short = changed(1, text=answer("A.3"))
    gone = SAID | {"A.2": replace(SAID["A.2"], removed=True)}

    assert [] == check(replace(WELL, posts=short(POSTS), chunks=short(CHUNKS), said=gone))
    ended = changed(1, state="ignored", why="deleted_before_answer")(ROWS)
    found = check(replace(WELL, posts=short(POSTS), chunks=short(CHUNKS), rows=ended, said=gone))
    assert [] == found


def test_a_growing_answer_without_a_receipt_may_stand_beside_the_reply() -> None:
    """Where the gateway said so in its log: it may even come behind it."""
    twice = (*POSTS, Post(place=HOME, id="12", text=answer("A.1"), at=(12,)))

    assert [] == check(replace(WELL, posts=twice, unseen=frozenset({1})))
    assert check(replace(WELL, posts=twice, unseen=frozenset({2})))


def test_a_question_asked_again_before_its_answer_was_stored_is_none_too_many() -> None:
    """Who asked first has died; counted, as is a half answer that was left behind."""
    again = replace(
        WELL, calls=(*CALLS, Call(at_ms=105, instance=2, tokens=("A.1",))), rows=changed(0, attempts=2)(ROWS),
        posts=(*POSTS, Post(place=HOME, id="9", text="re: «A.1»", at=(9,))),
    )  # fmt: skip

    assert [] == check(again)
    counts = allowed(again)
    assert (1, 1, 1) == (
        counts["questions asked again"], counts["half answers left behind"], counts["turns begun more than once"]
    )  # fmt: skip
    assert 1 == counts["never acknowledged"]
    assert 1 == counts["ended failed agent_unavailable"]


def test_a_merged_question_is_about_the_newest() -> None:
    """What was never answered stands before it in the prompt; that is no second question, and no disorder."""
    calls = (*CALLS, Call(at_ms=300, instance=0, tokens=("A.1", "A.4")))
    rows = (*changed(0, state="failed")(ROWS), row(6, "A.4"))
    sorry = changed(0, text="Something went wrong.")
    posts = (*sorry(POSTS), Post(place=HOME, id="12", text=answer("A.1", "A.4"), at=(12,)))
    chunks = (*sorry(CHUNKS), Chunk(turn=6, state="sent", text=answer("A.1", "A.4"), message="12", place=HOME))

    assert [] == check(replace(WELL, calls=calls, rows=rows, posts=posts, chunks=chunks))


def test_tokens_and_canaries_are_words_of_their_own() -> None:
    """Each once, in order; no canary is a part of another's, in any script around it."""
    assert ["S1.2", "S10.3"] == tokens("re: «S1.2»«S10.3» «S1.2» « S1.4»")
    many = [canary(number) for number in range(5000)]
    assert 5000 == len(set(many))
    assert set(many) == canaries("。".join(many))
    assert frozenset() == canaries("zqzq xzqazq zqazqs")
    assert frozenset({canary(7)}) == canaries(f"我住在{canary(7).upper()}，对吗")
