package verdict

import (
	"cmp"
	"strings"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/view"
)

// CacheState is how much of the prompts a prefix cache had.
type CacheState string

// The states of a prefix cache.
const (
	Cold  CacheState = "cold"  // next to nothing of the prompts was cached
	Mixed CacheState = "mixed" // neither cold nor warm
	Warm  CacheState = "warm"  // prompts were cached as a whole
)

// The limits between the states, as shares of the prompt tokens that were cached.
const (
	// ColdBelow: the time to first token is that of the whole prompt to within 5 %, which
	// leaves room for the tokens that a chat template puts before every prompt.
	ColdBelow = 0.05
	// WarmFrom: servers cache whole blocks, and never the last token of a prompt. Of a
	// repeated prompt of 64 tokens, blocks of 16 cache 75 %, and of longer ones more.
	WarmFrom = 0.75
)

// Agreement says whether the cache was what the load is meant to find.
type Agreement string

// The agreements.
const (
	Consistent   Agreement = "consistent"
	Contradicted Agreement = "contradicted"
	Undecided    Agreement = "unknown" // nothing is declared, or no server reports cached tokens
)

// The limits between consistent and contradicted, as shares of the prompt tokens.
const (
	// leastCached is the share from which a cache was not cold.
	leastCached = 0.01
	// intendedSlack is how much more than what the run repeats may be cached.
	intendedSlack = 0.02
)

// Cache describes how much of the prompts had been sent before, and how much of them
// servers had in their prefix caches. A null is unknown.
type Cache struct {
	State CacheState `json:"state" enums:"cold,mixed,warm"`
	// Basis is what the state is derived from: server (the cached tokens that responses
	// report), counters (those that the metrics of the servers count), or workload (what a
	// server with a prefix cache would find in it, if servers report nothing).
	Basis           string   `json:"basis" enums:"server,counters,workload"`
	RepeatedPrompts float64  `json:"repeated_prompt_share"` // requests whose prompt an earlier request of the run had
	RepeatedInput   float64  `json:"repeated_input_share"`  // their share of all input
	Cached          *float64 `json:"cached_share"`          // of the prompt tokens, as responses report it
	// Counted is the share of the prompt tokens that the servers' own counters say were cached; known
	// when the run has ended, unless other clients used the servers meanwhile.
	Counted *float64 `json:"counted_share,omitempty"`
	// CarriedOver is the share of the input whose prompts earlier runs of the process have sent to the same server in the
	// last day; null = none has used the server.
	CarriedOver *float64 `json:"carried_over_share,omitempty"`
	// Inferred is the share of requests whose first token came so much sooner than that of the others, for the length of
	// their prompts, that a prefix cache explains it; known when the run has ended, if servers report nothing.
	Inferred *float64 `json:"inferred_share,omitempty"`
	// Theoretical is the share of blocks of a trace that an unlimited prefix cache
	// finds; null without block ids.
	Theoretical *float64 `json:"theoretical_share"`
	// Declared is the cache that the load is meant to find; unknown before the end of the run, and
	// if prompts begin alike on purpose.
	Declared CacheState `json:"declared" enums:"cold,mixed,warm,unknown"`
	// Verdict says whether what servers report agrees with it.
	Verdict Agreement `json:"verdict" enums:"consistent,contradicted,unknown"`
	Message string    `json:"message"` // one line
}

// Unstated is the state of a cache about which nothing is declared.
const Unstated CacheState = "unknown"

// CacheEvidence is what is known of a prefix cache beside the results of a run.
type CacheEvidence struct {
	Counted     *float64 // see [Cache]
	CarriedOver *float64 // see [Cache]
	Inferred    *float64 // see [Cache]; it does not count if servers report a share
	Cold        bool     // an option asks for a cold cache
	Alike       bool     // prompts begin alike on purpose, or it is not known whether they do
	// First is the share of the prompt tokens of first turns that responses report as cached, if only first
	// turns are meant to be cold; nil otherwise, and if it is not known.
	First     *float64
	FirstOnly bool // only first turns are meant to be cold
}

// NewCache describes the cache in the results of a run that goes on; nil = nothing was sent, or no
// text.
func NewCache(results metric.Results) *Cache {
	return JudgeCache(results, CacheEvidence{Alike: true})
}

