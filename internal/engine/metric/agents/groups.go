package agents

import (
	"slices"
	"strconv"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sketch"
)

// Group is what was measured of the requests of recorded sessions whose prompts are of about one length, or of which
// servers had to compute about as many tokens. Times are in milliseconds.
type Group struct {
	From     int64      `json:"from"`         // tokens, this number included
	To       int64      `json:"to,omitempty"` // tokens, this number not included; absent = no limit
	Requests int        `json:"requests"`
	Errors   int        `json:"errors"`
	TTFT     *Quantiles `json:"time_to_first_token"` // null without streamed answers
	ITL      *Quantiles `json:"inter_token_latency"` // mean of a request; null without answers of several tokens
	Latency  *Quantiles `json:"request_latency"`     // null without an answer
	// Cached is the share of the prompt tokens that servers had in their caches, as they report it or, if they do not,
	// as it is expected of a cache of unlimited size.
	Cached *float64 `json:"cached_share"`
	// Uncached has, of the groups by the length of the prompt, those by the tokens that servers had to compute.
	Uncached []Group `json:"by_uncached,omitempty"`
}

// Name returns the tokens of the group, such as "8k to 32k".
func (g *Group) Name() string {
	if g.To == 0 {
		return shortTokens(g.From) + " or more"
	}
	return shortTokens(g.From) + " to " + shortTokens(g.To)
}

// shortTokens returns a bound of groups in units of 1,024 tokens.
func shortTokens(n int64) string {
	if n < 1<<10 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n>>10, 10) + "k"
}

// Quantiles of a time in milliseconds.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
}

// Bounds of the groups, in tokens. The last group has no upper one.
func contextBounds() []int64 {
	return []int64{0, 8 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10}
}
func uncachedBounds() []int64 { return []int64{0, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10} }

// tallies counts the requests of groups.
type tallies struct {
	bounds []int64
	groups []tally
}

func newTallies(bounds []int64) *tallies { return &tallies{bounds, make([]tally, len(bounds))} }

// tally counts the requests of a group.
type tally struct {
	requests, errors   int
	prompt, cached     int64
	ttft, itl, latency sketch.Sketch
	uncached           *tallies
}

// add counts a request of a recorded session; tokens decide on its group.
func (t *tallies) add(r *bench.Record, tokens, uncached int64) *tally {
	i, found := slices.BinarySearch(t.bounds, tokens)
	if !found {
		i--
	}
	g := &t.groups[i]
	g.requests++
	if !r.OK() {
		g.errors++
		return g
	}
	g.prompt, g.cached = g.prompt+int64(*r.InputTokens), g.cached+int64(*r.InputTokens)-uncached
	g.latency.Add(ms(r.Stamps.End - r.Stamps.Start))
	if chunks := r.Answer.Chunks; r.Answer.Streamed && len(chunks) > 0 {
		g.ttft.Add(ms(chunks[0].At - r.Stamps.Start))
		if n, ok := r.OSL(); ok && n > 1 {
			g.itl.Add(ms(chunks[len(chunks)-1].At-chunks[0].At) / float64(n-1))
		}
	}
	return g
}

// measure counts a request in the groups of its prompt.
func (j *Jobs) measure(r *bench.Record) {
	if r.InputTokens == nil {
		return
	}
	prompt := int64(*r.InputTokens)
	uncached := prompt
	switch u := r.Answer.Usage; {
	case u != nil && u.Cached != nil:
		uncached -= int64(*u.Cached)
	case r.Content.Expected != nil:
		uncached -= int64(*r.Content.Expected)
	}
	uncached = max(0, uncached)
	g := j.contexts.add(r, prompt, uncached)
	if g.uncached == nil {
		g.uncached = newTallies(uncachedBounds())
	}
	g.uncached.add(r, uncached, uncached)
	j.uncached.add(r, uncached, uncached)
}

// list returns the groups that have requests.
func (t *tallies) list() (all []Group) {
	if t == nil {
		return nil
	}
	for i := range t.groups {
		g := &t.groups[i]
		if g.requests == 0 {
			continue
		}
		one := Group{
			From: t.bounds[i], Requests: g.requests, Errors: g.errors,
			TTFT: quantilesOf(&g.ttft), ITL: quantilesOf(&g.itl), Latency: quantilesOf(&g.latency), Uncached: g.uncached.list(),
		}
		if i+1 < len(t.bounds) {
			one.To = t.bounds[i+1]
		}
		if g.prompt > 0 {
			one.Cached = new(float64(g.cached) / float64(g.prompt))
		}
		all = append(all, one)
	}
	return all
}

// quantilesOf returns quantiles; nil = there are no values.
func quantilesOf(s *sketch.Sketch) *Quantiles {
	if s.Count() == 0 {
		return nil
	}
	return &Quantiles{s.Quantile(0.5), s.Quantile(0.9), s.Quantile(0.99)}
}
