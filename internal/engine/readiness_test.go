package engine_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// waiting is a document whose endpoint has these further members.
func waiting(members string) string {
	return `
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem", type: chat, useServerTokenCount: true, ` + members + `}
  dataset: {type: file, format: single_turn, records: [{text: one, output_length: 3}]}
  phases:
    - {name: profiling, kind: profiling, type: concurrency, concurrency: 1, requests: 2}
`
}

// server answers by path and records the requests, with the time since its creation.
type server struct {
	mu     sync.Mutex
	began  time.Time
	asked  []string
	answer func(w http.ResponseWriter, r *http.Request, since time.Duration) (done bool)
}

func (s *server) wrap(next http.Handler) http.Handler {
	s.began = time.Now()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		since := time.Since(s.began)
		s.mu.Lock()
		s.asked = append(s.asked, fmt.Sprintf("%v %s %s", since.Round(time.Millisecond), r.Method, r.URL.Path))
		s.mu.Unlock()
		if s.answer == nil || !s.answer(w, r, since) {
			next.ServeHTTP(w, r)
		}
	})
}

func (s *server) transcript() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.asked, "\n")
}

// from answers with a status until a moment, and lists models after it.
func (s *server) from(ready time.Duration, status int, models ...string) {
	s.answer = func(w http.ResponseWriter, r *http.Request, since time.Duration) bool {
		switch {
		case since < ready:
			http.Error(w, `{"error":{"message":"loading"}}`, status)
		case r.URL.Path == "/v1/models":
			items := make([]string, len(models))
			for i, m := range models {
				items[i] = `{"id":"` + m + `","max_model_len":100}`
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(items, ","))
		default:
			return false
		}
		return true
	}
}

// The server is probed in intervals until it is ready; the load begins only then.
func TestWaitForModel(t *testing.T) {
	for _, tt := range []struct {
		name, options string
		status        int
		models        string
		want          string
	}{
		{"inference", "waitForModelTimeout: 60", 503, "m", `
0s POST /v1/chat/completions
5s POST /v1/chat/completions
10s POST /v1/chat/completions
15s POST /v1/chat/completions
15s GET /v1/models
15s POST /v1/chat/completions
15s POST /v1/chat/completions`},
		{"models", "waitForModelTimeout: 60, waitForModelMode: models, waitForModelInterval: 4", 502, "other,m", `
0s GET /v1/models
4s GET /v1/models
8s GET /v1/models
12s GET /v1/models
12s GET /v1/models
12s POST /v1/chat/completions
12s POST /v1/chat/completions`},
		{"both", "waitForModelTimeout: 60, waitForModelMode: both", 429, "m", `
0s GET /v1/models
5s GET /v1/models
10s GET /v1/models
15s GET /v1/models
15s POST /v1/chat/completions
15s GET /v1/models
15s POST /v1/chat/completions
15s POST /v1/chat/completions`},
		{"no list", "waitForModelTimeout: 60, waitForModelMode: models, waitForModelInterval: 20", 404, "m", `
0s GET /v1/models
0s POST /v1/chat/completions
20s GET /v1/models
20s GET /v1/models
20s POST /v1/chat/completions
20s POST /v1/chat/completions`},
		{"not at all", "waitForModelTimeout: 0", 404, "m", `
0s GET /v1/models
0s POST /v1/chat/completions
0s POST /v1/chat/completions`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.from(11*time.Second, tt.status, strings.Split(tt.models, ",")...)
				b := newBed(t, mock.Options{TTFT: mock.ConstDelay(time.Microsecond), ITL: mock.ConstDelay(time.Microsecond)}, s.wrap)
				r := b.run(waiting(tt.options))
				if diff := cmp.Diff(strings.TrimSpace(tt.want), s.transcript()); diff != "" {
					t.Errorf("the server was asked (-want +got):\n%s", diff)
				}
				if waited := !strings.HasSuffix(tt.options, " 0"); waited != (r.State == bench.StateCompleted) {
					t.Errorf("run %s: %s", r.State, r.StateReason)
				}
				b.stop()
			})
		})
	}
}

// A waiting run shows the reason of the wait; a cancel ends it at once.
func TestWaitingIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.from(time.Hour, 503)
		b := newBed(t, mock.Options{}, s.wrap)
		id := b.submit(waiting("waitForModelTimeout: 2h"))
		time.Sleep(time.Minute)
		r, err := b.engine.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		const want = "waiting for the model at http://mem: HTTP 503: loading"
		if r.State != bench.StateStarting || r.StateReason != want {
			t.Errorf("run %s: %q, want starting: %q", r.State, r.StateReason, want)
		}
		before := time.Now()
		if _, _, err := b.engine.Cancel(t.Context(), id, run.CancelRequest{}); err != nil {
			t.Fatal(err)
		}
		if r := b.wait(id); r.State != bench.StateCancelled || time.Since(before) != 0 {
			t.Errorf("run %s after %v, want cancelled at once", r.State, time.Since(before))
		}
		b.stop()
	})
}

