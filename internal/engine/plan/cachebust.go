package plan

import (
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/endpoint"
)

// CacheBust describes where prompts get a marker that keeps the prefix cache of a server
// from hitting. The zero value adds none.
type CacheBust struct {
	Target      string // as in the document; empty = none
	System      bool   // into the system message if there is one, otherwise into the first user message
	Suffix      bool   // at its end, not at its beginning
	EachRequest bool   // in front of everything, different for each request of a session
	Warmup      bool   // the same marker for all sessions of the warm-up, none afterwards
}

// newCacheBust returns where the marker of a target of the document goes.
func newCacheBust(target string) CacheBust {
	b := CacheBust{Target: target}
	switch target {
	case "", "none":
		return CacheBust{}
	case "system_prefix":
		b.System = true
	case "system_suffix":
		b.System, b.Suffix = true, true
	case "first_turn_suffix":
		b.Suffix = true
	case "per_request":
		b.System, b.EachRequest = true, true
	case "warmup_isolation_system":
		b.System, b.Warmup = true, true
	case "warmup_isolation_first_turn":
		b.Warmup = true
	}
	return b
}

// On reports whether any prompt gets a marker.
func (b CacheBust) On() bool { return b.Target != "" }

// Unshared reports whether sessions begin with different markers, so that no session
// finds the prompts of another one in a prefix cache.
func (b CacheBust) Unshared() bool { return b.On() && !b.Suffix && !b.Warmup }

// Check returns an error if a conversation cannot get a marker.
func (b CacheBust) Check(c *bench.Conversation) error {
	if !b.On() {
		return nil
	}
	for i := range c.Turns {
		if c.Turns[i].Payload != nil {
			return fmt.Errorf("turn %d of conversation %s is a complete request body, which is sent as it is; the cache bust target %s needs texts", i, c.ID, b.Target)
		}
	}
	return nil
}

// cacheBust compiles where prompts get a marker.
func (c *datasetCompiler) cacheBust(d *config.Dataset, kind *endpoint.Kind) CacheBust {
	target, at := d.Prompts.CacheBust.Target, "datasets/0/prompts/cacheBust/target"
	if d.Type == "file" {
		target, at = d.CacheBust.Target, "datasets/0/cacheBust/target"
	}
	b := newCacheBust(target)
	switch {
	case !b.On():
	case kind.Name == "raw" || d.Format == "raw_payload":
		c.problem(at, "conflict", "%s: complete request bodies are sent as they are; use a dataset of prompts, or none", target)
	case !kind.Caps.ProducesTokens || !kind.Caps.TokenizesInput:
		c.problem(at, "conflict", "%s: the endpoint type %s does not generate text from prompts; use none", target, kind.Name)
	}
	return b
}
