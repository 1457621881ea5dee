package engine_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/allow"
	"aiperfd/internal/run"
)

// TestTargetNotAllowed: a run whose server has an address that it must not reach fails
// before anything is sent: by its readiness probes, lists of models, resets of caches,
// profilers or requests.
func TestTargetNotAllowed(t *testing.T) {
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	own := netip.MustParseAddrPort(server.Listener.Addr().String())
	b := newDialBed(t, engine.Options{Log: zerolog.Nop(), Allow: allow.New(allow.Options{Open: true, Own: []netip.AddrPort{own}})})
	u, _ := url.Parse(server.URL)
	for _, host := range []string{"localhost", "127.0.0.1"} {
		r := b.run(`{benchmark: {model: m, phases: {requests: 3}, endpoint: {url: "http://` + host + ":" + u.Port() + `", waitForModelTimeout: 60, resetKvCache: {before: run}, serverProfiler: {startPath: /start_profile}, preconnect: true}}}`)
		if r.Error == nil || r.Error.Code != run.TargetNotAllowed || !strings.Contains(r.Error.Message, host+":"+u.Port()+" is not an allowed target: ") {
			t.Errorf("%s: %+v", host, r.Error)
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("the server had %d requests", n)
	}
}

// TestRedirectToDeniedTarget: a redirect to a server that must not be reached is an error
// of the server that redirects, and does not end the run.
func TestRedirectToDeniedTarget(t *testing.T) {
	var reached, n atomic.Int32
	denied := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer denied.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%2 == 0 {
			http.Redirect(w, r, denied.URL, http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"message":{"content":"hello"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	}))
	defer server.Close()
	own := netip.MustParseAddrPort(denied.Listener.Addr().String())
	b := newDialBed(t, engine.Options{Log: zerolog.Nop(), Allow: allow.New(allow.Options{Open: true, Own: []netip.AddrPort{own}})})
	r := b.run(`{benchmark: {model: m, phases: {type: concurrency, concurrency: 1, requests: 6}, tokenizer: {name: builtin}, endpoint: {url: "` + server.URL + `"}}}`)
	if r.Error != nil || r.Summary.Errors != 3 || reached.Load() != 0 {
		t.Fatalf("error %+v, %d errors, %d requests reached the other server", r.Error, r.Summary.Errors, reached.Load())
	}
	for _, l := range b.records(r.ID) {
		if l.Error != nil && !strings.Contains(l.Error.Message, "was not followed: "+own.String()+" is not an allowed target") {
			t.Errorf("message %q", l.Error.Message)
		}
	}
}
