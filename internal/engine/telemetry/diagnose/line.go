package diagnose

import (
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/view"
)

// Value returns a canonical value by its name; nil = the servers do not have it.
func (p *Phase) Value(name string) *Value {
	for i := range p.Canonical {
		if p.Canonical[i].Name == name {
			return &p.Canonical[i]
		}
	}
	return nil
}

// Profiling returns the profiling phases of servers that are known.
func (s *Server) Profiling() []*Phase {
	var out []*Phase
	for i := range s.Phases {
		if p := &s.Phases[i]; p.Kind == string(bench.Profiling) && len(p.Canonical) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// Kinds returns what the servers are, such as vLLM; empty = it is not known.
func (s *Server) Kinds() []string {
	out := []string{}
	for i := range s.Targets {
		out = appendNew(out, s.Targets[i].Servers...)
	}
	return out
}

// HitRate returns the share of the prompt tokens that the prefix cache had; ok = false if the servers do not
// count them.
func (p *Phase) HitRate() (share float64, ok bool) {
	hits, queries := p.Value("prefix_hits"), p.Value("prefix_queries")
	if hits == nil || queries == nil || hits.Total == nil || queries.Total == nil || !(*queries.Total > 0) {
		return 0, false
	}
	return min(1, *hits.Total / *queries.Total), true
}

// PrefixHits returns the share of the prompt tokens of the profiling phases that the prefix cache had; nil if a
// server does not count them or could not be read, or if other clients used the servers meanwhile.
func (s *Server) PrefixHits() *float64 {
	if s == nil {
		return nil
	}
	unread := func(t Target) bool { return !t.Given && (t.State != OK && t.State != Partial || len(t.Servers) == 0) }
	if slices.ContainsFunc(s.Targets, unread) {
		return nil
	}
	var hits, queries float64
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Kind != "profiling" {
			continue
		}
		h, q := p.Value("prefix_hits"), p.Value("prefix_queries")
		foreign := slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Code == "other-traffic" })
		if h == nil || q == nil || h.Total == nil || q.Total == nil || h.Partial || q.Partial || foreign {
			return nil
		}
		hits, queries = hits+*h.Total, queries+*q.Total
	}
	if !(queries > 0) {
		return nil
	}
	return new(min(1, hits/queries))
}

// Line is the load of the servers in one line, such as "running 14.0 on average, 16.0 at most; waiting 3.20 on
// average, 9.00 at most; KV cache 41 %, 63 % at most; 12 % of prompt tokens cached"; empty = it is not known.
func (p *Phase) Line() string {
	var parts []string
	level := func(name, what string) {
		if v := p.Value(name); v != nil && v.Avg != nil {
			parts = append(parts, what+" "+view.Figure(*v.Avg)+" on average, "+view.Figure(*v.Max)+" at most")
		}
	}
	level("running", "running")
	level("waiting", "waiting")
	if v := p.Value("kv_usage"); v != nil && v.Avg != nil {
		parts = append(parts, "KV cache "+view.Percent(*v.Avg)+", "+view.Percent(*v.Max)+" at most")
	}
	if share, ok := p.HitRate(); ok {
		parts = append(parts, view.Percent(share)+" of prompt tokens cached")
	}
	return strings.Join(parts, "; ")
}
