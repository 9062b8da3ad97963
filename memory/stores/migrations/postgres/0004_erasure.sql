-- What is stored of a person is found by the person: to show it to them, and to erase it.
CREATE INDEX messages_person ON messages (person_id, scope_id, id) WHERE person_id IS NOT NULL;
CREATE INDEX facts_person ON facts (person_id, id);
