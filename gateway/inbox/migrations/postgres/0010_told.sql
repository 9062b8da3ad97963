-- works with: 7
-- What operators see of instances: how each says that it is, and which have gone. An earlier release tells neither.
ALTER TABLE inbox_instances ADD COLUMN told TEXT;

-- `lost`: given up for dead by the others. The newest hundred stay.
CREATE TABLE inbox_departed (
  id INTEGER NOT NULL,
  number SMALLINT,
  release TEXT,
  host TEXT,
  joined TIMESTAMPTZ NOT NULL,
  left_at TIMESTAMPTZ NOT NULL,
  lost BOOLEAN NOT NULL
);
