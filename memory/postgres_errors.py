"""PostgreSQL's errors that say nothing about the statement. For the stores and the queues, whose connections are their own."""

PASSING = frozenset({"08", "25", "40", "53", "55", "57", "58"})
"""Classes of SQLSTATE: the server is away, must not write, is full, is at odds with another transaction."""
