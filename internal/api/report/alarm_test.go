package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/compare"
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
			[]string{"inter_chunk_latency off by at most 7.6 ms for 95 % of gaps (limit 1.0 ms)" + because, helps},
		}}},
		{"two levels", []verdict.Reason{first, latency, gap}, []alert{
			{"Do not use time_to_first_token and inter_chunk_latency: the load generator distorted them.", []string{
				"time_to_first_token off by at most 39 ms for 95 % of requests (limit 1.0 ms), inter_chunk_latency off by at most 7.6 ms for 95 % of gaps (limit 1.0 ms)" + because, helps,
			}},
			{"The load generator may have distorted request_latency.", []string{"request_latency possibly off, by at most 4.0 ms for 95 % of requests (limit 1.0 ms)" + because, helps}},
		}},
		{"all", []verdict.Reason{first, wrong, gap, low}, []alert{{"Do not use these numbers: the load generator distorted them.", []string{
			"time_to_first_token off by at most 39 ms for 95 % of requests (limit 1.0 ms), request_latency off by at most 400 ms for 95 % of requests (limit 1.0 ms), " +
				"inter_chunk_latency off by at most 7.6 ms for 95 % of gaps (limit 1.0 ms)" + because,
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

// A number that is neither in the report nor decides the verdict is no alarm.
func TestShown(t *testing.T) {
	gap := verdict.Reason{Level: verdict.Invalid, Concerns: []string{"inter_chunk_latency"}, Unreported: true}
	first := verdict.Reason{Level: verdict.Invalid, Concerns: []string{"time_to_first_token"}}
	all := []verdict.Reason{first, gap}
	second := &compare.Comparison{Metrics: []compare.Metric{{Tag: "time_to_second_token"}}}
	for _, tt := range []struct {
		name    string
		content content
		want    []verdict.Reason
	}{
		{"not in the report", content{comparison: &compare.Comparison{}}, []verdict.Reason{first}},
		{"a metric of the report depends on it", content{comparison: second}, all},
		{"that metric is withheld", content{comparison: second, withheld: map[string]verdict.Withheld{"time_to_second_token": {Reason: "few events"}}}, []verdict.Reason{first}},
	} {
		if diff := cmp.Diff(tt.want, tt.content.shown(all)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
