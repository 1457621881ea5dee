package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
)

// Question is the body of POST /api/compare: which runs are compared, and how.
type Question struct {
	// A are ids of the runs of the reference, current or latest; repeats stand for all their runs.
	A []string `json:"a" example:"0199f1c2b7c80000000000000000000a"`
	B []string `json:"b" example:"0199f1c2b7c80000000000000000000b"` // those that are compared with it
	// Margin is the change that counts as none, as a share; without one each statistic has its own.
	Margin float64 `json:"margin,omitempty" minimum:"0" maximum:"1" example:"0.03"`
	// Metrics are judged instead of the default ones: a tag, a colon and a statistic.
	Metrics []string `json:"metrics,omitempty" example:"request_latency:p95"`
	// Allow are JSON pointers of values of the load that may differ.
	Allow []string `json:"allow,omitempty" example:"/phases/0/concurrency"`
}

// Most are the bounds of the lists of a question.
const (
	maxSide    = 100 // names of runs on one side
	maxMetrics = 50
)

// Check returns what is wrong with a question, in one error; nil = nothing.
func (q *Question) Check() error {
	var faults []string
	for name, list := range map[string][]string{"a": q.A, "b": q.B} {
		if len(list) == 0 || len(list) > maxSide {
			faults = append(faults, fmt.Sprintf("%s has %d runs, want 1 to %d", name, len(list), maxSide))
		}
		if slices.Contains(list, "") {
			faults = append(faults, name+" has an empty element")
		}
	}
	if q.Margin < 0 || q.Margin >= 1 {
		faults = append(faults, fmt.Sprintf("margin is %v, want a share from 0 to below 1", q.Margin))
	}
	if _, err := parseMetrics(q.Metrics); err != nil {
		faults = append(faults, err.Error())
	}
	slices.Sort(faults)
	if faults == nil {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(faults, "; "))
}

// asked is a statistic that a question names.
type asked struct {
	tag    string
	stat   metric.Stat
	margin float64 // as a share, or as percentage points for a share
	points bool
}

// family returns the statistics that are judged by default.
func family() []asked {
	var out []asked
	for _, tag := range []string{"time_to_first_token", "inter_token_latency", "request_latency"} {
		out = append(out, question(tag, metric.P50), question(tag, metric.P95))
	}
	for _, tag := range []string{"output_token_throughput", "goodput", "request_error_rate"} {
		out = append(out, question(tag, metric.Avg))
	}
	return out
}

// question returns the question for a statistic with its default margin.
func question(tag string, s metric.Stat) asked {
	q := asked{tag: tag, stat: s, margin: 0.03}
	if margin, wider := map[metric.Stat]float64{metric.P90: 0.05, metric.P95: 0.05, metric.P99: 0.10}[s]; wider {
		q.margin = margin
	}
	if tag == errorRate {
		q.margin, q.points = 1, true
	}
	return q
}

// errorRate is the share of failed requests, in percent; it is compared in points.
const errorRate = "request_error_rate"

// parseMetrics returns the statistics that a list names; the default ones for an empty list.
func parseMetrics(names []string) ([]asked, error) {
	if len(names) == 0 {
		return family(), nil
	}
	if len(names) > maxMetrics {
		return nil, fmt.Errorf("%d metrics, want at most %d", len(names), maxMetrics)
	}
	var out []asked
	for _, name := range names {
		tag, statistic, found := strings.Cut(name, ":")
		if !found {
			statistic = "avg"
		}
		def, known := catalogue.Lookup(tag)
		if !known || direction(def) == Undefined {
			return nil, fmt.Errorf("metric %q: %q is no metric with a direction of improvement", name, tag)
		}
		s, ok := metric.ParseStat(statistic)
		if !ok || !slices.Contains([]metric.Stat{metric.Avg, metric.P50, metric.P90, metric.P95, metric.P99}, s) {
			return nil, fmt.Errorf("metric %q: statistic %q: must be avg, p50, p90, p95 or p99", name, statistic)
		}
		q := question(tag, s)
		if !slices.Contains(out, q) {
			out = append(out, q)
		}
	}
	return out, nil
}

// ParseShare parses a share such as 10% or 0.1, above 0 and below 1.
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v < 1) {
		return 0, fmt.Errorf("%q: must be a share above 0 and below 1, for example 10%% or 0.1", text)
	}
	return v, nil
}
