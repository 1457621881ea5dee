-- +goose Up
-- Studies: a cell has the id of its study, others have an empty text.
ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'run';
ALTER TABLE runs ADD COLUMN parent_id TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_parent ON runs (parent_id, created_at, id);

-- +goose Down
DROP INDEX runs_parent;
ALTER TABLE runs DROP COLUMN parent_id;
ALTER TABLE runs DROP COLUMN kind;
