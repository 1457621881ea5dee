package load

import (
	"context"
	"fmt"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
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

// jobs performs requests whose answers are fetched by polling.
type jobs struct {
	work    *Work
	request *transport.Request
	tracker *endpoint.Tracker
	out     transport.Exchange
}

// perform performs a request to the end of its answer.
func (w *Work) perform(ctx context.Context, r *transport.Request) transport.Exchange {
	kind := &w.Plan.Kind
	if kind.Job == nil {
		return w.Client.Do(ctx, r)
	}
	j := jobs{work: w, request: r, tracker: kind.Track(&w.Plan.Settings)}
	return j.perform(ctx)
}

// perform submits the job and fetches its result. The timestamps of the exchange are
// those of the submission, except for its end.
func (j *jobs) perform(inflight context.Context) transport.Exchange {
	limit := j.work.Plan.Settings.Job.Timeout
	ctx, stop := context.WithDeadlineCause(inflight, j.work.Clock.At(j.work.Clock.Now()+limit), transport.CancelWith(&bench.Failure{
		Class: bench.JobTimeout, Code: "client", Message: fmt.Sprintf("the job was not done within %v", limit),
	}))
	defer stop()
	submitted := inflight
	if total := j.work.Plan.Transport.TotalTimeout; total == 0 || limit < total {
		submitted = ctx // else the transport's own limit comes first
	}
	first := j.work.Client.Do(submitted, j.request)
	call, more, whole := j.tracker.Take(first.Response, first.Conn.Received)
	if whole {
		return first
	}
	j.out = transport.Exchange{Response: j.tracker.Response(), Stamps: first.Stamps, Conn: first.Conn, Lag: first.Lag}
	first.Release()
	if c := &j.request.Cancel; c.On {
		var end context.CancelFunc
		ctx, end = context.WithDeadlineCause(ctx, j.work.Clock.At(first.Stamps.Wrote+c.After), transport.CancelWith(c.Failure(bench.StepPoll)))
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
func (j *jobs) poll(ctx context.Context, call endpoint.Call) (next endpoint.Call, more bool) {
	if !call.Now {
		pause(ctx, j.tracker.Pause(j.work.Clock.Now()-j.out.Stamps.Start))
	}
	began, delay := j.work.Clock.Now(), retryFirst
	for {
		one, stop := context.WithTimeoutCause(ctx, pollTimeout, transport.CancelWith(&bench.Failure{
			Class: bench.TimeoutTotal, Message: fmt.Sprintf("a poll was not answered within %v", pollTimeout),
		}))
		x := j.work.Client.Do(one, j.control(call, j.request.Session))
		stop()
		j.add(&x)
		again := endpoint.Retryable(x.Response) && ctx.Err() == nil && j.work.Clock.Now()-began+delay <= retryBudget
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
func (j *jobs) control(call endpoint.Call, session string) *transport.Request {
	header := j.request.Header.Clone()
	header.Del("Content-Type")
	if call.Binary {
		header.Set("Accept", "*/*")
	}
	return &transport.Request{
		Method: call.Method, URL: j.work.Plan.Kind.URL(call, j.request.URL), Host: j.request.Host, Header: header, Session: session,
	}
}

// add counts the reads and bytes of a poll.
func (j *jobs) add(x *transport.Exchange) {
	c := &j.out.Conn
	c.Reads += x.Conn.Reads
	c.Received += x.Conn.Received
	c.Retries += x.Conn.Retries
	c.Kernel = c.Kernel && (x.Conn.Kernel || x.Conn.Reads == 0)
	j.out.Lag = max(j.out.Lag, x.Lag)
}

// cancelJob cancels a job that is still in progress at the server. It does not wait for
// the answer.
func (j *jobs) cancelJob(ctx context.Context) {
	call, ok := j.tracker.Cancel()
	if !ok {
		return
	}
	w, r := j.work, j.control(call, "")
	r.MaxBody = maxCancelBody
	w.cancel.Go(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
		defer stop()
		done := w.Client.Do(ctx, r)
		done.Release()
	})
}
