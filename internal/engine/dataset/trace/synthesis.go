package trace

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"aiperfd/internal/engine/bench"
)

// streamSynthesis is the random stream that spreads conversations over trees of prefixes.
const streamSynthesis = "dataset.synthesis.synthesizer"

// The limits of the options of [Synthesis].
const (
	maxMultiplier = 1000
	maxRoots      = 1_000_000
)

// Synthesis are changes of a trace: AIPerf's options of the same names.
type Synthesis struct {
	PrefixLen, PromptLen, OutputLen *float64 // factors on the shared blocks, the other tokens of prompts, and answers; nil = 1
	Roots                           int      // trees of prefixes that conversations are spread over; 0 = 1
	MaxISL                          int      // requests with longer prompts are left out; 0 = none
	MaxOSL                          int      // longer answers are cut; 0 = none
}

// factor returns the value of a multiplier.
func factor(v *float64) float64 {
	if v == nil {
		return 1
	}
	return *v
}

// reshapes reports whether prompts are changed.
func (s *Synthesis) reshapes() bool {
	return factor(s.PrefixLen) != 1 || factor(s.PromptLen) != 1 || s.Roots > 1
}

// check returns the values that are out of range.
func (s *Synthesis) check() error {
	var errs []error
	for _, m := range []struct {
		name  string
		value *float64
	}{{"prefix", s.PrefixLen}, {"prompt", s.PromptLen}, {"output", s.OutputLen}} {
		if v := factor(m.value); !(v >= 0 && v <= maxMultiplier) {
			errs = append(errs, fmt.Errorf("%s length multiplier %v: must be from 0 to %d", m.name, v, maxMultiplier))
		}
	}
	for _, n := range []struct {
		name        string
		value, most int
	}{{"prefix root multiplier", s.Roots, maxRoots}, {"maximum ISL", s.MaxISL, maxTokens}, {"maximum OSL", s.MaxOSL, maxTokens}} {
		if n.value < 0 || n.value > n.most {
			errs = append(errs, fmt.Errorf("%s %d: must be from 1 to %d", n.name, n.value, n.most))
		}
	}
	return errors.Join(errs...)
}

// copies is how many new ids an id may become.
func (s *Synthesis) copies() int64 { return max(1, int64(math.Ceil(factor(s.PrefixLen)))) }

// fits checks that all new ids can be told apart.
func (s *Synthesis) fits(most int64) error {
	space := float64(most+1) * float64(s.copies()) * float64(max(1, s.Roots))
	if fresh := float64(1 << 50); space > math.MaxInt64/4-fresh {
		return fmt.Errorf("hash id %d: too large to be multiplied by %d", most, s.copies()*int64(max(1, s.Roots)))
	}
	return nil
}

// output returns the length of an answer; 0 = not known.
func (s *Synthesis) output(n int) bench.Tokens {
	if n == 0 {
		return 0
	}
	if m := factor(s.OutputLen); m != 1 {
		n = max(1, int(min(math.RoundToEven(float64(n)*m), maxTokens)))
	}
	if s.MaxOSL > 0 {
		n = min(n, s.MaxOSL)
	}
	return bench.Tokens(n)
}

// synthesizer changes the prompts of one pass over a trace.
type synthesizer struct {
	Synthesis
	shared    *idCounts
	blockSize int
	seed      bench.Seed
	fresh     int64 // ids that were used once
}

// reshape changes the blocks and the length of a prompt. The leading blocks that other
// requests have, too, are its prefix. They are multiplied block by block, so that requests
// that share a prefix share all of the new one.
func (s *synthesizer) reshape(r *Request) {
	size := s.blockSize
	prefix := 0
	for prefix < len(r.IDs) && (prefix+1)*size <= r.Input && s.shared.repeated(r.IDs[prefix]) {
		prefix++
	}
	p, q := factor(s.PrefixLen), factor(s.PromptLen)
	rest := r.Input - prefix*size
	var ids []int64
	for i, id := range r.IDs[:prefix] {
		for j := range s.times(i, prefix, p) {
			ids = append(ids, id*s.copies()+j)
		}
	}
	length := len(ids) * size
	if q == 1 {
		for _, id := range r.IDs[prefix:] {
			ids = append(ids, id*s.copies())
		}
	} else {
		rest = int(min(float64(rest)*q, maxTokens))
		for range (rest + size - 1) / size {
			ids = append(ids, s.once())
		}
	}
	if r.IDs == nil {
		ids = nil // the whole prompt is different from all others
	}
	r.Input, r.IDs = max(1, length+rest), ids
	s.plant(r)
	if s.MaxISL > 0 && r.Input > s.MaxISL {
		s.clip(r)
	}
}

// times returns how often block i of a prefix is repeated: ⌈p·n⌉ of n blocks in all, or of
// p < 1 the first ⌊p·n⌋ of them, at least one.
func (s *synthesizer) times(i, n int, p float64) int64 {
	if p < 1 {
		if i < max(1, int(float64(n)*p)) {
			return 1
		}
		return 0
	}
	return int64(math.Ceil(float64(i+1)*p)) - int64(math.Ceil(float64(i)*p))
}

// once returns an id that no other block has.
func (s *synthesizer) once() int64 {
	s.fresh++
	return s.space()*int64(max(1, s.Roots)) + s.fresh
}

// space is the number of ids of one tree.
func (s *synthesizer) space() int64 { return (s.shared.most + 1) * s.copies() }

// plant moves a request to one of the trees of prefixes, all requests of a session to the
// same one.
func (s *synthesizer) plant(r *Request) {
	if s.Roots <= 1 {
		return
	}
	stream := "request." + strconv.Itoa(r.number)
	if r.Session != "" {
		stream = "session." + r.Session
	}
	tree := int64(bench.Below(s.seed.Child(streamSynthesis).Rand(stream), s.Roots))
	for i, id := range r.IDs {
		if id < s.space() {
			r.IDs[i] = id + tree*s.space()
		}
	}
}

// clip cuts a prompt to the maximum length. The block that is cut is another one than
// the whole block.
func (s *synthesizer) clip(r *Request) {
	r.Input = s.MaxISL
	full := r.Input / s.blockSize
	if len(r.IDs) <= full {
		return
	}
	r.IDs = r.IDs[:full]
	if full*s.blockSize < r.Input {
		r.IDs = append(r.IDs, s.once())
	}
}
