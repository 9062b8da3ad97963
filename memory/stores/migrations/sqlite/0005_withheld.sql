-- What people forget in chat (memory/forgetting.py).

-- Messages that are never learned from again, though they stand: their speaker had something of them forgotten.
CREATE TABLE withheld (
  scope_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (scope_id, id)
) STRICT, WITHOUT ROWID;

-- What a person was last shown of what is known of them: which rows each number stood for. No words.
CREATE TABLE listings (
  person_id INTEGER PRIMARY KEY,
  listed_ms INTEGER NOT NULL,
  entries TEXT NOT NULL, -- JSON
  all_asked_ms INTEGER -- when they asked to have everything forgotten, which they have to confirm
) STRICT;
