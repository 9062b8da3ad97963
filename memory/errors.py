"""What can go wrong in memory.

MemoryFault
├── StoreUnavailable   the database cannot be reached, is locked or refuses; try again later
│   └── StoreRefused    it is there, and refuses
├── SchemaTooNew       the database was written by a newer release; refuse to start
├── NoSessions         the database is reached in a way that gives no session of one's own; refuse to start
├── OtherKeys          the database's keys are written in another codec; refuse to start
├── Fenced             another owner has taken the scope's lane; write nothing, stop the turn
├── ScopeMoved         the scope has become another's name; look it up again
├── UnknownScope       no such scope: an unknown owner gets nothing
├── PersonErased       nothing is stored for this person any more; look the account's person up again
└── ModelFailed        a small model or an embedder failed, or said what cannot be used; go on without
"""

from __future__ import annotations

import msgspec


class MemoryFault(Exception):
    """Root of memory's errors."""


class StoreUnavailable(MemoryFault):
    """The database cannot be reached, is locked or refuses; the same call may work later."""


class StoreRefused(StoreUnavailable):
    """The database is there and refuses what was asked: it lacks a table, or a rule of its own stands against it. Trying again
    helps once somebody has mended it."""


class SchemaTooNew(MemoryFault):
    """The database holds a newer schema than this release knows."""


class NoSessions(MemoryFault):
    """What stands between us and the database hands a connection's transactions to any of the server's sessions."""


class OtherKeys(MemoryFault):
    """The database's keys are written in another version of the codec than this release's."""


class Fenced(MemoryFault):
    """A newer owner has written to this scope; whoever sees this holds a lost lease and must write nothing more."""


class ScopeMoved(MemoryFault):
    """The scope has become a name of another one since it was looked up: a new turn belongs there, in that one's lane."""


class UnknownScope(MemoryFault):
    """A scope id that the store does not hold."""


class PersonErased(MemoryFault):
    """The person is being erased, or was: late work for them writes nothing. Their accounts may be a new person's by now."""


class ModelFailed(MemoryFault):
    """A small model or an embedder could not be asked, took too long, or answered what cannot be used. The message names
    the model and the remedy, never the text that was sent or came back."""


UNREADABLE = (StoreUnavailable, msgspec.MsgspecError)
"""What a read may raise: trouble with the database, or a row that is not what it should be (damaged, of another release)."""
