-- What admins look for, however much there is of everything else (gateway/inbox/looking.py). By expressions that no other query
-- has: with statistics as stale as a queue's, a query by id or channel alone could prefer any of them (`engines.md` A.8, 4).

CREATE INDEX inbox_channel ON inbox_events ((channel || ''), (-id));

CREATE INDEX inbox_subject ON inbox_events (subject, (-id))
  WHERE subject IS NOT NULL;

CREATE INDEX inbox_talk ON inbox_events (hashtextextended(lane, 0), (-id));

CREATE INDEX outbox_receipts ON outbox_chunks (message_id)
  WHERE message_id IS NOT NULL;
