package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// served is a test server on a real socket.
type served struct {
	*testServer
	addr string
}

// serve serves until the end of the test.
func serve(t *testing.T, change func(*Options)) *served {
	t.Helper()
	ts := newTestServer(t, change)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ts.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		<-done // clients that are still there make it an error
	})
	return &served{ts, l.Addr().String()}
}

// send opens a connection and writes a text on it.
func (s *served) send(t *testing.T, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// get requests a path on a new connection.
func (s *served) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	c := s.send(t, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	defer c.Close()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return resp.StatusCode, string(text)
}

// Clients that hold more connections than there may be do not keep others out.
func TestHeldConnections(t *testing.T) {
	for name, text := range map[string]string{
		"idle":        "",
		"kept alive":  "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"half header": "GET /api/run HTTP/1.1\r\nHost: local",
		"slow body":   "POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		"refused body": "POST /api/runs?x=1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
			"Content-Length: 1000\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, nil)
			for range 600 {
				s.send(t, text)
			}
			for _, path := range []string{"/healthz", "/readyz", "/api/version"} {
				if status, body := s.get(t, path); status != http.StatusOK {
					t.Errorf("GET %s = %d %s, want 200", path, status, body)
				}
			}
		})
	}
}

// If all connections wait for responses, only the probes are answered.
func TestBusyConnections(t *testing.T) {
	s := serve(t, func(o *Options) { o.Limits.Connections = 8 })
	hold := make(chan struct{})
	inside := make(chan struct{}, 8) // a value per held request
	s.fake.hold = func() { inside <- struct{}{}; <-hold }
	for range 8 {
		s.send(t, "GET /api/runs HTTP/1.1\r\nHost: localhost\r\n\r\n")
		<-inside
	}
	for range 40 { // more than the connections that are kept
		s.send(t, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	if status, body := s.get(t, "/healthz"); status != http.StatusOK || body != "ok" {
		t.Errorf("GET /healthz = %d %s, want 200 ok", status, body)
	}
	if status, body := s.get(t, "/api/version"); status != http.StatusServiceUnavailable || !strings.Contains(body, "too-many-connections") {
		t.Errorf("GET /api/version = %d %s, want 503 too-many-connections", status, body)
	}
	close(hold)
}

// Requests whose framing is ambiguous, or too large, get one response and no second
// request is read from them.
func TestFraming(t *testing.T) {
	const (
		post  = "POST /api/validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/yaml\r\n"
		inner = "GET /api/version HTTP/1.1\r\nHost: localhost\r\n\r\n"
	)
	tests := []struct {
		name, request string
		status        int
	}{
		{"chunked", post + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\n\r\n", 200},
		{"Content-Length and Transfer-Encoding", post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n" + inner, 200},
		{"two lengths", post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx" + inner, 400},
		{"two lengths in one field", post + "Content-Length: 1, 2\r\n\r\nx" + inner, 400},
		{"signed length", post + "Content-Length: +1\r\n\r\nx" + inner, 400},
		{"negative length", post + "Content-Length: -1\r\n\r\nx" + inner, 400},
		{"huge length", post + "Content-Length: 99999999999999999999\r\n\r\nx" + inner, 400},
		{"unknown coding", post + "Transfer-Encoding: xchunked\r\n\r\n1\r\nx\r\n0\r\n\r\n" + inner, 501},
		{"coding twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n" + inner, 501},
		{"coding list", post + "Transfer-Encoding: chunked, identity\r\n\r\n1\r\nx\r\n0\r\n\r\n" + inner, 501},
		{"space before the colon", post + "Content-Length : 1\r\n\r\nx" + inner, 400},
		{"space before the colon of the coding", post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + inner, 400},
		{"folded field", post + "X-Folded: a\r\n b\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx", 200},
		{"bare CR in a field", post + "X-Bare: a\rContent-Length: 40\r\nContent-Length: 1\r\n\r\nx" + inner, 400},
		{"NUL in a field", post + "X-Bare: a\x00b\r\nContent-Length: 1\r\n\r\nx" + inner, 400},
		{"bare LF in the request line", "GET /api/version HTTP/1.1\nHost: localhost\r\nConnection: close\r\n\r\n", 200},
		{"bare LF in the header", "GET /api/version HTTP/1.1\r\nHost: localhost\nConnection: close\r\n\r\n", 200},
		{"chunk extension", post + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n1;" + strings.Repeat("a", 8<<10) + "\r\nx\r\n0\r\n\r\n", 400},
		{"many chunk extensions", post + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("a", 200)+"\r\nx\r\n", 1000) + "0\r\n\r\n", 400},
		{"chunk size", post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n" + inner, 400},
		{"header", "GET /api/version HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("a", 32<<10) + "\r\n\r\n", 431},
		{"many fields", "GET /api/version HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-Many: a\r\n", 4<<10) + "\r\n", 431},
		{"body", post + "Content-Length: 2000000\r\n\r\n" + strings.Repeat("a", 2000000), 413},
		{"body in chunks", post + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("10000\r\n"+strings.Repeat("a", 1<<16)+"\r\n", 20) + "0\r\n\r\n", 413},
		{"compressed body", post + "Content-Encoding: gzip\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx", 415},
		{"no host", "GET /api/version HTTP/1.1\r\n\r\n" + inner, 400},
		{"two hosts", "GET /api/version HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n" + inner, 400},
		{"foreign host in the target", "GET http://evil.example/api/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 421},
		{"HTTP/1.0", "GET /healthz HTTP/1.0\r\n\r\n", 200},
		{"HTTP/1.0 without a host", "GET /api/version HTTP/1.0\r\n\r\n", 421},
		{"HTTP/1.0 in chunks", "POST /api/validate HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/yaml\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 200},
		{"HTTP/0.9", "GET /healthz\r\n\r\n", 400},
		{"HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 421},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		{"CONNECT", "CONNECT internal.example:22 HTTP/1.1\r\nHost: internal.example:22\r\nConnection: close\r\n\r\n", 421},
		{"CONNECT to this server", "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\nConnection: close\r\n\r\n", 405},
		{"TRACE", "TRACE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405},
	}
	s := serve(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := s.send(t, "")
			go io.WriteString(c, tt.request) // the server may respond before it has read everything
			answers, err := io.ReadAll(c)
			var reset *net.OpError
			if err != nil && (!errors.As(err, &reset) || reset.Timeout()) {
				t.Fatal(err)
			}
			if n := bytes.Count(answers, []byte("HTTP/1.1 ")) + bytes.Count(answers, []byte("HTTP/1.0 ")); n != 1 {
				t.Errorf("%d responses, want 1:\n%s", n, answers)
			}
			if want := fmt.Sprintf(" %d ", tt.status); len(answers) < 13 || string(answers[8:13]) != want {
				t.Errorf("response = %.200s, want status %d", answers, tt.status)
			}
		})
	}
}

// A client that sends its body too slowly gets a response and loses its connection.
func TestSlowBody(t *testing.T) {
	s := serve(t, func(o *Options) { o.Limits.BodyTimeout = 50 * time.Millisecond })
	c := s.send(t, "POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	answer, err := io.ReadAll(c)
	if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 400 ")) || !bytes.Contains(answer, []byte("not complete after 50ms")) {
		t.Errorf("response = %s, %v, want 400 with the time", answer, err)
	}
	if len(s.fake.submitted) != 0 {
		t.Errorf("%d runs were submitted", len(s.fake.submitted))
	}
}
