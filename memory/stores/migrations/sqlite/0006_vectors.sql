-- What fragments are about, as vectors (memory/embedding.py). embedded: of which embedder a fragment's vector is.
ALTER TABLE fragments ADD COLUMN embedded TEXT NOT NULL DEFAULT '';
CREATE INDEX fragments_embedded ON fragments (embedded, person_id, id);
CREATE UNIQUE INDEX fragments_owner ON fragments (scope_id, id, person_id, namespace);

-- A vector belongs to whom its fragment belongs to, and goes with it.
CREATE TABLE vectors (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: who read up to one reads on behind it
  scope_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  person_id INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  chat_type TEXT NOT NULL,
  model TEXT NOT NULL, -- the embedder's name, its dimensions included
  vector BLOB NOT NULL, -- float32, little-endian, of length 1
  UNIQUE (scope_id, id, model),
  FOREIGN KEY (scope_id, id, person_id, namespace) REFERENCES fragments (scope_id, id, person_id, namespace)
    ON DELETE CASCADE ON UPDATE CASCADE
) STRICT;

CREATE INDEX vectors_person ON vectors (person_id, namespace, model, seq);
