package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/window"
	"aiperfd/internal/engine/transport"
)

// lines is a file in memory.
type lines struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.data.Write(b)
}

func (l *lines) Close() error { return nil }

// read starts a recorder against a server in virtual time, lets it run through one phase of ten seconds, and
// passes its report and its lines to a check.
func read(t *testing.T, server http.HandlerFunc, check func(t *testing.T, got *diagnose.Server, file *lines)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { readHere(t, server, check) })
}

func readHere(t *testing.T, server http.HandlerFunc, check func(t *testing.T, got *diagnose.Server, file *lines)) {
	t.Helper()
	ln := memnet.Listen()
	web := &http.Server{Handler: server}
	var serving sync.WaitGroup
	serving.Go(func() { web.Serve(ln) })
	defer serving.Wait()
	defer web.Close()
	target := func(path string) *url.URL { return &url.URL{Scheme: "http", Host: "h:8000", Path: path} }
	file := &lines{}
	o := Options{
		Targets:   []Target{{Candidates: []*url.URL{target("/metrics"), target("/prometheus/metrics")}}},
		Transport: transport.Options{Dial: ln.DialContext, Clock: bench.NewClock()},
		Period:    DefaultPeriod, Secrets: redact.NewSet("canary4711xyz"), Log: zerolog.Nop(), Lines: file, Formats: []string{"json"},
	}
	o.Clock = o.Transport.Clock
	began := time.Now()
	r := Start(o)
	r.Sync(t.Context())
	from := o.Clock.Now()
	r.BeginPhase(Phase{Name: "profiling", Kind: bench.Profiling}, from)
	<-time.After(10 * time.Second)
	r.Mark()
	r.EndPhase(0, from, o.Clock.Now(), diagnose.Client{})
	r.Settle(t.Context())
	out := r.Report()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second+syncTimeout+settleLimit {
		t.Errorf("a phase of 10 s took %v", took)
	}
	check(t, out, file)
}

// counting is a page whose counter grows by 100 a second.
func counting(w http.ResponseWriter) {
	elapsed := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds()
	fmt.Fprintf(w, "# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total %v\n"+
		"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model=\"canary4711xyz\"} 3\n", min(1000+100*elapsed, 2000))
}

func TestRecorder(t *testing.T) {
	server := func(w http.ResponseWriter, _ *http.Request) { counting(w) }
	read(t, server, func(t *testing.T, got *diagnose.Server, file *lines) {
		one := got.Targets[0]
		if one.State != diagnose.OK || one.URL != "http://h:8000/metrics" || one.Failures != 0 || len(one.Servers) != 1 || one.Servers[0] != "vLLM" {
			t.Errorf("target: %+v", one)
		}
		// One a second, the one before the phase, the one at its end, and three to see that nothing is counted any more.
		if one.Fetches < 13 || one.Fetches > 17 {
			t.Errorf("%d scrapes in 10 s", one.Fetches)
		}
		v := got.Phases[0].Value("generation_tokens")
		if v == nil || *v.Total < 999 || *v.Total > 1001 || v.TotalSettled == nil || *v.TotalSettled < *v.Total-1 {
			t.Errorf("generation tokens: %+v", v)
		}
		if v := got.Phases[0].Value("running"); v == nil || *v.Avg != 3 {
			t.Errorf("running: %+v", v)
		}
		text := file.data.String()
		if strings.Contains(text, "canary") {
			t.Error("the lines have a secret")
		}
		first := strings.Split(strings.TrimSpace(text), "\n")
		if len(first) != one.Fetches {
			t.Errorf("%d lines of %d scrapes", len(first), one.Fetches)
		}
		for _, line := range first {
			if !json.Valid([]byte(line)) {
				t.Fatalf("no JSON: %s", line)
			}
		}
	})
}

// TestTroubles: whatever a page is, the run goes on and the state says what it was.
func TestTroubles(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server http.HandlerFunc
		state  diagnose.State
		text   string // part of the last error
	}{
		{"missing", http.NotFound, diagnose.NotPrometheus, "HTTP 404"},
		{"HTML", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>metrics</html>")
		}, diagnose.NotPrometheus, "without metrics"},
		{"JSON", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `[{"gpu":1}]`)
		}, diagnose.NotPrometheus, "without metrics"},
		{"error", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }, diagnose.Unreachable, "HTTP 500"},
		{"garbled", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "\x00\x01 what is this\n\x7f{{{")
		}, diagnose.NotPrometheus, "no metrics"},
		{"enormous", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Write(bytes.Repeat([]byte("vllm:some_rather_long_name_of_a_metric{label=\"with a value\"} 1\n"), 400_000))
		}, diagnose.TooLarge, "larger than"},
		{"silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, diagnose.Unreachable, "no answer within"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			read(t, tt.server, func(t *testing.T, got *diagnose.Server, _ *lines) {
				one := got.Targets[0]
				if one.State != tt.state || !strings.Contains(one.LastError, tt.text) || one.Fetches != 0 {
					t.Errorf("target: %+v", one)
				}
			})
		})
	}
}

// TestFallback: trtllm-serve has JSON under the usual path.
func TestFallback(t *testing.T) {
	server := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/prometheus/metrics" {
			counting(w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "[]")
	}
	read(t, server, func(t *testing.T, got *diagnose.Server, _ *lines) {
		if one := got.Targets[0]; one.State != diagnose.OK || one.URL != "http://h:8000/prometheus/metrics" {
			t.Errorf("target: %+v", one)
		}
	})
}

// TestSparing: a server that takes 100 ms for a page is read every 5 s.
func TestSparing(t *testing.T) {
	var reads atomic.Int64
	server := func(w http.ResponseWriter, _ *http.Request) {
		reads.Add(1)
		<-time.After(100 * time.Millisecond)
		counting(w)
	}
	read(t, server, func(t *testing.T, got *diagnose.Server, _ *lines) {
		if n := reads.Load(); n > 7 {
			t.Errorf("%d scrapes in 10 s", n)
		}
		if one := got.Targets[0]; one.ScrapeShare > 0.08 || one.ScrapeP50 < 100 {
			t.Errorf("target: %+v", one)
		}
	})
}

// TestSilentServerDelays: a phase waits at most two seconds for a page that does not answer, and the others
// are read meanwhile.
func TestSilentServerDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := memnet.Listen()
		web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/silent" {
				<-r.Context().Done()
				return
			}
			counting(w)
		})}
		var serving sync.WaitGroup
		serving.Go(func() { web.Serve(ln) })
		defer serving.Wait()
		defer web.Close()
		page := func(path string) Target {
			return Target{Candidates: []*url.URL{{Scheme: "http", Host: "h", Path: path}}}
		}
		r := Start(Options{
			Targets:   []Target{page("/silent"), page("/metrics")},
			Transport: transport.Options{Dial: ln.DialContext, Clock: bench.NewClock()}, Clock: bench.NewClock(),
			Period: time.Second, Secrets: redact.NewSet(), Log: zerolog.Nop(),
		})
		before := time.Now()
		r.Sync(context.Background())
		if took := time.Since(before); took > syncTimeout {
			t.Errorf("it took %v", took)
		}
		other := r.targets[1]
		other.mu.Lock()
		if !slices.ContainsFunc(other.history.Scrapes, func(s window.Scrape) bool { return s.Pinned }) {
			t.Error("the other page was not read for the phase")
		}
		other.mu.Unlock()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}
