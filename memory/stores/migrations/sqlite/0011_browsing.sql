-- For whoever looks through conversations (memory/browsing.py): a channel's, the one last spoken in first.
CREATE INDEX scopes_spoken ON scopes (channel, last_ms, id) WHERE alias_of IS NULL;
