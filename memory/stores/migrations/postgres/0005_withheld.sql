-- What people forget in chat (memory/forgetting.py).

-- Messages that are never learned from again, though they stand: their speaker had something of them forgotten.
CREATE TABLE withheld (
  scope_id bigint NOT NULL,
  id bigint NOT NULL,
  PRIMARY KEY (scope_id, id)
);

-- What a person was last shown of what is known of them: which rows each number stood for. No words.
CREATE TABLE listings (
  person_id bigint PRIMARY KEY,
  listed_ms bigint NOT NULL,
  entries text NOT NULL, -- JSON
  all_asked_ms bigint -- when they asked to have everything forgotten, which they have to confirm
);
