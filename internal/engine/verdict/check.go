package verdict

import (
	"fmt"
	"math"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
)

// Account is the result of one finished phase as it is reported, with what was counted
// independently of it.
type Account struct {
	Results  metric.Results
	Counters catalogue.Counters
	Stats    bench.PhaseStats
	Window   time.Duration // W, which rates divide by
	Start    time.Time     // of the phase, as exported
	End      time.Time
	Tally    *Tally
	Self     *Self // nil = the client was not observed
}

// Checks are the relations between the numbers of a result that were checked, and
// those that do not hold.
type Checks struct {
	Checked  []string      `json:"checked"`  // codes, in a fixed order; never null
	Warnings []Discrepancy `json:"warnings"` // never null
}

// Discrepancy is a relation that does not hold.
type Discrepancy struct {
	Code      string  `json:"code"` // kebab-case, stable
	Phase     string  `json:"phase"`
	Expected  float64 `json:"expected"`
	Observed  float64 `json:"observed"`
	Tolerance float64 `json:"tolerance"` // of the difference, in the same unit
	Unit      string  `json:"unit"`
	Detail    string  `json:"detail"` // for people
}

// relation is one check: two numbers that must be equal to within a tolerance.
type relation struct {
	code, unit, text string
	// compare returns the two numbers; false = the result does not have them.
	compare func(*Account) (expected, observed, tolerance float64, ok bool)
}

// relations are all checks.
func relations() []relation {
	return []relation{
		{"requests-conserved", "requests", "requests that were sent, and requests that succeeded, failed, were cancelled or are in flight", requestsConserved},
		{"records-conserved", "requests", "requests that returned, and records of successes and errors", recordsConserved},
		{"request-rate", "requests/sec", "request_count divided by the window, and request_throughput", rateOf("request_count", "request_throughput")},
		{"token-rate", "tokens/sec", "total_osl divided by the window, and output_token_throughput", rateOf("total_osl", "output_token_throughput")},
		{"window", "sec", "the window that rates divide by, and the time from its start to its end", window},
		{"littles-law", "requests", "rate times mean time from permission to end, and the observed mean number of requests in flight", littlesLaw},
		{"concurrency-curve", "requests", "rate times mean time from start to end, and the average of effective_concurrency", concurrencyCurve},
		{"latency-sum", "ms", "the sum of request_latency, and the sums of time_to_first_token and inter_chunk_latency", latencySum},
		{"tokens-conserved", "requests", "streams with a token count on every event, and those of them whose counts add up to the usage block", tokensConserved},
		{"events-within-tokens", "requests", "streams with more content events than tokens in their usage block (expected: none)", eventsWithinTokens},
		{"events-in-order", "requests", "streams with a content event stamped before the one it follows (expected: none)", eventsInOrder},
		{"percentiles-in-order", "metrics", "metrics whose minimum, percentiles and maximum do not ascend (expected: none)", percentilesInOrder},
	}
}

// Check checks the relations between the numbers of a result.
func Check(a *Account) Checks {
	out := Checks{Checked: []string{}, Warnings: []Discrepancy{}}
	for _, r := range relations() {
		expected, observed, tolerance, ok := r.compare(a)
		if !ok {
			continue
		}
		out.Checked = append(out.Checked, r.code)
		if math.Abs(observed-expected) <= tolerance {
			continue
		}
		out.Warnings = append(out.Warnings, Discrepancy{
			Code: r.code, Phase: a.Stats.Name, Expected: round(expected), Observed: round(observed), Tolerance: round(tolerance),
			Unit: r.unit, Detail: fmt.Sprintf("%s: %.6g and %.6g %s", r.text, expected, observed, r.unit),
		})
	}
	return out
}

// JoinChecks combines the checks of several phases.
func JoinChecks(phases []Checks) Checks {
	out := Checks{Checked: []string{}, Warnings: []Discrepancy{}}
	seen := map[string]bool{}
	for _, c := range phases {
		for _, code := range c.Checked {
			seen[code] = true
		}
		out.Warnings = append(out.Warnings, c.Warnings...)
	}
	for _, r := range relations() {
		if seen[r.code] {
			out.Checked = append(out.Checked, r.code)
		}
	}
	return out
}

// exactly returns a tolerance for numbers that differ by rounding only.
func exactly(x float64) float64 { return 1e-9 * max(1, math.Abs(x)) }

