package api

import (
	"cmp"
	"net/http"
	"time"
)

// Limits bound what clients can take from the server. A zero value is the default.
type Limits struct {
	Body          int64         // bytes of a request body; 0 = DefaultMaxBody
	Header        int           // bytes of the header of a request; 0 = DefaultMaxHeader
	HeaderTimeout time.Duration // to receive a header; 0 = DefaultHeaderTimeout
	BodyTimeout   time.Duration // to receive a body; 0 = DefaultBodyTimeout
	IdleTimeout   time.Duration // of a connection without a request; 0 = DefaultIdleTimeout
	Connections   int           // open connections; 0 = DefaultMaxConnections
	Streams       int           // clients of server-sent events; 0 = DefaultMaxStreams
	// SubmitRate is the number of submissions per minute, and at once, of every caller;
	// 0 = no limit. Without AnonymousRate, only callers with a name are limited.
	SubmitRate    int
	AnonymousRate bool
}

// The defaults of Limits.
const (
	DefaultMaxBody        = 1 << 20
	DefaultMaxHeader      = 16 << 10
	DefaultHeaderTimeout  = 10 * time.Second
	DefaultBodyTimeout    = 30 * time.Second
	DefaultIdleTimeout    = 120 * time.Second
	DefaultMaxConnections = 512
	DefaultMaxStreams     = 200
	DefaultSubmitRate     = 20
)

// orDefaults returns the limits with defaults in place of zero values.
func (l Limits) orDefaults() Limits {
	return Limits{
		Body: cmp.Or(l.Body, DefaultMaxBody), Header: cmp.Or(l.Header, DefaultMaxHeader),
		HeaderTimeout: cmp.Or(l.HeaderTimeout, DefaultHeaderTimeout), BodyTimeout: cmp.Or(l.BodyTimeout, DefaultBodyTimeout),
		IdleTimeout: cmp.Or(l.IdleTimeout, DefaultIdleTimeout), Connections: cmp.Or(l.Connections, DefaultMaxConnections),
		Streams:    cmp.Or(l.Streams, DefaultMaxStreams),
		SubmitRate: l.SubmitRate, AnonymousRate: l.AnonymousRate,
	}
}

// probe reports whether a request is for one of the probes.
func probe(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }
