// Package broker is the bus on NATS: a server within the daemon, which exists only after it was asked for, and
// connections to it or to a cluster that is already there. The build tag nobus leaves all of it out.
//
// Of NATS it uses requests, messages and the object store. It configures no routes, gateways or leaf nodes, no MQTT and
// no WebSocket, no listener for monitoring or profiles, and no user without credentials.
package broker

import (
	"errors"
	"net"
	"net/url"

	"github.com/rs/zerolog"
)

// ServerOptions are the parameters of a server. All fields but Listen and Authenticate may be zero.
type ServerOptions struct {
	Listen string // host:port; port 0 = any that is free

	// Authenticate returns the name of the token of a worker and how many workers may be connected with it at once. It
	// takes as long for a wrong token as for a right one, and may be called by several goroutines.
	Authenticate func(token string) (name string, most int, ok bool)

	// Dir is the folder of bulk data; empty = there is none. It has no other use, and may be removed after Close.
	Dir string
	// MaxBulk is the size of all bulk data, in bytes; 0 = DefaultBulk.
	MaxBulk int64

	// Cert and Key are PEM files, which are read again for each connection. They are needed unless Listen is a loopback
	// address. ClientCA is a PEM file; clients need a certificate that it has signed.
	Cert, Key, ClientCA string
	// Insecure allows any address without TLS.
	Insecure bool

	Log zerolog.Logger
}

// DefaultBulk is the size of all bulk data unless something else is asked for.
const DefaultBulk = 4 << 30

// Options are the parameters of a connection to a server. There are either ID and Token, for the server of a daemon, or
// Creds, for any other server.
type Options struct {
	URL string // nats://host:port or tls://host:port

	ID    string // instance id of the worker, see bus.ValidID
	Token string // never leaves this process but to the server

	Creds  string // file with a JWT and its key, or with the seed of a key
	Prefix string // of every subject on a server that others use, too; empty = none
	// Controller says that the connection is that of a controller; it needs Creds.
	Controller bool

	// CA is a PEM file with the authorities to trust; empty = those of the system. Cert and Key are those of the client.
	CA, Cert, Key string
	// Insecure allows any address without TLS.
	Insecure bool

	Log zerolog.Logger
}

// The errors of options and connections that a caller decides by.
var (
	ErrNoBus   = errors.New("this binary cannot connect machines: it was built without the bus (build tag nobus)")
	ErrRefused = errors.New("the bus refuses the token or the credentials")
	ErrExposed = errors.New("other machines could read the bus: it needs TLS")
	ErrNoBulk  = errors.New("the bus stores no bulk data: JetStream is off, or its folder was not given")
)

// Exposed reports whether others on the network can read what a server is sent: it has no TLS.
func (o *ServerOptions) Exposed() bool {
	host, _, err := net.SplitHostPort(o.Listen)
	return err == nil && o.Cert == "" && !loopback(host)
}

// Exposed does the same for a connection.
func (o *Options) Exposed() bool {
	at, err := url.Parse(o.URL)
	return err == nil && at.Scheme != "tls" && o.Insecure && !loopback(at.Hostname())
}

// loopback reports whether only this machine can reach a host.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
