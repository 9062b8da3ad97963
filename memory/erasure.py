"""The plan of an erasure: every table of the memory store, with what becomes of its rows, in one place.

A table that is in neither list fails a test, so that none which holds something personal can be forgotten (mem0ai/mem0#3245,
getzep/graphiti#1489: each part deleted for itself). The queues' tables are named in `gateway/inbox/erasable.py`.
"""

from __future__ import annotations

KINDS = {
    "messages": "private ones are deleted; in groups the place stays, without words, names and account",
    "message_versions": "deleted with their message",
    "observed": "deleted, by account",
    "summaries": "of private talk, and all that cover a message of the person's or came after one in its session: deleted",
    "sessions": "of private talk: deleted",
    "scopes": "of private talk: deleted; a group's own one gets another account, and loses a title of the person's words",
    "facts": "deleted",
    "profile_items": "deleted, of all namespaces",
    "fragments": "deleted",
    "terms": "deleted with their fragment",
    "vectors": "deleted with their fragment",
    "corpora": "deleted",
    "ledgers": "of the person's turns: deleted",
    "learners": "of private talk: deleted",
    "agent_choices": "deleted, by account",
    "called": "deleted: the names by which the person is found",
    "listings": "deleted",
    "links": "deleted, before the accounts",
    "link_accounts": "deleted with their link",
    "link_moves": "deleted with their link",
    "link_codes": "deleted",
    "link_tries": "deleted",
    "privacy_requests": "deleted: it is what they asked for",
    "identities": "deleted, last: then the accounts are nobody's",
    "persons": "stays as a tombstone, a number with the time, against work that comes late (redis/agent-memory-server#184)",
}
"""What becomes of the rows of each table that holds something of a person."""

NOTHING_PERSONAL = {
    "memory_schema": "the migrations applied",
    "meta": "numbers about the whole store",
    "moved_rooms": "groups' ids",
    "withheld": "messages' ids",
    "revisions": "settings, which are the operator's",
    "heartbeat": "one counter",
}
"""The other tables, each with the reason why an erasure leaves it alone."""

QUOTES = "quotes"
"""Counted besides the tables: quotes of the person's words in others' messages."""


_COUNTED_ELSEWHERE = {"terms": "with their fragments", "vectors": "with their fragments", "persons": "there is one"}
_COUNTED_ELSEWHERE |= {"called": "the messages say it"}
_COUNTED_ELSEWHERE |= dict.fromkeys(
    ("links", "link_accounts", "link_moves", "link_codes", "link_tries"), "the accounts say it"
)


def nothing() -> dict[str, int]:
    """Return the receipt of an erasure that found nothing, all kinds named that are counted."""
    return dict.fromkeys((kind for kind in (*KINDS, QUOTES) if kind not in _COUNTED_ELSEWHERE), 0)
