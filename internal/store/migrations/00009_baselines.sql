-- +goose Up
-- Revisions of baselines: the runs that a gate compares a candidate with, under a name. A revision
-- does not change. The document has its runs, their key, and who made it when.
CREATE TABLE baselines (
    name     TEXT NOT NULL,
    revision INTEGER NOT NULL, -- from 1
    document TEXT NOT NULL,
    PRIMARY KEY (name, revision)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE baselines;
