package results

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/measure"
)

// tokensGen draws a count that may be unknown.
func tokensGen(t *rapid.T, name string) *bench.Tokens {
	if !rapid.Bool().Draw(t, name+" known") {
		return nil
	}
	n := bench.Tokens(rapid.Int64Range(0, 5000).Draw(t, name))
	return &n
}

// genRecord draws a record with anything that can happen in it.
func genRecord(t *rapid.T) *bench.Record {
	at := time.Duration(0)
	next := func(name string) time.Duration {
		if rapid.IntRange(0, 9).Draw(t, name+" happened") == 0 {
			return 0
		}
		at += time.Duration(rapid.Int64Range(0, 3e9).Draw(t, name))
		return at
	}
	word := rapid.StringMatching(`[ -~éß☃\n"\\<&]{0,20}`)
	r := &bench.Record{
		Phase: rapid.IntRange(0, 1).Draw(t, "phase"), SessionNum: rapid.Int64Range(0, 1e12).Draw(t, "session"),
		Turn: rapid.IntRange(0, 5).Draw(t, "turn"), Turns: 6, RequestID: word.Draw(t, "id"),
		CorrelationID: word.Draw(t, "correlation"), ConversationID: word.Draw(t, "conversation"),
		Model: word.Draw(t, "model"), Target: rapid.IntRange(0, 3).Draw(t, "target"),
		Status: rapid.SampledFrom([]int{0, 200, 404, 503}).Draw(t, "status"),
		Conn: bench.Connection{
			Reused: rapid.Bool().Draw(t, "reused"), Kernel: rapid.Bool().Draw(t, "kernel"), DNS: time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "dns")),
			Connect: 3, TLS: 4, Blocked: time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "blocked")),
			Retries: rapid.IntRange(0, 2).Draw(t, "retries"), Reads: 7,
			Sent: bench.Bytes(rapid.Int64Range(0, 1e9).Draw(t, "sent")), Received: 9,
		},
		Ramp: rapid.Bool().Draw(t, "ramp"), Items: rapid.IntRange(0, 3).Draw(t, "items"), Content: bench.Content{
			RequestedTokens: bench.Tokens(rapid.Int64Range(0, 100).Draw(t, "requested")),
			Images:          rapid.IntRange(0, 3).Draw(t, "images"), AudioLength: time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "sound")),
		},
		InputTokens: tokensGen(t, "isl"), OutputTokens: tokensGen(t, "osl"), ReasoningTokens: tokensGen(t, "reasoning"),
		ClientInput: tokensGen(t, "client isl"), ClientOutput: tokensGen(t, "client osl"), ClientReasoning: tokensGen(t, "client reasoning"),
		TokenSource: rapid.SampledFrom([]bench.TokenSource{bench.TokensNone, bench.TokensServer, bench.TokensClient}).Draw(t, "source"),
	}
	s := &r.Stamps
	s.Due, s.Permit, s.Start = next("due"), next("permit"), next("start")
	s.Connected, s.Wrote, s.FirstByte, s.Headers, s.FirstBody = next("connected"), next("wrote"), next("first byte"), next("headers"), next("first body")
	a := &r.Answer
	a.AudioLength = time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "answer's sound"))
	a.Streamed, a.FirstEvent = rapid.Bool().Draw(t, "streamed"), next("first event")
	for i := range rapid.IntRange(0, 6).Draw(t, "chunks") {
		a.Chunks = append(a.Chunks, bench.Chunk{
			At: next("chunk") + 1, Kind: bench.ChunkKind(rapid.IntRange(0, 10).Draw(t, "kind")), Choice: uint16(i % 2),
			Bytes: rapid.Int32Range(0, 1e6).Draw(t, "bytes"), Tokens: rapid.Int32Range(0, 20).Draw(t, "tokens"), Read: int32(i / 2),
		})
	}
	s.End = next("end")
	if rapid.Bool().Draw(t, "limited") {
		s.Queued = max(1, s.Permit/2)
	}
	if rapid.Bool().Draw(t, "replayed") {
		s.Scheduled = s.Start + 1
	}
	if rapid.Bool().Draw(t, "child") {
		r.Lineage = &bench.Lineage{Depth: rapid.IntRange(1, 5).Draw(t, "depth"), Root: word.Draw(t, "root")}
	}
	if rapid.Bool().Draw(t, "usage") {
		a.Usage = &bench.Usage{
			Input: tokensGen(t, "u.input"), Output: tokensGen(t, "u.output"), Total: tokensGen(t, "u.total"),
			Reasoning: tokensGen(t, "u.reasoning"), Cached: tokensGen(t, "u.cached"), CacheWrite: tokensGen(t, "u.write"),
			CacheMiss: tokensGen(t, "u.miss"), AudioIn: tokensGen(t, "u.in"), AudioOut: tokensGen(t, "u.out"),
			Accepted: tokensGen(t, "u.accepted"), Rejected: tokensGen(t, "u.rejected"),
			ImageIn: tokensGen(t, "u.image in"), ImageOut: tokensGen(t, "u.image out"),
		}
		if rapid.Bool().Draw(t, "seconds") {
			seconds := rapid.Float64Range(0, 1e6).Draw(t, "u.seconds")
			a.Usage.AudioSeconds = &seconds
		}
	}
	if rapid.Bool().Draw(t, "job") {
		r.Conn.Polls = rapid.Int32Range(0, 1e6).Draw(t, "polls")
		a.ServerTimes = map[string]time.Duration{word.Draw(t, "time"): time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "took"))}
		a.Speculation = genSpeculation(t)
		r.Category = word.Draw(t, "category")
		a.Job = &bench.Job{
			Started: next("job started"), Fetched: next("job fetched"),
			PeakMemory: rapid.SampledFrom([]float64{0, 0.5, 40960, 81920.25}).Draw(t, "memory"),
		}
	}
	if rapid.Bool().Draw(t, "choice") {
		a.Choices = []bench.Choice{{Index: 1, Finish: bench.FinishLength}}
		a.Warnings = map[string]int{word.Draw(t, "warning"): 3}
		a.ResponseID, a.Model = word.Draw(t, "response"), word.Draw(t, "response model")
	}
	if rapid.IntRange(0, 2).Draw(t, "failed") == 0 {
		a.Failure = &bench.Failure{
			Class: rapid.SampledFrom(bench.Classes()).Draw(t, "class"), Step: bench.StepBody, Status: r.Status,
			Code: word.Draw(t, "code"), Type: word.Draw(t, "type"), Message: word.Draw(t, "message"),
			RetryAfter: time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "retry")),
		}
	}
	return r
}

