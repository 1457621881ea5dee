package target

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
)

// bed is a server on an in-memory network, for tests in virtual time.
type bed struct {
	*Servers
	began    time.Time
	mu       sync.Mutex
	requests []string // guarded by mu; with the time since the start
	reports  []string // guarded by mu; status and silence, likewise
}

// newBed starts a server. members are those of the endpoint, whose type is chat if
// there is none; model is the member with the models, if any.
func newBed(t *testing.T, members, model string, h http.HandlerFunc) *bed {
	t.Helper()
	if !strings.Contains(members, "type:") {
		members = "type: chat, " + members
	}
	document, _, err := config.Load([]byte(`
benchmark:
  `+model+`
  endpoint: {url: "http://mem", useServerTokenCount: true, `+members+`}
  dataset: {type: file, format: single_turn, records: [{text: one, output_length: 3}]}
  phases:
    - {name: profiling, kind: profiling, type: concurrency, concurrency: 1, requests: 2}
`), config.LoadOptions{Choices: plan.Choices()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(document)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{began: time.Now()}
	ln := memnet.Listen()
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.add(&b.requests, r.Method+" "+r.URL.RequestURI())
		h(w, r)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { web.Serve(ln) })
	o := Options{
		Plan: p, Transport: p.Transport, Secrets: redact.NewSet(document.Secrets()...), Log: zerolog.Nop(),
		Status:  func(text string) { b.add(&b.reports, text) },
		Silence: 10 * time.Second,
		Unanswered: func(request string, since time.Time, length time.Duration) {
			b.add(&b.reports, fmt.Sprintf("%s: no response for %v since %v", request, length, since.Sub(b.began)))
		},
	}
	o.Transport.Dial, o.Transport.Clock = ln.DialContext, bench.NewClock()
	b.Servers = New(o)
	t.Cleanup(func() {
		b.Close()
		web.Close()
		serving.Wait()
	})
	return b
}

func (b *bed) add(to *[]string, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*to = append(*to, fmt.Sprintf("%v %s", time.Since(b.began).Round(time.Millisecond), text))
}

func (b *bed) transcript(of *[]string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(*of, "\n")
}

// fails responds with a status to every request.
func fails(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"loading"}}`, status)
	}
}

// lists responds to GET with a list of models, and to other requests with 400.
func lists(models ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			fails(http.StatusBadRequest)(w, r)
			return
		}
		items := make([]string, len(models))
		for i, m := range models {
			items[i] = `{"id":"` + m + `","max_model_len":` + fmt.Sprint(100+i) + `}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(items, ","))
	}
}

// hangs never responds.
func hangs(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // only then the server notices that the client has gone
	<-r.Context().Done()
}

