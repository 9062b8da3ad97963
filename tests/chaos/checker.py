"""Whether a chaos run kept its promises, sentence by sentence. Pure: evidence in, what went wrong out.

Each rule is a function of its own; `tests/unit/chaos/test_checker.py` plants each fault and sees it found, as a checker that
finds nothing proves nothing. What can't be told by anybody (a send without a receipt, on a platform that can't be asked) is
allowed where its row says so, and counted by `allowed`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.chaos.evidence import FINAL, WHOLE, Chunk, Evidence, Post, Row, Said, canaries, stopped, tokens

LABELLED = "unknown"


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was broken: which, and how."""

    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail}"


Found = Iterator[str]


def one_end(evidence: Evidence) -> Found:
    """Every accepted message has exactly one terminal outcome."""
    for said in evidence.said.values():
        rows = evidence.rows_of.get(said.token, [])
        if said.accepted and not rows:
            yield f"«{said.token}» was acknowledged and is not stored"
        if len(rows) > 1:
            yield f"«{said.token}» is stored {len(rows)} times: {[row.id for row in rows]}"
        for row in rows:
            if row.state not in FINAL:
                yield f"«{said.token}» has no end: {row.state} after {row.attempts} starts, turn {row.turn}"
            elif said.seen is not None and said.seen != row.state:
                yield f"«{said.token}» is {row.state}, and its sender sees {said.seen}"


def answered(evidence: Evidence) -> Found:
    """Who asked, and did not take that back, is answered; a few at most are told why not. Whoever is given up is told."""
    stoppers = _stoppers(evidence)
    asked, sorry = 0, 0
    for said in evidence.said.values():
        for row in evidence.rows_of.get(said.token, []):
            given_up = row.state == "dead"
            if not given_up and (not said.asks or said.removed or (said.person, said.place) in stoppers):
                continue
            asked += 1
            if row.state in ("failed", "dead") and _told(evidence, said, row):
                sorry += 1
            elif row.state != "answered":
                yield f"«{said.token}» asked, and is {row.state} {row.why} after {row.attempts} starts, with nobody told"
    if sorry > _few(asked):
        yield f"of {asked} who asked {sorry} were only told that it failed"


def visible(evidence: Evidence) -> Found:
    """What was answered stands there, whole, with all that it answers; what is said to have been sent stands as it was sent."""
    whole = _whole_posts(evidence)
    by_id = {(post.place, post.id): post for post in evidence.posts}
    cut_short = {chunk.turn for chunk in evidence.chunks if stopped(chunk.text)}
    cut_short |= {int(post.id) for post in evidence.posts if not post.at and stopped(post.text)}
    for turn, rows in evidence.turns.items():
        chunks = evidence.chunks_of.get(turn, [])
        if rows[0].state == "answered" and not whole[turn] and not _labelled(chunks) and turn not in cut_short:
            yield f"«{rows[-1].token}» is answered, and no whole answer stands anywhere, turn {turn}"
        for post in whole[turn]:
            meant = {row.token for row in rows if row.state == "answered" and not evidence.said[row.token].removed}
            if missing := meant - set(tokens(post.text)):
                yield f"the answer to turn {turn} leaves out {sorted(missing)}"
    for chunk in evidence.chunks:
        if chunk.state != "sent" or chunk.message is None:
            continue
        stands = by_id.get((chunk.place, chunk.message))
        if stands is None:
            yield f"turn {chunk.turn} was sent as {chunk.message} to {chunk.place}, where no such message is"
        elif WHOLE in chunk.text and WHOLE not in stands.text:
            yield f"turn {chunk.turn} was finished as {chunk.message} in {chunk.place}, which shows {stands.text!r}"


def stopped_by_its_speaker(evidence: Evidence) -> Found:
    """An answer is cut short where its speaker said so, or took away what it answers; nobody else's is."""
    stoppers = _stoppers(evidence)
    cut_short = {chunk.turn for chunk in evidence.chunks if stopped(chunk.text)}
    cut_short |= {int(post.id) for post in evidence.posts if not post.at and stopped(post.text)}
    for turn in sorted(cut_short):
        answered = [evidence.said[row.token] for row in evidence.turns.get(turn, ())]
        if not any(said.removed or (said.person, said.place) in stoppers for said in answered):
            yield f"the answer to turn {turn} ({[said.token for said in answered]}) was stopped, and nobody wanted that"


