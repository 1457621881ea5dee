package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
)

// stampConn notes the time right after each read returns, before TLS, HTTP or
// anything else looks at the bytes. One goroutine reads at a time (net/http's
// rule); others may ask for the last stamp.
type stampConn struct {
	net.Conn
	clock bench.Clock
	last  atomic.Int64 // offset of the last read that returned bytes
	reads atomic.Int32
}

func (c *stampConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.last.Store(int64(c.clock.Now()))
		c.reads.Add(1)
	}
	return n, err
}

// lastRead returns when the last read returned bytes; 0 = never.
func (c *stampConn) lastRead() time.Duration { return time.Duration(c.last.Load()) }

// stamped finds the stampConn below c, which may be a TLS connection.
func stamped(c net.Conn) *stampConn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	s, _ := c.(*stampConn)
	return s
}

// dial opens connections within the connect timeout and puts a stamp below
// everything else.
func (o *Options) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if o.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.ConnectTimeout, errConnectTimeout)
		defer cancel()
	}
	open := o.Dial
	if open == nil {
		open = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: 60 * time.Second, Interval: 30 * time.Second,
		}}).DialContext
	}
	c, err := open(ctx, network, addr)
	if err != nil {
		if errors.Is(context.Cause(ctx), errConnectTimeout) {
			return nil, &dialError{errConnectTimeout}
		}
		return nil, &dialError{err}
	}
	return &stampConn{Conn: c, clock: o.Clock}, nil
}

// dialError marks an error as one of the connect step.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }
