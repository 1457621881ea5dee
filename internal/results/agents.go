package results

import (
	"errors"
	"io/fs"

	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/verdict"
)

// Agents is what a run of recorded sessions of agents says, besides its metrics.
type Agents struct {
	Jobs     *agents.Report    `json:"jobs"`     // null: no session was replayed, or the run has not ended
	Validity *verdict.Validity `json:"validity"` // null: the run has no scenario, or it has not ended
}

// Agents returns what the replay of recorded sessions measured, and whether the result counts.
func (r *Results) Agents() (*Agents, error) {
	report, _, err := r.Report()
	if errors.Is(err, fs.ErrNotExist) {
		return new(Agents), nil // a run that measured nothing
	}
	if err != nil {
		return nil, err
	}
	return &Agents{report.Agents, report.Validity}, nil
}
