package search

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// trial returns a trial with one metric.
func trial(p95 float64) cell.Trial {
	return cell.Trial{Metrics: []cell.Metric{{Tag: "time_to_first_token", Unit: "ms", Stats: map[string]float64{"p95": p95, "count": 1000}}}}
}

// step is a server whose TTFT jumps above a concurrency.
func step(at, below, above float64) func(vary.Variation, string) cell.Outcome {
	return func(v vary.Variation, p string) cell.Outcome {
		c, _ := v.Number(p)
		if c <= at {
			return cell.Outcome{Variation: v, Trials: []cell.Trial{trial(below)}}
		}
		return cell.Outcome{Variation: v, Trials: []cell.Trial{trial(above)}}
	}
}

// The limits are kept if the mean keeps them and at least half of the trials do; a trial
// that failed does not, and a metric that is missing never does.
func TestJudge(t *testing.T) {
	limit := []Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 100}}
	failed := cell.Trial{Failure: "no successful request"}
	for name, c := range map[string]struct {
		trials []cell.Trial
		want   bool
	}{
		"one below":                        {[]cell.Trial{trial(99)}, true},
		"one at the limit":                 {[]cell.Trial{trial(100)}, false},
		"one of two below, mean above":     {[]cell.Trial{trial(90), trial(120)}, false},
		"one of two below, mean below":     {[]cell.Trial{trial(50), trial(110)}, true},
		"one of three below, mean below":   {[]cell.Trial{trial(1), trial(110), trial(110)}, false},
		"one failed, one below":            {[]cell.Trial{failed, trial(50)}, true},
		"two failed, one below":            {[]cell.Trial{failed, failed, trial(50)}, false},
		"all failed":                       {[]cell.Trial{failed}, false},
		"none":                             {nil, false},
		"metric missing in a good trial":   {[]cell.Trial{trial(50), {}}, false},
		"not a number":                     {[]cell.Trial{trial(math.NaN())}, false},
		"not a number, second trial below": {[]cell.Trial{trial(math.NaN()), trial(1)}, false},
	} {
		if got := Judge(limit, &cell.Outcome{Trials: c.trials}); got.Pass != c.want {
			t.Errorf("%s: %v, want %v", name, got.Pass, c.want)
		}
	}
	for op, want := range map[string][]bool{"lt": {true, false, false}, "le": {true, true, false}, "gt": {false, false, true}, "ge": {false, true, true}} {
		for i, v := range []float64{99, 100, 101} {
			f := Filter{MetricTag: "m", Stat: "avg", Op: op, Threshold: 100}
			if f.Holds(v) != want[i] || v != 100 && (margin(f, v) < 0) != want[i] {
				t.Errorf("%v %s 100: %v, margin %v", v, op, f.Holds(v), margin(f, v))
			}
		}
	}
}

// A percentile with fewer than five requests beyond it is marked.
func TestSupported(t *testing.T) {
	for count, want := range map[float64]bool{10: false, 99: false, 100: true, 1000: true} {
		o := trial(50)
		o.Metrics[0].Stats["count"] = count
		v := Judge([]Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 100}}, &cell.Outcome{Trials: []cell.Trial{o}})
		if got := !v.Readings[0].Unsupported; got != want {
			t.Errorf("p95 of %v requests is supported: %v, want %v", count, got, want)
		}
	}
}

// Probes get longer with the concurrency; a length in the document stays.
func TestSizing(t *testing.T) {
	at := func(c float64) []vary.Assignment { return []vary.Assignment{{Path: path, Value: c}} }
	for _, c := range []struct {
		sizing      sweep.Sizing
		concurrency float64
		want        int
	}{
		{sweep.Sizing{}, 1, 1000},
		{sweep.Sizing{}, 64, 1920},
		{sweep.Sizing{Precision: sweep.Coarse}, 5, 300},
		{sweep.Sizing{Precision: sweep.Coarse}, 64, 1920},
		{sweep.Sizing{Precision: sweep.Tight}, 64, 10000},
	} {
		if got := c.sizing.Requests(at(c.concurrency)); got != c.want {
			t.Errorf("%+v at %v: %d requests, want %d", c.sizing, c.concurrency, got, c.want)
		}
	}
	for _, c := range []struct {
		stat        string
		concurrency float64
		want        int
	}{{"p95", 1, 200}, {"p99", 1, 1000}, {"p5", 1, 200}, {"avg", 1, 100}, {"p95", 64, 1280}} {
		if got := (sweep.Sizing{}).First(at(c.concurrency), []Filter{{Stat: "avg"}, {Stat: c.stat}}); got != c.want {
			t.Errorf("first look at %s at %v: %d requests, want %d", c.stat, c.concurrency, got, c.want)
		}
	}
	if got := (sweep.Sizing{Concurrency: 50}).Requests([]vary.Assignment{{Path: "datasets.main.prompts.isl.mean", Value: 1.0}}); got != 1500 {
		t.Errorf("at the concurrency of the document: %d requests, want 1500", got)
	}
	want := []vary.Assignment{{Path: "phases.warmup.duration", Value: 5.0}, {Path: "phases.warmup.concurrency", Value: 8.0}}
	if got := (sweep.Sizing{Given: true, Warmup: 5}).Settings(at(8)); !reflect.DeepEqual(got, want) {
		t.Errorf("settings = %v, want %v", got, want)
	}
}

