package engine_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
)

// The lag of a slot that waits for a slow server is not attributed to the client.
func TestVerdictOnOddServers(t *testing.T) {
	var calls atomic.Int64
	for _, tt := range []struct {
		name string
		wrap func(http.Handler) http.Handler
	}{
		{"holds the stream open after the end marker", func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(w, r)
				if r.Method == http.MethodPost {
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				}
			})
		}},
		{"drops every other request after a second", func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && calls.Add(1)%2 == 0 {
					time.Sleep(time.Second)
					panic(http.ErrAbortHandler)
				}
				h.ServeHTTP(w, r)
			})
		}},
	} {
		for _, load := range []string{"type: concurrency, concurrency: 1, requests: 20", "type: constant, rate: 0.5, requests: 20"} {
			t.Run(tt.name+"/"+load, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), tt.wrap)
					r := b.run(document(load, fileData))
					if s := b.sections(r.ID); s.Client == nil || s.Client.Verdict != "ok" {
						t.Errorf("client %+v, error %v, warnings %v", s.Client, r.Error, r.Warnings)
					}
					b.stop()
				})
			})
		}
	}
}

// A server without requests is not silent.
func TestPollsAreNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, mock.Options{}, nil)
		r := b.run(jobDocument(`url: "http://mem/v1", type: video_generation, requestContentType: application/json, jobs: {pollInterval: 15}`,
			"type: concurrency, concurrency: 1, requests: 2"))
		if r.State != bench.StateCompleted || hasWarning(r, "no-answer") {
			t.Errorf("run %s, warnings %v", r.State, r.Warnings)
		}
		b.stop()
	})
}
