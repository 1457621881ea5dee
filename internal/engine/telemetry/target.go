package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/window"
	"aiperfd/internal/engine/transport"
)

// target is a page of metrics that one goroutine reads.
type target struct {
	recorder *Recorder
	given    bool
	devices  bool              // its page is that of an exporter of accelerators
	client   *transport.Client // nil = it is no page: a program or the files of a driver are read
	host     string
	at       netip.Addr // to which its connections lead; invalid = where the name leads
	header   http.Header
	asked    chan chan<- *target // buffered 1; requests for a scrape now, each answered by the target
	marked   chan struct{}       // buffered 1; like asked, but nobody waits

	// The goroutine that reads the page owns these.
	candidates []*url.URL    // the first is the one in use
	looking    bool          // none of them has answered with metrics yet
	refresh    time.Duration // how often the values change; 0 = unknown
	backoff    time.Duration

	mu        sync.Mutex
	shown     string          // guarded by mu, like all below: the address, redacted
	history   *window.History // its values are added with mu held
	state     diagnose.State
	failures  int
	lastError string
	last      time.Duration // how long the last scrape took
	up        bool          // the last scrape had values
}

func newTarget(r *Recorder, o *Target) *target {
	client := r.client
	switch {
	case o.At.IsValid():
		client = r.pinned(o.At, o.Apart)
	case o.Apart:
		client = r.apart
	}
	return &target{
		client: client, recorder: r, given: o.Given, devices: o.Devices, host: o.Host, header: o.Header, candidates: o.Candidates, looking: true,
		asked: make(chan chan<- *target, 1), marked: make(chan struct{}, 1),
		at: o.At, shown: o.label(), state: diagnose.Unreachable,
		history: window.NewHistory(r.o.Secrets.String),
	}
}

// run reads the page until ctx ends.
func (t *target) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case done := <-t.asked:
			if !t.hopeless() {
				t.scrape(ctx, true)
			}
			done <- t
		case <-t.marked:
			if !t.hopeless() {
				t.scrape(ctx, true)
			}
		case <-timer.C:
			t.scrape(ctx, false)
		}
		timer.Reset(t.pause(t.backoff))
	}
}

// fetches returns how many scrapes have succeeded.
func (t *target) fetches() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.history.Scrapes)
}

// hopeless reports whether the page has never answered: nobody waits for it any more.
func (t *target) hopeless() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.history.Scrapes) == 0 && t.failures > 0
}

// pause returns the time until the next scrape.
func (t *target) pause(backoff time.Duration) time.Duration {
	return max(t.period(), spare*t.last, backoff)
}

// period returns the time between two scrapes.
func (t *target) period() time.Duration {
	if t.devices {
		return t.recorder.o.Devices.Period
	}
	return t.recorder.o.Period
}

// scrape reads the page once.
func (t *target) scrape(ctx context.Context, pinned bool) {
	for {
		at, page, problem := t.fetch(ctx)
		if ctx.Err() != nil {
			return
		}
		at.Pinned = pinned
		if problem == nil && t.keep(at, page) {
			t.looking, t.backoff = false, 0
			return
		}
		if problem == nil {
			problem = &trouble{state: diagnose.NotPrometheus, text: "the answer has no metrics"}
			if t.devices {
				problem.text = "the answer has no metrics of GPUs"
			}
		}
		if t.looking && problem.state == diagnose.NotPrometheus && len(t.candidates) > 1 {
			t.candidates = t.candidates[1:]
			t.mu.Lock()
			t.shown = (&Target{Candidates: t.candidates, At: t.at}).label()
			t.mu.Unlock()
			continue
		}
		t.fail(problem)
		return
	}
}

// trouble is why a scrape has no values.
type trouble struct {
	state diagnose.State
	text  string
}

