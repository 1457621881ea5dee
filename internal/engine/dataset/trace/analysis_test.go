package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/dataset/file"
)

func analyze(t testing.TB, text, format string, blockSize int) *Report {
	t.Helper()
	r, err := Analyze(t.Context(), file.File{Path: "t.jsonl", FS: fstest.MapFS{"t.jsonl": {Data: []byte(text)}}}, format, blockSize)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAIPerf compares an analysis with that of aiperf 0.13.0
// (PrefixAnalyzer.analyze_file) of the same file.
func TestAIPerf(t *testing.T) {
	text, err := os.ReadFile("testdata/trace.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile("testdata/aiperf.json")
	if err != nil {
		t.Fatal(err)
	}
	var want Report
	if err := json.Unmarshal(golden, &want); err != nil {
		t.Fatal(err)
	}
	got := analyze(t, string(text), "", 0)
	ours := cmpopts.IgnoreFields(Report{}, "Format", "BlockSize", "Skipped", "PrefixRequests", "CacheableShare", "Arrivals", "Sessions")
	// Hit rates have a resolution of 1/60,000.
	if diff := cmp.Diff(&want, got, ours, cmpopts.EquateApprox(1e-9, 1e-5)); diff != "" {
		t.Error(diff)
	}
	if got.Format != "mooncake_trace" || got.BlockSize != 512 || got.PrefixRequests != 60 || got.Sessions != (Sessions{Count: 25, MeanTurns: 2.4, MaxTurns: 3, Exact: true}) {
		t.Errorf("%+v", got)
	}
}

// TestByHand: what AIPerf does not compute.
func TestByHand(t *testing.T) {
	got := analyze(t, `{"timestamp": 0, "input_length": 32, "output_length": 1, "hash_ids": [1, 2]}
{"timestamp": 300, "input_length": 32, "output_length": 3, "hash_ids": [1, 3]}
no record
{"timestamp": 100, "input_length": 64, "output_length": 2, "session_id": "s"}
{"timestamp": 600, "input_length": 32, "output_length": 2, "session_id": "s", "hash_ids": [1, 2]}`, "mooncake_trace", 16)
	if got.CacheableShare != (16.0+32)/160 || got.Skipped != 1 || got.Requests != 4 {
		t.Errorf("cacheable share %v, %d skipped of %d; want 0.3, 1, 4", got.CacheableShare, got.Skipped, got.Requests)
	}
	want := &Arrivals{Requests: 4, Seconds: 0.6, Rate: 5, GapMean: 200, GapDispersion: 1.0 / 6, Counts: []CountDispersion{}}
	want.Burstiness = (math.Sqrt(1.0/6) - 1) / (math.Sqrt(1.0/6) + 1)
	if diff := cmp.Diff(want, got.Arrivals, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	if got.Sessions != (Sessions{Count: 3, MeanTurns: 4.0 / 3, MaxTurns: 2, Exact: true}) {
		t.Errorf("sessions %+v", got.Sessions)
	}
}

// TestDispersion: the indices of a Poisson process are near 1, those of batches are not.
func TestDispersion(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, batch := range []int{1, 10} {
		var b strings.Builder
		at := 0.0
		for i := range 20_000 {
			if i%batch == 0 {
				at += r.ExpFloat64() * 50 * float64(batch)
			}
			fmt.Fprintf(&b, "{\"timestamp\": %.4f, \"input_length\": 1}\n", at)
		}
		a := analyze(t, b.String(), "", 0).Arrivals
		if math.Abs(a.Rate-20) > 1 || len(a.Counts) != 3 {
			t.Fatalf("batches of %d: %+v", batch, a)
		}
		for _, c := range a.Counts[:2] {
			if math.Abs(c.Dispersion-float64(batch)) > 0.25*float64(batch) {
				t.Errorf("batches of %d: index of dispersion of counts %v in windows of %v s", batch, c.Dispersion, c.Seconds)
			}
		}
		if want := 2*float64(batch) - 1; math.Abs(a.GapDispersion-want) > 0.1*want {
			t.Errorf("batches of %d: index of dispersion of gaps %v, want %v", batch, a.GapDispersion, want)
		}
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	for v := range 100_001 {
		h.add(v)
	}
	s := h.stats(1)
	if s.Min != 0 || s.Max != 100_000 || s.Mean != 50_000 || s.P25 != 25_000 || s.Median != 50_000 || math.Abs(s.P75-75_000) > 75_000.0/256 {
		t.Errorf("%+v", s)
	}
}

func TestAnalysisProblems(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "no records",
		`{"text": "x"}`:      "unrecognised record format (keys: text); needed is one of; mooncake_trace: input_length",
		`{"input_length": 5`: "t.jsonl:1: unexpected end of JSON at column 19",
	} {
		_, err := Analyze(t.Context(), file.File{Path: "t.jsonl", FS: fstest.MapFS{"t.jsonl": {Data: []byte(text)}}}, "", 0)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}
