-- Numbers about the whole store. key_version: of the codec that the key columns are written in (memory/key.py); names: grows
-- when a name comes to lead to another scope, so that whoever remembers names knows to look again.
CREATE TABLE meta (
  name text PRIMARY KEY,
  value bigint NOT NULL
);

INSERT INTO meta (name, value) VALUES ('key_version', 1), ('names', 0);

-- Rooms that have another id now; all three encoded as in a key. `now_room` is always one that has not moved on.
CREATE TABLE moved_rooms (
  moved_ms bigint NOT NULL,
  channel text NOT NULL,
  room text NOT NULL,
  now_room text NOT NULL,
  PRIMARY KEY (channel, room)
);
