package engine_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/run"
)

// jobDocument is a benchmark of an endpoint type that is polled.
func jobDocument(endpoint, phases string) string {
	return `
randomSeed: 7
benchmark:
  model: m
  endpoint: {useServerTokenCount: true, ` + endpoint + `}
` + fileData + `
  phases:
    - {name: profiling, kind: profiling, ` + phases + `}
`
}

const (
	runpodURL = `url: "http://mem/v2/EP"`
	oneByOne  = "type: concurrency, concurrency: 1, requests: 2"
)

// visits records the requests that a server receives, without headers.
type visits struct {
	mu   sync.Mutex
	list []string
	head []http.Header
}

func (v *visits) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		v.list = append(v.list, r.Method+" "+r.URL.String())
		v.head = append(v.head, r.Header.Clone())
		v.mu.Unlock()
		h.ServeHTTP(w, r)
	})
}

// paths lists the requests without the ids of jobs.
func (v *visits) paths() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []string
	for _, s := range v.list {
		words := strings.Split(s, "/")
		for i, w := range words {
			if id, rest, ok := strings.Cut(w, "-u1"); ok && len(id) > 8 {
				words[i] = "ID" + rest
			}
		}
		out = append(out, strings.Join(words, "/"))
	}
	return out
}

func (v *visits) count(prefix string) int {
	n := 0
	for _, p := range v.paths() {
		if strings.HasPrefix(p, prefix) {
			n++
		}
	}
	return n
}

// A worker needs 500 ms for three tokens, 200 ms to the first.
func TestRunpodModes(t *testing.T) {
	for _, tt := range []struct {
		name, endpoint, want string
		visits               []string
	}{
		{"sync", "type: runpod", `
profiling s0.0 0s-500ms - 500 3 0
profiling s1.0 500ms-1s - 500 3 0`,
			[]string{"POST /v2/EP/runsync?wait=300000", "POST /v2/EP/runsync?wait=300000"}},
		{"async", "type: runpod_native, jobs: {runpodMode: async, pollInterval: 0.3}", `
profiling s0.0 0s-600ms - 600 3 2
profiling s1.0 600ms-1.2s - 600 3 2`,
			slices.Repeat([]string{"POST /v2/EP/run", "GET /v2/EP/status/ID", "GET /v2/EP/status/ID"}, 2)},
		// The first token is there after 200 ms, the batch of the other two after 500.
		{"stream", "type: runpod, streaming: true, jobs: {pollInterval: 0.25}", `
profiling s0.0 0s-500ms TTFT 500 3 3
profiling s1.0 500ms-1s TTFT 500 3 3`,
			slices.Repeat([]string{"POST /v2/EP/run", "GET /v2/EP/stream/ID", "GET /v2/EP/stream/ID", "GET /v2/EP/stream/ID"}, 2)},
	} {
		for _, output := range []string{options.OutputEvents, options.OutputTokens} {
			t.Run(tt.name+"/"+output, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := timing(t, 200*time.Millisecond, 150*time.Millisecond)
					o.Jobs.Output = output
					v := &visits{}
					b := newBed(t, o, v.wrap)
					r := b.run(jobDocument(runpodURL+", "+tt.endpoint, oneByOne))
					ttft := "250"
					if output == options.OutputEvents {
						ttft = "500" // the first event ends in the second piece
					}
					check(t, b.transcript(r.ID, "time_to_first_token", "request_latency", "output_sequence_length", "job_polls"),
						strings.ReplaceAll(tt.want, "TTFT", ttft))
					if diff := cmp.Diff(tt.visits, v.paths()); diff != "" {
						t.Errorf("requests (-want +got):\n%s", diff)
					}
					if r.State != bench.StateCompleted || r.Summary.Errors != 0 {
						t.Errorf("run = %s, %+v", r.State, r.Summary)
					}
					b.stop()
				})
			})
		}
	}
}

