-- What was spent. An entry is one message that was let in, or one call of a model; it is counted once, whoever notes it how often.
-- person 0: nobody, or somebody who was erased. room '': a private chat, which its person names. money: millionths of the
-- currency, NULL where the model's price is not known.
CREATE TABLE usage_entries (
  id bigint NOT NULL,
  purpose text COLLATE "C" NOT NULL, -- message, answer, memory
  turn_id bigint NOT NULL,
  at_ms bigint NOT NULL,
  channel text COLLATE "C" NOT NULL,
  room text COLLATE "C" NOT NULL,
  person bigint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  failed bigint NOT NULL,
  estimated bigint NOT NULL,
  prompt bigint NOT NULL,
  cached bigint NOT NULL,
  completion bigint NOT NULL,
  money bigint,
  PRIMARY KEY (id, purpose)
);

CREATE INDEX usage_entries_age ON usage_entries (at_ms);
CREATE INDEX usage_entries_turn ON usage_entries (turn_id);
CREATE INDEX usage_entries_person ON usage_entries (person) WHERE person <> 0;

-- The same, summed by day; a day is one of the settings' time zone.
CREATE TABLE usage_days (
  day text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  room text COLLATE "C" NOT NULL,
  person bigint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  purpose text COLLATE "C" NOT NULL, -- answer (messages too), memory
  messages bigint NOT NULL,
  calls bigint NOT NULL,
  failed bigint NOT NULL,
  estimated bigint NOT NULL, -- calls of which the tokens were not reported
  unpriced bigint NOT NULL, -- calls of which the price is not known
  prompt bigint NOT NULL,
  cached bigint NOT NULL,
  completion bigint NOT NULL,
  money bigint NOT NULL,
  PRIMARY KEY (day, channel, room, person, agent, model, purpose)
);

CREATE INDEX usage_days_person ON usage_days (person) WHERE person <> 0;

-- The same, by whom a quota is for and in which of its times: what a quota is checked against.
CREATE TABLE usage_counts (
  kind text COLLATE "C" NOT NULL, -- person, room, channel, agent
  channel text COLLATE "C" NOT NULL, -- '' of persons and agents
  name text COLLATE "C" NOT NULL,
  span text COLLATE "C" NOT NULL, -- minute, day, month
  start text COLLATE "C" NOT NULL,
  messages bigint NOT NULL,
  tokens bigint NOT NULL,
  money bigint NOT NULL,
  PRIMARY KEY (kind, channel, name, span, start)
);

CREATE INDEX usage_counts_age ON usage_counts (span, start);
