-- What persons asked for that an admin has to do by a day (memory/people.py): one of a kind a person, until it is done.
CREATE TABLE privacy_requests (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  person_id bigint NOT NULL REFERENCES persons (id),
  kind text NOT NULL, -- erasure, export
  channel text, -- where they asked, encoded; NULL: an admin noted it
  asked_ms bigint NOT NULL,
  due_ms bigint NOT NULL,
  UNIQUE (person_id, kind)
);
CREATE INDEX privacy_requests_due ON privacy_requests (due_ms, id);

-- An account may be asked for without its kind and tenant.
CREATE INDEX identities_account ON identities (account);
