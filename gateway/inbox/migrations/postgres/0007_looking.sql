-- What admins look for, however much there is of everything else (gateway/inbox/looking.py).

CREATE INDEX inbox_channel ON inbox_events (channel, id);

CREATE INDEX inbox_subject ON inbox_events (subject, id)
  WHERE subject IS NOT NULL;

-- By an expression that no other query by lane has: `engines.md` A.8, 4.
CREATE INDEX inbox_talk ON inbox_events (hashtextextended(lane, 0), id);

CREATE INDEX outbox_receipts ON outbox_chunks (message_id)
  WHERE message_id IS NOT NULL;