def in_order(evidence: Evidence) -> Found:
    """No scope saw disorder: answers stand, and the model was first asked, in the order in which messages were accepted."""
    last: dict[str, Row] = {}
    for post in sorted(evidence.posts, key=lambda post: (post.place, post.at)):
        row = evidence.newest(tokens(post.text))
        # What is collected by its sender stands nowhere; a copy whose send nobody saw the end of, anywhere behind the first.
        if not post.at or row is None or WHOLE not in post.text:
            continue
        if row.turn in evidence.unseen or _doubtful(evidence.chunks_of.get(row.turn, [])):
            continue
        before = last.get(post.place)
        if before is not None and row.seq < before.seq:
            yield f"in {post.place} the answer to «{row.token}» stands behind that to «{before.token}»"
        last[post.place] = row
    asked: set[int] = set()
    latest: dict[str, Row] = {}
    for call in sorted(evidence.calls, key=lambda call: call.at_ms):
        row = evidence.newest(call.tokens)
        if row is None or row.turn in asked:
            continue
        asked.add(row.turn)
        before = latest.get(row.lane)
        if before is not None and row.seq < before.seq:
            yield f"the model was asked about «{row.token}» after «{before.token}», by instance {call.instance}"
        latest[row.lane] = row


def right_address(evidence: Evidence) -> Found:
    """No reply went to a wrong address: it stands where what it answers was said."""
    for post in evidence.posts:
        for token in tokens(post.text):
            said = evidence.said.get(token)
            if said is None:
                yield f"{post.place} shows «{token}», which nobody said"
            elif said.place != post.place:
                yield f"{post.place} shows the answer to «{token}», which was said in {said.place}"
    for chunk in evidence.chunks:  # notices bear no token
        for row in evidence.turns.get(chunk.turn, ()):
            if (said := evidence.said[row.token]).place != chunk.place:
                yield f"turn {chunk.turn} goes to {chunk.place}, and «{row.token}» was said in {said.place}"


def asked_once(evidence: Evidence) -> Found:
    """No stored reply cost a second model call."""
    for call in evidence.calls:
        row = evidence.newest(call.tokens)
        stored_ms = evidence.stored.get(row.turn) if row is not None else None
        if row is not None and stored_ms is not None and call.at_ms > stored_ms:
            late = call.at_ms - stored_ms
            yield f"«{row.token}» was asked again by instance {call.instance}, {late} ms after its answer was stored"


def labelled(evidence: Evidence) -> Found:
    """Unknown sends are labelled: what stands twice is so marked, or was looked up; and nothing stands that nobody sent."""
    for turn, posts in _whole_posts(evidence).items():
        chunks = evidence.chunks_of.get(turn, [])
        doubt = turn in evidence.unseen or _doubtful(chunks) or _left_behind(evidence.turns[turn], posts, chunks)
        if len(posts) > 1 and not doubt:
            where = ", ".join(f"{post.id} in {post.place}" for post in posts)
            yield f"the answer to turn {turn} stands {len(posts)} times ({where}), and its chunks are {_states(chunks)}"
    every = list(evidence.chunks)
    unknown_fate = [chunk for chunk in every if chunk.state == LABELLED]
    for chunk in unknown_fate:
        if chunk.askable:
            yield f"what became of turn {chunk.turn} in {chunk.place} is unknown, and the platform there could be asked"
    if len(unknown_fate) > _few(len(every)):
        yield f"of {len(every)} pieces nobody knows what became of {len(unknown_fate)}"
    known = {(chunk.place, chunk.message) for chunk in every}
    doubtful = {chunk.place for chunk in every if _doubtful([chunk])}
    for post in evidence.posts:
        unknown = post.at and (post.place, post.id) not in known and post.place not in doubtful
        if unknown and not tokens(post.text):
            yield f"{post.id} in {post.place} was sent by nobody: {post.text[:80]!r}"


def memory_at_home(evidence: Evidence) -> Found:
    """No person's memory appeared anywhere else: a private prompt holds words of its own person only, a group's what was said
    there, and what its speaker has said in groups."""
    persons: dict[str, str] = {}
    places: dict[str, set[str]] = defaultdict(set)
    public: set[str] = set()
    for said in evidence.said.values():
        for word in said.words:
            persons[word] = said.person
            places[word].add(said.place)
            if said.group:
                public.add(word)
    for call in evidence.calls:
        row = evidence.newest(call.tokens)
        asker = evidence.said.get(row.token) if row is not None else None
        if asker is None:
            if call.words:
                yield f"a prompt about nothing that was said ({call.tokens}) holds {sorted(call.words)}"
            continue
        for word in sorted(call.words):
            own = persons.get(word) == asker.person and (word in public or not asker.group)
            if not own and not (asker.group and asker.place in places.get(word, ())):
                yield f"the prompt of «{asker.token}» holds {word}, of {persons.get(word)} in {sorted(places[word])}"
    for post in evidence.posts:
        for word in sorted(canaries(post.text)):
            if post.place not in places[word]:
                yield f"{post.place} shows {word}, of {persons.get(word)} in {sorted(places[word])}"


