-- What came from a message is found by it, however much there is in its scope: the greatest of the messages that a row came from (they
-- stand in order); 0: from none.
ALTER TABLE facts ADD COLUMN last_source INTEGER GENERATED ALWAYS AS (coalesce(json_extract(source_ids, '$[#-1]'), 0)) VIRTUAL;
CREATE INDEX facts_source ON facts (scope_id, last_source);
ALTER TABLE profile_items ADD COLUMN last_source INTEGER
  GENERATED ALWAYS AS (coalesce(json_extract(source_ids, '$[#-1]'), 0)) VIRTUAL;
DROP INDEX profile_items_source;
CREATE INDEX profile_items_source ON profile_items (scope_id, last_source) WHERE scope_id <> 0;

-- What is live of a person, however much there was before.
CREATE INDEX profile_items_live ON profile_items (person_id, namespace, id) WHERE status = 'active';
