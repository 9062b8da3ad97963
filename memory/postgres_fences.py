"""The fence below which no turn writes, whatever its scope has seen: for whoever gives fences anew over the same database.

After a restore the scopes have forgotten the newest fences that they had seen. A turn of before, whose process lives on, would
write under one of those until its scope has a new owner.
"""

from __future__ import annotations

LOWEST = "(SELECT coalesce(max(value), 0) FROM meta WHERE name = 'fence')"
"""The SQL of it; 0: there never was a restore."""

RAISE = """INSERT INTO meta AS m (name, value) VALUES ('fence', %s)
ON CONFLICT (name) DO UPDATE SET value = greatest(m.value, excluded.value)"""
"""The statement that lets no turn write whose fence is less than the one given."""