// A limit that is kept everywhere or nowhere ends the search with a reason.
func TestOutOfRange(t *testing.T) {
	for _, a := range []Algorithm{Monotonic, Isotonic} {
		name := map[Algorithm]string{Monotonic: "monotonic", Isotonic: "smooth_isotonic"}[a]
		for _, c := range []struct {
			at     float64
			reason string
			probes int
		}{{0, "_no_pass_in_range", 1}, {100, "_no_failure_in_range", 8}} {
			done, s := perform(t, New(boundaryOptions(a, 100, 100)), step(c.at, 10, 500))
			if s.Reason != name+c.reason || len(done) != c.probes {
				t.Errorf("%s with a step at %v: %s after %d probes, want %s after %d", a, c.at, s.Reason, len(done), name+c.reason, c.probes)
			}
		}
	}
}

// A step is found by bisection, and the boundary is called a cliff.
func TestCliff(t *testing.T) {
	for at := 1.0; at < 1000; at += 37 {
		for _, a := range []Algorithm{Monotonic, Isotonic} {
			o := boundaryOptions(a, 1000, 100)
			o.Sizing.Precision = sweep.Tight
			done, s := perform(t, New(o), step(at, 50, 400))
			if got := s.Boundary.Pass.Value; got != at {
				t.Errorf("%s: step at %v found at %v (%s)", a, at, got, s.Reason)
			}
			if len(done) > 26 {
				t.Errorf("%s: step at %v took %d probes", a, at, len(done))
			}
		}
	}
}

// Near a limit monotonic asks again; far from it once is enough. Only distinct values
// count against the budget.
func TestMonotonicAsksAgain(t *testing.T) {
	near := func(v vary.Variation, p string) cell.Outcome {
		c, _ := v.Number(p)
		return cell.Outcome{Variation: v, Trials: []cell.Trial{trial(90 + 0.4*c)}} // the limit is at 25
	}
	o := boundaryOptions(Monotonic, 40, 100)
	o.Iterations = 8
	done, s := perform(t, New(o), near)
	if got := s.Boundary.Pass.Value; got != 24 {
		t.Errorf("found %v, want 24 (%s after %d probes)", got, s.Reason, len(done))
	}
	for i := 0; i < len(done); i += 2 {
		if !reflect.DeepEqual(done[i].Values, done[i+1].Values) {
			t.Fatalf("probe %d has %v, the one before %v: every value is near the limit", i+1, done[i+1].Values, done[i].Values)
		}
	}
}

// Every tier gets its own boundary out of the same probes.
func TestTiers(t *testing.T) {
	o := boundaryOptions(Tiered, 200, 0)
	o.Filters = []Filter{{MetricTag: "output_token_throughput", Stat: "avg", Op: "gt", Threshold: 1}}
	for label, limit := range map[string]float64{"gold": 60, "silver": 120, "bronze": 400} {
		o.Tiers = append(o.Tiers, Tier{label, []Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: limit}}})
	}
	o.Tiers = append(o.Tiers, Tier{"impossible", []Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 1}}},
		Tier{"always", []Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 1e9}}})
	s := queueing(1, 0)
	done, summary := perform(t, New(o), s.measure)
	if summary.Reason == "max_iterations" {
		t.Fatalf("the budget did not suffice: %d probes", len(done))
	}
	for i, tier := range summary.Tiers {
		switch tier.Label {
		case "impossible", "always":
			want := map[string]string{"impossible": statusNoPass, "always": statusNoFailure}[tier.Label]
			if tier.Status != want {
				t.Errorf("%s: %s", tier.Label, tier.Status)
			}
			continue
		}
		want := truth(s, 200, o.Tiers[i].Filters[0].Threshold)
		if got := tier.Boundary.Pass.Value; tier.Status != statusConverged || math.Abs(got-want) > 0.01*want {
			t.Errorf("%s: %v (%s), want %v", tier.Label, got, tier.Status, want)
		}
	}
}

