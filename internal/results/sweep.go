package results

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/regular"
)

// SweepFile is the file of a sweep with its [Sweep], in its folder. It is replaced when a run of
// the sweep has ended.
const SweepFile = "sweep_summary.json"

// Sweep is what the runs of a sweep say together: a row for each value, and the answer of a
// search. It is the body of GET /api/runs/{id}/sweep.
type Sweep struct {
	Type       string      `json:"type" example:"grid"` // repeats = one document was performed several times
	Parameters []Parameter `json:"parameters"`          // what is varied
	// ConfidenceLevel is that of the intervals over the runs of a row.
	ConfidenceLevel float64     `json:"confidence_level" example:"0.95"`
	Limits          []Condition `json:"limits"` // that every row is judged by
	Rows            []SweepRow  `json:"rows"`   // in the order in which they were first measured
	// BestThroughput and BestLatency are indexes of rows; null = there is none.
	BestThroughput *int   `json:"best_throughput"`
	BestLatency    *int   `json:"best_latency"`
	LatencyMetric  string `json:"latency_metric" example:"time_to_first_token"` // its p99 decides
	// Findings says what was found, in sentences; what is recommended comes first.
	Findings []string     `json:"findings"`
	Search   *SweepSearch `json:"search"` // null if the values were known in advance
}

// Parameter is a place of the document that is varied.
type Parameter struct {
	Path string `json:"path" example:"phases.profiling.concurrency"`
	Name string `json:"name" example:"concurrency"`
}

// Condition is a limit of a statistic, in the unit of the metric.
type Condition struct {
	Metric    string  `json:"metric" example:"time_to_first_token"`
	Statistic string  `json:"statistic" example:"p95"`
	Operator  string  `json:"operator" enums:"<,<=,>,>="`
	Threshold float64 `json:"threshold" example:"500"`
	Unit      string  `json:"unit" example:"ms"`
}

// Reading is what was measured of the statistic of a condition.
type Reading struct {
	Condition
	Observed *float64 `json:"observed"` // null = it was not measured
	Met      bool     `json:"met"`
	// Doubt says why the reading may be wrong; absent if nothing speaks against it.
	Doubt string `json:"doubt,omitempty" example:"the load generator distorted time_to_first_token"`
}

// SweepRow is one value of a sweep with its runs.
type SweepRow struct {
	Name   string         `json:"name" example:"concurrency 8"`
	Values map[string]any `json:"values"` // by path
	Runs   []SweepRun     `json:"runs"`
	// Outcome is pass or fail by the limits, excluded if the load generator distorted a number
	// that decides, failed if no run has a result, and measured without limits.
	Outcome  string    `json:"outcome" enums:"pass,fail,excluded,failed,measured,waiting"`
	Pareto   bool      `json:"pareto"` // no other row has both more throughput and less latency
	Readings []Reading `json:"readings"`
	// Metrics are the main metrics and those with limits, by tag and statistic.
	Metrics map[string]SweepMetric `json:"metrics"`
}

// SweepRun is one run of a row.
type SweepRun struct {
	ID      string `json:"id"` // empty if its document was not valid
	Failure string `json:"failure,omitempty"`
	Client  string `json:"client,omitempty" enums:"ok,suspect,invalid,unknown"`
}

// SweepMetric is one metric of a row.
type SweepMetric struct {
	Unit       string              `json:"unit" example:"ms"`
	Statistics map[string]Estimate `json:"statistics"`
}

// Estimate is the mean of a statistic over the runs that count, with its interval, which is the
// mean itself for one run.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Runs int     `json:"runs"`
	// Distorted means that the load generator distorted the metric in all runs.
	Distorted   bool `json:"distorted,omitempty"`
	Unsupported bool `json:"unsupported,omitempty"` // too few independent requests for the percentile
}