func requestsConserved(a *Account) (expected, observed, tolerance float64, ok bool) {
	s, c := &a.Stats, &a.Counters
	observed = float64(c.Success + c.Errors + c.Cancelled + c.CancelledByTest + s.Records.Excluded)
	if s.RequestsEnd == 0 {
		observed += float64(s.InFlight())
	}
	return float64(s.Sent), observed, 0, true
}

func recordsConserved(a *Account) (expected, observed, tolerance float64, ok bool) {
	return float64(a.Stats.Completed), float64(a.Counters.Success + a.Counters.Errors), 0, a.Stats.Records.Excluded == 0
}

// rateOf compares a total, divided by the window, with a rate.
func rateOf(total, rate string) func(*Account) (expected, observed, tolerance float64, ok bool) {
	return func(a *Account) (expected, observed, tolerance float64, ok bool) {
		n, counted := a.Results.Value(total, metric.Avg)
		observed, rated := a.Results.Value(rate, metric.Avg)
		if !counted || !rated || a.Window <= 0 {
			return 0, 0, 0, false
		}
		expected = n / a.Window.Seconds()
		return expected, observed, exactly(expected), true
	}
}

func window(a *Account) (expected, observed, tolerance float64, ok bool) {
	const written = 2e-6 // files have microseconds
	return a.Window.Seconds(), a.End.Sub(a.Start).Seconds(), written, a.Window > 0
}

// littlesLaw compares the observed number of requests in flight with the records.
// Sampling at an interval h misses or adds at most h at each end of a request, plus
// the lateness of the sample. If that is not small compared with the requests, the
// relation is not checked.
func littlesLaw(a *Account) (expected, observed, tolerance float64, ok bool) {
	if a.Self == nil || a.Self.InFlight <= 0 || a.Window <= 0 || a.Tally.requests == 0 {
		return 0, 0, 0, false
	}
	w := a.Stats.Window(a.Stats.LastUpdate).Seconds() // the tally has all requests
	step := (a.Self.Step + a.Self.Ticks.Quantile(0.99)).Seconds()
	slack := float64(a.Tally.requests) * step / w
	expected = a.Tally.residence.Seconds() / w
	return expected, a.Self.InFlight.Seconds() / w, 0.02*expected + slack, slack < expected/2
}

func concurrencyCurve(a *Account) (expected, observed, tolerance float64, ok bool) {
	observed, ok = a.Results.Value("effective_concurrency", metric.Avg)
	if !ok || a.Window <= 0 || a.Tally.atWork <= 0 || a.Stats.Records.Excluded > 0 {
		return 0, 0, 0, false
	}
	expected = a.Tally.atWork.Seconds() / a.Window.Seconds()
	return expected, observed, 0.01 * expected, true
}

func latencySum(a *Account) (expected, observed, tolerance float64, ok bool) {
	first, latency := a.Results.Find("time_to_first_token"), a.Results.Find("request_latency")
	if first == nil || latency == nil || first.Count != latency.Count {
		return 0, 0, 0, false // some answers were not streamed
	}
	if a.Tally.unpaced > 0 {
		return 0, 0, 0, false
	}
	expected, has := latency.Get(metric.Sum)
	observed, ok = first.Get(metric.Sum)
	if gaps, any := a.Results.Value("inter_chunk_latency", metric.Sum); any {
		observed += gaps
	}
	return expected, observed, 1e-6 * math.Abs(expected), ok && has
}

func tokensConserved(a *Account) (expected, observed, tolerance float64, ok bool) {
	c := &a.Tally.tokens
	return float64(c.records), float64(c.records - c.differ), 0, c.records > 0
}

func eventsWithinTokens(a *Account) (expected, observed, tolerance float64, ok bool) {
	c := &a.Tally.tokens
	return 0, float64(c.excess), 0.01 * float64(c.counted), c.counted > 0
}

func eventsInOrder(a *Account) (expected, observed, tolerance float64, ok bool) {
	return 0, float64(a.Tally.tokens.negative), 0, a.Tally.streams.streams > 0
}

func percentilesInOrder(a *Account) (expected, observed, tolerance float64, ok bool) {
	ascending := [...]metric.Stat{
		metric.Min, metric.P1, metric.P5, metric.P10, metric.P25, metric.P50, metric.P75, metric.P90, metric.P95,
		metric.P99, metric.P999, metric.P9999, metric.Max,
	}
	for i := range a.Results {
		last := math.Inf(-1)
		for _, s := range ascending {
			v, has := a.Results[i].Get(s)
			if !has {
				continue
			}
			if v < last && !(last-v <= exactly(v)) {
				observed++
				break
			}
			last = v
		}
	}
	return 0, observed, 0, len(a.Results) > 0
}
