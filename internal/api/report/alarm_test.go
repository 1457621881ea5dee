package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// An alarm names the numbers that the load generator distorted, and only those.
func TestAlarm(t *testing.T) {
	reason := func(level verdict.Level, number string, error float64) verdict.Reason {
		return verdict.Reason{
			Code: "tick-lag", Level: level, Value: error, Limit: 1, Unit: "ms", Percentile: 95, Concerns: []string{number},
			Cause: "short of CPU", Source: "other processes used 1.89 of the 2 cores", Remedy: "stop the other processes",
		}
	}
	low := verdict.Reason{Code: "concurrency-not-delivered", Level: verdict.Invalid, Value: 0.4, Limit: 0.01, Unit: "ratio", Concerns: []string{"throughput"}, Cause: "it fell behind"}
	gap := reason(verdict.Invalid, "inter_chunk_latency", 7.6)
	first, latency := reason(verdict.Invalid, "time_to_first_token", 39), reason(verdict.Suspect, "request_latency", 4)
	wrong := reason(verdict.Invalid, "request_latency", 400)
	bias := []verdict.Bias{{Metric: "time_to_first_token"}, {Metric: "request_latency"}, {Metric: "inter_chunk_latency"}}
	const because, helps = ": short of CPU; other processes used 1.89 of the 2 cores", "What helps: stop the other processes."
	for _, tt := range []struct {
		name    string
		reasons []verdict.Reason
		want    []alert
	}{
		{"none", nil, nil},
		{"one number", []verdict.Reason{gap}, []alert{{
			"Do not use inter_chunk_latency: the load generator distorted it.",
			[]string{"inter_chunk_latency off by up to 7.6 ms in 95 % of gaps (limit 1.0 ms)" + because, helps},
		}}},
		{"two levels", []verdict.Reason{first, latency, gap}, []alert{
			{"Do not use time_to_first_token and inter_chunk_latency: the load generator distorted them.", []string{
				"time_to_first_token off by up to 39 ms in 95 % of requests (limit 1.0 ms), inter_chunk_latency off by up to 7.6 ms in 95 % of gaps (limit 1.0 ms)" + because, helps,
			}},
			{"The load generator may have distorted request_latency.", []string{"request_latency possibly off by up to 4.0 ms in 95 % of requests (limit 1.0 ms)" + because, helps}},
		}},
		{"all", []verdict.Reason{first, wrong, gap, low}, []alert{{"Do not use these numbers: the load generator distorted them.", []string{
			"time_to_first_token off by up to 39 ms in 95 % of requests (limit 1.0 ms), request_latency off by up to 400 ms in 95 % of requests (limit 1.0 ms), " +
				"inter_chunk_latency off by up to 7.6 ms in 95 % of gaps (limit 1.0 ms)" + because,
			"throughput up to 40 % low: it fell behind", helps,
		}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got text
			r := &wire.Run{Client: &run.ClientVerdict{Reasons: tt.reasons, Bias: bias}}
			got.alarm(r, "", reasons(r))
			if diff := cmp.Diff(tt.want, got.Alerts); diff != "" {
				t.Errorf("alerts (-want +got):\n%s", diff)
			}
		})
	}
}
