package sockstamp

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"aiperfd/internal/engine/memnet"
)

// pair returns the two ends of a loopback connection.
func pair(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = s.Close()
	})
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

func TestEndsAndErrors(t *testing.T) {
	t.Run("end of file", func(t *testing.T) {
		client, server := pair(t)
		server.Close()
		if n, err := New(client).Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("Read = %d, %v; want 0, EOF", n, err)
		}
	})
	t.Run("reset", func(t *testing.T) {
		client, server := pair(t)
		server.SetLinger(0)
		server.Close()
		if _, err := New(client).Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("Read = %v, want connection reset", err)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		client, _ := pair(t)
		client.SetReadDeadline(time.Unix(1, 0))
		if _, err := New(client).Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read = %v, want deadline exceeded", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		client, _ := pair(t)
		c := New(client)
		c.Close()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read = %v, want closed", err)
		}
	})
}

func TestOtherConnectionsAreStampedAfterTheRead(t *testing.T) {
	a, b := memnet.Pipe()
	c := New(a)
	if c.Kernel() || !c.Last().IsZero() {
		t.Fatalf("kernel %v, last %v; want false, zero", c.Kernel(), c.Last())
	}
	io.WriteString(b, "hello")
	before := time.Now()
	if n, err := c.Read(make([]byte, 16)); n != 5 || err != nil {
		t.Fatalf("Read = %d, %v", n, err)
	}
	if c.Last().Before(before) {
		t.Error("stamp before the read")
	}
}

func BenchmarkRead(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	server, err := ln.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	for _, bc := range []struct {
		name string
		conn net.Conn
	}{{"plain", client}, {"stamped", New(client)}} {
		b.Run(bc.name, func(b *testing.B) {
			buf, out := make([]byte, 256), make([]byte, 200)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := server.Write(out); err != nil {
					b.Fatal(err)
				}
				if _, err := bc.conn.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