// The processing time that the server reports is measured. Times between tokens are
// not, since they would be those of polls; the result has a warning.
func TestRunpodMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := timing(t, 200*time.Millisecond, 150*time.Millisecond)
		o.Jobs.ColdStart, o.Jobs.Workers = mock.ConstDelay(time.Second), 1
		b := newBed(t, o, nil)
		r := b.run(jobDocument(runpodURL+", type: runpod, jobs: {runpodMode: async}", oneByOne))
		// 100 ms for two seconds: the first job is done after 1.5 s, the second after 0.5 s.
		check(t, b.transcript(r.ID, "job_queue_time", "job_delay_time", "job_execution_time"), `
profiling s0.0 0s-1.5s 1000 1000 500
profiling s1.0 1.5s-2s 100 0 500`)
		var codes []string
		for _, w := range r.Warnings {
			codes = append(codes, w.Code)
		}
		if !slices.Contains(codes, "poll-resolution") {
			t.Errorf("warnings = %v, want poll-resolution among them", codes)
		}
		b.stop()
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 200*time.Millisecond, 150*time.Millisecond), nil)
		r := b.run(jobDocument(runpodURL+", type: runpod, streaming: true", oneByOne))
		for _, l := range b.records(r.ID) {
			for _, tag := range []string{"inter_token_latency", "inter_chunk_latency", "time_to_second_token", "inter_token_stall"} {
				if got := l.metric(tag); got != "-" {
					t.Errorf("%s = %s of an answer that was polled for", tag, got)
				}
			}
		}
		b.stop()
	})
}

// Polls slow down: every 100 ms for two seconds, then half as long again, up to
// one second.
func TestPollsSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 5*time.Second, 0), nil)
		r := b.run(jobDocument(runpodURL+", type: runpod, jobs: {runpodMode: async}", "type: concurrency, concurrency: 1, requests: 1"))
		// 20 polls until 2 s, then after 150, 225, 337.5, 506.25, 759.375, 1000, 1000 … ms
		want := 2*time.Second + 150*time.Millisecond + 225*time.Millisecond + 337500*time.Microsecond + 506250*time.Microsecond +
			759375*time.Microsecond + 2*time.Second
		check(t, b.transcript(r.ID, "job_polls"), fmt.Sprintf("profiling s0.0 0s-%v 27", want))
		b.stop()
	})
}

// ends lists when and how requests ended: nothing, or the class of the failure and
// the step.
func (b *bed) ends(id string) string {
	b.t.Helper()
	var out strings.Builder
	for _, l := range b.records(id) {
		fmt.Fprintln(&out, strings.TrimSpace(fmt.Sprintf("%v %s %s",
			time.Duration(l.Metadata.EndNs-l.Metadata.StartNs), l.Own.Failure.Class, l.Own.Failure.Step)))
	}
	return out.String()
}

func TestJobFailures(t *testing.T) {
	for _, tt := range []struct{ fault, endpoint, want, message string }{
		{"job:fail", "type: runpod, jobs: {runpodMode: async}", "300ms job_failed poll", "The engine died while the answer was being generated."},
		{"job:fail", "type: runpod", "250ms job_failed poll", "The engine died"},
		{"job:time_out", "type: runpod, streaming: true", "300ms job_timeout poll", "longer than the server allows"},
		{"job:expire", "type: runpod, jobs: {runpodMode: async}", "500ms job_failed poll", "job not found"},
		{"job:fail", "type: video_generation, requestContentType: application/json", "1s job_failed poll", "The engine died while the video was being made."},
		{"job:stuck_progress", "type: video_generation, requestContentType: application/json, jobs: {timeout: 5}", "5s job_timeout poll", "not done within 5s"},
		{"status:503", "type: runpod", "0s overloaded headers", ""},
		{"status:429", "type: video_generation, requestContentType: application/json", "0s rate_limited headers", ""},
		{"empty:body", "type: runpod", "0s empty_response body", "no body"},
	} {
		t.Run(tt.fault+" "+tt.endpoint, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fault, err := mock.ParseFault(tt.fault)
				if err != nil {
					t.Fatal(err)
				}
				o := timing(t, 200*time.Millisecond, 150*time.Millisecond)
				o.Faults = []mock.Fault{fault}
				b := newBed(t, o, nil)
				url := runpodURL
				if strings.Contains(tt.endpoint, "video") {
					url = `url: "http://mem"`
				}
				r := b.run(jobDocument(url+", "+tt.endpoint, "type: concurrency, concurrency: 1, requests: 1"))
				check(t, b.ends(r.ID), tt.want)
				if l := b.records(r.ID)[0]; l.Error == nil || !strings.Contains(l.Error.Message, tt.message) {
					t.Errorf("error = %+v, want %q in it", l.Error, tt.message)
				}
				if r.State != bench.StateFailed {
					t.Errorf("state = %s, want failed", r.State)
				}
				b.stop()
			})
		})
	}
}

