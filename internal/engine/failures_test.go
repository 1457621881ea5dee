package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// logged is a log that tests read.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lines returns the messages of warnings so far.
func (l *logged) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range strings.Lines(l.b.String()) {
		if _, message, ok := strings.Cut(line, `"message":"`); ok && strings.Contains(line, `"level":"warn"`) {
			out = append(out, strings.TrimSuffix(strings.TrimSpace(message), `"}`))
		}
	}
	return out
}

// virtual are the options of an engine in virtual time.
func virtual(log *logged, dial func(context.Context, string, string) (net.Conn, error)) engine.Options {
	return engine.Options{Log: zerolog.New(log), Dial: dial, Monitor: monitor.Options{Ticker: monitor.NewTimer, Host: still{}}}
}

// refuse is a port without a listener.
func refuse(context.Context, string, string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// mute returns the network of a server that accepts and never answers.
func mute(t *testing.T) func(context.Context, string, string) (net.Conn, error) {
	ln := memnet.Listen()
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			accepting.Go(func() { io.Copy(io.Discard, c) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		accepting.Wait()
	})
	return ln.DialContext
}

// A server that fails at first is measured nevertheless.
func TestFailuresDoNotEndARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault, err := mock.ParseFault("status:503,first=15")
		if err != nil {
			t.Fatal(err)
		}
		o := timing(t, time.Millisecond, 0)
		o.Faults = []mock.Fault{fault}
		b := newBed(t, o, nil)
		r := b.run(document("type: concurrency, concurrency: 2, requests: 100", fileData))
		if r.State != bench.StateCompleted || r.Summary.Requests != 85 || r.Summary.Errors != 15 || !hasWarning(r, "request-errors") {
			t.Errorf("run %s, %+v, %v; want completed with 85 of 100 and a warning", r.State, r.Summary, r.Warnings)
		}
		b.stop()
	})
}

func TestThresholdSaysWhatItDid(t *testing.T) {
	for _, tt := range []struct{ name, fault, load, want string }{
		// Every second request takes a second, in which the failures are counted.
		{"stopped early", "status:503,every=2", "concurrency: 1, requests: 100, failedRequestThreshold: 0.05",
			`stopped after [0-9]+ of 100 requests: [0-9]+ failed, more than the 5 % that failedRequestThreshold allows: overloaded, HTTP 503`},
		{"without a count of requests", "status:503,first=100", "concurrency: 1, duration: 100s, failedRequestThreshold: 0.05",
			`stopped after [0-9]+ requests: [0-9]+ failed, more than the 5 % that failedRequestThreshold allows: overloaded, HTTP 503`},
		{"fewer requests than the threshold needs to stop a run", "status:503,first=1", "concurrency: 1, requests: 4, failedRequestThreshold: 0.1",
			`1 of 4 requests failed, more than the 10 % that failedRequestThreshold allows: overloaded, HTTP 503`},
		{"not crossed", "status:503,first=1", "concurrency: 1, requests: 40, failedRequestThreshold: 0.5", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fault, err := mock.ParseFault(tt.fault)
				if err != nil {
					t.Fatal(err)
				}
				o := timing(t, time.Second, 0)
				o.Faults = []mock.Fault{fault}
				b := newBed(t, o, nil)
				r := b.run(document("type: concurrency, "+tt.load, fileData))
				message := ""
				if r.Error != nil && r.Error.Code == run.ErrorThreshold {
					message = r.Error.Message
				}
				if !regexp.MustCompile("^"+tt.want).MatchString(message) || (message == "") != (tt.want == "") {
					t.Errorf("error %+v, want %q", r.Error, tt.want)
				}
				b.stop()
			})
		})
	}
}

