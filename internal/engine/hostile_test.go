package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// pour writes a head and then the same block until the reader is gone.
func pour(w http.ResponseWriter, status int, header, start, block string, pause func()) {
	name, value, _ := strings.Cut(header, ": ")
	w.Header().Set(name, value)
	w.WriteHeader(status)
	for text := start; ; text = block {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
		if pause != nil {
			w.(http.Flusher).Flush()
			pause()
		}
	}
}

// hostile is a server that answers some paths without an end.
func hostile(answer func(w http.ResponseWriter, r *http.Request) bool) *server {
	s := &server{}
	s.answer = func(w http.ResponseWriter, r *http.Request, _ time.Duration) bool {
		io.Copy(io.Discard, r.Body) // only then the server notices that we have gone
		return answer(w, r)
	}
	return s
}

const (
	typeJSON = "Content-Type: application/json"
	typeSSE  = "Content-Type: text/event-stream"
)

// The response of a hostile server becomes the error of its record, which names the
// exceeded limit; the run continues.
func TestHostileAnswers(t *testing.T) {
	nested := strings.Repeat("[", 1_000_000)
	x := strings.Repeat("x", 64<<10)
	second := func() { time.Sleep(time.Second) }
	chat := func(members string) string {
		return `url: "http://mem", type: chat, ` + members
	}
	submitted := func(w http.ResponseWriter, r *http.Request, poll func()) {
		if r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"id":"job-1","status":"IN_QUEUE"}`)
			return
		}
		poll()
	}
	huge := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "10737418240")
		pour(w, 200, typeJSON, `{"id":"job-1","status":"`, x, nil)
	}
	for _, tt := range []struct {
		name     string
		endpoint string
		answer   func(w http.ResponseWriter, r *http.Request)
		class    bench.Class
		message  string // part of it
	}{
		{"small events until the time is over", chat("streaming: true, timeout: 30"), func(w http.ResponseWriter, _ *http.Request) {
			pour(w, 200, typeSSE, "", `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}`+"\n\n", second)
		}, bench.TimeoutTotal, "not finished within the request timeout"},
		{"comments until the time is over", chat("streaming: true, timeout: 30"), func(w http.ResponseWriter, _ *http.Request) {
			pour(w, 200, typeSSE, "", ": alive\n\n", second)
		}, bench.TimeoutTotal, "not finished within the request timeout"},
		{"an event of endless lines", chat("streaming: true"), func(w http.ResponseWriter, _ *http.Request) {
			pour(w, 200, typeSSE, "", strings.Repeat("data: 0123456789\n", 4000), nil)
		}, bench.EventTooLarge, "one event is larger than 67108864 bytes"},
		{"more events than fit", chat("streaming: true"), func(w http.ResponseWriter, _ *http.Request) {
			pour(w, 200, typeSSE, "", strings.Repeat(`data: {"choices":[{"index":0,"delta":{"content":"a"}}]}`+"\n\n", 4000), nil)
		}, bench.EventTooLarge, "more than 1048576 events in one response"},
		{"a document of 10 GiB", chat("streaming: false"), func(w http.ResponseWriter, _ *http.Request) { huge(w) },
			bench.EventTooLarge, "body is larger than 268435456 bytes"},
		{"an endless error body", chat("streaming: true"), func(w http.ResponseWriter, _ *http.Request) {
			pour(w, 500, typeJSON, `{"error":{"message":"`, x, nil)
		}, bench.ServerError, `{"error":{"message":"xxxx`},
		{"a nested document", chat("streaming: false"), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, nested)
		}, bench.MalformedResponse, "the body is not a JSON object: [[["},
		{"a nested event", chat("streaming: true"), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: "+nested+"\n\n")
		}, bench.MalformedResponse, "no event of the stream could be read"},
		{"a nested error body", chat("streaming: true"), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			io.WriteString(w, nested)
		}, bench.ServerError, "[[["},
		{"a document of many values", chat("streaming: false"), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "["+strings.Repeat("0,", 1_500_000)+"0]")
		}, bench.EventTooLarge, "the body has more than 1048576 JSON values"},
		{"a redirect to itself", chat("streaming: true"), func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusPermanentRedirect)
		}, bench.Redirect, "/v1/chat/completions"},
		{"a job's status of 10 GiB", `url: "http://mem/v2/EP", type: runpod, jobs: {runpodMode: async}`, func(w http.ResponseWriter, r *http.Request) {
			submitted(w, r, func() { huge(w) })
		}, bench.EventTooLarge, "body is larger than 268435456 bytes"},
		{"a video status of 10 GiB", `url: "http://mem", type: video_generation`, func(w http.ResponseWriter, r *http.Request) {
			submitted(w, r, func() { huge(w) })
		}, bench.EventTooLarge, "body is larger than 268435456 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := hostile(func(w http.ResponseWriter, r *http.Request) bool {
					if r.URL.Path == "/v1/models" || strings.Contains(r.URL.Path, "cancel") {
						return false
					}
					tt.answer(w, r)
					return true
				})
				b := newBed(t, mock.Options{}, s.wrap)
				r := b.run(jobDocument(tt.endpoint, oneByOne))
				if r.State != bench.StateFailed || r.Error == nil || r.Error.Code != run.NoSuccess {
					t.Errorf("run %s: %+v, want %s", r.State, r.Error, run.NoSuccess)
				}
				records := b.records(r.ID)
				if len(records) != 2 {
					t.Errorf("%d records, want 2", len(records))
				}
				for _, rec := range records {
					got := fmt.Sprint(rec.Error)
					if rec.Error != nil {
						got = rec.Error.Message[:min(len(rec.Error.Message), 200)]
					}
					if rec.Own.Failure.Class != string(tt.class) || !strings.Contains(got, tt.message) {
						t.Errorf("record: %s: %s, want %s: %s", rec.Own.Failure.Class, got, tt.class, tt.message)
					}
					if n := len(rec.Own.Chunks); n > 100 {
						t.Errorf("the record has %d chunks: such answers fill the disk", n)
					}
				}
				b.stop()
				time.Sleep(time.Minute) // the server's handlers notice
			})
		})
	}
}

