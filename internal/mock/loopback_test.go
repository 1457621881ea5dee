package mock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// TestLoopbackEnds checks on real sockets how connections end.
func TestLoopbackEnds(t *testing.T) {
	tests := []struct {
		rule   string
		err    error
		tokens int
	}{
		{"reset:before_headers", syscall.ECONNRESET, 0},
		{"reset:after_tokens:2", syscall.ECONNRESET, 2},
		{"close:before_headers", io.EOF, 0},
		{"close:after_tokens:2", io.ErrUnexpectedEOF, 2},
		{"reset:after_tokens:9", nil, 3},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			r := newTCPRig(t, options.Options{Fast: true, Faults: mustFaults(t, tt.rule)})
			got := r.post(chatPath, `{"messages":[{"role":"user","content":"x"}],"max_tokens":3,"stream":true}`)
			if !errors.Is(got.err, tt.err) {
				t.Errorf("error = %v, want %v", got.err, tt.err)
			}
			// A reset may overtake what the client has not read yet.
			if tokens, _ := readTokens(got.body); tokens > tt.tokens || !errors.Is(tt.err, syscall.ECONNRESET) && tokens != tt.tokens {
				t.Errorf("%d tokens, want %d", tokens, tt.tokens)
			}
		})
	}
}

// TestLoopbackConcurrent has many clients at once on real sockets and compares
// what they read with the server's records.
func TestLoopbackConcurrent(t *testing.T) {
	const clients, rounds, tokens = 20, 5, 10
	r := newTCPRig(t, options.Options{TTFT: random.ConstDelay(2 * ms), ITL: random.ConstDelay(0), TruthChunks: true})
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":"x"}],"max_tokens":%d,"stream":true}`, tokens)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range rounds {
				got := r.post(chatPath, body)
				if n, done := readTokens(got.body); n != tokens || !done || got.err != nil {
					t.Errorf("%d tokens, done %v, error %v", n, done, got.err)
				}
			}
		})
	}
	wg.Wait()
	deadline := time.Now().Add(5 * time.Second)
	for r.server.Summary().Running > 0 && time.Now().Before(deadline) {
		r.get("/health") // the last handlers end a moment after their clients
	}
	sum := r.server.Summary()
	if sum.ByOutcome[api.OutcomeOK] != clients*rounds || sum.OutputTokens != clients*rounds*tokens || sum.MaxConcurrency > clients {
		t.Errorf("summary = %+v", sum)
	}
	for _, truth := range r.server.Truth() {
		stamps := append([]int64{truth.AcceptNs, truth.BodyReadNs, truth.HeadersNs}, truth.ChunkNs...)
		stamps = append(stamps, truth.LastWriteEndNs, truth.EndNs)
		for i := 1; i < len(stamps); i++ {
			if stamps[i] < stamps[i-1] {
				t.Fatalf("request %d: stamps go back: %v", truth.Seq, stamps)
			}
		}
		if len(truth.ChunkNs) != tokens || truth.FirstWriteNs-truth.AcceptNs < int64(2*ms) {
			t.Errorf("request %d: %d chunks, first after %d ns", truth.Seq, len(truth.ChunkNs), truth.FirstWriteNs-truth.AcceptNs)
		}
	}
}

// TestWritesPerEvent counts the writes to the connection: one flush per event, one for
// the head.
func TestWritesPerEvent(t *testing.T) {
	tests := []struct {
		name string
		opt  options.Options
		want int
	}{
		{"one per event", options.Options{}, 1 + 6}, // role, three tokens, finish, [DONE]
		{"pairs", options.Options{Coalesce: 2}, 1 + 3},
		{"all at once", options.Options{Coalesce: 100}, 1 + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.opt.Fast = true
			s, err := New(tt.opt)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			w := &countingWriter{header: http.Header{}}
			s.Handler().ServeHTTP(w, chatRequest(t.Context(), 3))
			if w.flushes != tt.want || w.writes != tt.want-1 {
				t.Errorf("%d writes, %d flushes; want %d and %d", w.writes, w.flushes, tt.want-1, tt.want)
			}
		})
	}
}

// countingWriter is a ResponseWriter that discards everything.
type countingWriter struct {
	header          http.Header
	writes, flushes int
}

func (w *countingWriter) Header() http.Header         { return w.header }
func (w *countingWriter) WriteHeader(int)             {}
func (w *countingWriter) Write(b []byte) (int, error) { w.writes++; return len(b), nil }
func (w *countingWriter) Flush()                      { w.flushes++ }

func chatRequest(ctx context.Context, tokens int) *http.Request {
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":"x"}],"max_tokens":%d,"stream":true}`, tokens)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://mock.test"+chatPath, strings.NewReader(body))
	if err != nil {
		panic(err) // the arguments are constants
	}
	return req
}

// TestEventAllocations: sending a token allocates nothing.
func TestEventAllocations(t *testing.T) {
	s, err := New(options.Options{Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	count := func(tokens int) float64 {
		return testing.AllocsPerRun(20, func() {
			s.Handler().ServeHTTP(&countingWriter{header: http.Header{}}, chatRequest(t.Context(), tokens))
		})
	}
	few, many := count(10), count(1010)
	if perToken := (many - few) / 1000; perToken > 0.01 {
		t.Errorf("%.3f allocations a token, want none (%v for 10 tokens, %v for 1010)", perToken, few, many)
	}
}

// BenchmarkEvent is the server's own cost of one streamed token, without the
// network.
func BenchmarkEvent(b *testing.B) {
	s, err := New(options.Options{Fast: true, MaxModelLen: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const tokens = 10000
	b.ReportAllocs()
	for b.Loop() {
		s.Handler().ServeHTTP(&countingWriter{header: http.Header{}}, chatRequest(b.Context(), tokens))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*tokens), "ns/event")
}

// BenchmarkLoopback is the cost of one streamed token for server and client
// together, over a real socket.
func BenchmarkLoopback(b *testing.B) {
	r := newTCPRig(b, options.Options{Fast: true})
	const tokens = 1000
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":"x"}],"max_tokens":%d,"stream":true}`, tokens)
	sink := make([]byte, 64<<10)
	for b.Loop() {
		resp, err := r.client.Post(r.base+chatPath, "application/json", bytes.NewReader([]byte(body)))
		if err != nil {
			b.Fatal(err)
		}
		for {
			if _, err := resp.Body.Read(sink); err != nil {
				break
			}
		}
		resp.Body.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*tokens), "ns/event")
}
