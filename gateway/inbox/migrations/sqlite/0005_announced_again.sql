-- What the platform refused is said again, a few times: so it must be known which chunks said it.

ALTER TABLE outbox_announced ADD COLUMN turn_id INTEGER;

ALTER TABLE outbox_announced ADD COLUMN tries INTEGER NOT NULL DEFAULT 1;

CREATE INDEX outbox_announced_turn ON outbox_announced (turn_id);
