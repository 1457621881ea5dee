package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/otlp"
)

// spanCollector notes the path and the number of spans of each payload.
type spanCollector struct {
	answer func(n int, w http.ResponseWriter, r *http.Request) // to the nth request, from 1

	mu  sync.Mutex
	got []string
}

func (c *spanCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		body = body[5:]
	}
	line := ""
	if z, err := gzip.NewReader(bytes.NewReader(body)); err != nil {
		line = err.Error()
	} else if plain, err := io.ReadAll(z); err != nil {
		line = err.Error()
	} else {
		var data tracepb.TracesData
		if err := proto.Unmarshal(plain, &data); err != nil {
			line = err.Error()
		} else {
			line = fmt.Sprint(len(data.ResourceSpans[0].ScopeSpans[0].Spans))
		}
	}
	c.mu.Lock()
	c.got = append(c.got, r.URL.Path+" "+line)
	n := len(c.got)
	c.mu.Unlock()
	if c.answer != nil {
		c.answer(n, w, r)
	}
}

// sendSpans sends the spans of the requests that a function observes, and returns what became of them.
func sendSpans(t *testing.T, c *spanCollector, grpc bool, observe func(s *Spans)) (sent otel.Spans, closing time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener := memnet.Listen()
		server := &http.Server{Handler: c, Protocols: new(http.Protocols)}
		server.Protocols.SetHTTP1(!grpc)
		server.Protocols.SetUnencryptedHTTP2(grpc)
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(listener)
		}()
		defer func() {
			_ = server.Close()
			<-served
		}()
		s := StartSpans(SpanOptions{
			Collector: Collector{URL: &url.URL{Scheme: "http", Host: "collector"}, GRPC: grpc, Timeout: 10 * time.Second, Dial: listener.DialContext},
			Tracer: otlp.Tracer{Tail: true, SpanSource: otlp.SpanSource{
				Traces: otlp.NewTraces("run", 0), Clock: bench.NewClock(), Servers: []*url.URL{nil},
				Clean: func(text string) string { return text },
			}},
			Secrets: redact.NewSet("CANARY-1"), Log: zerolog.Nop(),
		})
		observe(s)
		ended := time.Now()
		sent = s.Close(t.Context())
		closing = time.Since(ended)
	})
	return sent, closing
}

// failures observes so many failures, each of which has a span.
func failures(s *Spans, n int) {
	for i := range n {
		s.Observe(&bench.Record{
			SessionNum: int64(i), RequestID: fmt.Sprint(i), Stamps: bench.Stamps{Start: 1, End: 2},
			Answer: bench.Answer{Failure: &bench.Failure{Class: bench.ServerError}},
		}, "main")
	}
}

func TestSpans(t *testing.T) {
	const path = "/v1/traces "
	t.Run("batches of a second, and the rest at the end", func(t *testing.T) {
		c := &spanCollector{}
		sent, _ := sendSpans(t, c, false, func(s *Spans) {
			failures(s, 600)
			time.Sleep(1500 * time.Millisecond)
			failures(s, 3)
		})
		if got, want := strings.Join(c.got, ", "), path+"512, "+path+"88, "+path+"3"; got != want || sent.Spans != 603 || sent.Dropped != 0 {
			t.Errorf("received %s, want %s; %+v", got, want, sent)
		}
	})
	t.Run("gRPC, with retries", func(t *testing.T) {
		c := &spanCollector{answer: func(n int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", map[bool]string{true: "14", false: "0"}[n == 1])
		}}
		sent, _ := sendSpans(t, c, true, func(s *Spans) { failures(s, 2) })
		const path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export "
		if got, want := strings.Join(c.got, ", "), path+"2, "+path+"2"; got != want || sent.Spans != 2 {
			t.Errorf("received %s, want %s; %+v", got, want, sent)
		}
	})
	t.Run("a collector that hangs: the queue is bounded, and the end too", func(t *testing.T) {
		c := &spanCollector{answer: hanging}
		sent, closing := sendSpans(t, c, false, func(s *Spans) {
			failures(s, 2000)
			time.Sleep(2 * time.Second) // the first batch is being sent
			failures(s, 2000)
		})
		if sent.Spans != 0 || sent.Dropped != 4000 || sent.LastError == "" || closing > FlushTime {
			t.Errorf("%+v after %v, want 4000 dropped within %v", sent, closing, FlushTime)
		}
	})
	t.Run("refused", func(t *testing.T) {
		c := &spanCollector{answer: func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "no CANARY-1")
		}}
		sent, _ := sendSpans(t, c, false, func(s *Spans) { failures(s, 2) })
		if sent.Dropped != 2 || sent.LastError != "collector: 403 Forbidden: no <redacted>" {
			t.Errorf("%+v", sent)
		}
	})
}

// Close ends at once when its context does.
func TestSpansAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := memnet.Listen()
		defer listener.Close()
		s := StartSpans(SpanOptions{
			Collector: Collector{URL: &url.URL{Scheme: "http", Host: "collector"}, Timeout: time.Minute, Dial: listener.DialContext},
			Tracer: otlp.Tracer{Tail: true, SpanSource: otlp.SpanSource{
				Traces: otlp.NewTraces("run", 0), Clock: bench.NewClock(), Servers: []*url.URL{nil},
				Clean: func(text string) string { return text },
			}},
			Secrets: redact.NewSet(), Log: zerolog.Nop(),
		})
		failures(s, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if sent := s.Close(ctx); time.Since(began) != time.Second || sent.Dropped != 1 {
			t.Errorf("took %v, %+v; want 1 s, and one span dropped", time.Since(began), sent)
		}
	})
}
