package netpath

import (
	"net"
	"testing"
	"time"

	"aiperfd/internal/engine/sockstamp"
)

// connected returns the descriptor of a connection over loopback.
func connected(b *testing.B) (fd int) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		b.Fatal(err)
	}
	if err := raw.Control(func(n uintptr) { fd = int(n) }); err != nil {
		b.Fatal(err)
	}
	return fd
}

// BenchmarkResponseEnded is what the end of a response costs: of one that is read, and of one beyond the budget.
func BenchmarkResponseEnded(b *testing.B) {
	fd := connected(b)
	for _, bb := range []struct {
		name string
		step time.Duration // between two responses
	}{{"read", 10 * time.Millisecond}, {"beyond the budget", time.Nanosecond}} {
		b.Run(bb.name, func(b *testing.B) {
			log := &Log{}
			log.Open()
			c := NewConn(log, "one:80")
			read := func() (sockstamp.Info, bool) { return sockstamp.ReadInfo(fd) }
			at := time.Duration(0)
			b.ReportAllocs()
			for b.Loop() {
				at += bb.step
				c.ResponseEnded(at, read)
			}
		})
	}
}
