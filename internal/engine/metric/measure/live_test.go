package measure

import (
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
)

// The metrics of several processes, merged from what each encodes, are those of one set that has observed everything,
// by sketches.
func TestMergeLive(t *testing.T) {
	options := withSLOs()
	options.Budget = -1
	records := randomRecords(1, 300)
	whole, merged := observed(t, options, records), newSet(t, options)
	for i := range 3 {
		var own []*bench.Record
		for at := i; at < len(records); at += 3 {
			own = append(own, records[at])
		}
		data, err := observed(t, options, own).MarshalLive()
		if err == nil {
			err = merged.MergeLive(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	stats := bench.PhaseStats{Kind: bench.Profiling, Start: time.Second, LastUpdate: 70 * time.Second}
	sameResults(t, whole.Live(stats, stats.LastUpdate), merged.Live(stats, stats.LastUpdate))
	const good = `"SLOs":[{"Tag":"output_token_throughput_per_user"},{"Tag":"time_to_first_token"}]`
	for name, data := range map[string]string{
		"no JSON":           "x",
		"another objective": `{"tally":{"SLOs":[{"Tag":"another"},{"Tag":"time_to_first_token"}]}}`,
		"no objective":      `{"tally":{}}`,
		"an unknown metric": `{"tally":{` + good + `},"sketches":{"nothing":""}}`,
		"no sketch":         `{"tally":{` + good + `},"sketches":{"request_latency":"AAAA"}}`,
	} {
		if err := newSet(t, options).MergeLive([]byte(data)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
