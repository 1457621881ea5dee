package api

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aiperfd/internal/api/access"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/testcert"
	"aiperfd/internal/run"
)

// servedTLS is a server with TLS and tokens on a real socket.
type servedTLS struct {
	*served
	pair  *testcert.Made
	token string        // header
	dials *atomic.Int64 // connections of all clients
}

func serveTLS(t *testing.T, connections int) *servedTLS {
	t.Helper()
	pair := testcert.New(t, "localhost")
	g, guard := newGuard(t, func(o *access.Options) { o.Cert, o.Key = pair.CertFile, pair.KeyFile })
	s := serve(t, func(o *Options) { o.Access, o.Limits.Connections = guard, connections })
	return &servedTLS{served: s, pair: pair, token: g.bearer["reader"], dials: new(atomic.Int64)}
}

// client returns a client with connections of its own.
func (s *servedTLS) client(t *testing.T) *http.Client {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: s.pair.Pool}, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			s.dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, s.addr)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// get requests a path over HTTP/2.
func (s *servedTLS) get(t *testing.T, c *http.Client, path string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost"+path, nil)
	if err != nil {
		t.Error(err)
		return
	}
	name, value, _ := strings.Cut(s.token, ": ")
	req.Header.Set(name, value)
	resp, err := c.Do(req)
	if err != nil {
		t.Errorf("GET %s: %v", path, err)
		return
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
		t.Errorf("GET %s = %s %d", path, resp.Proto, resp.StatusCode)
	}
}

// Connections with TLS give way as those without, and not while they have a request.
func TestHeldTLSConnections(t *testing.T) {
	s := serveTLS(t, 20)
	inside, release := make(chan struct{}), make(chan struct{})
	s.fake.hold = func() { close(inside); <-release }
	var request sync.WaitGroup
	request.Go(func() { s.get(t, s.client(t), "/api/runs") })
	<-inside
	for range 30 {
		s.send(t, "")                     // no handshake
		s.get(t, s.client(t), "/healthz") // idle
	}
	close(release)
	request.Wait()
}

// A connection of HTTP/2 cannot hold many requests.
func TestStreams(t *testing.T) {
	s := serveTLS(t, 200)
	one := s.client(t)
	s.get(t, one, "/healthz")
	inside, release := make(chan struct{}, 64), make(chan struct{})
	s.fake.hold = func() { inside <- struct{}{}; <-release }
	var requests sync.WaitGroup
	for range 64 {
		requests.Go(func() { s.get(t, one, "/api/runs") })
	}
	for range 64 {
		select {
		case <-inside:
		case <-time.After(20 * time.Second):
			t.Fatal("not all requests arrived")
		}
	}
	close(release)
	requests.Wait()
	if n := s.dials.Load(); n < 2 {
		t.Errorf("64 requests at the same time used %d connection", n)
	}
}

// Events arrive one by one over HTTP/2.
func TestEventsOverHTTP2(t *testing.T) {
	s := serveTLS(t, 20)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost"+eventsPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(s.token, ": ")
	req.Header.Set(name, value)
	resp, err := s.client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
		t.Fatalf("%s %d", resp.Proto, resp.StatusCode)
	}
	c := &eventClient{t, resp, bufio.NewReader(resp.Body)}
	c.comment("retry: 2000")
	c.want("snapshot")
	for range 3 {
		publish(s.testServer, run.EventPhaseComplete, bench.StateRunning, false)
		c.want("phase") // before the next one is published
	}
}
