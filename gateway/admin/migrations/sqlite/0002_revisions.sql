-- What the console says over the settings file, whole, once per change; and the secrets that settings refer to, sealed.
CREATE TABLE settings_revisions (
    number INTEGER PRIMARY KEY,
    author TEXT NOT NULL,
    name   TEXT NOT NULL,
    ms     INTEGER NOT NULL,
    reason TEXT NOT NULL,
    overlay TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;

CREATE TABLE vault (
    name   TEXT PRIMARY KEY,
    sealed BLOB NOT NULL,
    author TEXT NOT NULL,
    author_name TEXT NOT NULL,
    ms     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
