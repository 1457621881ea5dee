package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
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
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/otlp"
	"aiperfd/internal/run"
)

// collector is a server in memory that notes what it gets.
type collector struct {
	answer func(n int, w http.ResponseWriter, r *http.Request) // to the nth request, from 1
	grpc   bool

	mu   sync.Mutex
	got  []string // time since the start, path, and requests sent by the payload
	last http.Header
	n    int
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	c.n++
	n := c.n
	c.got = append(c.got, r.URL.Path+" "+sentBy(body, c.grpc))
	c.last = r.Header.Clone()
	c.mu.Unlock()
	if c.answer != nil {
		c.answer(n, w, r)
	}
}

// sentBy returns how many requests of the run a payload has counted.
func sentBy(body []byte, grpc bool) string {
	if grpc {
		if len(body) < 5 || body[0] != 1 || int(binary.BigEndian.Uint32(body[1:])) != len(body)-5 {
			return "bad frame"
		}
		body = body[5:]
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		return err.Error()
	}
	var m metricspb.MetricsData
	if err := proto.Unmarshal(plain, &m); err != nil {
		return err.Error()
	}
	for _, metric := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if metric.Name == "aiperf.timing.requests.sent" {
			return fmt.Sprint(metric.GetSum().DataPoints[0].GetAsInt())
		}
	}
	return "no metric"
}

func (c *collector) received() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.got, ", ")
}

// exported sends the snapshots of a run that lasts so long, one every 250 ms, to a collector, and returns what
// became of them and how long Close took.
func exported(t *testing.T, c *collector, length time.Duration, change func(*Options)) (sent otel.Metrics, closing time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener := memnet.Listen()
		server := &http.Server{Handler: c, Protocols: new(http.Protocols)}
		server.Protocols.SetHTTP1(!c.grpc)
		server.Protocols.SetUnencryptedHTTP2(c.grpc)
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(listener)
		}()
		defer func() {
			_ = server.Close()
			<-served
		}()
		began := time.Now()
		o := Options{
			Collector: Collector{URL: &url.URL{Scheme: "http", Host: "collector"}, GRPC: c.grpc, Timeout: 10 * time.Second, Dial: listener.DialContext},
			Source:    otlp.Source{Timing: true},
			Secrets:   redact.NewSet("CANARY-1"),
			Log:       zerolog.Nop(),
			Snapshot: func() *run.Snapshot {
				quarters := int64(time.Since(began) / (250 * time.Millisecond))
				return &run.Snapshot{Wall: time.Now(), Phases: []run.Phase{{Epoch: began, Stats: bench.PhaseStats{Start: 1, Sent: quarters}}}}
			},
		}
		if change != nil {
			change(&o)
		}
		e := Start(o)
		time.Sleep(length)
		ended := time.Now()
		sent = e.Close(t.Context())
		closing = time.Since(ended)
	})
	return sent, closing
}

func answering(status int, header, value string) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set(header, value)
		}
		w.WriteHeader(status)
	}
}

// hanging never answers.
func hanging(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestExporter(t *testing.T) {
	const path = "/v1/metrics "
	for _, tt := range []struct {
		name   string
		answer func(n int, w http.ResponseWriter, r *http.Request)
		length time.Duration
		change func(*Options)

		received    string
		payloads    int
		dropped     int
		lastError   string
		longestStop time.Duration
	}{
		{
			name: "one payload per second, and the last state", length: 3500 * time.Millisecond,
			received: path + "4, " + path + "8, " + path + "12, " + path + "14", payloads: 4,
		},
		{
			name: "a snapshot that does not change is sent once, and at the end", length: 3500 * time.Millisecond,
			change: func(o *Options) {
				snap := o.Snapshot()
				snap.Phases[0].Stats.Sent = 77
				o.Snapshot = func() *run.Snapshot { return snap }
			},
			received: path + "77, " + path + "77", payloads: 2,
		},
		{
			name: "nothing before the first phase", length: 2 * time.Second,
			change: func(o *Options) { o.Snapshot = func() *run.Snapshot { return nil } },
		},
		{
			name: "retries after the time that the collector asks for", length: 5500 * time.Millisecond,
			answer: func(n int, w http.ResponseWriter, _ *http.Request) {
				if n == 1 {
					w.Header().Set("Retry-After", "2")
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			},
			// The payload of second 1 is sent again in second 3; those of 2 and 3 have waited for it.
			received: path + "4, " + path + "4, " + path + "8, " + path + "12, " + path + "16, " + path + "20, " + path + "22", payloads: 6,
		},
		{
			name: "three retries at most, then the next payload", length: 8500 * time.Millisecond,
			answer: func(n int, w http.ResponseWriter, _ *http.Request) {
				if n <= 4 {
					w.WriteHeader(http.StatusBadGateway)
				}
			},
			// Pauses of 1, 2 and 4 s: the fourth attempt is that of second 8. Seconds 2 to 8 wait, and are sent then.
			received: path + "4, " + path + "4, " + path + "4, " + path + "4, " + path + "8, " + path + "12, " + path + "16, " + path + "20, " +
				path + "24, " + path + "28, " + path + "32, " + path + "34",
			payloads: 8, dropped: 1, lastError: "collector: 502 Bad Gateway",
		},
		{
			name: "no retry of what the collector refuses", length: 1500 * time.Millisecond,
			answer: func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, "bad token CANARY-1\nsecond line")
			},
			received: path + "4, " + path + "6", dropped: 2, lastError: "collector: 401 Unauthorized: bad token <redacted> second line",
		},
		{
			name: "no wait of minutes", length: 1500 * time.Millisecond, answer: answering(http.StatusTooManyRequests, "Retry-After", "60"),
			received: path + "4, " + path + "6", dropped: 2, lastError: "collector: 429 Too Many Requests; it asks to wait for 1m0s",
		},
		{
			name: "no redirects", length: 500 * time.Millisecond, answer: answering(http.StatusTemporaryRedirect, "Location", "http://elsewhere/"),
			received: path + "2", dropped: 1, lastError: "collector: 307 Temporary Redirect",
		},
		{
			// The attempts with the first payload begin at 1, 12 and 24 s. Meanwhile the queue is full, and the oldest
			// make room. At the end the last payload supersedes all others: it is sent when the third attempt has failed.
			name: "a collector that hangs", length: 30500 * time.Millisecond, answer: hanging,
			received: path + "4, " + path + "4, " + path + "4, " + path + "122", dropped: 31,
			lastError: "the collector did not take the last payloads within 4s", longestStop: FlushTime,
		},
		{
			name: "the last payload does not wait for an older one", length: 2500 * time.Millisecond,
			answer: func(n int, w http.ResponseWriter, _ *http.Request) {
				if n == 1 {
					w.Header().Set("Retry-After", "25")
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			},
			received: path + "4, " + path + "10", payloads: 1, dropped: 2, lastError: "collector: 503 Service Unavailable",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &collector{answer: tt.answer}
			sent, closing := exported(t, c, tt.length, tt.change)
			if got := c.received(); got != tt.received {
				t.Errorf("received\n%s, want\n%s", got, tt.received)
			}
			if sent.Payloads != tt.payloads || sent.Dropped != tt.dropped || sent.LastError != tt.lastError {
				t.Errorf("sent %+v, want %d payloads, %d dropped, %q", sent, tt.payloads, tt.dropped, tt.lastError)
			}
			if closing > tt.longestStop {
				t.Errorf("Close took %v, want at most %v", closing, tt.longestStop)
			}
		})
	}
}

