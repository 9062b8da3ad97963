-- Who may do what, and the audit log (gateway/admin/access.py, tokens.py, sessions.py, audit.py).

-- What is decided on who holds what (is there another owner?) is decided one after the other: who decides raises the number.
CREATE TABLE admin_access (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  version INTEGER NOT NULL
) STRICT;
INSERT INTO admin_access (one, version) VALUES (1, 0);

-- Removed users stay, without what they signed in with: the audit log names them by number.
CREATE TABLE admin_users (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  folded TEXT UNIQUE, -- the name as it is compared at sign-in; NULL: removed, or signs in elsewhere
  password TEXT, -- argon2id; NULL: does not sign in by one
  issuer TEXT,
  subject TEXT, -- at the issuer
  created_ms INTEGER NOT NULL,
  signed_in_ms INTEGER,
  removed_ms INTEGER,
  UNIQUE (issuer, subject)
) STRICT;

CREATE TABLE admin_grants (
  user_id INTEGER NOT NULL,
  channel TEXT NOT NULL, -- '': all of the gateway
  source TEXT NOT NULL, -- hand: by an owner; claims: by the identity provider, at the last sign-in
  role TEXT NOT NULL,
  ends_ms INTEGER, -- NULL: does not end
  PRIMARY KEY (user_id, channel, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE admin_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  digest TEXT NOT NULL UNIQUE,
  user_id INTEGER NOT NULL,
  address TEXT NOT NULL,
  browser TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL,
  ends_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX admin_sessions_user ON admin_sessions (user_id);
CREATE INDEX admin_sessions_ends ON admin_sessions (ends_ms);

CREATE TABLE admin_tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  digest TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  user_id INTEGER, -- whose; NULL: of whoever runs the gateway
  parent_id INTEGER, -- the token it was made with, and ends with; NULL: made by a person
  grants TEXT NOT NULL, -- JSON; less where the user holds less now
  created_ms INTEGER NOT NULL,
  ends_ms INTEGER NOT NULL,
  used_ms INTEGER,
  revoked_ms INTEGER
) STRICT;
CREATE INDEX admin_tokens_user ON admin_tokens (user_id);
CREATE INDEX admin_tokens_parent ON admin_tokens (parent_id) WHERE parent_id IS NOT NULL;

-- Ids, names of settings and counts: never words, never secrets.
CREATE TABLE admin_audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  actor TEXT NOT NULL,
  door TEXT NOT NULL,
  operation TEXT NOT NULL,
  audited TEXT NOT NULL,
  outcome TEXT NOT NULL,
  channel TEXT,
  about TEXT NOT NULL
) STRICT;
CREATE INDEX admin_audit_actor ON admin_audit (actor, id);
CREATE INDEX admin_audit_operation ON admin_audit (operation, id);

-- Append-only: only what is older than an admin's settings keep goes, and only by saying so first.
CREATE TABLE admin_audit_kept (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  from_ms INTEGER NOT NULL
) STRICT;
INSERT INTO admin_audit_kept (one, from_ms) VALUES (1, 0);
CREATE TRIGGER admin_audit_unchanged BEFORE UPDATE ON admin_audit
BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
CREATE TRIGGER admin_audit_stays BEFORE DELETE ON admin_audit
WHEN OLD.at_ms >= (SELECT from_ms FROM admin_audit_kept)
BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
