"""A database that has been in use for long, by COPY: conversations of messages with what recall finds them by.

What stands in it is what the gateway itself writes, but for ledgers and what is learned; ids are of the month before `START_MS`.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from memory.ids import EPOCH_MS
from memory.key import ConversationKey
from memory.terms import term_ids, terms
from tests.bench.core import DAY_MS, START_MS
from tests.bench.scale.cluster import admin

WORDS = tuple(
    f"{a}{b}{c}" for a, b, c in itertools.product(("lamp", "order", "blue", "tram"), "abcdefghij", "klmnopqrst")
)
A_TEXT = 8
"""Words of a message, each of them a term."""

OTHERS_MESSAGES = 20

_SCOPES = (
    'id, created_ms, last_id, session_first_id, session_last_ms, last_ms, session_no, session_id, "user", channel, conversation, '
    "chat_type, agent, title"
)
_MESSAGES = (
    'scope_id, id, turn_id, event_id, person_id, created_ms, tokens, version, low_value, session_id, role, text, "user", '
    "channel, conversation, chat_type, agent, speaker_name, platform_message_id, steps"
)
_FRAGMENTS = 'scope_id, id, person_id, namespace, chat_type, session_id, "position", length, terms'


@dataclass(frozen=True, slots=True)
class Talk:
    """One person's private conversation, all of it of one session, that goes on."""

    key: ConversationKey
    scope_id: int
    person_id: int
    messages: int


def fill(url: str, mine: Iterable[Talk], *, others: int) -> None:
    """Write the talks, and as many messages of other people's as `others`; the database is analysed afterwards."""
    ids = itertools.count((START_MS - 30 * DAY_MS - EPOCH_MS) << 22, 1 << 22)
    with admin(url) as db:
        db.execute("ALTER TABLE terms DROP CONSTRAINT terms_pkey")
        for talk in mine:
            _write(db, [talk], ids, _found_by)
        rng = random.Random(1)
        near = [_other(number) for number in range(others // OTHERS_MESSAGES)]
        for first in range(0, len(near), 5_000):
            part = near[first : first + 5_000]
            _write(db, part, ids, lambda _, words: {word: rng.getrandbits(62) for word in words})
            db.cursor().executemany(
                "INSERT INTO persons (id, created_ms) VALUES (%s, %s)",
                [(talk.person_id, START_MS) for talk in part],
            )
        db.execute("ALTER TABLE terms ADD PRIMARY KEY (term, id, scope_id)")
        db.execute("VACUUM ANALYZE")


def _found_by(person: int, words: tuple[str, ...]) -> dict[str, int]:
    """Return the term in the person's index that each word is found by."""
    return dict(zip(words, term_ids(person, [next(iter(terms(word))) for word in words]), strict=True))


def _other(number: int) -> Talk:
    key = ConversationKey(
        user=f"other{number}", channel="web", room=f"r{number}", thread=None, chat_type="private", agent="a"
    )
    return Talk(key, 2 * number + 1, 2 * number + 2, OTHERS_MESSAGES)


def _write(
    db: psycopg.Connection,
    talks: list[Talk],
    ids: Iterator[int],
    term_of: Callable[[int, tuple[str, ...]], dict[str, int]],
) -> None:
    spans: dict[int, list[int]] = {}
    with copying(db, f"messages ({_MESSAGES})") as messages:
        for talk in talks:
            spans[talk.scope_id] = mine = list(itertools.islice(ids, talk.messages))
            session, key = session_of(talk), _key(talk)
            for index, id_ in enumerate(mine):
                role, turn = ("user", id_) if index % 2 == 0 else ("assistant", mine[index - 1])
                text = " ".join(_words(talk, index))
                messages(
                    f"{talk.scope_id}\t{id_}\t{turn}\t{turn}\t{talk.person_id}\t{START_MS}\t16\t1\tf\t{session}\t{role}\t{text}\t"
                    f"{key}\tAda\tp{id_}\t[]\n"
                )
    with copying(db, f"fragments ({_FRAGMENTS})") as fragments:
        every: list[str] = []
        for talk in talks:
            known = term_of(talk.person_id, WORDS)
            for index, id_ in enumerate(spans[talk.scope_id]):
                found_by = Counter(known[word] for word in _words(talk, index))
                listed = ",".join(map(str, found_by))
                fragments(
                    f"{talk.scope_id}\t{id_}\t{talk.person_id}\tshared\tprivate\t{session_of(talk)}\t{index}\t{A_TEXT}\t{{{listed}}}\n"
                )
                every += [f"{term}\t{id_}\t{talk.scope_id}\t{times}\n" for term, times in found_by.items()]
    with copying(db, "terms (term, id, scope_id, times)") as rows:
        rows("".join(every))
    with copying(db, f"scopes ({_SCOPES})") as scopes:
        for talk in talks:
            first, last = spans[talk.scope_id][0], spans[talk.scope_id][-1]
            scopes(
                f"{talk.scope_id}\t{START_MS}\t{last}\t{first}\t{START_MS}\t{START_MS}\t1\t{session_of(talk)}\t{_key(talk)}\tlamp\n"
            )
    with copying(db, "sessions (id, scope_id, first_id, started_ms)") as sessions:
        for talk in talks:
            sessions(f"{session_of(talk)}\t{talk.scope_id}\t{spans[talk.scope_id][0]}\t{START_MS}\n")
    with copying(db, "corpora (person_id, namespace, fragments, length, generation)") as corpora:
        for talk in talks:
            corpora(f"{talk.person_id}\tshared\t{talk.messages}\t{talk.messages * A_TEXT}\t{talk.messages}\n")


@contextmanager
def copying(db: psycopg.Connection, what: str) -> Iterator[Callable[[str], None]]:
    """Give what takes rows of COPY's text for the table and columns; a megabyte of them goes at a time."""
    waiting: list[str] = []
    with db.cursor() as cursor, cursor.copy(f"COPY {what} FROM STDIN".encode()) as copy:

        def put(row: str) -> None:
            waiting.append(row)
            if len(waiting) >= 5_000:
                copy.write("".join(waiting))
                waiting.clear()

        yield put
        copy.write("".join(waiting))


def _words(talk: Talk, index: int) -> tuple[str, ...]:
    """Return the words of a talk's message: always the same, and spread as if by chance."""
    at = (talk.scope_id * 7_919 + index * 104_729) % 1_000_003
    return tuple(WORDS[(at * (n + 3) + n * 61) % len(WORDS)] for n in range(A_TEXT))


def session_of(talk: Talk) -> str:
    """Return the id of the talk's session."""
    return f"s-{talk.scope_id:032x}"


def _key(talk: Talk) -> str:
    key = talk.key
    return f"{key.user}\t{key.channel}\t{key.room}\t{key.chat_type}\t{key.agent}"
