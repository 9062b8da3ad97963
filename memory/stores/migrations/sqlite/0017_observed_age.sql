-- works with: 13
-- For the retention of what people said: what was overheard is kept by scope, and its time is over by its age.
CREATE INDEX observed_age ON observed (created_ms);
