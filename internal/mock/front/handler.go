// Package front serves the plain requests of a TCP listener on Linux with one thread, and
// passes every connection with another request to net/http. It schedules the writes of
// all connections; their content comes from a [Handler].
package front

import (
	"net/http"
	"time"
)

// Request is the head of a request.
type Request struct {
	Path          string
	RequestID     string // X-Request-Id; "" = none
	CorrelationID string // X-Correlation-ID; "" = none
	Authorization string // "" = none
	ArrivedNs     int64  // when its last byte arrived, by Options.Now
}

// Handler makes exchanges. Its methods are called by the thread of the front and must
// not block.
type Handler interface {
	// Serves reports whether the front may serve POST requests to a path.
	Serves(path string) bool
	// Begin returns the exchange of a request whose response is written to w, or nil if
	// net/http is to answer it.
	Begin(r Request, w http.ResponseWriter) Exchange
}

// Exchange is one request in service. Its methods are called by the thread of the front
// and must not block.
type Exchange interface {
	// Start reads the body, which it must not retain, and writes the part of the response
	// that is due. more is false if the response is complete, otherwise the next Step is
	// due at dueNs.
	Start(body []byte) (dueNs int64, more bool)
	// Step writes what is due. Its results are those of Start.
	Step() (dueNs int64, more bool)
	// Resume is called before the Step that follows a pause in which the client did not
	// read.
	Resume()
	// Finish ends the exchange, once. keep is false if the connection must be closed.
	Finish(end End) (keep bool)
}

// End is why an exchange ends.
type End uint8

// Ends of an exchange.
const (
	Complete   End = iota // Start or Step returned false
	ClientGone            // the client has closed the connection
	Stopped               // Options.Stopping was closed
)

// Options configures a Front.
type Options struct {
	Now        func() int64             // the clock, in nanoseconds
	Time       func(ns int64) time.Time // a time of the clock
	Stopping   <-chan struct{}          // closed to end the exchanges in service
	KeepAlive  time.Duration            // idle connections are closed after this; 0 = never
	ReadHeader time.Duration            // connections are closed if a head takes longer
}
