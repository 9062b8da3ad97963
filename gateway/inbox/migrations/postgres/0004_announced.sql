-- What a channel was told once and for all, such as what is kept of a room's talk; the chunks belong to no event.

CREATE TABLE outbox_announced (
  digest BYTEA PRIMARY KEY
);
