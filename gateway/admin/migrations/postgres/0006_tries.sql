-- Wrong passwords at sign-in (gateway/admin/tries.py): counted here, so that waits hold on every instance and through a restart.
-- By digest: what people type as their name may be a password in the wrong field. What is old goes with the next try.
CREATE TABLE admin_tries (
  digest text PRIMARY KEY,
  wrong bigint NOT NULL,
  last_ms bigint NOT NULL
);
CREATE INDEX admin_tries_last ON admin_tries (last_ms);

-- What is older than the settings keep is looked for every hour, and what was done in one channel by its admins.
CREATE INDEX admin_audit_at ON admin_audit (at_ms);
CREATE INDEX admin_audit_channel ON admin_audit (channel, id);
