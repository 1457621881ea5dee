package measure

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
)

// goldenSummary is the summary that AIPerf 0.13 wrote of a run of 60 streamed chat
// requests, six of which failed, cut down to the metrics.
type goldenSummary struct {
	Start   int64                     `json:"start_ns"`
	End     int64                     `json:"end_ns"`
	SLOs    map[string]float64        `json:"slos"`
	Metrics map[string]map[string]any `json:"metrics"`
}

// goldenRecord is one line of the same run's record file.
type goldenRecord struct {
	SessionNum int64                      `json:"session_num"`
	Permit     int64                      `json:"credit_issued_ns"`
	Start      int64                      `json:"request_start_ns"`
	End        int64                      `json:"request_end_ns"`
	Metrics    map[string]json.RawMessage `json:"metrics"`
	Error      *struct {
		Code    int    `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// value returns a metric of the line.
func (g *goldenRecord) value(t *testing.T, tag string) float64 {
	t.Helper()
	var v float64
	if err := json.Unmarshal(g.Metrics[tag], &v); err != nil {
		t.Fatalf("record %d: read %s: %v", g.SessionNum, tag, err)
	}
	return v
}

// ns returns a metric that the line has in milliseconds.
func (g *goldenRecord) ns(t *testing.T, tag string) time.Duration {
	t.Helper()
	return time.Duration(math.Round(g.value(t, tag) * 1e6))
}

// tokens returns a metric as a token count.
func (g *goldenRecord) tokens(t *testing.T, tag string) *bench.Tokens {
	t.Helper()
	n := bench.Tokens(g.value(t, tag))
	return &n
}

func readSummary(t *testing.T) *goldenSummary {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden_summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s goldenSummary
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// readRecords rebuilds the records of the golden run as offsets from an epoch
// one second before the start of its phase.
func readRecords(t *testing.T, s *goldenSummary, offset func(int64) time.Duration) []*bench.Record {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "golden_records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []*bench.Record
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g goldenRecord
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		out = append(out, g.record(t, offset))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// exact turns a wall time into an offset.
func (s *goldenSummary) exact(wall int64) time.Duration {
	return time.Duration(wall-s.Start) + time.Second
}

// gridded turns a wall time into an offset as AIPerf does, which keeps absolute
// times as float64, that is on a grid of 256 ns.
func (s *goldenSummary) gridded(wall int64) time.Duration { return s.exact(int64(float64(wall))) }

// grid moves an offset to that grid.
func (s *goldenSummary) grid(offset time.Duration) time.Duration {
	return s.gridded(int64(offset-time.Second) + s.Start)
}

// record rebuilds what must have been observed.
func (g *goldenRecord) record(t *testing.T, offset func(int64) time.Duration) *bench.Record {
	t.Helper()
	r := &bench.Record{SessionNum: g.SessionNum, Turns: 1, TokenSource: bench.TokensClient}
	r.Stamps = bench.Stamps{Permit: offset(g.Permit), Start: offset(g.Start), End: offset(g.End)}
	r.Stamps.Due = r.Stamps.Permit
	if g.Error != nil {
		r.InputTokens = g.tokens(t, "error_isl")
		r.Answer.Failure = &bench.Failure{
			Class: bench.ServerError, Step: bench.StepHeaders, Status: g.Error.Code,
			Type: g.Error.Type, Message: g.Error.Message,
		}
		return r
	}
	r.InputTokens = g.tokens(t, "input_sequence_length")
	r.OutputTokens = g.tokens(t, "output_token_count")
	r.ReasoningTokens = g.tokens(t, "reasoning_token_count")
	r.Content.RequestedTokens = bench.Tokens(math.Round(g.value(t, "output_sequence_length") / (1 + g.value(t, "osl_mismatch_diff_pct")/100)))
	r.Answer.Streamed = true
	r.Answer.Usage = &bench.Usage{
		Input: g.tokens(t, "usage_prompt_tokens"), Output: g.tokens(t, "usage_completion_tokens"),
		Total: g.tokens(t, "usage_total_tokens"), Reasoning: g.tokens(t, "usage_reasoning_tokens"),
		Cached: g.tokens(t, "usage_prompt_cache_read_tokens"),
	}
	r.Answer.Chunks = g.chunks(t, r.Stamps.Start)
	g.connection(t, r)
	return r
}

// chunks rebuilds the content events.
func (g *goldenRecord) chunks(t *testing.T, start time.Duration) []bench.Chunk {
	t.Helper()
	var gaps []float64
	if err := json.Unmarshal(g.Metrics["inter_chunk_latency"], &gaps); err != nil {
		t.Fatal(err)
	}
	at := start + g.ns(t, "time_to_first_token")
	answer := start + g.ns(t, "time_to_first_output_token")
	out := []bench.Chunk{{At: at}}
	for i, gap := range gaps {
		at += time.Duration(math.Round(gap * 1e6))
		out = append(out, bench.Chunk{At: at, Read: int32(i + 1)})
	}
	for i := range out {
		if out[i].At < answer {
			out[i].Kind = bench.Reasoning
		}
	}
	return out
}

// connection rebuilds the trace.
func (g *goldenRecord) connection(t *testing.T, r *bench.Record) {
	t.Helper()
	r.Conn = bench.Connection{
		Reused:   g.value(t, "http_req_connection_reused") == 1,
		Blocked:  g.ns(t, "http_req_blocked"),
		DNS:      g.ns(t, "http_req_dns_lookup"),
		Connect:  g.ns(t, "http_req_connecting"),
		Reads:    int32(g.value(t, "http_req_chunks_received")),
		Writes:   int32(g.value(t, "http_req_chunks_sent")),
		Sent:     bench.Bytes(math.Round(1024 * g.value(t, "http_req_data_sent"))),
		Received: bench.Bytes(math.Round(1024 * g.value(t, "http_req_data_received"))),
	}
	r.Stamps.Connected = r.Stamps.Start + 1000
	r.Stamps.Wrote = r.Stamps.Connected + g.ns(t, "http_req_sending")
	r.Stamps.FirstBody = r.Stamps.Wrote + g.ns(t, "http_req_waiting")
}