// Jobs are cancelled when the client stops waiting for them, for any reason.
func TestJobIsTakenBack(t *testing.T) {
	fault, err := mock.ParseFault("job:never_finish")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, endpoint, want, call string }{
		{"job timeout", runpodURL + ", type: runpod, jobs: {runpodMode: async, timeout: 2.5}", "job_timeout", "POST /v2/EP/cancel/ID"},
		{"in the middle of a stream", runpodURL + ", type: runpod, streaming: true, jobs: {timeout: 2.5}", "job_timeout", "POST /v2/EP/cancel/ID"},
		{"video", `url: "http://mem", type: video_generation, requestContentType: application/json, jobs: {timeout: 2.5}`, "job_timeout", "DELETE /v1/videos/ID"},
		{"end of the phase", runpodURL + ", type: runpod, jobs: {runpodMode: async}", "cancelled", "POST /v2/EP/cancel/ID"},
		{"end of the phase, held by the server", runpodURL + ", type: runpod, jobs: {pollInterval: 10}", "cancelled", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := timing(t, 200*time.Millisecond, 0)
				o.Faults = []mock.Fault{fault}
				v := &visits{}
				b := newBed(t, o, v.wrap)
				r := b.run(jobDocument(tt.endpoint, "type: concurrency, concurrency: 2, duration: 2, gracePeriod: 1"))
				if n := v.count("POST /v2/EP/run") + v.count("POST /v1/videos"); n != 2 {
					t.Fatalf("%d jobs were submitted, want 2: %v", n, v.paths())
				}
				if tt.call != "" && v.count(tt.call) != 2 {
					t.Errorf("%d calls of %s, want 2: %v", v.count(tt.call), tt.call, v.paths())
				}
				for _, l := range b.records(r.ID) {
					if l.Own.Failure.Class != tt.want {
						t.Errorf("failure = %+v, want %s", l.Own.Failure, tt.want)
					}
				}
				b.stop()
			})
		})
	}
}

// A run that is cancelled by force cancels its jobs.
func TestForceCancelsJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &visits{}
		b := newBed(t, timing(t, time.Hour, 0), v.wrap)
		id := b.submit(jobDocument(runpodURL+", type: runpod, jobs: {runpodMode: async}", "type: concurrency, concurrency: 3, requests: 3"))
		time.Sleep(10 * time.Second)
		if _, _, err := b.engine.Cancel(t.Context(), id, run.CancelRequest{Force: true}); err != nil {
			t.Fatal(err)
		}
		r := b.wait(id)
		if n := v.count("POST /v2/EP/cancel/ID"); n != 3 {
			t.Errorf("%d jobs were cancelled, want 3", n)
		}
		if r.State != bench.StateFailed && r.State != bench.StateCancelled {
			t.Errorf("state = %s", r.State)
		}
		b.stop()
	})
}

// faulty answers some polls itself.
func faulty(status func(poll int) int) func(http.Handler) http.Handler {
	polls := 0
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/status/") {
				polls++
				if s := status(polls); s != 0 {
					w.WriteHeader(s)
					return
				}
			}
			h.ServeHTTP(w, r)
		})
	}
}

// A failed poll is repeated, because the job may still succeed. Requests never are.
func TestPollsAreRepeated(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status func(int) int
		want   string
	}{
		// 100 ms, 503, 1 s, 429, 2 s, answered
		{"recovers", func(n int) int { return []int{503, 429, 0, 0}[min(n-1, 3)] }, "3.1s"},
		// 1+2+4+8·6 s = 55 s, and the next pause of 8 s would be over the minute
		{"does not recover", func(int) int { return 502 }, "55.1s gateway poll"},
		{"is refused", func(int) int { return 403 }, "100ms auth poll"},
		{"has expired", func(int) int { return 404 }, "100ms job_failed poll"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, 200*time.Millisecond, 0), faulty(tt.status))
				r := b.run(jobDocument(runpodURL+", type: runpod, jobs: {runpodMode: async}", "type: concurrency, concurrency: 1, requests: 1"))
				check(t, b.ends(r.ID), tt.want)
				b.stop()
			})
		})
	}
}

