package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/endpoint"
)

// CacheBust describes where prompts get a marker that keeps the prefix cache of a server
// from hitting. The zero value adds none.
type CacheBust struct {
	Target      string // as in the document; empty = none
	Salt        string // that markers are made of; empty = the id of the run
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

// warmupMarker separates the prompts of a warm-up from those that are measured.
const warmupMarker = "[warmup]"

// Marker returns a marker with the blank line that separates it from the text. It is
// AIPerf's: 12 digits of the SHA-256 of "run:pass:lane:conversation". The salt replaces the run.
func (b CacheBust) Marker(run string, pass int, lane int64, conversation string) string {
	text := warmupMarker
	if !b.Warmup {
		digest := sha256.Sum256(fmt.Appendf(nil, "%s:%d:%d:%s", cmp.Or(b.Salt, run), pass, lane, conversation))
		text = "[rid:" + hex.EncodeToString(digest[:6]) + "]"
	}
	if b.Suffix {
		return "\n\n" + text
	}
	return text + "\n\n"
}

// Tokens returns the mean number of tokens of a marker, from eight of them; 0 for one
// that measured prompts do not have.
func (b CacheBust) Tokens(count func(text string) int) int {
	const samples = 8
	if !b.On() || b.Warmup {
		return 0
	}
	sum := 0
	for i := range samples {
		sum += count(b.Marker("sample", i, int64(i), "sample"))
	}
	return (sum + samples/2) / samples
}

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

// FirstTurnMarker returns how many tokens of a synthetic first turn are its marker, to
// subtract them from the length of the prompt; 0 if the marker goes elsewhere.
func (p *Plan) FirstTurnMarker(count func(text string) int) int {
	b, o := p.CacheBust, &p.Dataset.Options
	inSystem := b.System && (o.System != "" || o.Synthetic.SharedSystem > 0)
	inContext := !b.Suffix && o.Synthetic.UserContext > 0
	if inSystem || inContext {
		return 0
	}
	return b.Tokens(count)
}

// SystemMarker returns how many tokens of a generated system message are its marker, to
// subtract them from its length; 0 if the marker goes elsewhere.
func (p *Plan) SystemMarker(count func(text string) int) int {
	if o := &p.Dataset.Options; !p.CacheBust.System || o.Synthetic.SharedSystem == 0 {
		return 0
	}
	return p.CacheBust.Tokens(count)
}

// compileCacheBust compiles where prompts get a marker.
func compileCacheBust(c *compiler, d *config.Dataset, kind *endpoint.Kind) CacheBust {
	set, at := d.Prompts.CacheBust, "datasets/0/prompts/cacheBust/"
	if d.Type == "file" {
		set, at = d.CacheBust, "datasets/0/cacheBust/"
	}
	target := set.Target
	b := newCacheBust(target)
	if set.Salt != nil {
		if !b.On() || b.Warmup {
			c.problem(at+"salt", "conflict",
				"needs markers that differ from session to session (target first_turn_prefix, for example)")
		}
		b.Salt = *set.Salt
	}
	at += "target"
	switch {
	case !b.On():
	case kind.Name == "raw" || d.Format == "raw_payload":
		c.problem(at, "conflict", "%s: complete request bodies are sent as they are; use a dataset of prompts, or none",
			target)
	case !kind.Caps.ProducesTokens || !kind.Caps.TokenizesInput:
		c.problem(at, "conflict", "%s: the endpoint type %s does not generate text from prompts; use none", target, kind.Name)
	}
	return b
}
