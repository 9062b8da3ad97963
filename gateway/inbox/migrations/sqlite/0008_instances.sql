-- works with: 7
-- Why a running turn is to end early. The other database has more here, for what many instances share.

ALTER TABLE inbox_events ADD COLUMN halt TEXT;