// SweepSearch is what a search found.
type SweepSearch struct {
	Planner string `json:"planner" example:"monotonic_sla"`
	// Reason is why the search ended, as search_history.json has it; empty = it goes on, or was
	// interrupted. ReasonText is the same in words.
	Reason     string `json:"reason" example:"monotonic_sla_precision_reached"`
	ReasonText string `json:"reason_text" example:"the bracket is as narrow as the precision asks"`
	// Boundaries has one element for a search with one set of limits, one for each tier of a
	// search with tiers, and none for an optimization or before the first result.
	Boundaries []Boundary `json:"boundaries"`
	Optima     []int      `json:"optima"` // rows with the best objective; empty for a boundary search
}

// Boundary is where the values of a parameter begin to break a limit.
type Boundary struct {
	Tier      string     `json:"tier,omitempty"` // its label
	Parameter Parameter  `json:"parameter"`
	Pass      *SweepEdge `json:"pass"`    // the largest value within the limits; null = none was measured
	Fail      *SweepEdge `json:"fail"`    // the smallest one beyond them; null = none was measured
	Binding   *Condition `json:"binding"` // the limit that is reached first
	// Interval is the 95 % confidence interval of the boundary; null = not known.
	Interval *[2]float64 `json:"interval"`
	// Advised is the load to plan for at most, of a search for a capacity.
	Advised *float64 `json:"advised,omitempty" example:"22"`
	Kind    string   `json:"kind,omitempty" enums:"smooth,cliff"`
}

// SweepEdge is one side of a boundary.
type SweepEdge struct {
	Value    float64   `json:"value" example:"64"`
	Row      int       `json:"row"`
	Readings []Reading `json:"readings"` // of all limits
	// Valid means that the load generator distorted none of the deciding numbers.
	Valid bool `json:"valid"`
}

// Undecided says which side of a boundary may be on the other one, and why: its runs differ by more than it is
// away from a limit, or have too few requests. A value is within the limits if it keeps each of them, and beyond
// them if it breaks one. Empty if the boundaries are decided, as far as is known.
func (s *Sweep) Undecided() []string {
	var out []string
	if s.Search == nil {
		return out
	}
	for i := range s.Search.Boundaries {
		b := &s.Search.Boundaries[i]
		for _, edge := range []*SweepEdge{b.Pass, b.Fail} {
			if edge == nil {
				continue
			}
			if why := s.undecided(edge); len(why) > 0 {
				at := strconv.FormatFloat(edge.Value, 'f', -1, 64)
				out = append(out, fmt.Sprintf("Not decided at %s: %s.", at, strings.Join(why, "; ")))
			}
		}
	}
	return out
}

func (s *Sweep) undecided(edge *SweepEdge) (why []string) {
	breaks := slices.ContainsFunc(edge.Readings, func(r Reading) bool { return !r.Met })
	for i := range edge.Readings {
		r := &edge.Readings[i]
		if breaks && r.Met {
			continue
		}
		text := s.unsure(edge, r)
		if breaks && text == "" {
			return nil // this limit is certainly broken
		}
		if text != "" && !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	return why
}

// unsure says why a reading does not decide a limit; empty if it does. Distorted numbers are named elsewhere.
func (s *Sweep) unsure(edge *SweepEdge, r *Reading) string {
	name := r.Metric + " " + r.Statistic
	if strings.HasPrefix(r.Doubt, "too few") {
		return name + " has " + r.Doubt
	}
	if edge.Row < 0 || edge.Row >= len(s.Rows) {
		return ""
	}
	e, ok := s.Rows[edge.Row].Metrics[r.Metric].Statistics[r.Statistic]
	if ok && e.Runs > 1 && e.Low <= r.Threshold && r.Threshold <= e.High {
		return "the interval of " + name + " over the runs contains the limit"
	}
	return ""
}

// Sweep returns the summary of the sweep in this folder. A run that is no sweep has none.
func (r *Results) Sweep() (*Sweep, error) {
	path := filepath.Join(r.Dir, SweepFile)
	data, err := regular.Read(path)
	if err != nil {
		return nil, err
	}
	var s Sweep
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &s, nil
}
