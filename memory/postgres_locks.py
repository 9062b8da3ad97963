"""The advisory locks of the house: whoever shares a database with the memory core shares the server's one space of numbers.

A new one gets the next number here. One that a release has used keeps its number, so that old and new instances wait for each
other. Whole ids of turns serve as locks, too (`gateway/inbox/postgres_dead.py`): they are far above these.
"""

from __future__ import annotations

from enum import IntEnum, unique


@unique
class Lock(IntEnum):
    """What is held, each by a number of its own."""

    MEMORY_SCHEMA = 0x636C6577
    """One starter changes the schema of the memory core; the others wait."""

    INSTANCES = 0x436C6577
    """The class of instances' lives: each holds the lock of its own number in it."""

    QUEUE_SCHEMA = 0x436C6578
    """One starter changes the schema of the queues; the others wait."""

    ADMIN_SCHEMA = 0x436C6579
    """One starter changes the schema of the admins' tables; the others wait."""

    COPY = 0x436C6580
    """One copy into the database at a time."""

    ARRIVING = 0x436C6581
    """One looks whether the database is the one that it was; the others wait."""

    JOINING = 0x436C6582
    """One looks for an instance's number; the others wait."""

    QUARTERS = 0x436C6583
    """One changes the ledgers' partitions; the others wait."""
