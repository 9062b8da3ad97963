-- Several accounts of one person, joined by that person (memory/links.py).

-- Whom this person is one with since their accounts were joined: what is known of them is the other's. NULL: nobody.
ALTER TABLE persons ADD COLUMN linked_to INTEGER REFERENCES persons (id);
CREATE INDEX persons_linked ON persons (linked_to) WHERE linked_to IS NOT NULL;

-- One-time codes, as digests; one a person.
CREATE TABLE link_codes (
  person_id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  expires_ms INTEGER NOT NULL
) STRICT;

-- Codes asked for, and wrong ones tried: both are limited.
CREATE TABLE link_tries (
  person_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX link_tries_person ON link_tries (person_id, kind, at_ms);

-- Who was joined with whom, and which accounts and rows went over: so that it can be undone.
CREATE TABLE links (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  survivor_id INTEGER NOT NULL,
  absorbed_id INTEGER NOT NULL,
  linked_ms INTEGER NOT NULL,
  undone_ms INTEGER,
  moving INTEGER NOT NULL -- what recall finds is still to be moved: 1 since the link, 2 since it was undone; 0: it is
) STRICT;
CREATE INDEX links_survivor ON links (survivor_id);
CREATE INDEX links_absorbed ON links (absorbed_id);
CREATE INDEX links_moving ON links (id) WHERE moving > 0;

CREATE TABLE link_accounts (
  link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  tenant TEXT NOT NULL,
  account TEXT NOT NULL,
  PRIMARY KEY (kind, tenant, account, link_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE link_moves (
  link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
  kind TEXT NOT NULL, -- item, fact: it went over; ended: it gave way to another's
  id INTEGER NOT NULL,
  PRIMARY KEY (link_id, kind, id)
) STRICT, WITHOUT ROWID;
