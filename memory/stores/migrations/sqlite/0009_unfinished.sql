-- Who said what is kept as background: so that it is shown to them and erased with them, whether they ever asked the bot or not.
ALTER TABLE observed ADD COLUMN person_id INTEGER;
CREATE INDEX observed_person ON observed (person_id, scope_id, id) WHERE person_id IS NOT NULL;

-- How what is stored of a person can be found, from the moment that they are to be erased until it is done (JSON): an erasure that
-- broke off goes on by it.
ALTER TABLE persons ADD COLUMN erasing TEXT;
CREATE INDEX persons_erasing ON persons (id) WHERE erasing IS NOT NULL;
