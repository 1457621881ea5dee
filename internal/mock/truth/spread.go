package truth

import (
	"slices"
)

// Spread describes a set of numbers. All members are 0 when Count is.
// Percentiles are nearest-rank: members of the set.
type Spread struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// SpreadOf sorts values in place.
func SpreadOf(values []float64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	rank := func(percent int) float64 { return values[(n*percent+99)/100-1] }
	return Spread{
		Count: n, Mean: sum / float64(n), Min: values[0], Max: values[n-1],
		P50: rank(50), P90: rank(90), P95: rank(95), P99: rank(99),
	}
}
