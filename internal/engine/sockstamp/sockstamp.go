// Package sockstamp tells when the bytes of a read arrived. Where the platform
// gives it, that is the kernel's receive time: a goroutine that waits for a core
// reads late, but the stamp is not late.
package sockstamp

import (
	"net"
	"sync/atomic"
	"time"
)

// Conn notes for each read when its bytes arrived. One goroutine reads at a
// time, as net/http does; Last may be called from anywhere.
type Conn struct {
	net.Conn
	kernel *reader // nil = the platform or the connection has no kernel stamps
	last   atomic.Pointer[time.Time]
	reads  atomic.Int32
}

// New wraps a connection. Kernel stamps are used where c is a TCP socket on
// Linux; anything else is stamped right after Read returns.
func New(c net.Conn) *Conn { return &Conn{Conn: c, kernel: newReader(c)} }

// Kernel reports whether stamps are the kernel's.
func (c *Conn) Kernel() bool { return c.kernel != nil }

// Read reads like the connection below.
func (c *Conn) Read(b []byte) (int, error) {
	if c.kernel == nil {
		n, err := c.Conn.Read(b)
		c.note(n, time.Now())
		return n, err
	}
	n, at, err := c.kernel.read(b)
	c.note(n, at)
	return n, err
}

func (c *Conn) note(n int, at time.Time) {
	if n > 0 {
		c.last.Store(&at)
		c.reads.Add(1)
	}
}

// Last returns when the bytes of the last read arrived, with a monotonic
// reading; the zero time before the first read.
func (c *Conn) Last() time.Time {
	if at := c.last.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// Reads returns the number of reads that returned bytes.
func (c *Conn) Reads() int32 { return c.reads.Load() }

// Unwrap returns the connection below.
func (c *Conn) Unwrap() net.Conn { return c.Conn }

// CloseWrite passes the half-close of a TCP connection on.
func (c *Conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return c.Close()
}

// SetLinger passes the option of a TCP connection on.
func (c *Conn) SetLinger(sec int) error {
	if w, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		return w.SetLinger(sec)
	}
	return nil
}
