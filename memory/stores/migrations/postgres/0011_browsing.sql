-- For whoever looks through conversations (memory/browsing.py): a channel's, the one last spoken in first. By the hour, because
-- what an index holds of a row must not change with every append: the row could not be rewritten in place any more.
ALTER TABLE scopes ADD COLUMN last_hour bigint GENERATED ALWAYS AS (last_ms / 3600000) STORED;
CREATE INDEX scopes_spoken ON scopes (channel, last_hour) WHERE alias_of IS NULL;
