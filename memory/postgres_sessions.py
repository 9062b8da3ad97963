"""What a session on PostgreSQL is told, so that a process which freezes or is cut off keeps no row from others for long.

For the stores and the queues, which keep connections of their own. It knows no driver.
"""

from __future__ import annotations

import math

KEEPALIVE_S = (5, 2, 3)
"""A peer that says nothing for 5 s is asked three times, 2 s apart: gone after 11 s instead of two hours."""

WATCHED_S = 1
"""How often the server looks whether whoever waits for a statement is still there."""


IDLE_S = 3.0
"""What a transaction may wait for its next statement: whoever takes longer hangs, and others wait for what it has locked."""


def guards(timeout_s: float, *, idle_s: float = IDLE_S) -> str:
    """Return the statement that makes a session's end certain; `timeout_s` is the time of one statement in it, `idle_s` that
    between two of a transaction, at most as much.

    A stopped process's kernel answers for it, so only the limit for an idle transaction frees what it has locked; of one that
    was cut off nothing answers, which the server's own keepalives notice. The limit for a whole transaction is PostgreSQL 17's.
    Neither limit holds between the statements of a pipeline, so what locks anything goes in a transaction without one.
    """
    idle, interval, count = KEEPALIVE_S
    ms = math.ceil(timeout_s * 1000)
    settings = {
        "idle_in_transaction_session_timeout": f"{min(math.ceil(idle_s * 1000), ms)}",
        "tcp_keepalives_idle": f"{idle}",
        "tcp_keepalives_interval": f"{interval}",
        "tcp_keepalives_count": f"{count}",
        "tcp_user_timeout": f"{ms}",
        "client_connection_check_interval": f"{WATCHED_S}s",
    }
    known = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in settings.items())
    whole = f"set_config('{WHOLE}', '{2 * ms + 1000}', false)"
    return f"SELECT {known}; SELECT {whole} WHERE current_setting('{WHOLE}', true) IS NOT NULL"


WHOLE = "transaction_timeout"

UNGUARDED = f"""SELECT set_config('idle_in_transaction_session_timeout', '0', false);
SELECT set_config('{WHOLE}', '0', false) WHERE current_setting('{WHOLE}', true) IS NOT NULL"""
"""The statement that lets a session take its time, as a change of the schema must."""
