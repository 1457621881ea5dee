package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/transport"
)

// maxDiscovered limits the pages that one discovery adds.
const maxDiscovered = 200

// lookTimeout limits one look of a discovery. The run waits for the first one.
const lookTimeout = 2 * time.Second

// Lookup returns the addresses of a host name.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// Discovery finds pages of metrics of servers, again and again while the run goes on.
type Discovery struct {
	Shown string        // as the document names it, without secrets
	Every time.Duration // between two looks
	// Look returns the pages that there are now.
	Look func(ctx context.Context, lookup Lookup) ([]Target, error)
}

// AtEachAddress returns the discovery of a page at each address to which the name of its URL leads now.
func AtEachAddress(page Target, every time.Duration) Discovery {
	name := page.Candidates[0]
	look := func(ctx context.Context, lookup Lookup) ([]Target, error) {
		addresses, err := lookup(ctx, name.Hostname())
		if err != nil {
			return nil, err
		}
		out := make([]Target, len(addresses))
		for i, a := range addresses {
			out[i] = page
			out[i].At = a.Unmap()
		}
		return out, nil
	}
	return Discovery{Shown: "dns+" + redact.URL(name.String()), Every: every, Look: look}
}

// label returns the address of a page as the results show it.
func (t *Target) label() string {
	u := *t.Candidates[0]
	if t.At.IsValid() {
		port := cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80")
		u.Host = net.JoinHostPort(t.At.String(), port)
	}
	return redact.URL(u.String())
}

// pinned returns connections that lead to one address, whatever the name of the server.
func (r *Recorder) pinned(to netip.Addr, apart bool) *transport.Client {
	o := r.connections
	if apart {
		o = alone(o)
	}
	o.Policy.Lookup = func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{to}, nil }
	return transport.New(o)
}

// finder is a discovery of a recorder.
type finder struct {
	Discovery
	found   int    // pages that it has added; only the goroutine of the finder uses it
	problem string // guarded by the recorder's mu; why the last look found nothing more
}

// run looks until ctx ends.
func (f *finder) run(ctx context.Context, r *Recorder) {
	timer := time.NewTicker(f.Every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			f.look(ctx, r)
		}
	}
}

// look adds the pages that are not read yet. One that is gone goes on to be asked, less and less often.
func (f *finder) look(ctx context.Context, r *Recorder) {
	limited, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	pages, err := f.Look(limited, r.connections.Resolve)
	if ctx.Err() != nil {
		return
	}
	problem := ""
	if err != nil {
		problem = r.o.Secrets.String(err.Error())
	}
	for i := range pages {
		if r.reads(pages[i].label()) {
			continue
		}
		if f.found == maxDiscovered {
			problem = fmt.Sprintf("%d pages; only the first %d are read", len(pages), maxDiscovered)
			break
		}
		f.found++
		r.add(ctx, newTarget(r, &pages[i]))
	}
	r.mu.Lock()
	changed := problem != "" && problem != f.problem
	f.problem = problem
	r.mu.Unlock()
	if changed {
		r.o.Log.Warn().Str("url", f.Shown).Msg("server metrics: " + problem)
	}
}

// describe returns a discovery as a page that was not read, if it has found none or has a problem now.
func (f *finder) describe(r *Recorder) (d diagnose.Target, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d = diagnose.Target{URL: f.Shown, Given: true, Servers: []string{}, State: diagnose.Unreachable, LastError: f.problem}
	return d, f.problem != ""
}

// reads reports whether the page at an address is read already.
func (r *Recorder) reads(label string) bool {
	return slices.ContainsFunc(r.all(), func(t *target) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.shown == label
	})
}

// all returns the targets that there are now.
func (r *Recorder) all() []*target {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.targets
}
