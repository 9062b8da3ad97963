-- Numbers about the whole store. key_version: of the codec that the key columns are written in (memory/key.py); names: grows
-- when a name comes to lead to another scope, so that whoever remembers names knows to look again.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('key_version', 1), ('names', 0);

-- Rooms that have another id now; all three encoded as in a key. `now_room` is always one that has not moved on.
CREATE TABLE moved_rooms (
  channel TEXT NOT NULL,
  room TEXT NOT NULL,
  now_room TEXT NOT NULL,
  moved_ms INTEGER NOT NULL,
  PRIMARY KEY (channel, room)
) STRICT, WITHOUT ROWID;
