-- What was given up, or may have arrived, waits for an admin (gateway/inbox/dead.py).

-- When an admin dealt with a dead event, or its speaker was erased. NULL: it waits for one.
ALTER TABLE inbox_events ADD COLUMN dealt_ms INTEGER;

-- How often an admin has taken the event up again.
ALTER TABLE inbox_events ADD COLUMN reopened INTEGER NOT NULL DEFAULT 0;

-- Of an event that died as its reply could not be delivered: the failure of which that reply was the notice.
ALTER TABLE inbox_events ADD COLUMN notice_of TEXT;

-- As of events, of a chunk that may have arrived. A chunk that was sent anew, or whose turn was, has a negative part.
ALTER TABLE outbox_chunks ADD COLUMN dealt_ms INTEGER;

DROP INDEX inbox_dead;

CREATE INDEX inbox_letters ON inbox_events (turn_id)
  WHERE state = 'dead' AND dealt_ms IS NULL;

CREATE INDEX outbox_unknown ON outbox_chunks (turn_id)
  WHERE state = 'unknown' AND dealt_ms IS NULL;
