-- The log: the system of record. One row an event, in commit order.
CREATE TABLE events(
  pos            INTEGER PRIMARY KEY,          -- global commit position, without gaps
  execution_no   INTEGER NOT NULL,             -- pos of the execution's execution.created
  seq            INTEGER NOT NULL,             -- event_seq
  type           INTEGER NOT NULL,             -- kernel.EventType
  at             INTEGER NOT NULL,             -- microseconds since the epoch, as all times here
  schema_version INTEGER NOT NULL,
  id             BLOB    NOT NULL,             -- UUIDv7, 16 bytes, as all ids here
  cause          BLOB,                         -- causation_id
  ruled          BLOB,                         -- digest of the policy bundle, or of a canonical output
  digest         BLOB,                         -- SHA-256 of body; stays when the body is erased
  hash           BLOB    NOT NULL,             -- head of the execution's hash chain
  payload        TEXT    NOT NULL,             -- lean JSON
  body           BLOB                          -- input, args, result, error, output or signal payload
) STRICT;
CREATE UNIQUE INDEX events_execution ON events(execution_no, seq);

-- What retention removed: the last position when it did, how many events, and
-- the sum of their positions (64 bits, wrapping). Positions are never given
-- again, and with these sums the positions of what is left can be checked.
CREATE TABLE retired(last INTEGER NOT NULL, events INTEGER NOT NULL, positions INTEGER NOT NULL) STRICT;
INSERT INTO retired VALUES (0, 0, 0);

