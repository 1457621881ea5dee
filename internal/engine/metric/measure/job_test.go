package measure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/catalogue"
)

// polled is a record of a job: submitted at 1 s, at work from 2 s on, done at 5 s,
// fetched at 7 s.
func polled() *bench.Record {
	one := bench.Tokens(4)
	return &bench.Record{
		Stamps: bench.Stamps{Start: time.Second, End: 7 * time.Second},
		Conn:   bench.Connection{Polls: 12}, OutputTokens: &one, TokenSource: bench.TokensServer,
		Answer: bench.Answer{
			Streamed: true,
			Chunks:   []bench.Chunk{{At: 4 * time.Second}, {At: 4 * time.Second}, {At: 5 * time.Second}},
			ServerTimes: map[string]time.Duration{
				"delayTime": 900 * time.Millisecond, "executionTime": 3 * time.Second, "inference_time_s": 2500 * time.Millisecond,
			},
			Job: &bench.Job{Started: 2 * time.Second, Fetched: 7 * time.Second, PeakMemory: 20480.5},
		},
	}
}

func TestJobMetrics(t *testing.T) {
	o := Options{Streaming: true, Caps: bench.Caps{ProducesTokens: true, Jobs: true, ProducesVideo: true}}
	read := func(r *bench.Record) map[string]float64 {
		got := map[string]float64{}
		perRecord(r, o).Values(func(d *catalogue.Def, v float64) { got[d.Tag] = v })
		perRecord(r, o).Lists(func(d *catalogue.Def, values []float64) { got[d.Tag] = float64(len(values)) })
		return got
	}
	want := map[string]float64{
		"request_latency": 4000, "time_to_first_token": 3000, "video_inference_time": 2500, "video_peak_memory": 20480.5,
		"video_download_time": 2000, "job_queue_time": 1000, "job_delay_time": 900, "job_execution_time": 3000, "job_polls": 12,
	}
	got := read(polled())
	for tag, v := range want {
		if got[tag] != v {
			t.Errorf("%s = %v, want %v", tag, got[tag], v)
		}
	}
	// Times between tokens would be those between polls.
	gaps := []string{"inter_token_latency", "inter_chunk_latency", "time_to_second_token", "inter_token_stall", "icl_same_read_fraction"}
	for _, tag := range gaps {
		if v, ok := got[tag]; ok {
			t.Errorf("%s = %v of an answer that was polled for", tag, v)
		}
	}
	direct := polled()
	direct.Conn.Polls, direct.Answer.Job, direct.Answer.ServerTimes = 0, nil, nil
	got = read(direct)
	for _, tag := range gaps {
		if _, ok := got[tag]; !ok {
			t.Errorf("no %s of an answer that was streamed", tag)
		}
	}
	for tag := range want {
		if _, ok := got[tag]; ok && tag != "request_latency" && tag != "time_to_first_token" {
			t.Errorf("%s of an answer without a job", tag)
		}
	}
	nobody := Options{Streaming: true, Caps: bench.Caps{ProducesTokens: true}}
	var tags []string
	perRecord(polled(), nobody).Values(func(d *catalogue.Def, _ float64) {
		if d.Flags&(catalogue.JobsOnly|catalogue.ProducesVideoOnly) != 0 {
			tags = append(tags, d.Tag)
		}
	})
	if diff := cmp.Diff([]string(nil), tags); diff != "" {
		t.Errorf("of an endpoint without jobs:\n%s", diff)
	}
}
