// Package certify measures the error that the client adds to the latencies that it
// reports, on this machine and at this time. It sends requests to a reference server
// through the same load, transport and codec as a run. The server records when it
// received each request and when it wrote each event; both are compared with what the
// client reports.
//
// The server runs in this process and competes with the client for the same
// processors. A run against a server on another machine has more of them, so the error
// is overestimated rather than underestimated.
package certify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/verdict"
)

// Defaults and bounds of [Options].
const (
	DefaultTime       = 5 * time.Second
	DefaultTTFT       = 200 * time.Millisecond
	DefaultITL        = 20 * time.Millisecond
	DefaultChunkBytes = 256
	MaxTime           = time.Minute
	MaxStreams        = 2000    // both ends of a connection are in this process
	MaxChunkBytes     = 1 << 20 // of one event
	maxRequestBytes   = 16 << 20
	extraTime         = 10 * time.Second // for the last requests
)

// Dial opens a connection, as in [transport.Options].
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// Options configure the load and the reference server.
type Options struct {
	// Concurrency is the number of streams of a closed loop. More than
	// [MaxStreams] are not tried. Not used with a Rate.
	Concurrency int
	Rate        float64 // requests per second of a Poisson process; 0 = closed loop
	// Time is for how long requests are started; 0 = [DefaultTime], at most
	// [MaxTime]. A certificate takes up to about two seconds more.
	Time time.Duration
	// TTFT and ITL are the times of the server's responses; 0 = the defaults. They are
	// shortened if they are too long for enough requests in the time.
	TTFT, ITL    time.Duration
	ChunkBytes   int // of an event on the wire, about; 0 = [DefaultChunkBytes]
	RequestBytes int // of the body of a request, about
	// Transport is the client's; its clock, timeouts and Streaming are set here.
	Transport transport.Options
	Pacer     func() pace.Waiter // waits for due times; nil = [pace.Timers]
	// Network returns the server's listener and how to connect to it; nil = TCP on the
	// loopback interface.
	Network func() (net.Listener, Dial, error)
}

// Run sends requests to the reference server and returns the certificate. It takes
// Time and a few seconds at most. It returns an error if ctx ends or any request fails.
func Run(ctx context.Context, o Options) (*verdict.Certificate, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	sh := newShape(&o)
	ctx, cancel := context.WithTimeoutCause(ctx, o.Time+2*sh.length()+extraTime,
		errors.New("the reference server did not get done in time"))
	defer cancel()
	ln, dial, err := o.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open reference server: %w", err)
	}
	o.Transport.Clock = bench.NewClock()
	if dial != nil {
		o.Transport.Dial = dial
	}
	srv := newServer(ln, o.Transport.Clock, sh, o.Pacer())
	defer srv.close()
	d, err := newDriver(&o, sh, srv)
	if err != nil {
		return nil, err
	}
	defer d.client.Close()
	used := monitor.CPUTime()
	began := time.Now()
	if err := d.run(ctx); err != nil {
		return nil, fmt.Errorf("drive reference server: %w", err)
	}
	c, err := d.certificate()
	if err != nil {
		return nil, err
	}
	if used != nil {
		cores := float64(*monitor.CPUTime()-*used) / float64(max(time.Since(began), 1))
		c.UsedCores = &cores
	}
	c.At = began.UTC()
	return c, nil
}

// complete fills in defaults and checks bounds.
func (o *Options) complete() error {
	o.Time, o.TTFT, o.ITL = cmp.Or(o.Time, DefaultTime), cmp.Or(o.TTFT, DefaultTTFT), cmp.Or(o.ITL, DefaultITL)
	o.ChunkBytes = cmp.Or(o.ChunkBytes, DefaultChunkBytes)
	if o.Pacer == nil {
		o.Pacer = pace.Timers
	}
	switch {
	case o.Time < 100*time.Millisecond || o.Time > MaxTime:
		return fmt.Errorf("certify: time %s is not from 100ms to %s", o.Time, MaxTime)
	case o.TTFT < 0 || o.ITL < 0 || o.TTFT > o.Time || o.ITL > o.Time:
		return fmt.Errorf("certify: ttft %s and itl %s must be more than 0 and at most the time, %s", o.TTFT, o.ITL, o.Time)
	case o.ChunkBytes < 0 || o.ChunkBytes > MaxChunkBytes:
		return fmt.Errorf("certify: chunk of %d bytes is not from 1 to %d", o.ChunkBytes, MaxChunkBytes)
	case o.Rate < 0 || o.Rate > 1e5:
		return fmt.Errorf("certify: rate %v/s is not from 0 to 100000", o.Rate)
	case o.Rate == 0 && o.Concurrency < 1:
		return fmt.Errorf("certify: concurrency %d is less than 1", o.Concurrency)
	}
	o.RequestBytes = min(max(o.RequestBytes, 0), maxRequestBytes)
	t := &o.Transport
	t.Streaming, t.MaxIdle = true, MaxStreams
	t.ConnectTimeout, t.HeadersTimeout, t.IdleTimeout, t.TotalTimeout = extraTime, 0, 0, o.Time+extraTime
	return nil
}

// open returns the server's listener and how to connect to it.
func (o *Options) open(ctx context.Context) (net.Listener, Dial, error) {
	if o.Network != nil {
		return o.Network()
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	return ln, nil, err
}
