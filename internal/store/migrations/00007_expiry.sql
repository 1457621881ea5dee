-- +goose Up
-- When a run is deleted because of its ttl, as a sort key: the largest integer = never.
ALTER TABLE runs ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 9223372036854775807;
CREATE INDEX runs_expires ON runs (expires_at);

-- +goose Down
DROP INDEX runs_expires;
ALTER TABLE runs DROP COLUMN expires_at;