// knows responds 200 to some paths and 404 to all others.
func knows(paths ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(paths, r.URL.Path) {
			return
		}
		http.Error(w, "gone", http.StatusNotFound)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestAwait: a short request shows that the server is ready, or the list of models
// if requests of this type need more than a text.
func TestAwait(t *testing.T) {
	for _, tt := range []struct {
		name, members, model string
		server               http.HandlerFunc
		want                 string
	}{
		{"inference", "", "model: m", fails(400), "0s POST /v1/chat/completions"},
		{"the model of the list", "", "", lists("org/only"), "0s GET /v1/models\n0s POST /v1/chat/completions"},
		{"list", "waitForModelMode: models", "model: m", lists("m"), "0s GET /v1/models"},
		{"both", "waitForModelMode: both", "model: m", lists("m"), "0s GET /v1/models\n0s POST /v1/chat/completions"},
		{"type without texts", "type: image_retrieval", "model: m", lists("m"), "0s GET /v1/models"},
		{"type without texts, no list", "type: image_retrieval", "model: m", fails(404), "0s GET /v1/models"},
		{"type without texts, both", "type: image_retrieval, waitForModelMode: both", "model: m", lists("m"), "0s GET /v1/models"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, "waitForModelTimeout: 1, "+tt.members, tt.model, tt.server)
				if err := b.Await(t.Context()); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(tt.want, b.transcript(&b.requests)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestAwaitFails: the error has the last response of a server, and waiting ends at
// once if it is useless.
func TestAwaitFails(t *testing.T) {
	for _, tt := range []struct {
		name, members string
		server        http.HandlerFunc
		want          string
		after         time.Duration
	}{
		{"timeout", "waitForModelTimeout: 12", fails(503),
			"http://mem is not ready after 12s: HTTP 503: loading", 12 * time.Second},
		{"another model", "waitForModelTimeout: 12, waitForModelMode: models", lists("a", "b"),
			"http://mem is not ready after 12s: it lists a, b, not m", 12 * time.Second},
		{"no model yet", "waitForModelTimeout: 12, waitForModelMode: models", lists(),
			"http://mem is not ready after 12s: it lists no model yet", 12 * time.Second},
		{"unauthorized", "waitForModelTimeout: 12, apiKey: k1", fails(401),
			"wait for the model: http://mem: the server refuses the credentials: HTTP 401: loading; the server rejected the key from benchmark.endpoint.apiKey", 0},
		{"forbidden list", "waitForModelTimeout: 12, waitForModelMode: both", fails(403),
			"wait for the model: http://mem: the server refuses the credentials: HTTP 403: loading; no API key was sent: use --api-key-file or AIPERFD_API_KEY", 0},
		{"no response", "waitForModelTimeout: 90", hangs,
			"http://mem is not ready after 1m30s: no answer within 1m0s", 90 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, tt.members, "model: m", tt.server)
				if got := message(b.Await(t.Context())); got != tt.want {
					t.Errorf("Await: %s\nwant: %s", got, tt.want)
				}
				if took := time.Since(b.began); took != tt.after {
					t.Errorf("it took %v, want %v", took, tt.after)
				}
			})
		})
	}
}

// TestAwaitReports: status and silence are reported until the server responds, even
// if it only rejects the request.
func TestAwaitReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true // the server has one connection at a time
		b := newBed(t, "waitForModelTimeout: 100", "model: m", func(w http.ResponseWriter, r *http.Request) {
			if first {
				first = false
				hangs(w, r)
				return
			}
			fails(400)(w, r)
		})
		if err := b.Await(t.Context()); err != nil {
			t.Error(err)
		}
		const want = `0s waiting for the model at http://mem
10s POST http://mem/v1/chat/completions: no response for 10s since 0s
20s POST http://mem/v1/chat/completions: no response for 20s since 0s
40s POST http://mem/v1/chat/completions: no response for 40s since 0s
1m0s waiting for the model at http://mem: no answer within 1m0s
1m5s `
		if diff := cmp.Diff(want, b.transcript(&b.reports)); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
		if since, _ := b.Silence(); !since.IsZero() {
			t.Errorf("silent since %v after a response", since)
		}
	})
}

// TestSilence: a silence lasts until a response, not until the end of a request.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "resetKvCache: {timeoutSeconds: 15}", "model: m", hangs)
		if err := b.ResetCaches(t.Context(), nil); err == nil {
			t.Error("the reset succeeded without a response")
		}
		if since, next := b.Silence(); !since.Equal(b.began) || next != 20*time.Second {
			t.Errorf("silent since %v, next report after %v; want since the start, 20s", since.Sub(b.began), next)
		}
	})
}

// TestResolve: the model of the run is compared with the list of the server, or
// taken from it.
func TestResolve(t *testing.T) {
	const unlisted = `model-not-listed: http://mem does not list the model "m"; it lists gateway`
	for _, tt := range []struct {
		name, model string
		server      http.HandlerFunc
		models      string
		context     bench.Tokens
		warnings    string
		err         string
	}{
		{"listed", "model: m", lists("other", "m"), "m", 101, "", ""},
		{"shortest context", "models: {items: [{name: n}, {name: m}], strategy: round_robin}", lists("m", "n"), "n m", 100, "", ""},
		{"not listed", "model: m", lists("gateway"), "m", 0, unlisted, ""},
		{"no list", "model: m", fails(404), "m", 0, "", ""},
		{"taken from the list", "", lists("org/only"), "org/only", 100, "", ""},
		{"several to take", "", lists("a", "b"), "", 0, "", "no model is given, and http://mem lists 2: a, b; name one with --model"},
		{"none to take", "", lists(), "", 0, "", "no model is given, and http://mem lists 0: none; name one with --model"},
		{"no list to take from", "", fails(500), "", 0, "",
			"no model is given, and the models of http://mem cannot be listed: HTTP 500: loading; name one with --model"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, "", tt.model, tt.server)
				given := b.opts.Plan
				got, err := b.Resolve(t.Context())
				if message(err) != tt.err {
					t.Fatalf("Resolve: %v, want %s", err, tt.err)
				}
				if err != nil {
					return
				}
				var warnings []string
				for _, w := range got.Warnings {
					warnings = append(warnings, w.Code+": "+w.Detail)
				}
				if models := strings.Join(got.Plan.Models.Names, " "); models != tt.models || got.Context != tt.context || strings.Join(warnings, "\n") != tt.warnings {
					t.Errorf("models %s, context %d, warnings %q; want %s, %d, %q", models, got.Context, warnings, tt.models, tt.context, tt.warnings)
				}
				if same := got.Plan == given; same != (tt.model != "") {
					t.Errorf("the plan is the same: %v", same)
				}
			})
		})
	}
}

