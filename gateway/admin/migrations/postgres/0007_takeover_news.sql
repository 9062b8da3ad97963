-- What came about in a take-over and is still to be told to the person and the staff, in that order; a row goes when it was told. It
-- takes the place of `takeovers.owed`, which held the last one only and is not used any more.
CREATE TABLE takeover_news (
  takeover_id BIGINT NOT NULL REFERENCES takeovers (id),
  changes BIGINT NOT NULL, -- the take-over's, when this came about
  what TEXT NOT NULL, -- asked, begun, ended
  operator TEXT, -- who had it then
  operator_name TEXT,
  PRIMARY KEY (takeover_id, changes)
);
INSERT INTO takeover_news (takeover_id, changes, what, operator, operator_name)
  SELECT id, changes, owed, operator, operator_name FROM takeovers WHERE owed IS NOT NULL;
UPDATE takeovers SET owed = NULL;

-- The turn by which a human was asked for; NULL: an operator did, or it is older than this column.
ALTER TABLE takeovers ADD COLUMN asked_turn_id BIGINT;

CREATE INDEX takeover_posts_unknown ON takeover_posts (channel, room, turn_id) WHERE message_id IS NULL;