// Bayesian search in two dimensions, one of them real, comes close to the optimum; with
// two objectives it returns several compromises.
func TestBayesian(t *testing.T) {
	measure := func(v vary.Variation, _ string) cell.Outcome {
		x, _ := v.Number("phases.profiling.concurrency")
		y, _ := v.Number("phases.profiling.rate")
		octaves := math.Log2(x / 20)
		value := 100 - octaves*octaves - 3*(y-7)*(y-7)
		return cell.Outcome{Variation: v, Trials: []cell.Trial{{Metrics: []cell.Metric{
			{Tag: "goodput", Stats: map[string]float64{"avg": value}},
			{Tag: "request_latency", Stats: map[string]float64{"avg": x}},
		}}}}
	}
	o := Options{
		Algorithm: Bayesian, Iterations: 25, Initial: 8, Seed: 3,
		Space:      []Dimension{{Path: path, Lo: 1, Hi: 1000, Integer: true, Log: true}, {Path: "phases.profiling.rate", Lo: 0, Hi: 10}},
		Objectives: []Objective{{"goodput", "avg", true}},
	}
	_, s := perform(t, New(o), measure)
	if best := *s.Iterations[s.Best[0]].Objectives[0]; best < 99 {
		t.Errorf("best = %v, want more than 99 of 100", best)
	}
	o.Objectives = append(o.Objectives, Objective{"request_latency", "avg", false})
	if _, s = perform(t, New(o), measure); len(s.Best) < 3 {
		t.Errorf("%d compromises, want at least 3", len(s.Best))
	}
}

// Bayesian search stops when nothing improves, and infeasible points count for nothing.
func TestPatience(t *testing.T) {
	o := boundaryOptions(Bayesian, 1000, 100)
	o.Iterations, o.Patience = 100, 6
	done, s := perform(t, New(o), queueing(1, 0).measure)
	if s.Reason != "improvement_patience" || len(done) > 40 {
		t.Errorf("%s after %d probes", s.Reason, len(done))
	}
	o.Iterations, o.Filters[0].Threshold = 20, 1 // nothing is feasible: it must not stop early as if something were
	if done, s = perform(t, New(o), queueing(1, 0).measure); s.Reason != "max_iterations" {
		t.Errorf("nothing feasible: %s after %d probes", s.Reason, len(done))
	}
	o = boundaryOptions(Bayesian, 1000, 1e9)
	o.Patience, o.PlateauWindow, o.PlateauThreshold = 0, 4, 0.05
	if _, s = perform(t, New(o), queueing(1, 0).measure); s.Reason != "plateau" {
		t.Errorf("plateau: %s", s.Reason)
	}
}

// A search that is interrupted after any probe goes on with the same one: outcomes that
// were written to a file and read back lead to the same plan.
func TestReplay(t *testing.T) {
	for _, a := range []Algorithm{Monotonic, Isotonic, Bayesian, Tiered} {
		o := boundaryOptions(a, 500, 130)
		if a == Tiered {
			o.Tiers = []Tier{{"a", o.Filters}, {"b", []Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 300}}}}
		}
		done, _ := perform(t, New(o), queueing(7, 0.05).measure)
		for n := range done {
			text, err := json.Marshal(done[:n])
			if err != nil {
				t.Fatal(err)
			}
			var read []cell.Outcome
			if err := json.Unmarshal(text, &read); err != nil {
				t.Fatal(err)
			}
			if v, more := New(o).Next(read); !more || !reflect.DeepEqual(v, done[n].Variation) {
				t.Fatalf("%s after %d probes: %v, want %v", a, n, v, done[n].Variation)
			}
		}
	}
}

// The whole history of a search, as a file.
func TestHistory(t *testing.T) {
	o := boundaryOptions(Isotonic, 16, 40)
	o.Seed = 5
	_, s := perform(t, New(o), queueing(1, 0).measure)
	got, err := json.MarshalIndent(NewHistory(o, s, "max-concurrency-under-sla"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", "search_history.json")
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("history differs (-want +got):\n%s", diff)
	}
}
