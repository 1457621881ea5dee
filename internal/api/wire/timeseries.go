package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Timeseries is a part of the time series of a run. Columns have one value per point.
type Timeseries struct {
	RunID     string            `json:"run_id"`
	State     string            `json:"state"`
	StartTime *time.Time        `json:"start_time"` // of the first phase, from which seconds count; null before it
	StepSec   int64             `json:"step_sec"`
	NextSec   int64             `json:"next_sec"` // from= of the request for what follows
	Phases    []Band            `json:"phases"`
	TimeSec   []int64           `json:"time_sec"` // the start of each point
	Series    map[string]Series `json:"series"`   // by name of the metric
}

// Band is the time of a phase.
type Band struct {
	Index int      `json:"index"`
	Name  string   `json:"name"`
	Kind  string   `json:"kind"`
	Start float64  `json:"start_sec"`
	End   *float64 `json:"end_sec"` // null while the phase runs
}

// Series are the values of one metric.
type Series struct {
	Unit   string            `json:"unit"`   // of all values but counts
	Values map[string]Column `json:"values"` // by statistic, or by class of errors
}

// Column has one value per point. NaN is null.
type Column []float64

// MarshalJSON implements json.Marshaler. Seven digits are more than the values have.
func (c Column) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 2+8*len(c)), '[')
	for i, v := range c {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, v)
	}
	return append(b, ']'), nil
}

// appendNumber appends a number with seven digits; NaN and infinite ones are null.
func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return append(b, "null"...)
	case v == math.Trunc(v) && math.Abs(v) < 1<<53:
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', 7, 64)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Column) UnmarshalJSON(data []byte) error {
	var values []*float64
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	*c = make(Column, len(values))
	for i, v := range values {
		(*c)[i] = math.NaN()
		if v != nil {
			(*c)[i] = *v
		}
	}
	return nil
}
