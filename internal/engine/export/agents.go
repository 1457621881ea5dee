package export

import (
	"encoding/json"
	"fmt"
	"io"
)

// replayed reports whether a run replayed recorded sessions.
func replayed(r *Report) bool { return r.Agents != nil }

// laned reports whether a run played sessions on lanes.
func laned(r *Report) bool { return replayed(r) && len(r.Agents.Lanes) > 0 }

// writeAgents writes what the replay of recorded sessions measured, without the single plays.
func writeAgents(w io.Writer, r *Report) error {
	summary := *r.Agents
	summary.List, summary.Lanes = nil, nil
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(&summary); err != nil {
		return fmt.Errorf("encode agent summary: %w", err)
	}
	return nil
}

// writeTrees writes a line per play of a recorded session.
func writeTrees(w io.Writer, r *Report) error { return writeLines(w, r.Agents.List) }

// writeLanes writes a line per lane.
func writeLanes(w io.Writer, r *Report) error { return writeLines(w, r.Agents.Lanes) }

// writeLines writes a line per item of a list.
func writeLines[T any](w io.Writer, list []T) error {
	e := json.NewEncoder(w)
	for i := range list {
		if err := e.Encode(&list[i]); err != nil {
			return fmt.Errorf("encode line: %w", err)
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
