package transport

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"aiperfd/internal/engine/allow"
)

// Probe opens connections to a server and closes them at once, to measure how long that takes. It is safe for
// concurrent use.
type Probe struct {
	opts    *Options
	address string // host and port to which requests for the server connect
	to      netip.AddrPort
	from    netip.Addr // the zero value = the system chooses
}

// NewProbe returns the probe of a server, whose name is looked up here and not again. A server behind a proxy stands
// for the proxy, as the path that the kernel knows leads there. A Unix socket has no path: that is an error.
func NewProbe(ctx context.Context, o *Options, server *url.URL) (*Probe, error) {
	if choose := o.proxy(); choose != nil {
		proxy, err := choose(&http.Request{URL: server})
		if err != nil {
			return nil, fmt.Errorf("choose the proxy: %w", err)
		}
		if proxy != nil {
			server = proxy
		}
	}
	p := &Probe{opts: o, address: allow.Address(server)}
	if _, isSocket := o.socket(p.address); isSocket {
		return nil, fmt.Errorf("%s is a Unix socket", p.address)
	}
	if o.Dial != nil {
		return p, nil
	}
	addrs, err := o.lookup(ctx, server.Hostname(), strconv.Itoa(int(allow.Port(server))))
	if err != nil {
		return nil, err
	}
	p.to = addrs[0]
	p.from, _ = (&sources{addrs: o.Sources}).to(p.to) // lookup leaves out what has none
	return p, nil
}

// Address is the host and port to which the probe connects, as requests for its server do.
func (p *Probe) Address() string { return p.address }

// Connect opens a connection and returns how long that took. The address has passed the list of allowed servers.
func (p *Probe) Connect(ctx context.Context) (time.Duration, error) {
	open, address := p.opts.Dial, p.address
	if open == nil {
		open, address = netDialer(p.from).DialContext, p.to.String()
	}
	began := p.opts.Clock.Now()
	c, err := open(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	took := p.opts.Clock.Now() - began
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // no port stays in TIME-WAIT; no answer is expected
	}
	_ = c.Close() // nothing was sent
	return took, nil
}