// genSpeculation draws a report of speculative decoding whose numbers agree.
func genSpeculation(t *rapid.T) *bench.Speculation {
	s := &bench.Speculation{Steps: bench.Tokens(rapid.Int64Range(1, 99).Draw(t, "steps")), Drafted: 7}
	if rapid.Bool().Draw(t, "counts only") {
		s.Accepted = 3
		return s
	}
	s.Engine, s.Steps, s.Drafted, s.Most = "vllm", 0, 0, bench.Tokens(rapid.Int64Range(0, 3).Draw(t, "most"))
	for i, n := range rapid.SliceOfN(rapid.Int64Range(1, 9), 1, 5).Draw(t, "histogram") {
		n = n / 3 * int64(i%2) // some are 0
		s.Histogram = append(s.Histogram, bench.Tokens(n))
		s.Steps, s.Accepted = s.Steps+bench.Tokens(n), s.Accepted+bench.Tokens(int64(i)*n)
	}
	s.Histogram = append(s.Histogram, 1)
	s.Steps, s.Accepted = s.Steps+1, s.Accepted+bench.Tokens(len(s.Histogram)-1)
	s.Drafted = s.Accepted + 2
	if rapid.Bool().Draw(t, "detailed") {
		s.StepAccepted, s.StepDrafted = []bench.Tokens{1, 0}, []bench.Tokens{2, 2}
	}
	return s
}

// What is read is what was written, and gives the same metrics.
func TestRecordsRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(rapid.Custom(genRecord), 1, 20).Draw(t, "records")
		o := testOptions()
		o.Metrics.ServerTokens, o.Metrics.Replay = rapid.Bool().Draw(t, "server tokens"), rapid.Bool().Draw(t, "replay")
		file := written(t, o, records...)
		for line := range bytes.Lines(file) {
			if !json.Valid(line) {
				t.Fatalf("line is not JSON: %s", line)
			}
		}
		log := measuredOf(t, dir, file)
		before, after := newSet(t, o.Metrics), newSet(t, o.Metrics)
		n := 0
		for got, err := range log.Records(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(records[n], got); diff != "" {
				t.Fatalf("record %d (-written +read):\n%s", n, diff)
			}
			before.Observe(records[n])
			after.Observe(got)
			n++
		}
		if got, want := log.Clock.UnixNano(5), testEpoch.UnixNano()+5; got != want {
			t.Fatalf("epoch + 5 ns = %d, want %d", got, want)
		}
		if n != len(records) {
			t.Fatalf("read %d records, wrote %d", n, len(records))
		}
		phase := bench.PhaseStats{Start: 1, SkippedTurns: 3}
		a, b := before.Final(10*time.Second, phase), after.Final(10*time.Second, phase)
		if diff := cmp.Diff(a, b, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Fatalf("metrics (-written +read):\n%s", diff)
		}
	})
}

func newSet(t *rapid.T, o measure.Options) *measure.Set {
	s, err := measure.NewSet(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEarlierName: what version 0.1 wrote under the name ours is read like what stands under
// aiperfd now, wherever in the line it is.
func TestEarlierName(t *testing.T) {
	now := written(t, testOptions(), rapid.Custom(genRecord).Example(1))
	earlier := bytes.Replace(now, []byte(`},"aiperfd":{`), []byte(`},"ours":{`), 1)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(earlier, &members); err != nil || members["ours"] == nil {
		t.Fatalf("%v: the line has no member ours", err)
	}
	sorted, err := json.Marshal(members) // metadata, metrics, ours
	if err != nil {
		t.Fatal(err)
	}
	sorted = append(bytes.Replace(sorted, []byte(`{"metadata"`), []byte(`{ "metadata"`), 1), '\n')
	want := oneRecord(t, now)
	for name, line := range map[string][]byte{"as it was written": earlier, "in another notation": sorted} {
		if diff := cmp.Diff(want, oneRecord(t, line)); diff != "" {
			t.Errorf("%s (-aiperfd +ours):\n%s", name, diff)
		}
	}
}

// oneRecord reads a file with one record.
func oneRecord(t *testing.T, file []byte) *bench.Record {
	t.Helper()
	var out []*bench.Record
	for r, err := range measuredOf(t, t.TempDir(), file).Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if len(out) != 1 {
		t.Fatalf("%d records, want 1", len(out))
	}
	return out[0]
}
