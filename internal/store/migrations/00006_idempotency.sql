-- +goose Up
-- Idempotency keys of submissions. A key belongs to its run and goes with it; after a
-- day it no longer counts, so that several runs can have the same.
CREATE TABLE idempotency_keys (
    caller TEXT NOT NULL, -- name of the token; empty without tokens
    key    TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    PRIMARY KEY (caller, key, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_run ON idempotency_keys (run_id);

-- +goose Down
DROP TABLE idempotency_keys;