// Requests beside the load have a small limit of their own.
func TestHostileControl(t *testing.T) {
	const limit = "body is larger than 8388608 bytes"
	endless := func(path string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != path {
				return false
			}
			pour(w, 200, typeJSON, `{"data":[`, strings.Repeat(`{"id":"m"},`, 6000), nil)
			return true
		}
	}
	for _, tt := range []struct {
		name, options, path string
		code                run.ErrorCode
		message             string
	}{
		{"readiness", "waitForModelTimeout: 5, waitForModelMode: models", "/v1/models", run.NotReady, "http://mem is not ready after 5s: HTTP 200: " + limit},
		{"cache reset", "resetKvCache: true", "/reset_prefix_cache", run.CacheReset, "reset the prefix cache of http://mem: POST /reset_prefix_cache: HTTP 200: " + limit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, mock.Options{}, hostile(endless(tt.path)).wrap)
				r := b.run(waiting(tt.options))
				if r.State != bench.StateFailed || r.Error == nil || r.Error.Code != tt.code || r.Error.Message != tt.message {
					t.Errorf("run %s: %+v, want %s: %s", r.State, r.Error, tt.code, tt.message)
				}
				b.stop()
			})
		})
	}
	t.Run("models", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, mock.Options{}, hostile(endless("/v1/models")).wrap)
			r := b.run(strings.Replace(waiting("streaming: true"), "  model: m\n", "", 1))
			if r.State != bench.StateFailed || r.Error == nil || !strings.Contains(r.Error.Message, limit) {
				t.Errorf("run %s: %+v, want %s", r.State, r.Error, limit)
			}
			b.stop()
		})
	})
}

// The message of a server reaches the error, regardless of the content type.
func TestMislabelledAnswers(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`{"error":{"message":"the model is asleep","type":"server_error","code":500}}`, "the model is asleep"},
		{"<html><head><title>502 Bad Gateway</title></head></html>", "502 Bad Gateway"},
		{"{\"error\":{\"message\":\"no such model\"}}\n{\"more\":1}\n", "no such model"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, mock.Options{}, hostile(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost {
					return false
				}
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, tt.body)
				return true
			}).wrap)
			r := b.run(document("type: concurrency, concurrency: 1, requests: 1", fileData))
			if r.Error == nil || !strings.Contains(r.Error.Message, tt.want) {
				t.Errorf("%s: run error %+v, want one with %q", tt.body, r.Error, tt.want)
			}
			b.stop()
		})
	}
}