// A closed loop against a dead port ends soon, and does not spin.
func TestDeadPort(t *testing.T) {
	for _, tt := range []struct {
		name, load string
		least      int64 // errors
		most       int64
		within     time.Duration
	}{
		{"the default of ten requests", "concurrency: 1, requests: 10", 10, 10, time.Second},
		{"a thousand requests", "concurrency: 10, requests: 1000", 1000, 1000, 11 * time.Second},
		{"eight seconds", "concurrency: 64, duration: 8s", 500, 2000, 9 * time.Second},
		{"eight seconds of one slot", "concurrency: 1, duration: 8s", 700, 900, 9 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &logged{}
				b := newDialBed(t, virtual(log, refuse))
				began := time.Now()
				r := b.run(document("type: concurrency, "+tt.load, fileData))
				if took := time.Since(began); took > tt.within {
					t.Errorf("the run took %v, want at most %v", took, tt.within)
				}
				if r.State != bench.StateFailed || r.Error.Code != run.NoSuccess || !strings.Contains(r.Error.Message, "refused") {
					t.Errorf("run %s, %+v", r.State, r.Error)
				}
				if n := r.Summary.Errors; n < tt.least || n > tt.most || hasWarning(r, "paused") {
					t.Errorf("%d errors, want %d to %d, and no note on pauses: %v", n, tt.least, tt.most, r.Warnings)
				}
				b.stop()
			})
		})
	}
}