// Polls go to the same server with the same headers and query.
func TestPollsLookLikeTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &visits{}
		o := timing(t, 50*time.Millisecond, 0)
		o.APIKey = "sk-1"
		b := newBed(t, o, v.wrap)
		b.run(jobDocument(`url: "http://mem/v2/EP?tenant=a%2Fb", type: runpod, apiKey: sk-1, headers: {X-Team: blue}, jobs: {runpodMode: async}`,
			"type: concurrency, concurrency: 1, requests: 1"))
		want := []string{"POST /v2/EP/run?tenant=a%2Fb", "GET /v2/EP/status/ID?tenant=a%2Fb"}
		if diff := cmp.Diff(want, v.paths()); diff != "" {
			t.Fatalf("requests (-want +got):\n%s", diff)
		}
		for _, name := range []string{"Authorization", "X-Team", "X-Request-Id", "X-Correlation-Id", "User-Agent", "Accept"} {
			if a, b := v.head[0].Get(name), v.head[1].Get(name); a == "" || a != b {
				t.Errorf("%s: %q in the request, %q in the poll", name, a, b)
			}
		}
		if got := v.head[1].Get("Content-Type"); got != "" {
			t.Errorf("a poll without a body has the content type %q", got)
		}
		b.stop()
	})
}

func TestVideoGeneration(t *testing.T) {
	for _, tt := range []struct {
		name, more, want string
		visits           []string
	}{
		{"without content", "requestContentType: application/json, jobs: {pollInterval: 0.75}",
			"0s-2.25s 2250 2000 20745 - 0", []string{"POST /v1/videos", "GET /v1/videos/ID", "GET /v1/videos/ID", "GET /v1/videos/ID"}},
		{"as a form", "jobs: {pollInterval: 2}", "0s-2s 2000 2000 20745 - 0", []string{"POST /v1/videos", "GET /v1/videos/ID"}},
		{"with content", "requestContentType: application/json, downloadVideoContent: true, jobs: {pollInterval: 1}",
			"0s-2s 2000 2000 20745 0 0", []string{"POST /v1/videos", "GET /v1/videos/ID", "GET /v1/videos/ID", "GET /v1/videos/ID/content"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &visits{}
				b := newBed(t, mock.Options{}, v.wrap)
				r := b.run(jobDocument(`url: "http://mem/v1", type: video_generation, `+tt.more, "type: concurrency, concurrency: 1, requests: 1"))
				check(t, b.transcript(r.ID, "request_latency", "video_inference_time", "video_peak_memory", "video_download_time", "job_queue_time"),
					"profiling s0.0 "+tt.want)
				if diff := cmp.Diff(tt.visits, v.paths()); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				b.stop()
			})
		})
	}
}

// The OpenAI routes of a Runpod endpoint are plain chat and completions.
func TestRunpodOpenAIRoutes(t *testing.T) {
	for _, kind := range []string{"chat", "completions"} {
		for _, base := range []string{"http://mem/v2/ENDPOINT/openai/v1", "http://mem/v2/ENDPOINT/openai"} {
			t.Run(kind+" "+base, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					v := &visits{}
					b := newBed(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), v.wrap)
					r := b.run(jobDocument(`url: "`+base+`", streaming: true, type: `+kind, oneByOne))
					check(t, b.transcript(r.ID, "time_to_first_token", "inter_token_latency"), `
profiling s0.0 0s-240ms 200 20
profiling s1.0 240ms-480ms 200 20`)
					path := map[string]string{"chat": "chat/completions", "completions": "completions"}[kind]
					if n := v.count("POST /v2/ENDPOINT/openai/v1/" + path); n != 2 {
						t.Errorf("requests = %v", v.paths())
					}
					b.stop()
				})
			})
		}
	}
}
