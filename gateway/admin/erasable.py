"""What the admins' tables hold of persons, and how it goes with them. A table in neither list fails a test, so that none can be
forgotten; those of memory are named in `memory/erasure.py`, the queues' in `gateway/inbox/erasable.py`."""

from __future__ import annotations

EMPTIED = {
    "takeovers": "place, account, person, words and way are emptied; one under way ends",
    "takeover_posts": "who spoke is taken out; of which messages of the staff's own room they were the ids stays",
    "takeover_news": "deleted: what is still to be told of the person's take-overs",
    "usage_entries": "become nobody's",
    "usage_days": "are added to nobody's of the day",
    "usage_counts": "the person's are deleted",
}
"""The tables that hold something of a person, each with what becomes of it."""

NOTHING_PERSONAL = {
    "admin_audit": "who of the admins did what: numbers, names of settings and counts, whoever the person was",
    "admin_audit_kept": "since when the log is kept",
    "admin_users": "admins",
    "admin_grants": "their rights",
    "admin_sessions": "where they are signed in",
    "admin_tokens": "their tokens",
    "admin_tries": "counters of their wrong passwords, under digests",
    "admin_access": "a counter",
    "settings_revisions": "settings, which are the operator's",
    "vault": "the operator's secrets, sealed",
    "admin_topics": "counters",
    "admin_schema": "the migrations applied",
}
"""The other tables, each with the reason why an erasure leaves it alone."""
