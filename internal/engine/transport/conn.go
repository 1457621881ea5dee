package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"aiperfd/internal/engine/sockstamp"
)

// stamped returns the connection with timestamps below c, which may be a TLS
// connection; nil = there is none.
func stamped(c net.Conn) *sockstamp.Conn {
	for {
		t, ok := c.(*tls.Conn)
		if !ok {
			break
		}
		c = t.NetConn() // with an https proxy there is TLS inside TLS
	}
	s, _ := c.(*sockstamp.Conn)
	return s
}

// dial opens a connection within the connect timeout. Its reads have timestamps below
// TLS.
func (s *stdlib) dial(ctx context.Context, network, addr string) (*sockstamp.Conn, error) {
	ctx, cancel := s.opts.connecting(ctx)
	defer cancel()
	open := s.opts.Dial
	if socket, ok := s.opts.socket(addr); ok {
		network, addr = "unix", socket
	}
	if open == nil {
		open = s.dialDirect
	}
	c, err := open(ctx, network, addr)
	if err != nil {
		if errors.Is(context.Cause(ctx), errConnectTimeout) {
			return nil, &dialError{errConnectTimeout}
		}
		return nil, &dialError{err}
	}
	stamping := sockstamp.New(c)
	stamping.CountIn(s.lags)
	return stamping, nil
}

// dialError is an error of the connect step.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }
