package request

import (
	"context"
	"fmt"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

// The limits of control requests, which poll for jobs or cancel them.
const (
	pollTimeout   = time.Minute     // one poll
	retryFirst    = time.Second     // before a poll is repeated; doubles
	retryMost     = 8 * time.Second // … up to this
	retryBudget   = time.Minute     // of one poll, all repetitions together
	cancelTimeout = 5 * time.Second
	maxCancelBody = 8 << 20 // bytes of an answer to a cancel that are kept
)

// Polling is a sender of requests whose answers are fetched by polling, if the endpoint
// type of the plan has such.
type Polling struct {
	load.Sender
	Plan  *plan.Plan
	Clock bench.Clock

	cancels sync.WaitGroup // requests that cancel jobs at the server
}

var (
	_ load.Sender  = (*Polling)(nil)
	_ load.Starter = (*Polling)(nil)
)

// Do implements [load.Sender]: it performs a request to the end of its answer.
func (p *Polling) Do(ctx context.Context, r *transport.Request) transport.Exchange {
	kind := &p.Plan.Kind
	if kind.Job == nil {
		return p.Sender.Do(ctx, r)
	}
	j := polledJob{by: p, request: r, tracker: kind.Track(&p.Plan.Settings)}
	return j.perform(ctx)
}

// Start implements [load.Starter].
func (p *Polling) Start(
	ctx context.Context, r *transport.Request, later func(transport.Exchange),
) (x transport.Exchange, done bool) {
	if s, ok := p.Sender.(load.Starter); ok && p.Plan.Kind.Job == nil {
		return s.Start(ctx, r, later)
	}
	return p.Do(ctx, r), true
}

// StartIdle implements [load.Starter].
func (p *Polling) StartIdle(ctx context.Context, r *transport.Request, later func(transport.Exchange)) (started bool) {
	s, ok := p.Sender.(load.Starter)
	return ok && p.Plan.Kind.Job == nil && s.StartIdle(ctx, r, later)
}

// Wait waits for the requests that cancel jobs at the server.
func (p *Polling) Wait() { p.cancels.Wait() }

// polledJob is a request whose answer is fetched by polling.
type polledJob struct {
	by      *Polling
	request *transport.Request
	tracker *endpoint.Tracker
	out     transport.Exchange
}

// perform submits the job and fetches its result. The timestamps of the exchange are
// those of the submission, except for its end.
func (j *polledJob) perform(inflight context.Context) transport.Exchange {
	limit := j.by.Plan.Settings.Job.Timeout
	late := transport.CancelWith(&bench.Failure{
		Class: bench.JobTimeout, Code: "client", Message: fmt.Sprintf("the job was not done within %v", limit),
	})
	ctx, stop := context.WithDeadlineCause(inflight, j.by.Clock.At(j.by.Clock.Now()+limit), late)
	defer stop()
	submitted := inflight
	if total := j.by.Plan.Transport.TotalTimeout; total == 0 || limit < total {
		submitted = ctx // else the transport's own limit comes first
	}
	first := j.by.Sender.Do(submitted, j.request)
	call, more, whole := j.tracker.Take(first.Response, first.Conn.Received)
	if whole {
		return first
	}
	j.out = transport.Exchange{Response: j.tracker.Response(), Stamps: first.Stamps, Conn: first.Conn, Lag: first.Lag}
	first.Release()
	if c := &j.request.Cancel; c.On {
		var end context.CancelFunc
		leave := transport.CancelWith(c.Failure(bench.StepPoll))
		ctx, end = context.WithDeadlineCause(ctx, j.by.Clock.At(first.Stamps.Wrote+c.After), leave)
		defer end()
	}
	for more {
		call, more = j.poll(ctx, call)
	}
	j.out.Stamps.End = j.out.Response.EndAt
	j.out.Conn.Polls = j.tracker.Polls()
	j.cancelJob(inflight)
	return j.out
}

// poll waits, makes one call and returns the next.
func (j *polledJob) poll(ctx context.Context, call endpoint.Call) (next endpoint.Call, more bool) {
	if !call.Now {
		pause(ctx, j.tracker.Pause(j.by.Clock.Now()-j.out.Stamps.Start))
	}
	began, delay := j.by.Clock.Now(), retryFirst
	for {
		one, stop := context.WithTimeoutCause(ctx, pollTimeout, transport.CancelWith(&bench.Failure{
			Class: bench.TimeoutTotal, Message: fmt.Sprintf("a poll was not answered within %v", pollTimeout),
		}))
		x := j.by.Sender.Do(one, j.control(call, j.request.Session))
		stop()
		j.addPoll(&x)
		again := endpoint.Retryable(x.Response) && ctx.Err() == nil && j.by.Clock.Now()-began+delay <= retryBudget
		if !again {
			next, more, _ = j.tracker.Take(x.Response, x.Conn.Received)
			x.Release()
			return next, more
		}
		x.Release()
		pause(ctx, delay)
		delay = min(2*delay, retryMost)
	}
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// control returns the request of a call. It has the headers of the submission, except
// for those that describe a body.
func (j *polledJob) control(call endpoint.Call, session string) *transport.Request {
	header := j.request.Header.Clone()
	header.Del("Content-Type")
	if call.Binary {
		header.Set("Accept", "*/*")
	}
	return &transport.Request{
		Method: call.Method, URL: j.by.Plan.Kind.URL(call, j.request.URL), Host: j.request.Host,
		Header: header, Session: session,
	}
}

// addPoll counts the reads and bytes of a poll.
func (j *polledJob) addPoll(x *transport.Exchange) {
	c := &j.out.Conn
	c.Reads += x.Conn.Reads
	c.Received += x.Conn.Received
	c.Retries += x.Conn.Retries
	c.Kernel = c.Kernel && (x.Conn.Kernel || x.Conn.Reads == 0)
	j.out.Lag = max(j.out.Lag, x.Lag)
}

// cancelJob cancels a job that is still in progress at the server. It does not wait for
// the answer.
func (j *polledJob) cancelJob(ctx context.Context) {
	call, ok := j.tracker.Cancel()
	if !ok {
		return
	}
	by, r := j.by, j.control(call, "")
	r.MaxBody = maxCancelBody
	by.cancels.Go(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
		defer stop()
		done := by.Sender.Do(ctx, r)
		done.Release()
	})
}