-- Projections: every row below up to "Operational" can be rebuilt from the log.
CREATE TABLE executions(
  no         INTEGER PRIMARY KEY,
  id         BLOB    NOT NULL UNIQUE,
  agent_no   INTEGER NOT NULL,
  status     INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  deadline_at INTEGER,
  ended_at   INTEGER,
  output_pos INTEGER,
  outcome    BLOB,
  failure    TEXT    NOT NULL,
  labels     TEXT                              -- JSON object, NULL when there are none
) STRICT;
CREATE INDEX executions_agent ON executions(agent_no, no);
CREATE INDEX executions_status ON executions(status, no);
CREATE INDEX executions_agent_status ON executions(agent_no, status, no);
CREATE INDEX executions_deadline ON executions(deadline_at) WHERE deadline_at IS NOT NULL AND ended_at IS NULL;
CREATE INDEX executions_ended ON executions(ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE labels(
  key TEXT NOT NULL, value TEXT NOT NULL, execution_no INTEGER NOT NULL,
  PRIMARY KEY(key, value, execution_no)
) STRICT, WITHOUT ROWID;

-- A step row is written once and touched again only by a grant or a new attempt;
-- what ends the step is a row of its own in step_results.
CREATE TABLE steps(
  no           INTEGER PRIMARY KEY,            -- pos of step.proposed, which also holds the args
  execution_no INTEGER NOT NULL,
  step_id      BLOB    NOT NULL,
  kind         INTEGER NOT NULL,
  status       INTEGER NOT NULL,
  idempotency  INTEGER NOT NULL,
  occurrence   INTEGER NOT NULL,
  attempt      INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  started_at   INTEGER,
  target       TEXT    NOT NULL,
  rule         TEXT    NOT NULL,
  args_hash    BLOB    NOT NULL,
  dispatch     BLOB    NOT NULL,
  last         BLOB    NOT NULL,               -- id of the step's latest event
  approval     BLOB
) STRICT;
CREATE UNIQUE INDEX steps_execution ON steps(execution_no, step_id);

CREATE TABLE step_results(
  step_no       INTEGER PRIMARY KEY,
  status        INTEGER NOT NULL,
  pos           INTEGER NOT NULL,              -- event that holds the result or the error
  at            INTEGER NOT NULL,
  input_tokens  INTEGER,
  output_tokens INTEGER,
  indeterminate INTEGER,
  reason        TEXT
) STRICT;

CREATE TABLE approvals(
  no           INTEGER PRIMARY KEY,            -- pos of approval.requested
  id           BLOB    NOT NULL UNIQUE,
  execution_no INTEGER NOT NULL,
  step_no      INTEGER NOT NULL,
  status       INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  timeout_at   INTEGER NOT NULL,
  decided_at   INTEGER,
  rule         TEXT    NOT NULL,
  reason       TEXT    NOT NULL,
  message      TEXT    NOT NULL,
  approvers    TEXT,                           -- JSON array, NULL: anyone
  decided_by   TEXT,
  rationale    TEXT
) STRICT;
CREATE INDEX approvals_status ON approvals(status, timeout_at);
CREATE INDEX approvals_timeout ON approvals(timeout_at);
CREATE INDEX approvals_execution ON approvals(execution_no);

-- What a blocked execution waits for, and until when.
CREATE TABLE blocks(
  execution_no INTEGER PRIMARY KEY,
  reason       INTEGER NOT NULL,
  step_id      BLOB    NOT NULL,
  approval     BLOB,
  requested    BLOB,
  signal       TEXT,
  timeout_at   INTEGER
) STRICT;
CREATE INDEX blocks_timeout ON blocks(timeout_at) WHERE timeout_at IS NOT NULL;

-- Steps that wait, or once waited, for a rate limit slot.
CREATE TABLE parks(
  execution_no INTEGER NOT NULL,
  step_id      BLOB    NOT NULL,
  event        BLOB    NOT NULL,
  retry_at     INTEGER,                        -- NULL: the wait is over
  PRIMARY KEY(execution_no, step_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX parks_retry ON parks(retry_at) WHERE retry_at IS NOT NULL;

CREATE TABLE signals(
  no           INTEGER PRIMARY KEY,            -- pos of signal.received, which holds the payload
  execution_no INTEGER NOT NULL,
  id           BLOB    NOT NULL,
  event        BLOB    NOT NULL,
  taken        INTEGER NOT NULL,
  type         TEXT    NOT NULL,
  digest       BLOB    NOT NULL,
  key          TEXT
) STRICT;
CREATE INDEX signals_execution ON signals(execution_no, no);

-- Operational: who may write now, and what was configured. Not in the log.
CREATE TABLE dispatches(
  execution_no   INTEGER PRIMARY KEY,
  id             BLOB    NOT NULL,
  status         INTEGER NOT NULL,
  attempt        INTEGER NOT NULL,
  claims         INTEGER NOT NULL,
  not_before     INTEGER NOT NULL,
  timeout        INTEGER NOT NULL,             -- microseconds
  acked          INTEGER NOT NULL,
  holder         BLOB    NOT NULL,
  holder_attempt INTEGER NOT NULL,
  queued_event   BLOB    NOT NULL,
  acked_event    BLOB    NOT NULL
) STRICT;
CREATE INDEX dispatches_due ON dispatches(not_before) WHERE status <= 2;
CREATE INDEX dispatches_in_flight ON dispatches(execution_no) WHERE status = 3;

-- Memory of attempts in flight that left the process in an orderly way.
CREATE TABLE leases(
  execution_no INTEGER PRIMARY KEY,
  expires_at   INTEGER NOT NULL,
  stored_at    INTEGER NOT NULL,
  memory       BLOB                            -- NULL: lost before
) STRICT;

CREATE TABLE rate_slots(
  bucket TEXT    NOT NULL,
  at     INTEGER NOT NULL,
  keep   INTEGER NOT NULL                      -- microseconds: the longest window that looks back at it
) STRICT;
CREATE INDEX rate_slots_bucket ON rate_slots(bucket, at);

CREATE TABLE create_keys(
  key          TEXT    PRIMARY KEY,
  request      BLOB    NOT NULL,
  execution_no INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX create_keys_execution ON create_keys(execution_no);

CREATE TABLE agents(
  no            INTEGER PRIMARY KEY,
  id            TEXT    NOT NULL UNIQUE,
  webhook_url   TEXT    NOT NULL,
  secret        TEXT    NOT NULL,
  lease_seconds INTEGER NOT NULL,              -- 0: the service's default
  registered_at INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  deleted       INTEGER NOT NULL
) STRICT;

-- Every bundle that was ever loaded stays, so that a decision can be explained.
CREATE TABLE policies(
  no          INTEGER PRIMARY KEY,
  agent_no    INTEGER NOT NULL,
  loaded_at   INTEGER NOT NULL,
  replaced_at INTEGER,
  sha256      BLOB    NOT NULL,
  bundle      TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX policies_current ON policies(agent_no) WHERE replaced_at IS NULL;

CREATE TABLE probe(at INTEGER NOT NULL) STRICT;
INSERT INTO probe VALUES (0);
