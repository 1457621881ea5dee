package search

import (
	"slices"
	"testing"

	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

// What a search found is said in sentences, the recommendation first.
func TestFindings(t *testing.T) {
	find := func(o Options, measure func(vary.Variation, string) cell.Outcome) []string {
		s := &Search{Planner: New(o), Options: o}
		done, _ := perform(t, s, measure)
		return s.Findings(done)
	}
	exact, distorted := queueing(1, 0), func(v vary.Variation, p string) cell.Outcome {
		o := queueing(1, 0).measure(v, p)
		o.Trials[0].Metric("time_to_first_token").Doubt = &cell.Doubt{Invalid: true}
		o.Trials[0].Metrics[0].Stats["count"] = 50
		return o
	}
	failedFrom := func(lowest float64) func(vary.Variation, string) cell.Outcome {
		return func(v vary.Variation, p string) cell.Outcome {
			if x, _ := v.Number(p); x >= lowest {
				return cell.Outcome{Variation: v, Trials: []cell.Trial{{Label: "run_0001", Failure: "no request succeeded"}}}
			}
			return queueing(1, 0).measure(v, p)
		}
	}
	spent := boundaryOptions(Monotonic, 1000, 100)
	spent.Iterations = 3
	tiers := boundaryOptions(Tiered, 60, 0)
	tiers.Filters = nil
	tiers.Tiers = []Tier{
		{"gold", []Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "le", Threshold: 50}}},
		{"any", []Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 5000}}},
	}
	for _, c := range []struct {
		name    string
		options Options
		measure func(vary.Variation, string) cell.Outcome
		want    []string
	}{
		{"boundary", boundaryOptions(Isotonic, 64, 100), exact.measure, []string{
			"Highest concurrency within the limits: 29 (at 30: time_to_first_token p95 101 ms, limit < 100 ms). 95 % confidence interval of the boundary: 29 to 30."}},
		{"no pass", boundaryOptions(Isotonic, 64, 1), exact.measure, []string{
			"No measured concurrency is within the limits (at 1: time_to_first_token p95 21.54 ms, limit < 1 ms)."}},
		{"no failure", boundaryOptions(Monotonic, 64, 1e6), exact.measure, []string{"Highest concurrency within the limits: 64, the largest value of the search."}},
		{"budget", spent, exact.measure, []string{
			"Highest concurrency within the limits: 4, the largest value measured."}},
		{"distorted and short", boundaryOptions(Monotonic, 64, 21), distorted, []string{
			"No measured concurrency is within the limits (at 1: time_to_first_token p95 21.54 ms, limit < 21 ms). " +
				"Load generator verdict invalid for time_to_first_token at 1: the boundary may be that of the load generator, not of the server.",
			"2 of 2 probes had too few requests for a percentile with a limit."}},
		{"another number distorted", boundaryOptions(Monotonic, 64, 1e6), func(v vary.Variation, p string) cell.Outcome {
			o := queueing(1, 0).measure(v, p)
			o.Trials[0].Metrics = append(o.Trials[0].Metrics, cell.Metric{Tag: "inter_chunk_latency", Doubt: &cell.Doubt{Invalid: true}})
			return o
		}, []string{"Highest concurrency within the limits: 64, the largest value of the search."}},
		{"every probe failed", boundaryOptions(Isotonic, 64, 100), failedFrom(1), []string{"Nothing was found: no probe has a result."}},
		{"every probe of tiers failed", tiers, failedFrom(1), []string{"Nothing was found: no probe has a result."}},
		{"a probe failed", boundaryOptions(Monotonic, 64, 1e6), failedFrom(17), []string{
			"Highest concurrency within the limits: 16 (at 17: no request succeeded)."}},
		{"a metric is missing", boundaryOptions(Monotonic, 64, 1e6), func(v vary.Variation, p string) cell.Outcome {
			o := queueing(1, 0).measure(v, p)
			o.Trials[0].Metrics = o.Trials[0].Metrics[1:]
			return o
		}, []string{"No measured concurrency is within the limits (at 1: time_to_first_token p95 not measured, limit < 1000000)."}},
		{"distorted tiers", tiers, distorted, []string{
			"gold: Highest concurrency within the limits: 14 (at 15: time_to_first_token p95 51.5 ms, limit <= 50 ms). " +
				"Load generator verdict invalid for time_to_first_token at 15: the boundary may be that of the load generator, not of the server.",
			"any: Highest concurrency within the limits: 60, the largest value of the search. " +
				"Load generator verdict invalid for time_to_first_token at 60: the boundary may be that of the load generator, not of the server."}},
		{"tiers", tiers, exact.measure, []string{
			"gold: Highest concurrency within the limits: 14 (at 15: time_to_first_token p95 51.5 ms, limit <= 50 ms).",
			"any: Highest concurrency within the limits: 60, the largest value of the search."}},
	} {
		if got := find(c.options, c.measure); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
	best := boundaryOptions(Bayesian, 64, 1)
	best.Iterations = 6
	want := []string{
		"Best: concurrency 51 with output_token_throughput avg 5514; no probe is within all limits."}
	if got := find(best, exact.measure); !slices.Equal(got, want) {
		t.Errorf("optimum: %q, want %q", got, want)
	}
}

