package measure

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/timeline"
)

// goldenOptions are the options of the golden run.
func goldenOptions(s *goldenSummary) Options {
	return Options{
		Streaming: true, SLOs: s.SLOs,
		Caps: bench.Caps{ProducesTokens: true, TokenizesInput: true, Reasoning: true},
	}
}

// deviations are the metrics of the golden run that we define otherwise.
var deviations = map[string]string{
	"effective_latency":  "ours has successes only; errors are in adj_effective_latency (checked below)",
	"http_req_receiving": "ours lasts until the end of the body, AIPerf's until the last chunk before it",
	"http_req_duration":  "contains http_req_receiving",
	"http_req_total":     "contains http_req_receiving",
}

// leftOut are the metrics of the golden run that we do not have.
var leftOut = map[string]string{
	"spec_decode":                 "speculative decoding",
	"total_spec_decode_steps":     "speculative decoding",
	"total_accepted_draft_tokens": "speculative decoding",
	"total_draft_tokens":          "speculative decoding",
	"nvidia_":                     "energy",
	"network_":                    "network latency",
}

// isLeftOut reports whether a tag begins with one of leftOut.
func isLeftOut(tag string) bool {
	for prefix := range leftOut {
		if strings.HasPrefix(tag, prefix) {
			return true
		}
	}
	return false
}

func TestGolden(t *testing.T) {
	summary := readSummary(t)
	records := readRecords(t, summary, summary.gridded)
	set := newSet(t, goldenOptions(summary))
	for _, r := range records {
		set.Observe(r)
	}
	w := time.Duration(summary.End - summary.Start)
	if w != 5944250003 {
		t.Fatalf("window = %v, want 5.944250003s", w)
	}
	results := set.Final(w, bench.PhaseStats{Start: time.Second})

	compared := 0
	for tag, want := range summary.Metrics {
		got := results.Find(tag)
		switch {
		case isLeftOut(tag):
			if got != nil {
				t.Errorf("%s is listed as left out but exists", tag)
			}
			continue
		case got == nil:
			t.Errorf("%s is absent", tag)
			continue
		case deviations[tag] != "":
			continue
		case got.Def.Kind == catalogue.Curve: // compared strictly below, without the effects of rounding
			compareGolden(t, got, want, 1e-4)
			continue
		case tag == "benchmark_duration": // one step of AIPerf's grid of absolute times
			compared += compareGolden(t, got, want, 256e-9/5.9)
			continue
		}
		compared += compareGolden(t, got, want, 1e-9)
	}
	compared += compareCurves(t, summary)
	if compared < 650 {
		t.Errorf("compared %d statistics, want at least 650", compared)
	}
	t.Logf("compared %d statistics of %d metrics", compared, len(summary.Metrics))
	checkEffectiveLatency(t, results, records, summary)
	checkOurs(t, results)
}

// compareCurves compares the time-weighted metrics. AIPerf adds to the exact
// start of a request and moves the sum to its grid, so that is done here too.
func compareCurves(t *testing.T, s *goldenSummary) int {
	t.Helper()
	set := newSet(t, goldenOptions(s))
	for _, r := range readRecords(t, s, s.exact) {
		set.Observe(r)
	}
	for r := range set.timeline.Requests() {
		r.Start, r.End = s.grid(r.Start), s.grid(r.End)
		if r.First != 0 {
			r.First = s.grid(r.First)
		}
	}
	part := set.timeline.Part(time.Second, time.Second+time.Duration(s.End-s.Start))
	part.Steps = part.Steps[:0]
	for r, gaps := range set.timeline.Requests() {
		part.Steps = append(part.Steps, s.gridSteps(r.Steps(nil, gaps))...)
	}
	slices.SortFunc(part.Steps, func(a, b timeline.Step) int { return cmp.Compare(a.At, b.At) })
	f := finisher{sweep: timeline.NewSweep(part)}
	n := 0
	rows := catalogue.Rows()
	for i := range rows {
		if r := &rows[i]; r.Curve != catalogue.NoCurve {
			got := &metric.Result{Def: &r.Def}
			f.fillCurve(got, r.Curve)
			n += compareGolden(t, got, s.Metrics[r.Tag], 1e-6)
		}
	}
	return n
}

// gridSteps moves the steps of one request to the grid. AIPerf rounds the
// beginning of a gap, adds its length, and rounds again.
func (s *goldenSummary) gridSteps(steps []timeline.Step) []timeline.Step {
	var from time.Duration
	for i := range steps {
		st := &steps[i]
		switch st.What {
		case timeline.GapBegins:
			from = st.At
			st.At = s.grid(st.At)
		case timeline.GapEnds:
			st.At = s.grid(s.grid(from) + st.At - from)
		default:
			st.At = s.grid(st.At)
		}
	}
	return steps
}

