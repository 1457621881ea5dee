package load_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/request"
	"aiperfd/internal/engine/transport"
)

// instant is a Sender whose exchanges take no time, and a Source of one conversation.
type instant struct {
	response     bench.Response
	conversation bench.Conversation
}

func (s *instant) Do(context.Context, *transport.Request) (x transport.Exchange) {
	x.Response = &s.response
	return x
}

func (*instant) EndSession(string) {}

func (s *instant) Next(int64, <-chan struct{}) (c *bench.Conversation, model string, err error) {
	return &s.conversation, "m", nil
}

func (*instant) Restart(bool) error { return nil }

// discard is a Sink that keeps nothing, and a Stop that is never requested.
type discard struct{}

func (discard) Finished(load.Finished)                  {}
func (discard) Requested() <-chan struct{}              { return nil }
func (discard) Grace(*spec.Phase) (time.Duration, bool) { return 0, false }
func (discard) Patience() time.Duration                 { return 0 }

// benchmarkPhase performs a phase with as many chat requests as the benchmark has rounds.
func benchmarkPhase(b *testing.B, p spec.Phase) {
	b.ReportAllocs()
	p.Requests, p.Grace = int64(b.N), -1
	of := &plan.Plan{
		Measure: plan.Measure{Kind: endpoint.Kinds()[0], Settings: endpoint.Settings{Streaming: true}},
		Targets: []plan.Target{{URL: &url.URL{Host: "server"}}}, Models: plan.Models{Names: []string{"m"}},
		Header: http.Header{"Content-Type": {"application/json"}}, SessionID: "X-Correlation-Id",
	}
	server := &instant{bench.Response{Status: 200}, bench.Conversation{
		ID: "c", Turns: []bench.Turn{{Texts: []string{"What is the capital of France?"}}},
	}}
	phase := load.NewPhase(load.NewWork(load.Options{
		Targets: 1, Clock: bench.NewClock(), Source: server, Encoder: request.NewEncoder(request.Options{Plan: of}),
		Sender: &request.Polling{Sender: server, Plan: of}, Pacer: pace.Timers, Stop: discard{},
	}), &p, discard{})
	phase.Begin()
	b.ResetTimer()
	phase.Run(b.Context())
	if sent := phase.Stats(0).Sent; sent != int64(b.N) {
		b.Errorf("%d requests were sent, want %d", sent, b.N)
	}
}

func BenchmarkClosedLoop(b *testing.B) { benchmarkPhase(b, spec.Phase{Concurrency: 8}) }

func BenchmarkClosedLoopWithPrefill(b *testing.B) {
	benchmarkPhase(b, spec.Phase{Concurrency: 8, Prefill: 4})
}

// All arrivals are due at once.
func BenchmarkOpenLoop(b *testing.B) {
	benchmarkPhase(b, spec.Phase{Concurrency: 8, Arrivals: func(yield func(time.Duration) bool) {
		for yield(0) {
			continue
		}
	}})
}
