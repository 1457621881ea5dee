package verdict

import (
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

// Cache describes how much of the prompts had been sent before, and how much of them
// servers had in their prefix caches. A null is unknown.
type Cache struct {
	State CacheState `json:"state" enums:"cold,mixed,warm"`
	// Basis is what the state is derived from: server (the cached tokens that it
	// reports) or workload (what a server with a prefix cache would find in it, if
	// servers report nothing).
	Basis           string   `json:"basis" enums:"server,workload"`
	RepeatedPrompts float64  `json:"repeated_prompt_share"` // requests whose prompt an earlier request of the run had
	RepeatedInput   float64  `json:"repeated_input_share"`  // their share of all input
	Cached          *float64 `json:"cached_share"`          // of the prompt tokens, as servers report it
	// Theoretical is the share of blocks of a trace that an unlimited prefix cache
	// finds; null without block ids.
	Theoretical *float64 `json:"theoretical_share"`
	Message     string   `json:"message"` // one line
}

// NewCache describes the cache in the results of a run; nil = nothing was sent, or no
// text.
func NewCache(results metric.Results) *Cache {
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
	c.judge()
	return c
}

// judge sets state, basis and message.
func (c *Cache) judge() {
	cached := c.RepeatedInput
	c.Basis = "workload"
	switch {
	case c.Cached != nil:
		c.Basis, cached = "server", *c.Cached
	case c.Theoretical != nil:
		cached = max(cached, *c.Theoretical)
	}
	switch {
	case cached < ColdBelow:
		c.State = Cold
	case cached < WarmFrom:
		c.State = Mixed
	default:
		c.State = Warm
	}
	c.Message = c.line()
}

// line describes the cache in one line.
func (c *Cache) line() string {
	var facts []string
	if c.Cached != nil {
		facts = append(facts, view.Percent(*c.Cached)+" of prompt tokens cached")
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
	if c.Cached == nil {
		state = "expected " + state
		facts = append(facts, "server reports no cached tokens")
	}
	return state + " (" + strings.Join(facts, ", ") + ")"
}
