// Package jobs implements the APIs whose requests start jobs that clients poll: that of a
// serverless endpoint of Runpod, with Runpod's worker for vLLM, and that of OpenAI for
// videos. Their queue lives in the time of the server's clock.
package jobs

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// maxJobs is the maximum number of jobs that are kept.
const maxJobs = 20_000

// State is the state of a job.
type State uint8

// States of a job, in their order.
const (
	Queued State = iota
	Running
	Done
	Failed
	Cancelled
	TimedOut
)

// Over reports whether the state is final.
func (s State) Over() bool { return s >= Done }

// Never is a time that is never reached.
const Never = math.MaxInt64

// Job is one job. The lock of its queue guards it.
type Job struct {
	ID        string
	Submitted int64 // stamps of the server's clock
	Started   int64 // in the future while a worker starts up; 0 = it waits
	Ended     int64 // planned end until the job is over
	Needs     time.Duration
	End       State // the final state
	Expiry    time.Duration
	Worker    int

	Payload any // of the API
}

// at returns the state of the job at a time.
func (j *Job) at(now int64) State {
	switch {
	case j.End == Cancelled && now >= j.Ended:
		return Cancelled
	case j.Started == 0 || now < j.Started:
		return Queued
	case now < j.Ended:
		return Running
	}
	return j.End
}

// expired reports whether the result is no longer kept.
func (j *Job) expired(now int64) bool { return j.at(now).Over() && now >= j.Ended+int64(j.Expiry) }

// Apply applies a fault to the job.
func (j *Job) Apply(kind string) {
	switch kind {
	case options.JobFail:
		j.End, j.Needs = Failed, j.Needs/2
	case options.JobTimeOut:
		j.End, j.Needs = TimedOut, j.Needs/2
	case options.JobNeverFinish, options.JobStuckProgress:
		j.Needs = Never
	case options.JobExpire:
		j.Expiry = 0
	}
}

// Queue has jobs in the order of submission, and workers. Nothing runs in the background:
// methods compute the state when they are called.
type Queue struct {
	now  func() int64 // the server's clock
	cold func() time.Duration

	mu      sync.Mutex
	byID    map[string]*Job
	order   []*Job
	waiting []*Job
	workers []worker
	changed chan struct{} // closed and replaced when times have changed
	counts  struct{ done, failed, retried int }
}

// worker does one job at a time.
type worker struct {
	freeAt int64
	warm   bool
}

// NewQueue returns an empty queue. now reads the server's clock, and cold draws the
// startup time of a worker.
func NewQueue(workers int, now func() int64, cold func() time.Duration) *Queue {
	return &Queue{
		now: now, cold: cold, byID: map[string]*Job{}, workers: make([]worker, workers), changed: make(chan struct{}),
	}
}

// Submit adds a job; ok is false if too many jobs are not over.
func (q *Queue) Submit(j *Job) (ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance(j.Submitted)
	if len(q.order) >= maxJobs {
		i := slices.IndexFunc(q.order, func(old *Job) bool { return old.at(j.Submitted).Over() })
		if i < 0 {
			return false
		}
		q.forget(i)
	}
	q.byID[j.ID] = j
	q.order = append(q.order, j)
	q.waiting = append(q.waiting, j)
	q.advance(j.Submitted)
	return true
}

// Look calls see with a job and its state, under the queue's lock; ok is false if the job
// does not exist or was removed.
func (q *Queue) Look(id string, now int64, see func(j *Job, s State)) (ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance(now)
	j := q.byID[id]
	if j == nil || j.expired(now) {
		return false
	}
	see(j, j.at(now))
	return true
}

// See is Look for callers that have the job, which may have been removed.
func (q *Queue) See(j *Job, now int64, see func(s State)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance(now)
	see(j.at(now))
}

// document returns a function Document of a protocol: it appends the object of a job as it is now.
func (q *Queue) document(object func(j *Job, s State, now int64) any) func([]byte, *api.Answer) ([]byte, string) {
	return func(dst []byte, x *api.Answer) ([]byte, string) {
		j, now := api.PayloadOf[*Job](x), x.Now()
		q.See(j, now, func(s State) { dst = api.AppendJSON(dst, object(j, s, now)) })
		return dst, api.JSON
	}
}

