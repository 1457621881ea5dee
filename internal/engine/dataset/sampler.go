package dataset

import (
	"fmt"
	"strings"

	"aiperfd/internal/engine/bench"
)

// Sampler chooses the entry of a dataset for the next session. Only one goroutine may
// use it. One sampler serves all phases of a run, so that a warm-up consumes the first
// entries.
type Sampler struct {
	n     int
	draw  func() int
	order []int // shuffle: the current permutation
	at    int   // entries returned in the current pass
}

// SamplerKind is one row of the table of sampling strategies.
type SamplerKind struct {
	Name string                                // as documents write it
	Doc  string                                // one sentence for the documentation
	New  func(n int, seed bench.Seed) *Sampler // n ≥ 1 entries
}

// Samplers lists the strategies in the order of the documentation; the first is
// the default.
func Samplers() []SamplerKind {
	return []SamplerKind{
		{"sequential", "In the order of the dataset; wraps around at its end.", newSequential},
		{"random", "Every draw is independent and uniform, with replacement.", newRandom},
		{"shuffle", "A random permutation, a new one for each pass over the dataset.", newShuffle},
	}
}

// NewSampler returns a sampler of the named kind over n entries (≥ 1). Its
// randomness comes from streams dataset.sampler.random and .shuffle of seed.
// The error names the kinds that exist.
func NewSampler(kind string, n int, seed bench.Seed) (*Sampler, error) {
	if n < 1 {
		return nil, fmt.Errorf("sample %d entries: at least one is needed", n)
	}
	var names []string
	for _, k := range Samplers() {
		if k.Name == kind {
			return k.New(n, seed), nil
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("unknown sampling %q; accepted: %s", kind, strings.Join(names, ", "))
}

// Next returns the index of the next entry, from 0 to n-1.
func (s *Sampler) Next() int { return s.draw() }

func newSequential(n int, _ bench.Seed) *Sampler {
	s := &Sampler{n: n}
	s.draw = func() int {
		i := s.at
		s.at = (s.at + 1) % s.n
		return i
	}
	return s
}

func newRandom(n int, seed bench.Seed) *Sampler {
	r := seed.Rand(bench.StreamSamplerRandom)
	return &Sampler{n: n, draw: func() int { return bench.Below(r, n) }}
}

func newShuffle(n int, seed bench.Seed) *Sampler {
	r := seed.Rand(bench.StreamSamplerShuffle)
	s := &Sampler{n: n, order: make([]int, n), at: n}
	for i := range s.order {
		s.order[i] = i
	}
	s.draw = func() int {
		if s.at == s.n {
			s.at = 0
			for i := s.n - 1; i > 0; i-- {
				j := bench.Below(r, i+1)
				s.order[i], s.order[j] = s.order[j], s.order[i]
			}
		}
		s.at++
		return s.order[s.at-1]
	}
	return s
}
