//go:build amd64 || arm64

package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"time"
	"unsafe"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/loop"
)

// fallbackDelay is how long an address of several may take before the next one is
// tried. The last one has all the time that is left. RFC 8305, section 5, advises
// 250 ms; package net waits 300 ms.
const fallbackDelay = 300 * time.Millisecond

// key is what connections are kept under.
func (c *looped) key(a *attempt) string {
	if c.opts.Reuse == Sticky {
		return a.Session
	}
	return a.target.Host
}

// resume sends the request on an idle connection; false = there is none.
func (f *flight) resume(a *attempt) bool {
	c := f.owner
	if c.opts.Reuse == Never {
		return false
	}
	for key := c.key(a); ; {
		k := c.pool.take(key, a.target.Host)
		if k == nil {
			return false
		}
		k.conn.Lock()
		usable := !k.conn.Closed() // else the server closed it while we took it
		if usable {
			f.link = k
			k.conn.Handle(f, unsafe.Pointer(f))
			f.conn.Reused = true
			f.begin()
		}
		k.conn.Unlock()
		if usable {
			return true
		}
	}
}

// dial sends the request on a new connection and returns when the flight is over.
func (f *flight) dial(ctx context.Context, a *attempt) {
	c := f.owner
	k := &link{owner: c, key: c.key(a), host: a.target.Host}
	k.conn = c.loops[int(c.next.Add(1))%len(c.loops)].NewConn(k)
	k.conn.Handle(f, unsafe.Pointer(f))
	f.link = k
	connectBy := time.Duration(0)
	if timeout := c.opts.ConnectTimeout; timeout > 0 {
		connectBy = f.began + timeout
	}
	addrs, err := f.resolve(ctx, a.target, connectBy)
	for i, addr := range addrs {
		f.connectBy = connectBy
		if soon := c.clock.Now() + fallbackDelay; i < len(addrs)-1 && (connectBy == 0 || soon < connectBy) {
			f.connectBy = soon
		}
		if err = f.reach(addr); err != nil {
			continue
		}
		if f.await(ctx) {
			return
		}
		err = f.dialErr
	}
	f.end, f.err = bench.EndReset, err
	if errors.Is(err, loop.ErrClosed) {
		f.cause = errClientClosed
	}
}

// reach starts to connect to an address. Without an error the flight goes on by
// itself.
func (f *flight) reach(addr netip.AddrPort) error {
	k := f.link
	k.conn.Lock()
	defer k.conn.Unlock()
	f.dialed = f.owner.clock.Now()
	done, err := k.conn.Connect(addr)
	switch {
	case err != nil:
		return err
	case done:
		f.Connected(nil)
	default:
		f.arm()
	}
	return nil
}

// resolve finds the addresses of a host, in the order in which they are tried.
func (f *flight) resolve(ctx context.Context, target *url.URL, by time.Duration) ([]netip.AddrPort, error) {
	host := target.Hostname()
	port, err := strconv.ParseUint(cmp.Or(target.Port(), "80"), 10, 16)
	if err != nil {
		return nil, fmt.Errorf("read port of %s: %w", target.Host, err)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.AddrPort{netip.AddrPortFrom(ip.Unmap(), uint16(port))}, nil
	}
	limit, reason := f.totalBy, errTotalTimeout
	if by > 0 && (limit == 0 || by < limit) {
		limit, reason = by, errConnectTimeout
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, f.owner.clock.At(limit), reason)
		defer cancel()
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	f.conn.DNS = f.owner.clock.Now() - f.began
	if err != nil {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, errConnectTimeout):
			return nil, cause
		case errors.Is(cause, errTotalTimeout):
			f.cause = cause
		}
		return nil, err
	}
	addrs := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		addrs[i] = netip.AddrPortFrom(ip.Unmap(), uint16(port))
	}
	return addrs, nil
}
