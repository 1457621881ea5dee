package engine

import (
	"fmt"

	"aiperfd/internal/run"
)

// overdue is the error of a run that its deadline has ended.
func overdue(r *run.Run) *run.Error {
	return &run.Error{Code: run.DeadlinePassed, Message: fmt.Sprintf("the run had not ended %v after its start (metadata.deadline)", r.Deadline)}
}

// overdue reports whether the deadline has ended the run.
func (c *cancellation) overdue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.request != nil && c.request.Deadline
}
