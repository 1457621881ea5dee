package random

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Pair is a pair of lengths that are drawn together.
type Pair struct {
	Input, Output Dist
	Probability   float64 // in percent, > 0
}

// Pairs is a mixture of pairs of lengths. The zero value means "not given". It is
// immutable and safe for concurrent use.
type Pairs struct {
	pairs []Pair
	which Dist
}

// NewPairs checks the pairs and returns their mixture. The error lists all problems.
func NewPairs(pairs []Pair) (Pairs, error) {
	const low, high = 99, 101 // as AIPerf accepts in documents
	p := Pairs{pairs: pairs}
	total := 0.0
	var errs []error
	for i, pair := range pairs {
		if !pair.Input.Given() || !pair.Output.Given() {
			errs = append(errs, fmt.Errorf("pairs[%d]: needs an input and an output length", i))
		}
		if err := p.which.addWeight("pairs", i, pair.Probability); err != nil {
			errs = append(errs, err)
		}
		total += pair.Probability
	}
	if !(total >= low && total <= high) {
		errs = append(errs, fmt.Errorf("the probabilities add up to %v: they are percentages and must add up to 100", total))
	}
	return p, errors.Join(errs...)
}

// Given reports whether p has pairs.
func (p Pairs) Given() bool { return len(p.pairs) > 0 }

// Mean returns the means of both lengths.
func (p Pairs) Mean() (input, output float64) {
	before := 0.0
	for i, pair := range p.pairs {
		share := (p.which.sums[i] - before) / p.which.sums[len(p.which.sums)-1]
		input += pair.Input.Mean() * share
		output += pair.Output.Mean() * share
		before = p.which.sums[i]
	}
	return input, output
}

// Draw draws a pair by its probability, and then both lengths, each at least 1.
func (p Pairs) Draw(r *rand.Rand) (input, output int) {
	pair := &p.pairs[p.which.pick(r)]
	return pair.Input.DrawInt(r), pair.Output.DrawInt(r)
}
