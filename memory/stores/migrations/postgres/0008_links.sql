-- Several accounts of one person, joined by that person (memory/links.py).

-- Whom this person is one with since their accounts were joined: what is known of them is the other's. NULL: nobody.
ALTER TABLE persons ADD COLUMN linked_to bigint REFERENCES persons (id);
CREATE INDEX persons_linked ON persons (linked_to) WHERE linked_to IS NOT NULL;

-- One-time codes, as digests; one a person.
CREATE TABLE link_codes (
  person_id bigint PRIMARY KEY,
  digest text NOT NULL UNIQUE,
  expires_ms bigint NOT NULL
);

-- Codes asked for, and wrong ones tried: both are limited.
CREATE TABLE link_tries (
  person_id bigint NOT NULL,
  kind text NOT NULL,
  at_ms bigint NOT NULL
);
CREATE INDEX link_tries_person ON link_tries (person_id, kind, at_ms);

-- Who was joined with whom, and which accounts and rows went over: so that it can be undone.
CREATE TABLE links (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  survivor_id bigint NOT NULL,
  absorbed_id bigint NOT NULL,
  linked_ms bigint NOT NULL,
  undone_ms bigint,
  moving integer NOT NULL -- what recall finds is still to be moved: 1 since the link, 2 since it was undone; 0: it is
);
CREATE INDEX links_survivor ON links (survivor_id);
CREATE INDEX links_absorbed ON links (absorbed_id);
CREATE INDEX links_moving ON links (id) WHERE moving > 0;

CREATE TABLE link_accounts (
  link_id bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
  kind text NOT NULL,
  tenant text NOT NULL,
  account text NOT NULL,
  PRIMARY KEY (kind, tenant, account, link_id)
);

CREATE TABLE link_moves (
  link_id bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
  kind text NOT NULL, -- item, fact: it went over; ended: it gave way to another's
  id bigint NOT NULL,
  PRIMARY KEY (link_id, kind, id)
);