// JudgeCache describes the cache in the results of a run; nil = nothing was sent, or no text.
func JudgeCache(results metric.Results, e CacheEvidence) *Cache {
	share := func(tag string, whole float64) *float64 {
		if v, ok := results.Value(tag, metric.Avg); ok {
			return new(round(v / whole))
		}
		return nil
	}
	unique, input := share("unique_prompt_ratio", 1), share("repeated_input_pct", 100)
	if unique == nil || input == nil {
		return nil
	}
	c := &Cache{
		RepeatedPrompts: round(1 - *unique), RepeatedInput: *input,
		Cached:      share("overall_usage_prompt_cache_read_pct", 100),
		Theoretical: share("theoretical_prefix_cache_hit", 100),
	}
	if e.Counted != nil {
		c.Counted = new(round(*e.Counted))
	}
	if e.CarriedOver != nil {
		c.CarriedOver = new(round(*e.CarriedOver))
	}
	if e.Inferred != nil && c.Reported() == nil {
		c.Inferred = new(round(*e.Inferred))
	}
	c.judge()
	c.declare(e)
	c.Message = c.line()
	return c
}

// Reported returns the share of the prompt tokens that servers say were cached: in responses or, if these
// do not, by their counters; nil = they do not say.
func (c *Cache) Reported() *float64 { return cmp.Or(c.Cached, c.Counted) }

// judge sets state and basis.
func (c *Cache) judge() {
	cached := c.RepeatedInput
	c.Basis = "workload"
	switch {
	case c.Cached != nil:
		c.Basis, cached = "server", *c.Cached
	case c.Counted != nil:
		c.Basis, cached = "counters", *c.Counted
	case c.Theoretical != nil:
		cached = max(cached, *c.Theoretical)
	}
	c.State = stateOf(cached, ColdBelow)
}

// stateOf returns the state of a cache that had a share of the prompt tokens.
func stateOf(cached, coldBelow float64) CacheState {
	switch {
	case cached < coldBelow:
		return Cold
	case cached < WarmFrom:
		return Mixed
	}
	return Warm
}

// declare sets what the load is meant to find, and whether servers agree.
func (c *Cache) declare(e CacheEvidence) {
	c.Declared, c.Verdict = Unstated, Undecided
	switch {
	case e.Cold:
		c.Declared = Cold
	case !e.Alike:
		c.Declared = stateOf(c.RepeatedInput, leastCached)
	}
	reported := c.Reported()
	if e.FirstOnly {
		reported = e.First
	}
	if c.Declared == Cold && c.Inferred != nil && c.CarriedOver != nil && *c.CarriedOver > 0 {
		c.Verdict = Contradicted // what was found in the cache is what earlier runs have left there
	}
	if c.Declared == Unstated || reported == nil {
		return
	}
	c.Verdict = Consistent
	most := leastCached
	if c.Declared != Cold {
		most = c.RepeatedInput + intendedSlack
	}
	if *reported >= most || c.Declared != Cold && *reported < leastCached {
		c.Verdict = Contradicted
	}
}

// line describes the cache in one line.
func (c *Cache) line() string {
	var facts []string
	switch {
	case c.Cached != nil:
		facts = append(facts, view.Percent(*c.Cached)+" of prompt tokens cached")
	case c.Counted != nil:
		facts = append(facts, view.Percent(*c.Counted)+" of prompt tokens cached by the servers' counters")
	}
	if c.Theoretical != nil {
		facts = append(facts, view.Percent(*c.Theoretical)+" in theory")
	}
	if c.RepeatedPrompts == 0 {
		facts = append(facts, "no repeated prompts")
	} else {
		facts = append(facts, view.Percent(c.RepeatedPrompts)+" of prompts repeated")
	}
	if input := view.Percent(c.RepeatedInput); c.Basis == "workload" && input != view.Percent(c.RepeatedPrompts) {
		facts = append(facts, input+" of the input")
	}
	state := string(c.State)
	if c.Basis == "workload" {
		state = "expected " + state
		facts = append(facts, "server reports no cached tokens")
	}
	if c.CarriedOver != nil && *c.CarriedOver > 0 {
		facts = append(facts, view.Percent(*c.CarriedOver)+" of the input sent by earlier runs")
	}
	if c.Inferred != nil {
		facts = append(facts, view.Percent(*c.Inferred)+" of first tokens came much sooner than the others, as those of cached prompts do")
	}
	return state + " (" + strings.Join(facts, ", ") + ")"
}