// advance assigns waiting jobs to workers and removes results that have expired.
func (q *Queue) advance(now int64) {
	for len(q.waiting) > 0 {
		next := 0
		for i := range q.workers {
			if q.workers[i].freeAt < q.workers[next].freeAt {
				next = i
			}
		}
		j, w := q.waiting[0], &q.workers[next]
		start := max(j.Submitted, w.freeAt)
		if start > now {
			break
		}
		if !w.warm {
			start += int64(q.cold())
			w.warm = true
		}
		j.Started, j.Ended, j.Worker = start, Never, next
		if j.Needs != Never {
			j.Ended = start + int64(j.Needs)
		}
		w.freeAt = j.Ended
		q.waiting = q.waiting[1:]
	}
	for len(q.order) > 0 && q.order[0].expired(now) {
		q.forget(0)
	}
}

// forget removes a job that is over.
func (q *Queue) forget(i int) {
	j := q.order[i]
	switch j.End {
	case Done:
		q.counts.done++
	case Failed, TimedOut:
		q.counts.failed++
	case Queued, Running, Cancelled:
	}
	delete(q.byID, j.ID)
	q.order = slices.Delete(q.order, i, i+1)
}

// Cancel ends a job that is not over; ok is false if there is none.
func (q *Queue) Cancel(id string, now int64) (ok bool) {
	return q.Look(id, now, func(j *Job, s State) {
		if s.Over() {
			return
		}
		if i := slices.Index(q.waiting, j); i >= 0 {
			q.waiting = slices.Delete(q.waiting, i, i+1)
		} else {
			q.workers[j.Worker].freeAt = now
		}
		j.End, j.Ended = Cancelled, now
		q.wake()
	})
}

// Remove cancels and removes a job; ok is false if there is none.
func (q *Queue) Remove(id string, now int64) (ok bool) {
	if !q.Cancel(id, now) {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.IndexFunc(q.order, func(j *Job) bool { return j.ID == id }); i >= 0 {
		q.forget(i)
	}
	return true
}

// Retry queues a job again that failed or timed out.
func (q *Queue) Retry(id string, now int64) (found, ok bool) {
	found = q.Look(id, now, func(j *Job, s State) {
		if s != Failed && s != TimedOut {
			return
		}
		ok = true
		q.counts.retried++
		j.Submitted, j.Started, j.Ended, j.End = now, 0, 0, Done
		q.waiting = append(q.waiting, j)
		q.wake()
	})
	return found, ok
}

// Purge removes the waiting jobs and returns their number.
func (q *Queue) Purge(now int64) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance(now)
	gone := q.waiting
	q.waiting = nil
	for _, j := range gone {
		delete(q.byID, j.ID)
	}
	q.order = slices.DeleteFunc(q.order, func(j *Job) bool { return slices.Contains(gone, j) })
	q.wake()
	return len(gone)
}

// wake notifies waiting goroutines that times have changed. q.mu must be held.
func (q *Queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Census has the numbers of jobs and workers.
type Census struct{ Queued, Running, Done, Failed, Retried, Busy, Starting int }

// Census returns the numbers of jobs and workers at a time.
func (q *Queue) Census(now int64) Census {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance(now)
	c := Census{Done: q.counts.done, Failed: q.counts.failed, Retried: q.counts.retried}
	for _, j := range q.order {
		switch j.at(now) {
		case Queued:
			c.Queued++
			if j.Started != 0 {
				c.Starting++
			}
		case Running:
			c.Running++
			c.Busy++
		case Done:
			c.Done++
		case Failed, TimedOut:
			c.Failed++
		case Cancelled:
		}
	}
	return c
}

// ErrStopped is the error of a wait that ended because the server stopped.
var ErrStopped = errors.New("the server has stopped")

// Await waits until a job is over, at most until deadline. The error is ErrStopped if
// stopping is closed, or that of ctx.
func (q *Queue) Await(ctx context.Context, stopping <-chan struct{}, id string, deadline int64) error {
	for {
		now, due := q.now(), deadline
		var changed chan struct{}
		over := true
		q.Look(id, now, func(j *Job, state State) {
			over, changed = state.Over(), q.changed
			if j.Started != 0 {
				due = min(due, j.Ended)
			} else {
				for i := range q.workers {
					due = min(due, max(q.workers[i].freeAt, now+int64(time.Millisecond)))
				}
			}
		})
		if over || now >= deadline {
			return nil
		}
		timer := time.NewTimer(time.Duration(due - now))
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-stopping:
			timer.Stop()
			return ErrStopped
		}
		timer.Stop()
	}
}

// Protocol is an API whose requests start jobs.
type Protocol struct {
	api.Protocol
	Queue *Queue
	// Plan draws the output of a job and the time that it takes.
	Plan func(x *api.Answer, j *Job)
	// Wait returns the maximum time to wait for the end of the job before the answer; nil =
	// none.
	Wait func(r *http.Request) time.Duration
}
