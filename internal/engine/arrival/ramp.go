package arrival

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"aiperfd/internal/engine/bench"
)

// RampStrategy is the shape of a ramp.
type RampStrategy uint8

// The strategies. The names in documents are those of [RampStrategies].
const (
	LinearRamp      RampStrategy = iota // the value rises evenly
	ExponentialRamp                     // the value grows by the same factor in equal times
	PoissonRamp                         // the value rises in equal steps at random times
)

// RampStrategies returns the names of the strategies, in the order of their values.
func RampStrategies() []string { return []string{"linear", "exponential", "poisson"} }

// Ramp is a rise from a start value to a target. The zero Ramp is none: the value is
// the target from the start.
type Ramp struct {
	Duration time.Duration // 0 = none
	Strategy RampStrategy
	Seed     bench.Seed // of the times of PoissonRamp
}

// Steps yields the offsets from the start at which a limit becomes 1, 2, …, target, in
// ascending order: the first one is 0, the last one, if target > 1, the duration.
func (r Ramp) Steps(target int) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		if target < 1 || !yield(0) {
			return
		}
		share := r.shares(target)
		for v := 2; v <= target; v++ {
			if !yield(time.Duration(math.RoundToEven(share(v) * float64(r.Duration)))) {
				return
			}
		}
	}
}

// shares returns the function that gives the share of the duration after which a limit
// becomes v, from 2 to target. It is called once for each v in ascending order.
func (r Ramp) shares(target int) func(v int) float64 {
	switch r.Strategy {
	case ExponentialRamp: // target^share = v
		whole := math.Log(float64(target))
		return func(v int) float64 {
			if v == target {
				return 1
			}
			return math.Log(float64(v)) / whole
		}
	case PoissonRamp:
		times := r.Times(target - 1)
		return func(int) float64 { return times() }
	case LinearRamp:
	}
	return func(v int) float64 { return float64(v-1) / float64(target-1) }
}

// Times returns the function that yields n random times in ascending order, as shares
// of the duration. The gaps are those of a Poisson process, scaled so that the last
// time is 1.
func (r Ramp) Times(n int) func() float64 {
	sum, gaps := 0.0, r.rand()
	for range n {
		sum += gaps.ExpFloat64()
	}
	at, i := 0.0, 0
	gaps = r.rand() // the same gaps again, so that they need no memory
	return func() float64 {
		if i++; i >= n {
			return 1
		}
		at += gaps.ExpFloat64()
		return min(at/sum, 1)
	}
}

func (r Ramp) rand() *rand.Rand { return r.Seed.Rand(bench.StreamRampPoisson) }
