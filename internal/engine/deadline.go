package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"aiperfd/internal/run"
)

// watchDeadline cancels a run gracefully when it passes its deadline, which counts from
// now on. ended ends the watch and waits for that; it may be called more than once.
func watchDeadline(ctx context.Context, j *job) (ended func()) {
	limit := j.view().Deadline
	if limit <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		select {
		case <-timer.C:
			j.cancel(ctx, run.CancelRequest{Deadline: true, Reason: fmt.Sprintf("the deadline of %v has passed", limit)})
		case <-done:
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		watch.Wait()
	})
}

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
