//go:build amd64 || arm64

package transport

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/testcert"
)

// TestUnreadAnswers has a server ask for new keys without an end and read no answer: the answers
// that wait are bounded, and the response ends with a failure.
func TestUnreadAnswers(t *testing.T) {
	made := testcert.New(t, "127.0.0.1")
	small := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { // small segments keep the buffers of the kernel small
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 536)
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10)
		})
	}}
	ln, err := small.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Clock: bench.NewClock(), TLS: &tls.Config{RootCAs: made.Pool}, TotalTimeout: time.Minute})
	var group sync.WaitGroup
	t.Cleanup(func() {
		ln.Close()
		c.Close()
		group.Wait()
	})
	group.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		f, err := forge(conn, made, 0)
		if err != nil {
			return
		}
		if r, _ := take(bufio.NewReader(f.reader)); r == nil {
			return
		}
		for text := f.data("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"); ; text = f.data(" ") {
			for range 8 { // crypto/tls accepts 16 records in a row that are no data
				text += f.update(true)
			}
			if _, err := io.WriteString(f, text); err != nil {
				return
			}
		}
	})
	x := c.Do(t.Context(), &Request{URL: &url.URL{Scheme: "https", Host: ln.Addr().String(), Path: "/"}, Header: http.Header{}})
	failure := x.Response.Failure
	if failure == nil || failure.Class != bench.ConnectionReset || !strings.Contains(failure.Message, "does not read the answers") {
		t.Errorf("failure %+v", failure)
	}
}
