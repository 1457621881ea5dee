package export

import (
	"encoding/json"
	"fmt"
	"io"
)

// replayed reports whether a run replayed recorded sessions.
func replayed(r *Report) bool { return r.Agents != nil }

// writeAgents writes what the replay of recorded sessions measured, without the single plays.
func writeAgents(w io.Writer, r *Report) error {
	summary := *r.Agents
	summary.List = nil
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(&summary); err != nil {
		return fmt.Errorf("encode agent summary: %w", err)
	}
	return nil
}

// writeTrees writes a line per play of a recorded session.
func writeTrees(w io.Writer, r *Report) error {
	e := json.NewEncoder(w)
	for i := range r.Agents.List {
		if err := e.Encode(&r.Agents.List[i]); err != nil {
			return fmt.Errorf("encode tree: %w", err)
		}
	}
	return nil
}

// agents prints what the replay of recorded sessions measured.
func (p *page) agents(r *Report) {
	if r.Agents == nil {
		return
	}
	p.entry("", "Agents", r.Agents.Line(), 0)
	if line := r.Agents.HitLine(); line != "" {
		p.entry("", "Cache hits", line, 0)
	}
}
