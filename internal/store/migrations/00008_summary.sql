-- +goose Up
-- The numbers of the summary by which runs are sorted, in thousandths, so that a position in
-- a list is a whole number; indexed for the runs that have them. A damaged document has none.
ALTER TABLE runs ADD COLUMN request_throughput_per_sec INTEGER;
ALTER TABLE runs ADD COLUMN output_token_throughput_per_sec INTEGER;
ALTER TABLE runs ADD COLUMN goodput_per_sec INTEGER;
ALTER TABLE runs ADD COLUMN error_rate_percent INTEGER;
ALTER TABLE runs ADD COLUMN time_to_first_token_p50_ms INTEGER;
ALTER TABLE runs ADD COLUMN time_to_first_token_p99_ms INTEGER;
ALTER TABLE runs ADD COLUMN inter_token_latency_p99_ms INTEGER;
ALTER TABLE runs ADD COLUMN request_latency_p50_ms INTEGER;
ALTER TABLE runs ADD COLUMN request_latency_p99_ms INTEGER;
UPDATE runs SET
    request_throughput_per_sec = CAST(round(1000 * json_extract(run, '$.summary.request_throughput_per_sec')) AS INTEGER),
    output_token_throughput_per_sec = CAST(round(1000 * json_extract(run, '$.summary.output_token_throughput_per_sec')) AS INTEGER),
    goodput_per_sec = CAST(round(1000 * json_extract(run, '$.summary.goodput_per_sec')) AS INTEGER),
    error_rate_percent = CAST(round(1000 * json_extract(run, '$.summary.error_rate_percent')) AS INTEGER),
    time_to_first_token_p50_ms = CAST(round(1000 * json_extract(run, '$.summary.time_to_first_token_p50_ms')) AS INTEGER),
    time_to_first_token_p99_ms = CAST(round(1000 * json_extract(run, '$.summary.time_to_first_token_p99_ms')) AS INTEGER),
    inter_token_latency_p99_ms = CAST(round(1000 * json_extract(run, '$.summary.inter_token_latency_p99_ms')) AS INTEGER),
    request_latency_p50_ms = CAST(round(1000 * json_extract(run, '$.summary.request_latency_p50_ms')) AS INTEGER),
    request_latency_p99_ms = CAST(round(1000 * json_extract(run, '$.summary.request_latency_p99_ms')) AS INTEGER)
    WHERE json_valid(run);
CREATE INDEX runs_request_throughput_per_sec ON runs (request_throughput_per_sec, id, parent_id) WHERE request_throughput_per_sec IS NOT NULL;
CREATE INDEX runs_output_token_throughput_per_sec ON runs (output_token_throughput_per_sec, id, parent_id) WHERE output_token_throughput_per_sec IS NOT NULL;
CREATE INDEX runs_goodput_per_sec ON runs (goodput_per_sec, id, parent_id) WHERE goodput_per_sec IS NOT NULL;
CREATE INDEX runs_error_rate_percent ON runs (error_rate_percent, id, parent_id) WHERE error_rate_percent IS NOT NULL;
CREATE INDEX runs_time_to_first_token_p50_ms ON runs (time_to_first_token_p50_ms, id, parent_id) WHERE time_to_first_token_p50_ms IS NOT NULL;
CREATE INDEX runs_time_to_first_token_p99_ms ON runs (time_to_first_token_p99_ms, id, parent_id) WHERE time_to_first_token_p99_ms IS NOT NULL;
CREATE INDEX runs_inter_token_latency_p99_ms ON runs (inter_token_latency_p99_ms, id, parent_id) WHERE inter_token_latency_p99_ms IS NOT NULL;
CREATE INDEX runs_request_latency_p50_ms ON runs (request_latency_p50_ms, id, parent_id) WHERE request_latency_p50_ms IS NOT NULL;
CREATE INDEX runs_request_latency_p99_ms ON runs (request_latency_p99_ms, id, parent_id) WHERE request_latency_p99_ms IS NOT NULL;

-- +goose Down
DROP INDEX runs_request_throughput_per_sec;
DROP INDEX runs_output_token_throughput_per_sec;
DROP INDEX runs_goodput_per_sec;
DROP INDEX runs_error_rate_percent;
DROP INDEX runs_time_to_first_token_p50_ms;
DROP INDEX runs_time_to_first_token_p99_ms;
DROP INDEX runs_inter_token_latency_p99_ms;
DROP INDEX runs_request_latency_p50_ms;
DROP INDEX runs_request_latency_p99_ms;
ALTER TABLE runs DROP COLUMN request_throughput_per_sec;
ALTER TABLE runs DROP COLUMN output_token_throughput_per_sec;
ALTER TABLE runs DROP COLUMN goodput_per_sec;
ALTER TABLE runs DROP COLUMN error_rate_percent;
ALTER TABLE runs DROP COLUMN time_to_first_token_p50_ms;
ALTER TABLE runs DROP COLUMN time_to_first_token_p99_ms;
ALTER TABLE runs DROP COLUMN inter_token_latency_p99_ms;
ALTER TABLE runs DROP COLUMN request_latency_p50_ms;
ALTER TABLE runs DROP COLUMN request_latency_p99_ms;