// compareGolden compares all statistics of a metric up to a relative difference
// and returns their number.
func compareGolden(t *testing.T, got *metric.Result, want map[string]any, tolerance float64) int {
	t.Helper()
	n := 0
	if got.Def.Unit != want["unit"] {
		t.Errorf("%s: unit %q, want %q", got.Def.Tag, got.Def.Unit, want["unit"])
	}
	if c, ok := want["count"]; ok && float64(got.Count) != c {
		t.Errorf("%s: count %d, want %v", got.Def.Tag, got.Count, c)
	}
	for s := range numStats {
		w, wanted := want[s.String()]
		g, ok := got.Get(s)
		switch {
		case wanted && !ok:
			t.Errorf("%s: no %v, want %v", got.Def.Tag, s, w)
		case !wanted && ok && !math.IsInf(g, 1) && s <= metric.Std: // the others are ours
			t.Errorf("%s: %v = %v, want none", got.Def.Tag, s, g)
		case wanted && !near(g, w.(float64), tolerance):
			t.Errorf("%s: %v = %.15g, want %.15g", got.Def.Tag, s, g, w)
		}
		if wanted {
			n++
		}
	}
	return n
}

// near reports whether two values are equal up to a relative difference. The
// deviation of equal values may come out as rounding noise.
func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Abs(want)+1e-12
}

// checkEffectiveLatency adds the errors to our effective_latency and must get
// AIPerf's.
func checkEffectiveLatency(t *testing.T, rs metric.Results, records []*bench.Record, s *goldenSummary) {
	t.Helper()
	sum := statistic(t, rs, "effective_latency", metric.Sum)
	for _, r := range records {
		if r.Answer.Failure != nil {
			sum += float64(r.Stamps.End-r.Stamps.Permit) / 1e6
		}
	}
	if want := s.Metrics["effective_latency"]["sum"].(float64); !near(sum, want, 1e-9) {
		t.Errorf("effective_latency with errors: sum %v, want %v", sum, want)
	}
	if c := rs.Find("effective_latency").Count; c != 54 {
		t.Errorf("effective_latency: count %d, want 54", c)
	}
}

// checkOurs checks metrics that AIPerf does not have against each other.
func checkOurs(t *testing.T, rs metric.Results) {
	t.Helper()
	for _, tag := range []string{"slo_attainment.time_to_first_token", "slo_attainment.inter_token_latency"} {
		if got := statistic(t, rs, tag, metric.Avg); got != 0.9 {
			t.Errorf("%s = %v, want 0.9", tag, got)
		}
	}
	if got, want := statistic(t, rs, "output_token_goodput", metric.Avg), statistic(t, rs, "output_token_throughput", metric.Avg); got != want {
		t.Errorf("output_token_goodput = %v, want %v", got, want)
	}
	tail := statistic(t, rs, "stream_end_latency", metric.Sum) - statistic(t, rs, "request_latency", metric.Sum)
	if got := statistic(t, rs, "stream_tail_latency", metric.Sum); !near(got, tail, 1e-9) {
		t.Errorf("stream_tail_latency: sum %v, want %v", got, tail)
	}
	for _, tag := range []string{"cancelled_request_count", "corrected_request_latency", "first_chunk_tokens"} {
		if r := rs.Find(tag); r != nil {
			t.Errorf("%s exists, want it absent", tag)
		}
	}
}

// statistic returns a statistic that must exist.
func statistic(t *testing.T, rs metric.Results, tag string, s metric.Stat) float64 {
	t.Helper()
	r := rs.Find(tag)
	if r == nil {
		t.Fatalf("%s is absent", tag)
	}
	v, ok := r.Get(s)
	if !ok {
		t.Fatalf("%s has no %v", tag, s)
	}
	return v
}

// newSet returns a set that must be possible.
func newSet(t testing.TB, o Options) *Set {
	t.Helper()
	s, err := NewSet(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGoldenRecordLines(t *testing.T) {
	summary := readSummary(t)
	o := goldenOptions(summary)
	var missing []string
	for _, r := range readRecords(t, summary, summary.gridded)[:3] {
		got := make(map[string]bool)
		perRecord(r, o).Values(func(d *catalogue.Def, _ float64) { got[d.Tag] = true })
		perRecord(r, o).Lists(func(d *catalogue.Def, _ []float64) { got[d.Tag] = true })
		for tag := range goldenLine(t, r.SessionNum) {
			// good_request_count leaks into AIPerf's lines; ours have a boolean.
			if !got[tag] && !isLeftOut(tag) && tag != "good_request_count" {
				missing = append(missing, tag)
			}
		}
	}
	slices.Sort(missing)
	if missing = slices.Compact(missing); len(missing) > 0 {
		t.Errorf("record lines lack %v", missing)
	}
}

// goldenLine returns the metrics of a session's line.
func goldenLine(t *testing.T, session int64) map[string]json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden_records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var g goldenRecord
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			t.Fatal(err)
		}
		if g.SessionNum == session {
			return g.Metrics
		}
	}
	t.Fatalf("no session %d", session)
	return nil
}
