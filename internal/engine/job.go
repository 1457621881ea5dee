package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/transport"
)

// The limits of control requests, which poll for work or take it back.
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
	run      *execution
	inflight context.Context // of the phase
	request  *transport.Request
	tracker  *endpoint.Tracker
	out      transport.Exchange
}

// perform performs a request to the end of its answer.
func (p *phase) perform(r *transport.Request) transport.Exchange {
	x := p.run
	kind := &x.plan.Kind
	if kind.Job == nil {
		return x.client.Do(p.inflight, r)
	}
	j := jobs{run: x, inflight: p.inflight, request: r, tracker: kind.Track(&x.plan.Settings)}
	return j.perform()
}

// perform submits the work and fetches what comes of it. The stamps of the exchange
// are those of the submission, but for its end.
func (j *jobs) perform() transport.Exchange {
	limit := j.run.plan.Settings.Job.Timeout
	ctx, stop := context.WithDeadlineCause(j.inflight, j.run.clock.At(j.run.clock.Now()+limit), transport.CancelWith(&bench.Failure{
		Class: bench.JobTimeout, Code: "client", Message: fmt.Sprintf("the job was not done within %v", limit),
	}))
	defer stop()
	submitted := j.inflight
	if total := j.run.plan.Transport.TotalTimeout; total == 0 || limit < total {
		submitted = ctx // else the transport's own limit comes first
	}
	first := j.run.client.Do(submitted, j.request)
	call, more, whole := j.tracker.Take(first.Response, first.Conn.Received)
	if whole {
		return first
	}
	j.out = transport.Exchange{Response: j.tracker.Response(), Stamps: first.Stamps, Conn: first.Conn, Lag: first.Lag}
	first.Release()
	for more {
		call, more = j.poll(ctx, call)
	}
	j.out.Stamps.End = j.out.Response.EndAt
	j.out.Conn.Polls = j.tracker.Polls()
	j.takeBack()
	return j.out
}

// poll waits, makes one call and returns the next.
func (j *jobs) poll(ctx context.Context, call endpoint.Call) (next endpoint.Call, more bool) {
	if !call.Now {
		pause(ctx, j.tracker.Pause(j.run.clock.Now()-j.out.Stamps.Start))
	}
	began, delay := j.run.clock.Now(), retryFirst
	for {
		one, stop := context.WithTimeoutCause(ctx, pollTimeout, transport.CancelWith(&bench.Failure{
			Class: bench.TimeoutTotal, Message: fmt.Sprintf("a poll was not answered within %v", pollTimeout),
		}))
		x := j.run.client.Do(one, j.control(call, j.request.Session))
		stop()
		j.add(&x)
		again := endpoint.Retryable(x.Response) && ctx.Err() == nil && j.run.clock.Now()-began+delay <= retryBudget
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

// control returns the request of a call: it carries the headers of the submission,
// but for those that describe a body.
func (j *jobs) control(call endpoint.Call, session string) *transport.Request {
	header := j.request.Header.Clone()
	header.Del("Content-Type")
	if call.Binary {
		header.Set("Accept", "*/*")
	}
	return &transport.Request{
		Method: call.Method, URL: j.run.plan.Kind.URL(call, j.request.URL), Host: j.request.Host, Header: header, Session: session,
	}
}

// add counts what a poll moved.
func (j *jobs) add(x *transport.Exchange) {
	c := &j.out.Conn
	c.Reads += x.Conn.Reads
	c.Received += x.Conn.Received
	c.Retries += x.Conn.Retries
	c.Kernel = c.Kernel && (x.Conn.Kernel || x.Conn.Reads == 0)
	j.out.Lag = max(j.out.Lag, x.Lag)
}

// takeBack cancels work that is still under way at the server when nobody waits
// for it any more. It does not wait for the answer.
func (j *jobs) takeBack() {
	call, ok := j.tracker.Cancel()
	if !ok {
		return
	}
	x, r := j.run, j.control(call, "")
	r.MaxBody = maxCancelBody
	x.takebacks.Go(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(j.inflight), cancelTimeout)
		defer stop()
		done := x.client.Do(ctx, r)
		done.Release()
	})
}

// warnOfPolls says what polling does to the numbers.
func (x *execution) warnOfPolls() {
	if x.plan.Kind.Job == nil {
		return
	}
	detail := "answers were fetched by polling, so their times are those of the answers to polls"
	if every := x.plan.Settings.Job.Interval; every > 0 {
		detail += fmt.Sprintf(", one every %v", every)
	}
	x.warn("poll-resolution", detail+"; times between tokens are left out")
	x.warnOfQuota()
}

// warnOfQuota says when polls alone would use up what Runpod allows.
func (x *execution) warnOfQuota() {
	const perSecond = 200 // 2,000 calls in 10 s of /status and /stream together
	every := x.plan.Settings.Job.Interval
	if every == 0 {
		every = time.Second // the longest that polls wait by themselves
	}
	for _, target := range x.plan.Targets {
		if !strings.HasSuffix("."+target.URL.Hostname(), ".runpod.ai") {
			continue
		}
		for i := range x.plan.Phases {
			if n := x.plan.Phases[i].Concurrency; float64(n)/every.Seconds() > perSecond {
				x.warn("poll-quota", fmt.Sprintf("%d jobs at a time, polled every %v, are more than the %d polls per second that Runpod allows: expect HTTP 429",
					n, every, perSecond))
				return
			}
		}
	}
}
