-- +goose Up
-- Runs that the retention rules never delete.
ALTER TABLE runs ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_ended ON runs (parent_id, pinned, ended_at, id);

-- +goose Down
DROP INDEX runs_ended;
ALTER TABLE runs DROP COLUMN pinned;
