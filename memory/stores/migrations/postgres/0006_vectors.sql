-- What fragments are about, as vectors (memory/embedding.py). embedded: of which embedder a fragment's vector is.
ALTER TABLE fragments ADD COLUMN embedded text NOT NULL DEFAULT '';
CREATE INDEX fragments_embedded ON fragments (embedded, person_id, id);
ALTER TABLE fragments ADD CONSTRAINT fragments_owner UNIQUE (scope_id, id, person_id, namespace);

-- A vector belongs to whom its fragment belongs to, and goes with it.
CREATE TABLE vectors (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- never given twice: who read up to one reads on behind it
  scope_id bigint NOT NULL,
  id bigint NOT NULL,
  person_id bigint NOT NULL,
  namespace text NOT NULL,
  chat_type text NOT NULL,
  model text NOT NULL, -- the embedder's name, its dimensions included
  vector bytea NOT NULL, -- float32, little-endian, of length 1; searched in the gateway, so no extension is needed
  UNIQUE (scope_id, id, model),
  FOREIGN KEY (scope_id, id, person_id, namespace) REFERENCES fragments (scope_id, id, person_id, namespace)
    ON DELETE CASCADE ON UPDATE CASCADE
);

ALTER TABLE vectors ALTER COLUMN vector SET STORAGE MAIN; -- in the row, as far as it fits: they are read by the thousand
CREATE INDEX vectors_person ON vectors (person_id, namespace, model, seq);
