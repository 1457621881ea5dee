package push

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/otlp"
)

const (
	spanRoom  = 2048        // spans that wait
	spanBatch = 512         // spans of a payload at most
	spanDelay = time.Second // that a span waits for others at most
)

// SpanOptions configure a [Spans]. Emit of the tracer is set by [StartSpans].
type SpanOptions struct {
	Collector Collector
	Tracer    otlp.Tracer
	Secrets   *redact.Set // removed from messages of the collector
	Log       zerolog.Logger
}

// Spans sends spans of the requests of a run from StartSpans to Close. Observe must be called by one goroutine at a
// time, and not after Close.
type Spans struct {
	tracer  otlp.Tracer
	client  *client
	secrets *redact.Set
	log     zerolog.Logger
	queue   chan *tracepb.Span
	abort   context.CancelFunc // nothing more is sent
	sending sync.WaitGroup

	mu   sync.Mutex
	sent otel.Spans // guarded by mu
}

// StartSpans begins to send.
func StartSpans(o SpanOptions) *Spans {
	ctx, abort := context.WithCancel(context.Background())
	s := &Spans{
		tracer: o.Tracer, client: newClient(&o.Collector, tracesSignal()), secrets: o.Secrets, log: o.Log,
		queue: make(chan *tracepb.Span, spanRoom), abort: abort,
	}
	s.tracer.Emit = s.enqueue
	s.sending.Go(func() { s.send(ctx) })
	return s
}

// Observe takes the record of a request of a phase. It does not block.
func (s *Spans) Observe(rec *bench.Record, phase string) { s.tracer.Observe(rec, phase) }

// enqueue makes a span and queues it. If the queue is full, it is dropped unmade.
func (s *Spans) enqueue(span func() *tracepb.Span) {
	if len(s.queue) == cap(s.queue) { // nobody else adds to it
		s.drop(1, errSpansFull)
		return
	}
	s.queue <- span()
}

// send sends what is queued until the queue is closed.
func (s *Spans) send(ctx context.Context) {
	for first := range s.queue {
		batch := s.batch(first)
		data, err := s.tracer.Encode(batch)
		var refused partial
		if err == nil {
			refused, err = s.client.deliver(ctx, data, nil)
		}
		if err != nil {
			s.drop(len(batch), err)
			continue
		}
		s.mu.Lock()
		s.sent.Spans += int64(len(batch)) - refused.rejected
		s.sent.Rejected += refused.rejected
		if refused.rejected > 0 || refused.message != "" {
			s.sent.LastError = s.secrets.String(refused.describe(s.client.signal))
		}
		s.mu.Unlock()
	}
}

// batch returns a span and those that follow it within a second.
func (s *Spans) batch(first *tracepb.Span) []*tracepb.Span {
	batch := []*tracepb.Span{first}
	timer := time.NewTimer(spanDelay)
	defer timer.Stop()
	for len(batch) < spanBatch {
		select {
		case span, open := <-s.queue:
			if !open {
				return batch
			}
			batch = append(batch, span)
		case <-timer.C:
			return batch
		}
	}
	return batch
}

// drop counts spans that were not sent. The first ones of a run are logged.
func (s *Spans) drop(n int, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.sent.Dropped == 0
	s.sent.Dropped += int64(n)
	s.sent.LastError = s.secrets.String(why.Error())
	if first {
		s.log.Warn().Str("reason", s.sent.LastError).Msg("spans are not sent to the collector")
	}
}

// Close sends what is left and ends. It waits for the collector for at most [FlushTime], or until ctx ends.
func (s *Spans) Close(ctx context.Context) otel.Spans {
	limited := s.tracer.Close()
	close(s.queue)
	ctx, cancel := context.WithTimeout(ctx, FlushTime)
	defer cancel()
	defer context.AfterFunc(ctx, s.abort)()
	s.sending.Wait()
	s.abort()
	s.client.close()
	s.mu.Lock()
	s.sent.Limited = limited
	s.mu.Unlock()
	return s.Sent()
}

// Sent returns what became of the spans so far.
func (s *Spans) Sent() otel.Spans {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}