// TestResetCaches: one path after the other until the server knows one.
func TestResetCaches(t *testing.T) {
	for _, tt := range []struct {
		name, members string
		server        http.HandlerFunc
		requests      string
		err           string
	}{
		{"not requested", "resetKvCache: false", knows(), "", ""},
		{"vLLM", "resetKvCache: true", knows("/reset_prefix_cache"), "0s POST /reset_prefix_cache", ""},
		{"SGLang", "resetKvCache: {}", knows("/flush_cache"), "0s POST /reset_prefix_cache\n0s POST /flush_cache", ""},
		{"neither", "resetKvCache: true", knows(), "0s POST /reset_prefix_cache\n0s POST /flush_cache",
			"reset the prefix cache of http://mem: POST /reset_prefix_cache: HTTP 404: gone; POST /flush_cache: HTTP 404: gone"},
		{"refused", "resetKvCache: true", fails(503), "0s POST /reset_prefix_cache",
			"reset the prefix cache of http://mem: POST /reset_prefix_cache: HTTP 503: loading"},
		{"a path of the user", `resetKvCache: {path: "/reset?hard=1"}`, knows(), "0s POST /reset?hard=1",
			"reset the prefix cache of http://mem: POST /reset?hard=1: HTTP 404: gone"},
		{"no response", "resetKvCache: true", hangs, "0s POST /reset_prefix_cache",
			"reset the prefix cache of http://mem: POST /reset_prefix_cache: no answer within 5s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, tt.members, "model: m", tt.server)
				if got := message(b.ResetCaches(t.Context(), nil)); got != tt.err {
					t.Errorf("ResetCaches: %s\nwant: %s", got, tt.err)
				}
				if diff := cmp.Diff(tt.requests, b.transcript(&b.requests)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestProfile: profilers run only during profiling phases, and their failures are
// warnings.
func TestProfile(t *testing.T) {
	profiling, warmup := &spec.Phase{Name: "load", Kind: bench.Profiling}, &spec.Phase{Name: "warm", Kind: bench.Warmup}
	for _, tt := range []struct {
		name, members string
		phase         *spec.Phase
		server        http.HandlerFunc
		requests      string
		warnings      []bench.Warning
	}{
		{"not requested", "serverProfiler: null", profiling, knows(), "", nil},
		{"warm-up", "serverProfiler: {enabled: true}", warmup, knows(), "", nil},
		{"a path of the user", "serverProfiler: {startPath: /on}", profiling, knows("/on", "/stop_profile"), "0s POST /on\n0s POST /stop_profile", nil},
		{"off", "serverProfiler: {enabled: true}", profiling, knows(), "0s POST /start_profile\n0s POST /stop_profile", []bench.Warning{
			{Code: "server-profiler", Detail: "phase load: the profiler of http://mem was not started: POST /start_profile: HTTP 404: gone"},
			{Code: "server-profiler", Detail: "phase load: the profiler of http://mem was not stopped: POST /stop_profile: HTTP 404: gone"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, tt.members, "model: m", tt.server)
				got := append(b.Profile(t.Context(), tt.phase, true), b.Profile(t.Context(), tt.phase, false)...)
				if diff := cmp.Diff(tt.warnings, got); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.requests, b.transcript(&b.requests)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		})
	}
}