// fail keeps why a scrape has failed, and doubles the pause.
func (t *target) fail(p *trouble) {
	t.backoff = min(longestPause, max(t.period(), 2*t.backoff))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures++
	t.up = false
	t.lastError = t.recorder.o.Secrets.String(p.text)
	if len(t.history.Scrapes) > 0 {
		t.state = diagnose.Partial
	} else {
		t.state = p.state
	}
	if t.failures == 1 && t.given {
		what := "no server metrics: "
		if t.devices {
			what = "no GPU metrics: "
		}
		t.recorder.o.Log.Warn().Str("url", t.shown).Msg(what + t.lastError)
	}
}

// keep adds a page to the history; false = it has no values, or an exporter's page has no devices.
func (t *target) keep(at window.Scrape, page []byte) bool {
	during := t.recorder.current()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.history.Add(at, page) == 0 {
		return false
	}
	if t.devices && t.looking && len(gpu.Vendors([]gpu.Page{{URL: t.shown, History: t.history}})) == 0 {
		t.history = window.NewHistory(t.recorder.o.Secrets.String)
		return false
	}
	t.last, t.up = at.End-at.Sent, true
	if t.failures == 0 {
		t.state = diagnose.OK
	} else {
		t.state = diagnose.Partial
	}
	if t.devices {
		t.recorder.writeDeviceLines(t)
	} else {
		t.recorder.writeLine(t, during)
	}
	return true
}

// timeout returns how long a scrape may take.
func (t *target) timeout() time.Duration {
	if t.looking {
		return firstTimeout
	}
	return max(leastTimeout, t.period())
}

// fetch gets the page.
func (t *target) fetch(ctx context.Context) (window.Scrape, []byte, *trouble) {
	limit := t.timeout()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, transport.CancelWith(&bench.Failure{
		Class: bench.TimeoutTotal, Message: fmt.Sprintf("no answer within %v", limit),
	}))
	defer cancel()
	h := t.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Accept", "text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.5")
	x := t.client.Do(ctx, &transport.Request{
		Method: http.MethodGet, URL: t.candidates[0], Host: t.host, Header: h, MaxBody: maxBody,
	})
	defer x.Release()
	at := window.Scrape{Sent: x.Stamps.Wrote, FirstByte: x.Stamps.FirstByte, End: x.Stamps.End}
	resp := x.Response
	switch {
	case resp.Status == http.StatusNotFound,
		resp.Status == http.StatusOK && (resp.Framing == bench.FramingJSON || resp.Framing == bench.FramingHTML):
		return at, nil, &trouble{diagnose.NotPrometheus, fmt.Sprintf("HTTP %d without metrics", resp.Status)}
	case resp.Status >= 300:
		return at, nil, &trouble{diagnose.Unreachable, fmt.Sprintf("HTTP %d %s", resp.Status, http.StatusText(resp.Status))}
	case resp.Failure != nil && resp.Failure.Class == bench.EventTooLarge:
		return at, nil, &trouble{diagnose.TooLarge, resp.Failure.Message}
	case resp.Failure != nil:
		return at, nil, &trouble{diagnose.Unreachable, resp.Failure.Message}
	}
	return at, bytes.Clone(resp.Body), nil
}

// counted returns the sum of the counts of requests and of generated tokens.
func (t *target) counted() (sum float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.history.Scrapes) == 0 || t.devices {
		return 0
	}
	everything := window.Window{From: t.history.Scrapes[0].At(), To: t.history.Scrapes[len(t.history.Scrapes)-1].At()}
	for _, s := range t.recorder.detect(t.history) {
		for _, name := range []string{"requests", "generation_tokens", "e2e"} {
			from, ok := s.Find(t.history, name)
			if !ok {
				continue
			}
			for _, g := range from.Groups {
				if n, ok := t.history.Increase(g, everything); ok {
					sum += n.Total
				}
				if o, ok := t.history.Observed(g, everything); ok {
					sum += o.Count.Total
				}
			}
		}
	}
	return sum
}