// Close ends at once when its context does.
func TestCloseAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := memnet.Listen()
		defer listener.Close()
		snap := &run.Snapshot{Wall: time.Now(), Phases: []run.Phase{{Stats: bench.PhaseStats{Start: 1}}}}
		e := Start(Options{
			Collector: Collector{URL: &url.URL{Scheme: "http", Host: "collector"}, Timeout: time.Minute, Dial: listener.DialContext},
			Source:    otlp.Source{Timing: true}, Snapshot: func() *run.Snapshot { return snap }, Secrets: redact.NewSet(), Log: zerolog.Nop(),
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		sent := e.Close(ctx)
		if took := time.Since(began); took != time.Second || sent.Dropped != 1 || sent.Payloads != 0 {
			t.Errorf("took %v, %+v; want 1 s, and one payload dropped", took, sent)
		}
	})
}

// A collector may refuse some points of a payload that it accepts.
func TestPartialSuccess(t *testing.T) {
	inner := protowire.AppendString(protowire.AppendTag(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3), 2, protowire.BytesType), "too old")
	message := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner)
	for _, grpc := range []bool{false, true} {
		c := &collector{grpc: grpc, answer: func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			if grpc {
				w.Header().Set("Content-Type", "application/grpc")
				w.Header().Set("Trailer", "Grpc-Status")
				_, _ = w.Write(append([]byte{0, 0, 0, 0, byte(len(message))}, message...))
				w.Header().Set("Grpc-Status", "0")
				return
			}
			_, _ = w.Write(message)
		}}
		sent, _ := exported(t, c, 500*time.Millisecond, nil)
		if sent.Payloads != 1 || sent.Rejected != 3 || sent.LastError != "the collector rejected 3 points: too old" {
			t.Errorf("gRPC %t: %+v, want one payload and 3 rejected points", grpc, sent)
		}
	}
}

func TestGRPC(t *testing.T) {
	c := &collector{grpc: true, answer: func(n int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		switch n {
		case 1: // without a message, the status is in the head
			w.Header().Set("Grpc-Status", "14")
			w.Header().Set("Grpc-Message", "not%20now")
		case 3:
			w.Header().Set("Grpc-Status", "16")
			w.Header().Set("Grpc-Message", "who%20is%20CANARY-1")
		default:
			w.Header().Set("Grpc-Status", "0")
		}
	}}
	sent, _ := exported(t, c, 2500*time.Millisecond, func(o *Options) {
		o.Collector.Header = http.Header{"X-Token": {"CANARY-1"}}
	})
	const path = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export "
	// The first payload is sent again after a second.
	if got, want := c.received(), path+"4, "+path+"4, "+path+"8, "+path+"10"; got != want {
		t.Errorf("received\n%s, want\n%s", got, want)
	}
	if sent.Payloads != 2 || sent.Dropped != 1 || sent.LastError != "collector: gRPC status 16: who is <redacted>" {
		t.Errorf("sent %+v, want 2 payloads and one dropped", sent)
	}
	h := c.last
	if h.Get("Content-Type") != "application/grpc+proto" || h.Get("Grpc-Encoding") != "gzip" || h.Get("Te") != "trailers" ||
		h.Get("Grpc-Timeout") != "10000m" || h.Get("X-Token") != "CANARY-1" {
		t.Errorf("headers %v", h)
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for text, want := range map[string]time.Duration{
			"": 0, "3": 3 * time.Second, "-1": 0, "soon": 0,
			time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat): 90 * time.Second,
		} {
			if got := retryAfter(text); got != want {
				t.Errorf("retryAfter(%q) = %v, want %v", text, got, want)
			}
		}
	})
}
