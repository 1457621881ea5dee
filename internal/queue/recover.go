package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// Recover takes over what an earlier process left behind. Items that only have to be ended
// become active: they take the places of others, so that their work does not disturb a
// measurement. They are ended by [Queue.Run].
func (q *Queue[T]) Recover(ctx context.Context) error {
	left, err := q.unended(ctx)
	if err != nil {
		return err
	}
	var waiting []T
	for i := range left {
		r, err := q.opts.Backing.Store.Get(ctx, left[i].ID)
		if err != nil {
			return fmt.Errorf("read run %s: %w", left[i].ID, err)
		}
		t, fate, err := q.opts.Reopen(ctx, r)
		if err != nil {
			return err
		}
		switch fate {
		case Queued:
			waiting = append(waiting, t)
		case Settled:
			q.settled = append(q.settled, t)
		case Gone:
		}
	}
	q.take(q.settled)
	for _, t := range waiting {
		q.add(t, false)
		q.enqueued(t)
	}
	paused, err := q.opts.Paused(ctx)
	q.hold(paused)
	return err
}

// unended returns the runs of the store that are not terminal: those that had begun before
// those that had not, each in the order in which they were submitted.
func (q *Queue[T]) unended(ctx context.Context) ([]run.Run, error) {
	var all []run.Run
	states := []bench.State{
		bench.StateQueued, bench.StateStarting, bench.StateRunning, bench.StateStopping, bench.StateExporting,
	}
	for query := (run.Query{Kind: q.opts.Kind, States: states, Sort: run.SortCreated, Limit: 500}); ; {
		page, err := q.opts.Backing.Store.List(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("list what an earlier process left: %w", err)
		}
		all = append(all, page.Runs...)
		if query.Cursor = page.Next; query.Cursor == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b run.Run) int {
		if begun := a.State.Active(); begun != b.State.Active() {
			if begun {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return all, nil
}

// settleAll ends the items that were active in an earlier process, one after the other, and
// those that cannot be ended yet again and again. Those that are left when ctx ends stay as
// they are in the store, for the next process.
func (q *Queue[T]) settleAll(ctx context.Context) {
	for left := q.settled; len(left) > 0; {
		var again []T
		for _, t := range left {
			if ctx.Err() == nil && !t.Recover(ctx) {
				again = append(again, t)
				continue
			}
			q.retire(t)
		}
		if left = again; len(left) == 0 {
			return
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}
