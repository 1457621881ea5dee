-- +goose Up
-- One row a run. The documents are what Get returns; the columns beside them
-- are for filters and sorting. A key that a run does not have yet is the largest
-- integer, so that the run sorts after all that have one.
CREATE TABLE runs (
    id           TEXT PRIMARY KEY,
    run          TEXT NOT NULL,    -- engine.Run as JSON
    config       TEXT NOT NULL,    -- configuration as given
    state        TEXT NOT NULL,
    created_at   INTEGER NOT NULL, -- Unix nanoseconds, as all times
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    duration     INTEGER NOT NULL, -- nanoseconds
    name         TEXT NOT NULL,    -- lower case
    notes        TEXT NOT NULL     -- lower case
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_created ON runs (created_at, id);
CREATE INDEX runs_state ON runs (state, created_at, id);

CREATE TABLE labels (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE models (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    model  TEXT NOT NULL,
    PRIMARY KEY (run_id, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE targets (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    target TEXT NOT NULL,
    PRIMARY KEY (run_id, target)
) STRICT, WITHOUT ROWID;

-- Facts about the database itself: 'indexed' once it holds every folder that
-- was there when it was made, 'ping' when it was last written for a health check.
CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE facts;
DROP TABLE targets;
DROP TABLE models;
DROP TABLE labels;
DROP TABLE runs;