RULES: tuple[Callable[[Evidence], Found], ...] = (
    one_end,
    answered,
    visible,
    in_order,
    stopped_by_its_speaker,
    right_address,
    asked_once,
    labelled,
    memory_at_home,
)


def check(evidence: Evidence) -> list[Violation]:
    """Return all that went wrong, by rule."""
    return [Violation(rule.__name__, detail) for rule in RULES for detail in rule(evidence)]


def allowed(evidence: Evidence) -> Counter[str]:
    """Count what was allowed, and how messages ended: for people to see whether a run tried anything."""
    counts: Counter[str] = Counter({f"ended {row.state}{row.why and ' ' + row.why}": 0 for row in evidence.rows})
    counts.update(f"ended {row.state}{row.why and ' ' + row.why}" for row in evidence.rows)
    counts.update(f"chunks {chunk.state}" for chunk in evidence.chunks)
    counts["answers stopped"] = sum(stopped(post.text) for post in evidence.posts)
    counts["prompts with words of their own"] = sum(bool(call.words) for call in evidence.calls)
    counts["answers that stand twice"] = sum(len(posts) > 1 for posts in _whole_posts(evidence).values())
    finished = {(chunk.place, chunk.message) for chunk in evidence.chunks}
    counts["half answers left behind"] = sum(
        bool(tokens(post.text)) and WHOLE not in post.text and (post.place, post.id) not in finished
        for post in evidence.posts
    )
    counts["shown without a receipt"] = len(evidence.unseen)
    counts["turns begun more than once"] = sum(rows[0].attempts > 1 for rows in evidence.turns.values())
    counts["questions asked again"] = len(list(evidence.calls)) - len(
        {row.turn for call in evidence.calls if (row := evidence.newest(call.tokens))}
    )
    counts["never acknowledged"] = sum(not said.accepted for said in evidence.said.values())
    return counts


def _few(all_of_them: int) -> float:
    """How many of so many may go the worse way that is allowed: else a run in which all do would pass."""
    return max(3, all_of_them / 50)


def _told(evidence: Evidence, said: Said, row: Row) -> bool:
    """Whether who said it can see that it failed: by a notice, or where they look."""
    notices = evidence.chunks_of.get(row.turn, [])
    return said.seen in ("failed", "dead") or any(chunk.state in ("sent", LABELLED) for chunk in notices)


def _stoppers(evidence: Evidence) -> set[tuple[str, str]]:
    """Return who wanted no answer any more, and where."""
    return {(said.person, said.place) for said in evidence.said.values() if said.stops}


def _whole_posts(evidence: Evidence) -> defaultdict[int, list[Post]]:
    """Return the whole answers that stand, by the turn they answer."""
    found: defaultdict[int, list[Post]] = defaultdict(list)
    for post in evidence.posts:
        row = evidence.newest(tokens(post.text))
        if row is not None and WHOLE in post.text:
            found[row.turn].append(post)
    return found


def _labelled(chunks: list[Chunk]) -> bool:
    return any(chunk.state == LABELLED for chunk in chunks)


def _doubtful(chunks: list[Chunk]) -> bool:
    """Whether a piece may stand twice: labelled so, or sent again where nothing was found."""
    return any(chunk.state == LABELLED or (chunk.looked and chunk.attempts > 1) for chunk in chunks)


def _left_behind(rows: list[Row], posts: list[Post], chunks: list[Chunk]) -> bool:
    """Whether all copies but the reply itself were shown before it, by a process that lost the turn before it could say so."""
    replies = [post for post in posts if (post.place, post.id) in {(chunk.place, chunk.message) for chunk in chunks}]
    return rows[0].attempts > 1 and bool(replies) and all(post.at <= replies[0].at for post in posts)


def _states(chunks: list[Chunk]) -> list[str]:
    return [f"{chunk.state} ({chunk.attempts})" for chunk in chunks]
