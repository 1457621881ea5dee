// Package sockstamp takes the timestamp of the bytes of each read of a socket: the
// kernel's receive time, if the platform has it, otherwise the time after the read. A
// goroutine that waits for a core reads late, but the kernel's timestamp is not late.
package sockstamp

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Conn records for each read when its bytes arrived. One goroutine reads at a
// time, as net/http does; Last may be called from anywhere. Reads allocate
// nothing.
type Conn struct {
	net.Conn
	kernel *reader // nil = the platform or the connection has no kernel stamps
	lags   *Lags   // nil = lags are not counted
	base   time.Time
	last   atomic.Int64 // nanoseconds after base; valid if there were reads
	reads  atomic.Int32
	writes atomic.Int32
	ended  atomic.Bool
	lag    atomic.Int64           // nanoseconds, the longest since TakeLag
	after  atomic.Pointer[func()] // nil = none
	closed func()                 // nil = none
	once   sync.Once
}

// New wraps a connection. Kernel stamps are used if c is a TCP socket on
// Linux; other connections are stamped right after Read returns.
func New(c net.Conn) *Conn { return &Conn{Conn: c, kernel: newReader(c), base: time.Now()} }

// CountIn makes the connection count its reads in lags. It is called before the
// first read.
func (c *Conn) CountIn(lags *Lags) { c.lags = lags }

// OnClose makes the first call of Close call f, before the connection is closed and after what was given before. It
// is called before the connection is used.
func (c *Conn) OnClose(f func()) {
	before := c.closed
	c.closed = func() {
		if before != nil {
			before()
		}
		f()
	}
}

// Close closes the connection below.
func (c *Conn) Close() error {
	if c.closed != nil {
		c.once.Do(c.closed)
	}
	return c.Conn.Close()
}

// Kernel reports whether stamps are the kernel's.
func (c *Conn) Kernel() bool { return c.kernel != nil }

// Read reads like the connection below.
func (c *Conn) Read(b []byte) (int, error) {
	if c.kernel == nil {
		n, err := c.Conn.Read(b)
		return c.noted(n, Stamp{At: time.Now()}, err)
	}
	return c.noted(c.kernel.read(b))
}

// noted notes a read and returns what it has returned.
func (c *Conn) noted(n int, s Stamp, err error) (int, error) {
	if n > 0 {
		c.record(s)
	}
	if errors.Is(err, io.EOF) {
		c.ended.Store(true)
	}
	return n, err
}

// Ended reports whether a read has come to the end of the stream.
func (c *Conn) Ended() bool { return c.ended.Load() }

// Write writes like the connection below.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.writes.Add(1)
	if c.after.Load() != nil {
		(*c.after.Swap(nil))()
	}
	return n, err
}

// AfterWrite makes the next write call f when it has returned. One goroutine at a time
// writes and calls AfterWrite.
func (c *Conn) AfterWrite(f func()) { c.after.Store(&f) }

// Writes returns the number of writes.
func (c *Conn) Writes() int32 { return c.writes.Load() }

func (c *Conn) record(s Stamp) {
	at := int64(s.At.Sub(c.base))
	if c.reads.Load() > 0 {
		at = max(at, c.last.Load()) // wall and monotonic clock are paired to some 10 ns only
	}
	c.last.Store(at)
	c.reads.Add(1)
	c.lag.Store(max(c.lag.Load(), int64(s.Lag))) // one goroutine reads; TakeLag is called between its requests
	if c.lags != nil {
		c.lags.Count(s)
	}
}

// Last returns when the bytes of the last read arrived, with a monotonic
// reading; the zero time before the first read.
func (c *Conn) Last() time.Time {
	if c.reads.Load() == 0 {
		return time.Time{}
	}
	return c.base.Add(time.Duration(c.last.Load()))
}

// Reads returns the number of reads that returned bytes.
func (c *Conn) Reads() int32 { return c.reads.Load() }

// TakeLag returns the longest lag of a read since the last call; 0 if the
// stamps are not the kernel's.
func (c *Conn) TakeLag() time.Duration { return time.Duration(c.lag.Swap(0)) }

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

// Stamp is the time at which the bytes of one read arrived.
type Stamp struct {
	At     time.Time     // with a monotonic reading
	Lag    time.Duration // from the arrival to the end of the read; 0 unless Kernel
	Kernel bool          // At is the kernel's; otherwise it is the end of the read
}
