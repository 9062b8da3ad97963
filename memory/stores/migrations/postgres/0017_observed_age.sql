-- works with: 13
-- outside a transaction
-- For the retention of what people said: what was overheard is kept by scope, and its time is over by its age.
DROP INDEX CONCURRENTLY IF EXISTS observed_age;

CREATE INDEX CONCURRENTLY observed_age ON observed (created_ms);