// Of a metric that the load generator distorted in some trials, the others decide.
func TestJudgeSoundTrials(t *testing.T) {
	filters := []Filter{
		{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 100},
		{MetricTag: "request_latency", Stat: "p95", Op: "lt", Threshold: 1000},
	}
	type value struct {
		v         float64
		distorted bool
	}
	trial := func(ttft, latency value) cell.Trial {
		metric := func(tag string, x value) cell.Metric {
			m := cell.Metric{Tag: tag, Stats: map[string]float64{"p95": x.v}}
			if x.distorted {
				m.Doubt = &cell.Doubt{Invalid: true, Side: 1}
			}
			return m
		}
		return cell.Trial{Metrics: []cell.Metric{metric("time_to_first_token", ttft), metric("request_latency", latency)}}
	}
	failed := cell.Trial{Failure: "no request succeeded"}
	ok, slow := value{500, false}, value{5000, false}
	for _, tt := range []struct {
		name     string
		trials   []cell.Trial
		pass     bool
		observed float64 // of the first filter
		limited  bool
	}{
		{"sound", []cell.Trial{trial(value{50, false}, ok), trial(value{60, false}, ok)}, true, 55, false},
		{"one is distorted", []cell.Trial{trial(value{50, false}, ok), trial(value{900, true}, ok)}, true, 50, false},
		{"two are distorted", []cell.Trial{trial(value{900, true}, ok), trial(value{50, false}, ok), trial(value{900, true}, ok)}, true, 50, false},
		{"all are distorted", []cell.Trial{trial(value{900, true}, ok), trial(value{50, true}, ok)}, false, 475, true},
		{"all are distorted and hold", []cell.Trial{trial(value{90, true}, ok), trial(value{50, true}, ok)}, true, 70, false},
		{"the sound one breaks the limit", []cell.Trial{trial(value{50, true}, ok), trial(value{900, false}, ok)}, false, 900, false},
		{"another metric decides", []cell.Trial{trial(value{50, false}, ok), trial(value{900, true}, slow), trial(value{900, true}, slow)}, false, 50, false},
		{"each is distorted in one metric", []cell.Trial{trial(value{50, false}, value{5000, true}), trial(value{900, true}, ok)}, true, 50, false},
		{"one failed", []cell.Trial{failed, trial(value{50, false}, ok), trial(value{900, true}, value{5000, true})}, true, 50, false},
		{"two failed", []cell.Trial{failed, failed, trial(value{50, false}, ok)}, false, 50, false},
	} {
		o := Options{Filters: filters}
		outcome := cell.Outcome{Trials: tt.trials}
		v := Judge(filters, &outcome)
		if limited := o.limited(tt.trials); v.Pass != tt.pass || *v.Readings[0].Observed != tt.observed || limited != tt.limited {
			t.Errorf("%s: pass %v, observed %v, limited %v; want %v, %v, %v", tt.name, v.Pass, *v.Readings[0].Observed, limited, tt.pass, tt.observed, tt.limited)
		}
	}
}
