-- works with: 13
-- A turn is stored whatever its id: one that is answered when its quarter is gone, one whose quarter nobody made in time, one of a
-- clock that was wrong. Next to nothing stands here, so making a quarter, which has to look through it, stays cheap.
CREATE TABLE ledgers_rest (LIKE ledgers INCLUDING DEFAULTS);
ALTER TABLE ledgers ATTACH PARTITION ledgers_rest DEFAULT;
