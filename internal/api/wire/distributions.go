package wire

import "time"

// Distributions are how latencies of a run are distributed.
type Distributions struct {
	RunID         string                  `json:"run_id"`
	State         string                  `json:"state"`
	StartTime     *time.Time              `json:"start_time"`    // of the first phase, from which seconds count; null before it
	ElapsedSec    *float64                `json:"elapsed_sec"`   // up to which requests count; null = not active
	Phases        []Band                  `json:"phases"`        // those whose requests are counted
	StepSec       int64                   `json:"step_sec"`      // length of a column of the heat maps
	TimeSec       []int64                 `json:"time_sec"`      // the start of each column
	Quantiles     []float64               `json:"quantiles"`     // from 0 to 1
	Distributions map[string]Distribution `json:"distributions"` // by name of the metric
}

// Distribution is how the values of one metric are distributed. Numbers are null without
// values.
type Distribution struct {
	Unit      string    `json:"unit"`
	Count     uint64    `json:"count"`
	Avg       Number    `json:"avg" swaggertype:"number"`
	Std       Number    `json:"std" swaggertype:"number"`
	Min       Number    `json:"min" swaggertype:"number"`
	Max       Number    `json:"max" swaggertype:"number"`
	Values    Column    `json:"values"` // at the quantiles
	Histogram Histogram `json:"histogram"`
	Heatmap   Heatmap   `json:"heatmap"`
}

// Histogram are counts of values. Bucket i holds those above Bounds[i], up to Bounds[i+1]; a
// first bucket from 0 holds the zeros, too.
type Histogram struct {
	Bounds Column  `json:"bounds"` // one more than counts; empty without values
	Counts []int64 `json:"counts"`
}

// Heatmap has one list of counts per column, for the same buckets.
type Heatmap struct {
	Bounds Column    `json:"bounds"`
	Counts [][]int64 `json:"counts"`
}
