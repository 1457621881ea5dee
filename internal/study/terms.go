package study

import (
	"context"
	"fmt"
	"sync"
	"time"

	"aiperfd/internal/run"
)

// amend applies an update to the study and publishes it. If the store refuses it, nothing
// changes.
func (p *performance) amend(ctx context.Context, change func(*run.Run) error) (*run.Run, error) {
	p.save.Lock()
	defer p.save.Unlock()
	r := p.view()
	if err := change(r); err != nil {
		return nil, err
	}
	r.Revision++
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := p.opts.Store.Put(ctx, r); err != nil {
		return nil, fmt.Errorf("%w: %w", run.ErrStore, err)
	}
	p.mu.Lock()
	p.run = *r
	p.mu.Unlock()
	p.emit(run.EventUpdated)
	return p.view(), nil
}

// stopped reports whether the study was cancelled.
func (p *performance) stopped() bool {
	select {
	case <-p.cancelled:
		return true
	default:
		return false
	}
}

// watchDeadline cancels the study gracefully when it passes its deadline, which counts from
// its start, even if that was in an earlier process. ended ends the watch and waits for that.
func (p *performance) watchDeadline(ctx context.Context) (ended func()) {
	r := p.view()
	if r.Deadline <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		timer := time.NewTimer(time.Until(r.StartedAt.Add(r.Deadline)))
		defer timer.Stop()
		select {
		case <-timer.C:
			p.cancel(ctx, run.CancelRequest{Deadline: true, Reason: fmt.Sprintf("the deadline of %v has passed", r.Deadline)})
		case <-done:
		}
	})
	return func() {
		close(done)
		watch.Wait()
	}
}
