-- works with: 7
-- How many of a message's starts count as no try: they were cut short by its own speaker, or broken off by the database. An earlier
-- release counts all of them.
ALTER TABLE inbox_events ADD COLUMN excused INTEGER NOT NULL DEFAULT 0;
