package transport

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/frame"
	"aiperfd/internal/engine/transport/netpath"
)

// Reuse determines which requests share a connection.
type Reuse uint8

// The ways to reuse connections.
const (
	Pooled Reuse = iota // shared keep-alive pool
	Never               // a new connection for each request
	Sticky              // one private connection for each session
)

// Version is the version of HTTP.
type Version uint8

// The versions.
const (
	HTTP1    Version = iota // HTTP/1.1, one request per connection at a time
	HTTP2                   // HTTP/2 over TLS; a server without it is an error
	HTTPAuto                // HTTP/2 if the server offers it in the TLS handshake, otherwise HTTP/1.1
	H2C                     // HTTP/2 without TLS, by prior knowledge
)

// IPVersion restricts the addresses of servers.
type IPVersion uint8

// The versions.
const (
	IPAny IPVersion = iota // both; IPv4 is tried first
	IPv4
	IPv6
)

// DefaultConnectTimeout is the limit for opening connections ahead of requests without
// [Options.ConnectTimeout].
const DefaultConnectTimeout = 10 * time.Second

const (
	idleConnTimeout = 300 * time.Second
	drainTime       = 250 * time.Millisecond // after the end marker
	readBuffer      = 16 << 10
)

// Options configure a [Client]. A timeout of 0 means none.
type Options struct {
	Clock          bench.Clock
	Reuse          Reuse
	Version        Version
	MaxIdle        int           // idle connections kept for each host; at least the concurrency
	ConnectTimeout time.Duration // dial and, separately, TLS handshake
	HeadersTimeout time.Duration // request written → response head
	IdleTimeout    time.Duration // between reads of the body
	TotalTimeout   time.Duration // the whole exchange
	SkipTLSVerify  bool
	// TLS configures connections to https; nil = the system's certificate authorities,
	// no client certificate, at least TLS 1.2. It is not changed.
	TLS *tls.Config
	// Sockets maps addresses (host:port) to the Unix sockets to connect to instead. The
	// key AnyAddress matches every address.
	Sockets   map[string]string
	IPVersion IPVersion // of the servers' addresses
	// Sources are local addresses of connections, in turn; nil = the system chooses.
	Sources []netip.Addr
	// Proxy is the URL of a proxy: http, https or socks5; nil = none.
	Proxy *url.URL
	// EnvProxy uses the proxies of the environment, which are ignored otherwise.
	EnvProxy bool
	// Streaming makes reads small, so that a late read does not return several events at
	// once: its timestamp is that of its last packet.
	Streaming bool
	Trace     bool // exchanges get a [bench.Trace] with the addresses of their connection
	// Memory limits the total memory of the responses of all clients that share it;
	// nil = only each response is limited.
	Memory *Memory
	Policy Policy
	// Path collects what the kernel counts of the connections; nil = they are not read.
	Path *netpath.Log
	// Dial opens connections; nil = the system's dialer. Tests use an in-memory network.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Policy says which servers requests may be sent to, and what a redirect takes with it.
// The zero value allows every server.
type Policy struct {
	// Allow decides which servers may be reached; nil = all. It checks every address before
	// the connection, unless Dial opens it.
	Allow *allow.List
	// Foreign are the headers of a request that a redirect has taken to another origin, if
	// the request has headers of these names. All others stay behind.
	Foreign http.Header
	// Private reports whether a body contains a secret and must not be sent to another
	// origin; nil = none does.
	Private func(body []byte) bool
	// Lookup returns the addresses of a host name; nil = those of the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Memory limits the total memory of responses in flight; see [frame.Memory].
type Memory = frame.Memory

// NewMemory returns a Memory of limit bytes, > 0.
func NewMemory(limit int64) *Memory { return frame.NewMemory(limit) }

// AnyAddress is the key of [Options.Sockets] that matches every address.
const AnyAddress = ""

// direct reports whether connections go directly to addresses over TCP.
func (o *Options) direct() bool {
	return o.Dial == nil && o.Proxy == nil && !o.EnvProxy && len(o.Sockets) == 0
}

// shares reports whether requests to an address share connections.
func (o *Options) shares(target *url.URL) bool {
	switch {
	case o.Proxy != nil || o.EnvProxy:
		return false
	case o.Version == H2C:
		return target.Scheme == "http"
	}
	return o.Version != HTTP1 && target.Scheme == "https"
}

// socket returns the Unix socket to use for an address; ok = false if there is none.
func (o *Options) socket(addr string) (path string, ok bool) {
	if path, ok := o.Sockets[addr]; ok {
		return path, true
	}
	path, ok = o.Sockets[AnyAddress]
	return path, ok
}

// connecting returns a context that ends with the connect timeout.
func (o *Options) connecting(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.ConnectTimeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, o.ConnectTimeout, errConnectTimeout)
}

// tlsConfig returns a configuration that the caller may change.
func (o *Options) tlsConfig() *tls.Config {
	config := o.TLS.Clone() // nil of nil
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.InsecureSkipVerify = o.SkipTLSVerify // requested by the user, and stated in the result
	return config
}

// proxy returns the function that chooses the proxy of a request; nil = no proxy.
func (o *Options) proxy() func(*http.Request) (*url.URL, error) {
	switch {
	case o.Proxy != nil:
		return http.ProxyURL(o.Proxy)
	case o.EnvProxy:
		return http.ProxyFromEnvironment
	}
	return nil
}

// maxIdle returns the maximum number of idle connections per host.
func (o *Options) maxIdle() int { return max(o.MaxIdle, 2) }

// readAhead returns the size of the read buffer of net/http, in bytes.
func (o *Options) readAhead() int {
	if o.Streaming {
		return 512 // about one or two events
	}
	return 4 << 10
}
