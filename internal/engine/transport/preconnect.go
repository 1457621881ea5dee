package transport

import (
	"context"
	"net/url"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
)

// The pace at which connections are opened ahead: at most 8,000 per second. A server's
// queue of new connections holds 128 in old kernels and 4,096 in new ones; if it is
// full, TCP tries again after a second.
const (
	openBurst = 16                   // connections per burst
	openEvery = 2 * time.Millisecond // between two bursts
	openers   = 128                  // connections that are being opened at the same time
)

// Preconnect opens connections ahead of simultaneous requests, one URL for each, so that
// none of them has to wait for a connection. It opens those that the pool lacks and
// returns the durations of each. After a failure it opens no further connections to the
// server, whose requests will report the reason. It returns early when ctx ends. Nothing
// is opened unless connections are pooled, and nothing over HTTP/1.1 behind a proxy.
func (c *Client) Preconnect(ctx context.Context, urls []*url.URL) []bench.Setup {
	if c.opts.Reuse != Pooled {
		return nil
	}
	p := preconnect{client: c, failed: map[string]bool{}}
	for range 2 { // the first connection of HTTP/2 determines how many requests share one
		p.open(ctx, p.missing(urls))
	}
	return p.opened
}

// preconnect is one call of Preconnect.
type preconnect struct {
	client *Client

	mu     sync.Mutex
	opened []bench.Setup   // guarded by mu
	failed map[string]bool // guarded by mu; by origin
}

// missing returns one URL for each connection to be opened, in the order of urls so
// that servers take turns.
func (p *preconnect) missing(urls []*url.URL) []*url.URL {
	wanted := map[string]int{}
	for _, u := range urls {
		wanted[originOf(u)]++
	}
	lacks := map[string]int{}
	var out []*url.URL
	for _, u := range urls {
		key := originOf(u)
		if n, ok := wanted[key]; ok {
			lacks[key] = p.client.roundTripperFor(u).lacks(u, n)
			delete(wanted, key)
		}
		if lacks[key] > 0 && !p.failed[key] {
			lacks[key]--
			out = append(out, u)
		}
	}
	return out
}

// open opens connections at the pace above.
func (p *preconnect) open(ctx context.Context, urls []*url.URL) {
	next := make(chan *url.URL)
	var group sync.WaitGroup
	for range min(openers, len(urls)) {
		group.Go(func() {
			for u := range next {
				p.openOne(ctx, u)
			}
		})
	}
	defer group.Wait()
	defer close(next)
	pause := time.NewTicker(openEvery)
	defer pause.Stop()
	for i, u := range urls {
		if i > 0 && i%openBurst == 0 {
			select {
			case <-pause.C:
			case <-ctx.Done():
				return
			}
		}
		select {
		case next <- u:
		case <-ctx.Done():
			return
		}
	}
}

func (p *preconnect) openOne(ctx context.Context, u *url.URL) {
	p.mu.Lock()
	failed := p.failed[originOf(u)]
	p.mu.Unlock()
	if failed {
		return
	}
	cost, ok := p.client.roundTripperFor(u).open(ctx, u)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		p.failed[originOf(u)] = true
		return
	}
	p.opened = append(p.opened, cost)
}
