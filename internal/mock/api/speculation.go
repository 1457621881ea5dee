package api

import (
	"math/rand/v2"

	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// speculate plans the steps of speculative decoding of a choice. All choices of a request
// have the same plan, as far as they come, so that they can be sent together.
func (m *Model) speculate(q *Request, c *Choice) {
	k := m.Options.Spec.Tokens
	if k == 0 {
		return
	}
	seed := random.Mix(m.Options.Seed^q.Seed, uint64(q.Prompts[0].Hash))
	rng := rand.New(rand.NewPCG(seed, random.Mix(m.Options.Seed, 3)))
	for sent := 1; sent < c.Total; {
		step := batch.Step{Drafted: k}
		for step.Accepted < k && rng.Float64() < q.Acceptance {
			step.Accepted++
		}
		c.Drafts = append(c.Drafts, step)
		sent += step.Accepted + 1
	}
}

// Steps returns how many steps give a choice its first n tokens after the first one, without
// speculative decoding one for each.
func (c *Choice) Steps(n int) int {
	n = min(n, c.Total)
	if c.Drafts == nil {
		return max(n-1, 0)
	}
	steps := 0
	for sent := 1; sent < n; steps++ {
		sent += c.Drafts[steps].Accepted + 1
	}
	return steps
}

// Speculation is what speculative decoding did for a choice.
type Speculation struct {
	Tokens    int // drafted per step at most
	Steps     []batch.Step
	Accepted  int   // draft tokens
	Drafted   int   // draft tokens
	Histogram []int // steps by the number of tokens that they accepted, Tokens + 1 numbers
	Output    int   // tokens of the choice
}

// Speculated returns what speculative decoding did for a choice that was generated; ok is false
// if no draft was verified.
func (x *Answer) Speculated(c *Choice) (s Speculation, ok bool) {
	k := x.Options.Spec.Tokens
	if k == 0 || x.Options.Spec.Report == options.SpecNone {
		return s, false
	}
	s = Speculation{Tokens: k, Steps: x.Verified(c), Histogram: make([]int, k+1), Output: c.Total}
	for _, step := range s.Steps {
		s.Accepted += step.Accepted
		s.Drafted += step.Drafted
		s.Histogram[step.Accepted]++
	}
	return s, len(s.Steps) > 0
}

// Rate returns the share of draft tokens that were accepted.
func (s *Speculation) Rate() float64 { return float64(s.Accepted) / float64(s.Drafted) }

// Length returns the tokens per step, with the one that the model itself adds.
func (s *Speculation) Length() float64 { return 1 + float64(s.Accepted)/float64(len(s.Steps)) }
