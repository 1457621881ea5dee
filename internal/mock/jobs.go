package mock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Defaults of [JobOptions].
const (
	DefaultJobWorkers = 3
	DefaultJobTime    = 2 * time.Second

	syncExpiry  = time.Minute // as at Runpod
	asyncExpiry = 30 * time.Minute
	maxJobs     = 20_000 // jobs that are remembered
)

// What the worker for vLLM puts out. The first is the default.
const (
	OutputEvents = "sse-fragments" // current workers: pieces of a stream's text, or OpenAI's documents
	OutputTokens = "tokens"        // older ones: lists of tokens and counts
)

// JobOptions configure the queues of work that is polled for. The zero value of
// every field means the documented default.
type JobOptions struct {
	Workers   int           // jobs at a time, of each kind; DefaultJobWorkers
	ColdStart Delay         // of each worker, before its first job; 0
	Time      Delay         // that a video takes; const DefaultJobTime
	Expiry    time.Duration // a result is forgotten this long after its job has ended; 1 min of /runsync, else 30 min
	Output    string        // of Runpod's workers; OutputEvents
}

// fill puts defaults in place of zero values.
func (o *JobOptions) fill(fast bool) error {
	if !o.ColdStart.isSet() {
		o.ColdStart = ConstDelay(0)
	}
	if !o.Time.isSet() {
		o.Time = ConstDelay(DefaultJobTime)
	}
	if fast {
		o.ColdStart, o.Time = ConstDelay(0), ConstDelay(0)
	}
	var errs []error
	if o.Workers < 0 {
		errs = append(errs, fmt.Errorf("job-workers is %d, want ≥ 0 (0 = default)", o.Workers))
	}
	if o.Workers == 0 {
		o.Workers = DefaultJobWorkers
	}
	if o.Expiry < 0 {
		errs = append(errs, fmt.Errorf("job-expiry is %v, want ≥ 0 (0 = default)", o.Expiry))
	}
	if o.Output == "" {
		o.Output = OutputEvents
	}
	if list := choices()["runpod-output"]; !slices.Contains(list, o.Output) {
		errs = append(errs, fmt.Errorf("runpod-output is %q, want %s or %s", o.Output, list[0], list[1]))
	}
	return errors.Join(errs...)
}

// jobState is how a job is at one moment.
type jobState uint8

const (
	jobQueued jobState = iota
	jobRunning
	jobDone
	jobFailed
	jobCancelled
	jobTimedOut
)

// over reports whether nothing changes any more.
func (s jobState) over() bool { return s >= jobDone }

// never is a time that does not come.
const never = math.MaxInt64

// job is one piece of work. Its queue guards it.
type job struct {
	id        string
	submitted int64 // stamps of the server's clock
	started   int64 // may lie ahead, when a worker is starting up; 0 = it waits
	ended     int64 // planned, until it is over
	needs     time.Duration
	end       jobState // what it will come to
	expiry    time.Duration
	worker    int

	text  *textJob // of Runpod's queue
	video *videoJob
}

// at returns how the job is.
func (j *job) at(now int64) jobState {
	switch {
	case j.end == jobCancelled && now >= j.ended:
		return jobCancelled
	case j.started == 0 || now < j.started:
		return jobQueued
	case now < j.ended:
		return jobRunning
	}
	return j.end
}

// expired reports whether the result is not kept any more.
func (j *job) expired(now int64) bool { return j.at(now).over() && now >= j.ended+int64(j.expiry) }

// suffer makes the job end as a fault rule says.
func (j *job) suffer(kind string) {
	switch kind {
	case jobFail:
		j.end, j.needs = jobFailed, j.needs/2
	case jobTimeOut:
		j.end, j.needs = jobTimedOut, j.needs/2
	case jobNeverFinish, jobStuckProgress:
		j.needs = never
	case jobExpire:
		j.expiry = 0
	}
}

// jobQueue is work in the order of its submission, and workers. What happens is
// found out when somebody looks: nothing runs in the background.
type jobQueue struct {
	cold func() time.Duration

	mu      sync.Mutex
	byID    map[string]*job
	order   []*job
	waiting []*job
	workers []worker
	changed chan struct{} // closed, and replaced, when somebody interferes
	counts  struct{ done, failed, retried int }
}

// worker does one job at a time.
type worker struct {
	freeAt int64
	warm   bool
}

func newJobQueue(workers int, cold func() time.Duration) *jobQueue {
	return &jobQueue{
		cold: cold, byID: map[string]*job{}, workers: make([]worker, workers), changed: make(chan struct{}),
	}
}

