package metric

import (
	"fmt"
	"strings"

	"aiperfd/internal/view"
)

// SLOResult is an objective with its outcome.
type SLOResult struct {
	Objective string   `json:"objective" example:"p99(time_to_first_token) < 500ms"`
	Metric    string   `json:"metric" example:"time_to_first_token"`
	Statistic string   `json:"statistic" example:"p99"`
	Operator  string   `json:"operator" example:"<"`
	Limit     float64  `json:"limit" example:"500"` // in unit
	Unit      string   `json:"unit" example:"ms"`
	Value     *float64 `json:"value" example:"412.5"` // null = the run has no such value, or it is infinite
	Met       bool     `json:"met"`
	// Uncertain: with the same load over unlimited time the outcome may be the other one,
	// because a plausible value of the statistic is on the other side of the limit.
	Uncertain bool `json:"uncertain"`
	// Doubt says why the outcome is uncertain; absent if it is not.
	Doubt string `json:"doubt,omitempty" example:"the limit is within the confidence interval, 480 to 530 ms"`
} // @name slo.Result

// The names of objectives that a run has none of some findings about servers or accelerators: their metric is a code
// after the prefix, their value the number of phases with the finding.
const (
	FindingPrefix = "finding."
	FindingCount  = "count"
)

// SLOsPassed reports whether all objectives are met.
func SLOsPassed(rs []SLOResult) bool {
	for i := range rs {
		if !rs[i].Met {
			return false
		}
	}
	return true
}

// Line describes a result in words: the objective, the value, and whether it is met.
func (r *SLOResult) Line() string {
	text := r.Objective + ": " + r.value()
	if r.Met {
		text += ", met"
	} else {
		text += ", missed"
	}
	if r.Doubt != "" {
		text += ", but " + r.Doubt
	}
	return text
}

// value describes the value in words.
func (r *SLOResult) value() string {
	finding := strings.HasPrefix(r.Metric, FindingPrefix)
	switch {
	case r.Value == nil && finding:
		return "not known"
	case r.Value == nil:
		return "no value"
	case !finding:
		return ValueText(*r.Value, r.Unit)
	case *r.Value == 0:
		return "none"
	}
	return "found in " + view.Plural(int64(*r.Value), "phase")
}

// ValueText formats a value with its unit.
func ValueText(v float64, unit string) string {
	return strings.TrimSuffix(fmt.Sprintf("%.4g %s", v, unit), " ratio")
}
