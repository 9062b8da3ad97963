-- Who may do what, and the audit log (gateway/admin/access.py, tokens.py, sessions.py, audit.py).

-- What is decided on who holds what (is there another owner?) is decided one after the other: who decides raises the number.
CREATE TABLE admin_access (
  one integer PRIMARY KEY CHECK (one = 1),
  version bigint NOT NULL
);
INSERT INTO admin_access (one, version) VALUES (1, 0);

-- Removed users stay, without what they signed in with: the audit log names them by number.
CREATE TABLE admin_users (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  folded text UNIQUE, -- the name as it is compared at sign-in; NULL: removed, or signs in elsewhere
  password text, -- argon2id; NULL: does not sign in by one
  issuer text,
  subject text, -- at the issuer
  created_ms bigint NOT NULL,
  signed_in_ms bigint,
  removed_ms bigint,
  UNIQUE (issuer, subject)
);

CREATE TABLE admin_grants (
  user_id bigint NOT NULL,
  channel text NOT NULL, -- '': all of the gateway
  source text NOT NULL, -- hand: by an owner; claims: by the identity provider, at the last sign-in
  role text NOT NULL,
  ends_ms bigint, -- NULL: does not end
  PRIMARY KEY (user_id, channel, source)
);

CREATE TABLE admin_sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest text NOT NULL UNIQUE,
  user_id bigint NOT NULL,
  address text NOT NULL,
  browser text NOT NULL,
  created_ms bigint NOT NULL,
  seen_ms bigint NOT NULL,
  ends_ms bigint NOT NULL
);
CREATE INDEX admin_sessions_user ON admin_sessions (user_id);
CREATE INDEX admin_sessions_ends ON admin_sessions (ends_ms);

CREATE TABLE admin_tokens (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest text NOT NULL UNIQUE,
  name text NOT NULL,
  user_id bigint, -- whose; NULL: of whoever runs the gateway
  parent_id bigint, -- the token it was made with, and ends with; NULL: made by a person
  grants text NOT NULL, -- JSON; less where the user holds less now
  created_ms bigint NOT NULL,
  ends_ms bigint NOT NULL,
  used_ms bigint,
  revoked_ms bigint
);
CREATE INDEX admin_tokens_user ON admin_tokens (user_id);
CREATE INDEX admin_tokens_parent ON admin_tokens (parent_id) WHERE parent_id IS NOT NULL;

-- Ids, names of settings and counts: never words, never secrets.
CREATE TABLE admin_audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms bigint NOT NULL,
  actor text NOT NULL,
  door text NOT NULL,
  operation text NOT NULL,
  audited text NOT NULL,
  outcome text NOT NULL,
  channel text,
  about text NOT NULL
);
CREATE INDEX admin_audit_actor ON admin_audit (actor, id);
CREATE INDEX admin_audit_operation ON admin_audit (operation, id);

-- Append-only: only what is older than an admin's settings keep goes, and only by saying so first.
CREATE TABLE admin_audit_kept (
  one integer PRIMARY KEY CHECK (one = 1),
  from_ms bigint NOT NULL
);
INSERT INTO admin_audit_kept (one, from_ms) VALUES (1, 0);
-- An integrity error, as any other constraint's. (No line inside a function may end with a semicolon: see inbox/schema.py.)
CREATE FUNCTION admin_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION 'the audit log is only added to' USING ERRCODE = 'check_violation'; END $$;
CREATE FUNCTION admin_audit_expire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF OLD.at_ms < (SELECT from_ms FROM admin_audit_kept) THEN RETURN OLD; END IF; RAISE EXCEPTION
  'the audit log is only added to' USING ERRCODE = 'check_violation'; END $$;
CREATE TRIGGER admin_audit_unchanged BEFORE UPDATE ON admin_audit FOR EACH ROW EXECUTE FUNCTION admin_audit_refuse();
CREATE TRIGGER admin_audit_stays BEFORE DELETE ON admin_audit FOR EACH ROW EXECUTE FUNCTION admin_audit_expire();
CREATE TRIGGER admin_audit_whole BEFORE TRUNCATE ON admin_audit FOR EACH STATEMENT EXECUTE FUNCTION admin_audit_refuse();
