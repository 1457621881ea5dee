package results

import (
	"context"
	"fmt"
	"net/http"

	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// Agents serves what a run of recorded sessions says.
//
//	@Summary		Get the jobs of recorded sessions
//	@Description	What the replay of recorded sessions of agents measured, besides metrics: jobs has the plays of sessions with their outcomes, completion times, how many times as long as recorded they took, what their critical paths consist of, hit rates of prefix caches, and requests by the length of their prompts. validity has the checks by which the result of a scenario counts. Both are null while the run goes on, and if it replays no sessions or has no scenario.
//	@Tags			runs
//	@Success		200	{object}	results.Agents
//	@Router			/api/runs/{id}/agents [get]
func (h *Handler) Agents(w http.ResponseWriter, r *http.Request) error {
	return serveRecorded(h, w, r, struct{}{}, nil, h.AgentsOf)
}

// AgentsOf returns what a run of recorded sessions says.
func (h *Handler) AgentsOf(ctx context.Context, found *run.Run, _ struct{}) (*results.Agents, error) {
	a, err := h.Recorded.Agents(ctx, found)
	if err != nil {
		return nil, fmt.Errorf("agents of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	return a, nil
}
