package transport

import (
	"errors"
	"fmt"

	"aiperfd/internal/engine/bench"
)

// The causes with which a timeout of the client ends an exchange.
var (
	errConnectTimeout = errors.New("no connection within the connect timeout")
	errHeadersTimeout = errors.New("no response head within the first-byte timeout")
	errIdleTimeout    = errors.New("no byte within the idle timeout")
	errTotalTimeout   = errors.New("not finished within the request timeout")
	errDrained        = errors.New("answer complete, rest of the body given up")
)

// errHandshakeTimeout is errConnectTimeout for a handshake.
var errHandshakeTimeout = fmt.Errorf("TLS handshake not answered: %w", errConnectTimeout)

// errCutOff is for a body that only the end of its connection ends, if whoever is between
// both ends may have ended it (RFC 9112, section 9.8).
var errCutOff = errors.New("connection closed without close_notify of TLS: the response may be cut off")

// errNoHTTP2 is for servers that do not offer HTTP/2 in the TLS handshake.
var errNoHTTP2 = errors.New("the server does not offer HTTP/2 in the TLS handshake")

// CancelWith makes a failure the cause of a cancelled context: Do reports it as
// the failure of the exchanges that it ends.
func CancelWith(f *bench.Failure) error { return &cancelCause{f} }

type cancelCause struct{ failure *bench.Failure }

func (c *cancelCause) Error() string { return c.failure.String() }

// dialError is an error of the connect step.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }
