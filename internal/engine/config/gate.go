package config

import (
	"fmt"

	"aiperfd/internal/engine/config/problem"
)

// Gate is what `aiperfd gate` judges a document by. It does not affect what is measured.
type Gate struct {
	Baseline       string     `json:"baseline,omitempty"` // name[@revision], folders or ids of runs; "" = none
	Looks          []int      `json:"looks,omitempty"`    // numbers of runs, ascending; none = 3, 5, 8
	Budget         GateBudget `json:"budget,omitzero"`
	OnInconclusive string     `json:"onInconclusive,omitempty"` // error (default), pass, fail
	Rules          []GateRule `json:"rules"`                    // at least one
}

// GateBudget limits the measurement of a gate.
type GateBudget struct {
	Time Seconds `json:"time,omitempty"` // 0 = no limit
}

// GateRule is a limit on a statistic of a metric, or on its change from the baseline.
type GateRule struct {
	Metric         string   `json:"metric"` // tag, or short name
	Stat           string   `json:"stat,omitempty"`
	Max            *float64 `json:"max,omitempty"`           // in the unit of the metric
	Min            *float64 `json:"min,omitempty"`           // in the unit of the metric
	MaxRegression  string   `json:"maxRegression,omitempty"` // such as 3%
	OnInconclusive string   `json:"onInconclusive,omitempty"`
}

// checkGate checks the rules of a gate, as far as they need no metrics.
func checkGate(in *input) {
	g := in.doc.Gate
	if g == nil {
		return
	}
	in.Warn(in.Where("gate"), problem.CodeNoEffect, "only aiperfd gate judges the rules")
	for i, r := range g.Rules {
		limits := 0
		for _, given := range []bool{r.Max != nil, r.Min != nil, r.MaxRegression != ""} {
			if given {
				limits++
			}
		}
		if limits != 1 {
			in.Conflict(fmt.Sprintf("gate.rules.%d", i), "give exactly one of max, min and maxRegression")
		}
	}
}
