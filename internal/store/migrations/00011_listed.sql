-- +goose Up
-- The indexes have all columns that the list of runs selects by, because a row has its documents
-- before them: to look up the parent of each of 10,000 runs took a second.
DROP INDEX runs_state;
CREATE INDEX runs_state ON runs (state, created_at, id, parent_id);
DROP INDEX runs_request_throughput_per_sec;
CREATE INDEX runs_request_throughput_per_sec ON runs (request_throughput_per_sec, id, parent_id, state) WHERE request_throughput_per_sec IS NOT NULL;
DROP INDEX runs_output_token_throughput_per_sec;
CREATE INDEX runs_output_token_throughput_per_sec ON runs (output_token_throughput_per_sec, id, parent_id, state) WHERE output_token_throughput_per_sec IS NOT NULL;
DROP INDEX runs_goodput_per_sec;
CREATE INDEX runs_goodput_per_sec ON runs (goodput_per_sec, id, parent_id, state) WHERE goodput_per_sec IS NOT NULL;
DROP INDEX runs_error_rate_percent;
CREATE INDEX runs_error_rate_percent ON runs (error_rate_percent, id, parent_id, state) WHERE error_rate_percent IS NOT NULL;
DROP INDEX runs_time_to_first_token_p50_ms;
CREATE INDEX runs_time_to_first_token_p50_ms ON runs (time_to_first_token_p50_ms, id, parent_id, state) WHERE time_to_first_token_p50_ms IS NOT NULL;
DROP INDEX runs_time_to_first_token_p99_ms;
CREATE INDEX runs_time_to_first_token_p99_ms ON runs (time_to_first_token_p99_ms, id, parent_id, state) WHERE time_to_first_token_p99_ms IS NOT NULL;
DROP INDEX runs_inter_token_latency_p99_ms;
CREATE INDEX runs_inter_token_latency_p99_ms ON runs (inter_token_latency_p99_ms, id, parent_id, state) WHERE inter_token_latency_p99_ms IS NOT NULL;
DROP INDEX runs_request_latency_p50_ms;
CREATE INDEX runs_request_latency_p50_ms ON runs (request_latency_p50_ms, id, parent_id, state) WHERE request_latency_p50_ms IS NOT NULL;
DROP INDEX runs_request_latency_p99_ms;
CREATE INDEX runs_request_latency_p99_ms ON runs (request_latency_p99_ms, id, parent_id, state) WHERE request_latency_p99_ms IS NOT NULL;

-- +goose Down
DROP INDEX runs_state;
CREATE INDEX runs_state ON runs (state, created_at, id);
DROP INDEX runs_request_throughput_per_sec;
CREATE INDEX runs_request_throughput_per_sec ON runs (request_throughput_per_sec, id, parent_id) WHERE request_throughput_per_sec IS NOT NULL;
DROP INDEX runs_output_token_throughput_per_sec;
CREATE INDEX runs_output_token_throughput_per_sec ON runs (output_token_throughput_per_sec, id, parent_id) WHERE output_token_throughput_per_sec IS NOT NULL;
DROP INDEX runs_goodput_per_sec;
CREATE INDEX runs_goodput_per_sec ON runs (goodput_per_sec, id, parent_id) WHERE goodput_per_sec IS NOT NULL;
DROP INDEX runs_error_rate_percent;
CREATE INDEX runs_error_rate_percent ON runs (error_rate_percent, id, parent_id) WHERE error_rate_percent IS NOT NULL;
DROP INDEX runs_time_to_first_token_p50_ms;
CREATE INDEX runs_time_to_first_token_p50_ms ON runs (time_to_first_token_p50_ms, id, parent_id) WHERE time_to_first_token_p50_ms IS NOT NULL;
DROP INDEX runs_time_to_first_token_p99_ms;
CREATE INDEX runs_time_to_first_token_p99_ms ON runs (time_to_first_token_p99_ms, id, parent_id) WHERE time_to_first_token_p99_ms IS NOT NULL;
DROP INDEX runs_inter_token_latency_p99_ms;
CREATE INDEX runs_inter_token_latency_p99_ms ON runs (inter_token_latency_p99_ms, id, parent_id) WHERE inter_token_latency_p99_ms IS NOT NULL;
DROP INDEX runs_request_latency_p50_ms;
CREATE INDEX runs_request_latency_p50_ms ON runs (request_latency_p50_ms, id, parent_id) WHERE request_latency_p50_ms IS NOT NULL;
DROP INDEX runs_request_latency_p99_ms;
CREATE INDEX runs_request_latency_p99_ms ON runs (request_latency_p99_ms, id, parent_id) WHERE request_latency_p99_ms IS NOT NULL;
