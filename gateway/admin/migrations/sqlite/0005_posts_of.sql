-- Whom a post names and whose words it may tell: who had spoken last, in a group perhaps another than whom the take-over is about.
-- NULL: nobody that is known, or it is older than this column.
ALTER TABLE takeover_posts ADD COLUMN person_id INTEGER;
CREATE INDEX takeover_posts_person ON takeover_posts (person_id) WHERE person_id IS NOT NULL;
