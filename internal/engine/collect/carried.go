package collect

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
)

const (
	// historyAge is how long a [History] knows a run: a prefix cache has lost most of it then.
	historyAge = 24 * time.Hour
	// historyBytes bounds the memory of a History; the oldest runs are forgotten first.
	historyBytes = 64 << 20
)

// History knows which prompts the runs of this process have sent to which servers in the last day. It is safe for
// concurrent use.
type History struct {
	// Seed is that of the hashes of prompts in all runs.
	Seed maphash.Seed

	mu   sync.Mutex
	runs []earlierRun // guarded by mu; the oldest first
}

// NewHistory returns a History that knows of no run.
func NewHistory() *History { return &History{Seed: maphash.MakeSeed()} }

// earlierRun is what a run has sent to a server. It does not change.
type earlierRun struct {
	server  string // address
	ended   time.Time
	prompts distinct
}

// size returns the bytes of the run.
func (e *earlierRun) size() int { return 8 * len(e.prompts.hashes) }

// Begin returns what counts which prompts of a run earlier ones have sent to its servers, whose addresses are those of
// its targets, in their order.
func (h *History) Begin(servers []string) *Carried {
	c := &Carried{
		history: h, servers: servers,
		before: make([]distinct, len(servers)), sent: make([]distinct, len(servers)),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget()
	for i, server := range servers {
		for _, one := range h.runs {
			if one.server == server {
				c.before[i].join(&one.prompts)
			}
		}
	}
	return c
}

// add adds what a run has sent to a server.
func (h *History) add(server string, prompts *distinct) {
	if prompts.used == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs = append(h.runs, earlierRun{server, time.Now(), distinct{hashes: prompts.hashes, zeros: prompts.zeros}})
	h.forget()
}

// forget forgets runs that are too old, and the oldest if all together are too large. Call with mu held.
func (h *History) forget() {
	size := 0
	for i := range slices.Backward(h.runs) {
		size += h.runs[i].size()
		if size > historyBytes || time.Since(h.runs[i].ended) > historyAge {
			h.runs = slices.Clone(h.runs[i+1:])
			return
		}
	}
}

// Carried counts the prompts of a run that earlier ones have sent to the same server.
type Carried struct {
	history *History
	servers []string
	before  []distinct // by target; prompts of earlier runs
	sent    []distinct // by target; prompts of this run

	input, found float64 // tokens
}

// Observer returns the observer that counts.
func (c *Carried) Observer() RunObserver {
	return RunObserver{
		Phase: func(p *spec.Phase, _ *measure.Set) Observer {
			counted := p.Counted()
			return Observer{Observe: func(rec *bench.Record) { c.observe(rec, counted) }}
		},
		End: func(func(code, detail string)) {
			for i, server := range c.servers {
				c.history.add(server, &c.sent[i])
			}
		},
	}
}

// observe takes a request, and counts it if its phase enters the result. Those that were not sent completely do not
// count, nor those of which the sample of an earlier run cannot tell.
func (c *Carried) observe(rec *bench.Record, counted bool) {
	hash := rec.Content.Prompt
	if hash == 0 || rec.Stamps.Wrote == 0 {
		return
	}
	c.sent[rec.Target].add(hash, 0)
	if !counted || rec.InputTokens == nil {
		return
	}
	before := &c.before[rec.Target]
	if !before.sampled(hash) {
		return
	}
	c.input += float64(*rec.InputTokens)
	if before.has(hash) {
		c.found += float64(*rec.InputTokens)
	}
}

// Share returns the share of the input tokens whose prompts earlier runs have sent to the same server; nil = no earlier
// run of the process has used a server of this one, or tokens are not counted.
func (c *Carried) Share() *float64 {
	if c == nil || c.input == 0 || !slices.ContainsFunc(c.before, func(d distinct) bool { return d.used > 0 }) {
		return nil
	}
	return new(c.found / c.input)
}
