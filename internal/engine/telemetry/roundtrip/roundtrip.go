// Package roundtrip measures how long the way to the servers and back is, by opening connections to them while
// phases are performed, as AIPerf does. It has goroutines of its own and takes no lock of the load.
package roundtrip

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
)

// AIPerf's limits.
const (
	leastSamples   = 5               // of each server; what is missing is measured at the end
	connectTimeout = 5 * time.Second // of one probe
	topUpTimeout   = 3 * time.Second // of all that is missing
)

// Probe opens one connection.
type Probe interface {
	// Connect opens a connection, closes it, and returns how long the opening took. It is safe for concurrent use.
	Connect(ctx context.Context) (time.Duration, error)
	Address() string // host and port
}

// Server is a server that is probed.
type Server struct {
	Probe
	URL string // redacted
}

// Options configure a [Prober].
type Options struct {
	Servers  []Server // with different addresses
	Interval time.Duration
	Clock    bench.Clock
	Lines    io.WriteCloser           // gets a line for each probe; nil = nobody does
	Redact   func(text string) string // of the texts of errors
}

// Prober probes servers from Begin to End. Its methods are safe for concurrent use.
type Prober struct {
	o       Options
	working sync.WaitGroup

	mu      sync.Mutex
	active  int                 // guarded by mu; phases
	stop    context.CancelFunc  // guarded by mu; ends the probes of the phases
	seen    map[string]*samples // guarded by mu; by address
	out     *bufio.Writer       // guarded by mu; nil = none
	failure error               // guarded by mu; of the lines
}

// samples are the probes of a server.
type samples struct {
	trips  []time.Duration // in order
	failed int
	last   string // error
}

// New returns a prober that has not begun.
func New(o Options) *Prober {
	p := &Prober{o: o, seen: map[string]*samples{}}
	for _, s := range o.Servers {
		p.seen[s.Address()] = &samples{}
	}
	if o.Lines != nil {
		p.out = bufio.NewWriter(o.Lines)
	}
	return p
}

// Begin says that a phase begins. The servers are probed at once, and then until all phases have ended.
func (p *Prober) Begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active++; p.active > 1 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	for _, s := range p.o.Servers {
		p.working.Go(func() { p.probe(ctx, s) })
	}
}

// End says that a phase has ended. It does not wait.
func (p *Prober) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active--; p.active == 0 {
		p.stop()
	}
}

// probe probes a server until its context ends.
func (p *Prober) probe(ctx context.Context, s Server) {
	tick := time.NewTicker(p.o.Interval)
	defer tick.Stop()
	for {
		p.probeOnce(ctx, s)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// probeOnce probes a server, unless the context ends first.
func (p *Prober) probeOnce(ctx context.Context, s Server) {
	one, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	began := p.o.Clock.Now()
	trip, err := s.Connect(one)
	if err != nil && ctx.Err() != nil {
		return // it was interrupted
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen[s.Address()]
	l := newLine(s, p.o.Clock.UnixNano(began))
	if err == nil {
		seen.trips = append(seen.trips, trip)
		l.Success, l.RTT = true, new(int64(trip))
	} else {
		l.Error = p.newFault(one, err)
		seen.failed, seen.last = seen.failed+1, l.Error.Message
	}
	p.write(&l)
}

// Close ends the probes. If more is set, it first measures what a server lacks of five samples, for three seconds at
// most. The error is about the lines.
func (p *Prober) Close(more bool) error {
	p.mu.Lock()
	if p.active > 0 {
		p.active = 0
		p.stop()
	}
	p.mu.Unlock()
	p.working.Wait()
	if more {
		p.topUp()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		return nil
	}
	return errors.Join(p.failure, p.out.Flush(), p.o.Lines.Close())
}

// topUp measures what is missing, of all servers at the same time.
func (p *Prober) topUp() {
	ctx, cancel := context.WithTimeout(context.Background(), topUpTimeout)
	defer cancel()
	for _, s := range p.o.Servers {
		p.working.Go(func() {
			for range 2 * leastSamples {
				if p.enough(s) || ctx.Err() != nil {
					return
				}
				p.probeOnce(ctx, s)
			}
		})
	}
	p.working.Wait()
}

// enough reports whether a server has been measured often enough. One that never answered is not asked again.
func (p *Prober) enough(s Server) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen[s.Address()]
	return len(seen.trips) >= leastSamples || len(seen.trips) == 0 && seen.failed > 0
}

// Result is what was measured of a server.
type Result struct {
	Address string
	// Trips are the round trips in order, without the first one if there are others: it often contains what is done
	// once, such as the resolution of a hardware address. Empty = no probe succeeded.
	Trips     []time.Duration
	Failed    int
	LastError string // redacted
}

// Least returns the least round trip; ok = false if there is none.
func (r *Result) Least() (trip time.Duration, ok bool) {
	if len(r.Trips) == 0 {
		return 0, false
	}
	return slices.Min(r.Trips), true
}

// Results returns what was measured, in the order of the servers.
func (p *Prober) Results() []Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Result
	for _, s := range p.o.Servers {
		seen := p.seen[s.Address()]
		r := Result{Address: s.Address(), Trips: slices.Clone(seen.trips), Failed: seen.failed, LastError: seen.last}
		if len(r.Trips) > 1 {
			r.Trips = r.Trips[1:]
		}
		out = append(out, r)
	}
	return out
}

// line is what AIPerf writes of a probe.
type line struct {
	Timestamp int64  `json:"timestamp_ns"`
	URL       string `json:"target_url"`
	Host      string `json:"target_host"`
	Port      int    `json:"target_port"`
	Type      string `json:"probe_type"`
	RTT       *int64 `json:"rtt_ns,omitempty"`
	Success   bool   `json:"success"`
	Error     *fault `json:"error,omitempty"`
}

// fault is AIPerf's form of an error.
type fault struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// newLine returns the line of a probe without its outcome.
func newLine(s Server, at int64) line {
	host, port, _ := net.SplitHostPort(s.Address())
	number, _ := strconv.Atoi(port)
	return line{Timestamp: at, URL: s.URL, Host: host, Port: number, Type: "tcp_connect"}
}

// newFault describes why a probe failed, whose context is given.
func (p *Prober) newFault(ctx context.Context, err error) *fault {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &fault{"TimeoutError", fmt.Sprintf("no connection within %v", connectTimeout)}
	}
	return &fault{"ConnectionError", p.o.Redact(err.Error())}
}

// write writes a line. The caller holds the lock.
func (p *Prober) write(l *line) {
	if p.out == nil || p.failure != nil {
		return
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if p.failure = encoder.Encode(l); p.failure == nil {
		_, p.failure = p.out.Write(b.Bytes())
	}
}