// A run whose preparation fails ends with the code of the part that failed. The
// messages are tested in internal/engine/target.
func TestPreparationFails(t *testing.T) {
	for _, tt := range []struct {
		options, model string
		code           run.ErrorCode
		message        string
		after          time.Duration
	}{
		{"waitForModelTimeout: 12", "  model: m\n", run.NotReady, "http://mem is not ready after 12s: HTTP 503: loading", 12 * time.Second},
		{"timeout: 9", "", run.ModelUnknown, "no model is given, and the models of http://mem cannot be listed: HTTP 503: loading; name one with --model", 0},
		{"resetKvCache: true", "  model: m\n", run.CacheReset, "reset the prefix cache of http://mem: POST /reset_prefix_cache: HTTP 503: loading", 0},
	} {
		t.Run(string(tt.code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.from(time.Hour, 503)
				b := newBed(t, mock.Options{}, s.wrap)
				r := b.run(strings.Replace(waiting(tt.options), "  model: m\n", tt.model, 1))
				if r.State != bench.StateFailed || r.Error == nil || r.Error.Code != tt.code || r.Error.Message != tt.message {
					t.Errorf("run %s: %+v, want %s: %s", r.State, r.Error, tt.code, tt.message)
				}
				if took := r.EndedAt.Sub(*r.StartedAt); took != tt.after {
					t.Errorf("ended after %v, want %v", took, tt.after)
				}
				b.stop()
			})
		})
	}
}

// Without a model the only one of the server's list is taken, into requests, the
// tokenizer's name and the configuration that is shown.
func TestModelOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.from(0, 0, "org/only")
		b := newBed(t, mock.Options{ServedModels: []string{"org/only"}}, s.wrap)
		r := b.run(strings.Replace(waiting("timeout: 9"), "  model: m\n", "", 1))
		if r.State != bench.StateCompleted || len(r.Models) != 1 || r.Models[0] != "org/only" || r.Summary.Errors != 0 {
			t.Errorf("run %s with models %v: %+v", r.State, r.Models, r.Error)
		}
		summary, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), "profile_export_aiperf.json"))
		if err != nil {
			t.Fatal(err)
		}
		for where, text := range map[string]string{"configuration": string(r.Config), "summary": string(summary)} {
			if !strings.Contains(text, "org/only") {
				t.Errorf("the %s does not name the model: %s", where, text)
			}
		}
		b.stop()
	})
	t.Run("its tokenizer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			s.from(0, 0, "org/only")
			b := newBed(t, mock.Options{TTFT: mock.ConstDelay(time.Microsecond), ITL: mock.ConstDelay(time.Microsecond)}, s.wrap)
			r := b.run(strings.NewReplacer("  model: m\n", "", ", useServerTokenCount: true", "").Replace(waiting("timeout: 9")))
			if got := codes(r.Warnings); r.State != bench.StateCompleted || !slices.Contains(got, "tokenizer-builtin") {
				t.Errorf("run %s, warnings %v: %+v; want a substitute for the tokenizer of the model", r.State, got, r.Error)
			}
			b.stop()
		})
	})
}

func TestModelWarnings(t *testing.T) {
	for _, tt := range []struct {
		name    string
		models  []string
		records string
		want    string
	}{
		{"listed and long enough", []string{"m"}, "{text: one, output_length: 30}", ""},
		{"not listed", []string{"gateway"}, "{text: one, output_length: 3}", "model-not-listed"},
		{"too long", []string{"m"}, "{text: one, output_length: 300}", "context-length"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.from(0, 0, tt.models...)
				b := newBed(t, mock.Options{TTFT: mock.ConstDelay(time.Microsecond), ITL: mock.ConstDelay(time.Microsecond)}, s.wrap)
				r := b.run(strings.Replace(waiting("timeout: 9"), "{text: one, output_length: 3}", tt.records, 1))
				if got := strings.Join(codes(r.Warnings), " "); !strings.Contains(got, tt.want) || tt.want == "" && (strings.Contains(got, "model") || strings.Contains(got, "context")) {
					t.Errorf("warnings %q, want %q: %+v", got, tt.want, r.Warnings)
				}
				b.stop()
			})
		})
	}
}

// The cache is emptied after the last probe and before the load; the profiler
// runs around each profiling phase.
func TestResetAndProfile(t *testing.T) {
	for _, tt := range []struct {
		name, options string
		missing       string // paths that the server does not have
		want          string
		warnings      string
	}{
		{"vLLM", "resetKvCache: true, serverProfiler: {startPath: /on}, waitForModelTimeout: 5", "/flush_cache", `
POST /v1/chat/completions
GET /v1/models
POST /reset_prefix_cache
POST /on
POST /v1/chat/completions
POST /v1/chat/completions
POST /stop_profile`, ""},
		{"profiler that is off", "serverProfiler: {enabled: true}", "/start_profile /stop_profile", `
GET /v1/models
POST /start_profile
POST /v1/chat/completions
POST /v1/chat/completions
POST /stop_profile`, "server-profiler server-profiler"},
		{"nothing asked for", "resetKvCache: false, serverProfiler: null", "", `
GET /v1/models
POST /v1/chat/completions
POST /v1/chat/completions`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.answer = func(w http.ResponseWriter, r *http.Request, _ time.Duration) bool {
					switch {
					case strings.Contains(" "+tt.missing+" ", " "+r.URL.Path+" "):
						http.Error(w, "gone", http.StatusNotFound)
					case strings.HasPrefix(r.URL.Path, "/v1/"):
						return false
					}
					return true
				}
				b := newBed(t, mock.Options{ServedModels: []string{"m"}, TTFT: mock.ConstDelay(time.Microsecond), ITL: mock.ConstDelay(time.Microsecond)}, s.wrap)
				r := b.run(waiting(tt.options))
				if diff := cmp.Diff(strings.TrimSpace(tt.want), strings.ReplaceAll(s.transcript(), "0s ", "")); diff != "" {
					t.Errorf("the server was asked (-want +got):\n%s", diff)
				}
				if r.State != bench.StateCompleted {
					t.Errorf("run %s: %+v", r.State, r.Error)
				}
				if got := strings.Join(codes(r.Warnings), " "); !strings.Contains(got, tt.warnings) || tt.warnings == "" && strings.Contains(got, "profiler") {
					t.Errorf("warnings %q, want %q", got, tt.warnings)
				}
				b.stop()
			})
		})
	}
}
