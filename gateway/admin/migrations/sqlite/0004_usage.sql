-- What was spent. An entry is one message that was let in, or one call of a model; it is counted once, whoever notes it how often.
-- person 0: nobody, or somebody who was erased. room '': a private chat, which its person names. money: millionths of the
-- currency, NULL where the model's price is not known.
CREATE TABLE usage_entries (
  id INTEGER NOT NULL,
  purpose TEXT NOT NULL, -- message, answer, memory
  turn_id INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  channel TEXT NOT NULL,
  room TEXT NOT NULL,
  person INTEGER NOT NULL,
  agent TEXT NOT NULL,
  model TEXT NOT NULL,
  failed INTEGER NOT NULL,
  estimated INTEGER NOT NULL,
  prompt INTEGER NOT NULL,
  cached INTEGER NOT NULL,
  completion INTEGER NOT NULL,
  money INTEGER,
  PRIMARY KEY (id, purpose)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_entries_age ON usage_entries (at_ms);
CREATE INDEX usage_entries_turn ON usage_entries (turn_id);
CREATE INDEX usage_entries_person ON usage_entries (person) WHERE person <> 0;

-- The same, summed by day; a day is one of the settings' time zone.
CREATE TABLE usage_days (
  day TEXT NOT NULL,
  channel TEXT NOT NULL,
  room TEXT NOT NULL,
  person INTEGER NOT NULL,
  agent TEXT NOT NULL,
  model TEXT NOT NULL,
  purpose TEXT NOT NULL, -- answer (messages too), memory
  messages INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  estimated INTEGER NOT NULL, -- calls of which the tokens were not reported
  unpriced INTEGER NOT NULL, -- calls of which the price is not known
  prompt INTEGER NOT NULL,
  cached INTEGER NOT NULL,
  completion INTEGER NOT NULL,
  money INTEGER NOT NULL,
  PRIMARY KEY (day, channel, room, person, agent, model, purpose)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_days_person ON usage_days (person) WHERE person <> 0;

-- The same, by whom a quota is for and in which of its times: what a quota is checked against.
CREATE TABLE usage_counts (
  kind TEXT NOT NULL, -- person, room, channel, agent
  channel TEXT NOT NULL, -- '' of persons and agents
  name TEXT NOT NULL,
  span TEXT NOT NULL, -- minute, day, month
  start TEXT NOT NULL,
  messages INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  money INTEGER NOT NULL,
  PRIMARY KEY (kind, channel, name, span, start)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_counts_age ON usage_counts (span, start);
