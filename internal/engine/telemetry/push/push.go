// Package push sends the metrics and spans of a run to collectors of OpenTelemetry while the run is performed: it
// takes the newest snapshot once per second, and the records of sampled requests. Nothing of the load waits for it:
// what cannot be sent in time is dropped and counted.
package push

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/otlp"
	"aiperfd/internal/run"
)

const (
	period       = time.Second      // between two snapshots
	room         = 16               // payloads that wait
	retries      = 3                // of one payload
	firstPause   = time.Second      // before a retry, twice as long before each further one
	longestPause = 30 * time.Second // that a collector may ask for
)

// FlushTime is how long a run that has ended waits for a destination.
const FlushTime = 4 * time.Second

// Options configure an [Exporter].
type Options struct {
	Collector Collector
	Source    otlp.Source
	Snapshot  func() *run.Snapshot // the newest one; nil = there is none yet
	Secrets   *redact.Set          // removed from messages of the collector
	Log       zerolog.Logger
}

// Exporter sends the metrics of a run from Start to Close.
type Exporter struct {
	o       Options
	client  *client
	queue   chan payload       // sent to by the goroutine that takes snapshots, or by Close after it
	closing chan struct{}      // closed when the last payload is queued, which supersedes those before it
	stop    context.CancelFunc // no more snapshots
	abort   context.CancelFunc // nothing more is sent
	taking  sync.WaitGroup
	sending sync.WaitGroup

	mu   sync.Mutex
	sent otel.Metrics // guarded by mu
}

// payload is the metrics of a snapshot; the last one is that of the end of the run.
type payload struct {
	data []byte
	last bool
}

// Start begins to send.
func Start(o Options) *Exporter {
	taken, stop := context.WithCancel(context.Background())
	sending, abort := context.WithCancel(context.Background())
	e := &Exporter{
		o: o, client: newClient(&o.Collector, metricsSignal()), queue: make(chan payload, room), closing: make(chan struct{}),
		stop: stop, abort: abort,
	}
	e.taking.Go(func() { e.take(taken) })
	e.sending.Go(func() { e.send(sending) })
	return e
}

// take queues the metrics of the newest snapshot once per second.
func (e *Exporter) take(ctx context.Context) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	var last *run.Snapshot
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if snap := e.o.Snapshot(); snap != nil && snap != last && len(snap.Phases) > 0 {
				last = snap
				e.enqueue(snap, false)
			}
		}
	}
}

// enqueue adds a payload. If the queue is full, the oldest one makes room: the metrics are cumulative, so that a
// newer one says more.
func (e *Exporter) enqueue(snap *run.Snapshot, last bool) {
	data, err := e.o.Source.Encode(snap)
	if err != nil {
		e.drop(fmt.Errorf("encode metrics: %w", err))
		return
	}
	for {
		select {
		case e.queue <- payload{data, last}:
			return
		default:
		}
		select {
		case <-e.queue:
			e.drop(errFull)
		default:
		}
	}
}

var (
	errFull  = errors.New("the collector takes less than one payload per second")
	errFlush = fmt.Errorf("the collector did not take the last payloads within %v", FlushTime)
	// errSpansFull is why spans are dropped.
	errSpansFull = errors.New("the collector takes fewer spans than there are")
)

// send sends what is queued, in order, until the queue is closed.
func (e *Exporter) send(ctx context.Context) {
	for p := range e.queue {
		superseded := e.closing
		if p.last {
			superseded = nil
		}
		refused, err := e.client.deliver(ctx, p.data, superseded)
		if err != nil {
			e.drop(err)
			continue
		}
		e.mu.Lock()
		e.sent.Payloads++
		e.sent.Rejected += refused.rejected
		if refused.rejected > 0 || refused.message != "" {
			e.sent.LastError = e.o.Secrets.String(refused.describe(e.client.signal))
		}
		e.mu.Unlock()
	}
}

// drop counts a payload that was not sent. The first one of a run is logged.
func (e *Exporter) drop(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := e.sent.Dropped == 0
	e.sent.Dropped++
	e.sent.LastError = e.o.Secrets.String(why.Error())
	if first {
		e.o.Log.Warn().Str("reason", e.sent.LastError).Msg("metrics are not sent to the collector")
	}
}

// Sent returns what became of the payloads so far.
func (e *Exporter) Sent() otel.Metrics {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sent
}

// Close sends the newest snapshot and ends. It waits for the collector for at most [FlushTime], or until ctx ends:
// the last snapshot supersedes those that still wait, which are dropped.
func (e *Exporter) Close(ctx context.Context) otel.Metrics {
	e.stop()
	e.taking.Wait()
	for waiting := true; waiting; {
		select {
		case <-e.queue:
			e.drop(errFull)
		default:
			waiting = false
		}
	}
	if snap := e.o.Snapshot(); snap != nil && len(snap.Phases) > 0 {
		e.enqueue(snap, true)
	}
	close(e.queue)
	close(e.closing)
	ctx, cancel := context.WithTimeout(ctx, FlushTime)
	defer cancel()
	defer context.AfterFunc(ctx, e.abort)()
	e.sending.Wait()
	e.abort()
	e.client.close()
	return e.Sent()
}