// A closed loop against a server on which every request fails at once does not flood it
// and the disk. Errors among successes and slow ones are not delayed.
func TestErrorsArePaced(t *testing.T) {
	type answer func(w http.ResponseWriter, n int64)
	status := func(code int) answer {
		return func(w http.ResponseWriter, _ int64) { http.Error(w, "no", code) }
	}
	ok := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}`)
	}
	for _, tt := range []struct {
		name        string
		load        string
		took        time.Duration // by the server, for each request
		answer      answer
		least, most int64 // errors
		paused      bool
	}{
		{"64 slots", "type: concurrency, concurrency: 64, duration: 10s", time.Millisecond, status(500), 900, 1500, false},
		{"64 slots after a success", "type: concurrency, concurrency: 64, duration: 10s", time.Millisecond, func(w http.ResponseWriter, n int64) {
			if n <= 5 { // the list of models is among them
				ok(w)
				return
			}
			http.Error(w, "no", http.StatusInternalServerError)
		}, 900, 1500, true},
		{"pages instead of answers", "type: concurrency, concurrency: 64, duration: 10s", time.Millisecond, func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>login</html>")
		}, 900, 1500, false},
		{"one slot", "type: concurrency, concurrency: 1, duration: 10s", time.Millisecond, status(429), 1000, 1200, false},
		{"a success in a hundred", "type: concurrency, concurrency: 2, duration: 10s", time.Millisecond, func(w http.ResponseWriter, n int64) {
			if n%100 == 0 {
				ok(w)
				return
			}
			http.Error(w, "no", http.StatusTooManyRequests)
		}, 19_790, 19_810, false},
		// Each slot may begin one more at the instant at which the time is over.
		{"slow errors", "type: concurrency, concurrency: 4, duration: 100s", 40 * time.Millisecond, status(500), 9_996, 10_004, false},
		{"few errors", "type: concurrency, concurrency: 4, requests: 100", time.Millisecond, status(500), 100, 100, false},
		{"an open loop", "type: constant, rate: 1000, duration: 10s", time.Millisecond, status(500), 9_990, 10_000, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int64
				b := newBed(t, mock.Options{}, func(http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						io.Copy(io.Discard, r.Body)
						time.Sleep(tt.took)
						tt.answer(w, n.Add(1))
					})
				})
				r := b.run(document(tt.load, fileData))
				if got := r.Summary.Errors; got < tt.least || got > tt.most || hasWarning(r, "paused") != tt.paused {
					t.Errorf("%d errors, want %d to %d, paused %v: %v", got, tt.least, tt.most, tt.paused, r.Warnings)
				}
				b.stop()
			})
		})
	}
}

// Users are notified after ten seconds without a response, then at doubling intervals.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &logged{}
		b := newDialBed(t, virtual(log, mute(t)))
		start := time.Now()
		id := b.submit(document("type: concurrency, concurrency: 4, requests: 100", fileData))
		time.Sleep(9 * time.Second)
		if got := log.lines(); len(got) > 0 {
			t.Errorf("after 9 s: %q, want nothing", got)
		}
		since := start.Local().Format(time.TimeOnly)
		for _, told := range []struct{ after, text string }{{"10.5s", "10 s"}, {"20.5s", "20 s"}, {"40.5s", "40 s"}} {
			after, _ := time.ParseDuration(told.after)
			time.Sleep(after - time.Since(start))
			want := "no answer for " + told.text + ": 4 requests are waiting for http://mem since " + since
			got := log.lines()
			if len(got) == 0 || got[len(got)-1] != want {
				t.Errorf("after %s: %q, want %q", told.after, got, want)
			}
			if r, _ := b.engine.Get(t.Context(), id); r.StateReason != want || r.State != bench.StateRunning {
				t.Errorf("after %s: state %s, reason %q", told.after, r.State, r.StateReason)
			}
		}
		if got := log.lines(); len(got) != 3 {
			t.Errorf("%q, want three lines", got)
		}
		b.cancel(id, run.CancelRequest{Force: true})
		if r := b.wait(id); r.State != bench.StateCancelled || !hasWarning(r, "no-answer") {
			t.Errorf("run %s, %v; want it cancelled with a note", r.State, r.Warnings)
		}
		b.stop()
	})
}

// A response ends the silence and clears the reason.
func TestSilenceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &logged{}
		ln := memnet.Listen()
		var serving sync.WaitGroup
		serving.Go(func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				serving.Go(func() {
					defer c.Close()
					c.Read(make([]byte, 1<<16))
					time.Sleep(14 * time.Second) // before the next notification
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
					for range 30 { // a slow stream is no silence
						time.Sleep(time.Second)
						io.WriteString(c, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n")
					}
					io.WriteString(c, "data: [DONE]\n\n")
				})
			}
		})
		b := newDialBed(t, virtual(log, ln.DialContext))
		id := b.submit(document("type: concurrency, concurrency: 1, requests: 1", fileData))
		time.Sleep(21 * time.Second) // the list of models was given up after 5 s
		if r, _ := b.engine.Get(t.Context(), id); r.StateReason != "" {
			t.Errorf("reason %q after the first byte, want none", r.StateReason)
		}
		b.wait(id)
		if got := log.lines(); len(got) != 1 || !strings.HasPrefix(got[0], "no answer for 10 s: 1 request is waiting for http://mem since ") {
			t.Errorf("%q, want one line", got)
		}
		b.stop()
		ln.Close()
		serving.Wait()
	})
}

// The preparation shows what it waits for from the beginning, and warns, too.
func TestSilenceOfThePreparation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &logged{}
		b := newDialBed(t, virtual(log, mute(t)))
		id := b.submit(strings.Replace(document("type: concurrency, concurrency: 4, requests: 100", fileData),
			"useServerTokenCount: true}", "useServerTokenCount: true, waitForModelTimeout: 100, waitForModelMode: models}", 1))
		time.Sleep(time.Second)
		if r, _ := b.engine.Get(t.Context(), id); r.StateReason != "waiting for the model at http://mem" || r.State != bench.StateStarting {
			t.Errorf("state %s, reason %q", r.State, r.StateReason)
		}
		time.Sleep(10 * time.Second)
		const want = "no answer for 10 s: GET http://mem/v1/models is waiting since "
		if r, _ := b.engine.Get(t.Context(), id); !strings.HasPrefix(r.StateReason, want) {
			t.Errorf("reason %q, want %q", r.StateReason, want)
		}
		time.Sleep(10 * time.Second)
		if got := log.lines(); len(got) != 2 || !strings.HasPrefix(got[1], strings.Replace(want, "10 s", "20 s", 1)) {
			t.Errorf("%q, want two lines", got)
		}
		b.cancel(id, run.CancelRequest{})
		b.wait(id)
		b.stop()
	})
}

// After a cancel, a silent server is not waited for.
func TestCancelOfASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newDialBed(t, virtual(&logged{}, mute(t)))
		id := b.submit(document("type: concurrency, concurrency: 4, requests: 100", fileData))
		time.Sleep(8 * time.Second)
		asked := time.Now()
		b.cancel(id, run.CancelRequest{Patience: 1500 * time.Millisecond, Reason: "interrupted"})
		r := b.wait(id)
		if took := time.Since(asked); took > 2*time.Second {
			t.Errorf("the end took %v, want at most 2 s", took)
		}
		if r.State != bench.StateCancelled || r.Summary == nil || r.Summary.Cancelled != 4 {
			t.Errorf("run %s, %+v; want cancelled with four requests cut", r.State, r.Summary)
		}
		b.stop()
	})
}

// After a cancel, an active stream is waited for, however long it takes.
func TestCancelWaitsForStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, time.Second), nil)
		id := b.submit(document("type: concurrency, concurrency: 1, requests: 100",
			`  dataset: {type: file, format: single_turn, records: [{text: one, output_length: 20}]}`))
		time.Sleep(2500 * time.Millisecond)
		b.cancel(id, run.CancelRequest{Patience: 1500 * time.Millisecond})
		if r := b.wait(id); r.Summary == nil || r.Summary.Requests != 1 || r.Summary.Cancelled != 0 {
			t.Errorf("%+v, want the request in flight to end by itself", r.Summary)
		}
		b.stop()
	})
}

// The message of a run without a success names what to check.
func TestHints(t *testing.T) {
	for _, tt := range []struct {
		name, body, want string
		status           int
	}{
		{"no key", `{"error":"Unauthorized"}`, "no API key was sent: use --api-key-file or AIPERFD_API_KEY", 401},
		{"path", "404 page not found", "the server has no such path: check --url, --endpoint-type and --custom-endpoint", 404},
		{"model", `{"error":{"message":"The model m does not exist."}}`, "does not exist; check --model; the server lists its models at /v1/models", 404},
		{"context", `{"error":{"message":"This model's maximum context length is 128 tokens.","code":"context_length_exceeded"}}`,
			"128 tokens; use shorter prompts, lower --osl, or raise the context length of the server (vLLM: --max-model-len)", 400},
		{"page", "<html><title>Log in</title></html>", "the server answered text/html: Log in; check --url: it may lead to a gateway or a login page", 200},
		{"rate limit", `{"error":"slow down"}`, "send fewer requests: lower --concurrency or --request-rate", 429},
		{"a port of TLS", "Client sent an HTTP request to an HTTPS server.", "the port speaks TLS: use https://", 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, 0, 0), func(http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.WriteHeader(tt.status)
						fmt.Fprintln(w, tt.body)
					})
				})
				r := b.run(document("type: concurrency, concurrency: 1, requests: 2", fileData))
				if r.Error == nil || !strings.HasSuffix(r.Error.Message, tt.want) {
					t.Errorf("error %+v, want it to end with %q", r.Error, tt.want)
				}
				b.stop()
			})
		})
	}
}

// Events that cannot be read are skipped, and the result has a warning.
func TestMalformedEventsAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault, err := mock.ParseFault("malformed:after_tokens:1")
		if err != nil {
			t.Fatal(err)
		}
		o := timing(t, time.Millisecond, 0)
		o.Faults = []mock.Fault{fault}
		b := newBed(t, o, nil)
		r := b.run(document("type: concurrency, concurrency: 2, requests: 20", fileData))
		i := slices.IndexFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == "malformed-events" })
		if i < 0 || !strings.HasPrefix(r.Warnings[i].Detail, `20 responses had malformed events, which were skipped, for example "`) {
			t.Errorf("%v, want a note on 20 answers with an example", r.Warnings)
		}
		b.stop()
	})
}

func (b *bed) cancel(id string, c run.CancelRequest) {
	b.t.Helper()
	if _, _, err := b.engine.Cancel(b.t.Context(), id, c); err != nil {
		b.t.Fatal(err)
	}
}