// submit adds a job; ok = false when there are too many that are not over.
func (q *jobQueue) submit(j *job) (ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance(j.submitted)
	if len(q.order) >= maxJobs {
		i := slices.IndexFunc(q.order, func(old *job) bool { return old.at(j.submitted).over() })
		if i < 0 {
			return false
		}
		q.forget(i)
	}
	q.byID[j.id] = j
	q.order = append(q.order, j)
	q.waiting = append(q.waiting, j)
	q.advance(j.submitted)
	return true
}

// look calls see with a job as it is now, under the queue's lock; ok = false if
// there is no such job, or no more.
func (q *jobQueue) look(id string, now int64, see func(j *job, s jobState)) (ok bool) {
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

// see is look for who has the job, whether it is forgotten or not.
func (q *jobQueue) see(j *job, now int64, see func(s jobState)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance(now)
	see(j.at(now))
}

// advance gives waiting jobs to workers, and forgets results that have expired.
func (q *jobQueue) advance(now int64) {
	for len(q.waiting) > 0 {
		next := 0
		for i := range q.workers {
			if q.workers[i].freeAt < q.workers[next].freeAt {
				next = i
			}
		}
		j, w := q.waiting[0], &q.workers[next]
		start := max(j.submitted, w.freeAt)
		if start > now {
			break
		}
		if !w.warm {
			start += int64(q.cold())
			w.warm = true
		}
		j.started, j.ended, j.worker = start, never, next
		if j.needs != never {
			j.ended = start + int64(j.needs)
		}
		w.freeAt = j.ended
		q.waiting = q.waiting[1:]
	}
	for len(q.order) > 0 && q.order[0].expired(now) {
		q.forget(0)
	}
}

// forget drops a job that is over.
func (q *jobQueue) forget(i int) {
	j := q.order[i]
	switch j.end {
	case jobDone:
		q.counts.done++
	case jobFailed, jobTimedOut:
		q.counts.failed++
	case jobQueued, jobRunning, jobCancelled:
	}
	delete(q.byID, j.id)
	q.order = slices.Delete(q.order, i, i+1)
}

// cancel ends a job that is not over; ok = false if there is none.
func (q *jobQueue) cancel(id string, now int64) (ok bool) {
	return q.look(id, now, func(j *job, s jobState) {
		if s.over() {
			return
		}
		if i := slices.Index(q.waiting, j); i >= 0 {
			q.waiting = slices.Delete(q.waiting, i, i+1)
		} else {
			q.workers[j.worker].freeAt = now
		}
		j.end, j.ended = jobCancelled, now
		q.wake()
	})
}

// remove cancels a job and forgets it; ok = false if there is none.
func (q *jobQueue) remove(id string, now int64) (ok bool) {
	if !q.cancel(id, now) {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.IndexFunc(q.order, func(j *job) bool { return j.id == id }); i >= 0 {
		q.forget(i)
	}
	return true
}

// retry queues a job once more that failed or timed out.
func (q *jobQueue) retry(id string, now int64) (found, ok bool) {
	found = q.look(id, now, func(j *job, s jobState) {
		if s != jobFailed && s != jobTimedOut {
			return
		}
		ok = true
		q.counts.retried++
		j.submitted, j.started, j.ended, j.end = now, 0, 0, jobDone
		q.waiting = append(q.waiting, j)
		q.wake()
	})
	return found, ok
}

// purge forgets the jobs that wait and returns how many they were.
func (q *jobQueue) purge(now int64) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance(now)
	gone := q.waiting
	q.waiting = nil
	for _, j := range gone {
		delete(q.byID, j.id)
	}
	q.order = slices.DeleteFunc(q.order, func(j *job) bool { return slices.Contains(gone, j) })
	q.wake()
	return len(gone)
}

// wake tells those who wait that times have changed. Call with mu held.
func (q *jobQueue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// jobCensus counts jobs and workers.
type jobCensus struct{ queued, running, done, failed, retried, busy, starting int }

func (q *jobQueue) census(now int64) jobCensus {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance(now)
	c := jobCensus{done: q.counts.done, failed: q.counts.failed, retried: q.counts.retried}
	for _, j := range q.order {
		switch j.at(now) {
		case jobQueued:
			c.queued++
			if j.started != 0 {
				c.starting++
			}
		case jobRunning:
			c.running++
			c.busy++
		case jobDone:
			c.done++
		case jobFailed, jobTimedOut:
			c.failed++
		case jobCancelled:
		}
	}
	return c
}

// await waits until a job is over, at most until deadline. The error says that it
// ended early.
func (q *jobQueue) await(ctx context.Context, s *Server, id string, deadline int64) error {
	for {
		now, due := s.now(), deadline
		var changed chan struct{}
		over := true
		q.look(id, now, func(j *job, state jobState) {
			over, changed = state.over(), q.changed
			if j.started != 0 {
				due = min(due, j.ended)
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
			return errClientGone
		case <-s.stopping:
			timer.Stop()
			return errShutdown
		}
		timer.Stop()
	}
}
