-- The message that shows a reply while it is made: of a running turn, and of the chunk that replaces it.

ALTER TABLE inbox_events ADD COLUMN shown TEXT;

ALTER TABLE outbox_chunks ADD COLUMN shown TEXT;
