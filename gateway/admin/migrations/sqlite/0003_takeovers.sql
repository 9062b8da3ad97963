-- Conversations in which a human answers, or was asked for. `conversation` and "user" are encoded as in the key; "user" is '*'
-- for a group. Rows stay as history; of a person who is erased the words and accounts go.
CREATE TABLE takeovers (
  id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  "user" TEXT NOT NULL,
  chat_type TEXT NOT NULL,
  state TEXT NOT NULL, -- asked, active, ended
  asked_by TEXT NOT NULL, -- operator, person, agent, words, failures, complaints
  note TEXT, -- why the agent asked, in its words
  person_id INTEGER, -- who asked, or was spoken with when it began
  operator TEXT, -- id of who has it, or had it last
  operator_name TEXT,
  since_ms INTEGER NOT NULL, -- of its state
  touched_ms INTEGER NOT NULL, -- when the operator last did something; a request: when it was made
  created_ms INTEGER NOT NULL,
  how TEXT, -- how it ended: handed_back, timed_out, not_taken, dismissed
  summary TEXT, -- what the operator left for the agent
  owed TEXT, -- what the person and the desk are still to be told of the last change; NULL: nothing
  "last" BLOB NOT NULL, -- where the person last spoke: a route without words
  last_person_id INTEGER, -- who that was
  turn_id INTEGER NOT NULL, -- the turn of that
  changes INTEGER NOT NULL -- of the state: grows by one
) STRICT;
CREATE UNIQUE INDEX takeovers_live ON takeovers (channel, conversation, "user") WHERE state <> 'ended';
CREATE INDEX takeovers_person ON takeovers (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX takeovers_last_person ON takeovers (last_person_id) WHERE last_person_id IS NOT NULL;
CREATE INDEX takeovers_place ON takeovers (channel, "user");

-- What was posted about a take-over in the staff's room. `message_id` is the platform's, NULL until it is known.
CREATE TABLE takeover_posts (
  turn_id INTEGER PRIMARY KEY, -- of the outbox
  takeover_id INTEGER NOT NULL REFERENCES takeovers (id),
  channel TEXT NOT NULL,
  room TEXT NOT NULL,
  message_id TEXT
) STRICT;
CREATE INDEX takeover_posts_of ON takeover_posts (takeover_id, turn_id);
CREATE INDEX takeover_posts_message ON takeover_posts (channel, room, message_id) WHERE message_id IS NOT NULL;
