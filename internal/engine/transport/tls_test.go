package transport

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/testcert"
)

// Both transports perform the same handshakes, and fail in the same words.
func TestHandshakes(t *testing.T) {
	made, foreign := testcert.New(t, "127.0.0.1", "gateway.test"), testcert.New(t, "127.0.0.1")
	elsewhere := testcert.New(t, "elsewhere.test")
	pair := func(m *testcert.Made) []tls.Certificate { return []tls.Certificate{m.Pair} }
	for name, tt := range map[string]struct {
		server  *tls.Config
		client  *tls.Config
		skip    bool
		resumes bool
		version uint16 // seen by the server; 0 = there is no request
		name    string // sent by the client
		fails   string // part of the failure
	}{
		"an authority":       {server: &tls.Config{Certificates: pair(made)}, client: &tls.Config{RootCAs: made.Pool}, version: tls.VersionTLS13},
		"a server name":      {server: &tls.Config{Certificates: pair(made)}, client: &tls.Config{RootCAs: made.Pool, ServerName: "gateway.test"}, version: tls.VersionTLS13, name: "gateway.test"},
		"TLS 1.2":            {server: &tls.Config{Certificates: pair(made), MaxVersion: tls.VersionTLS12}, client: &tls.Config{RootCAs: made.Pool}, version: tls.VersionTLS12},
		"without checks":     {server: &tls.Config{Certificates: pair(elsewhere)}, skip: true, version: tls.VersionTLS13},
		"client certificate": {server: &tls.Config{Certificates: pair(made), ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: foreign.Pool}, client: &tls.Config{RootCAs: made.Pool, Certificates: pair(foreign)}, version: tls.VersionTLS13},
		"session resumption": {server: &tls.Config{Certificates: pair(made)}, client: &tls.Config{RootCAs: made.Pool}, resumes: true, version: tls.VersionTLS13},
		"unknown authority":  {server: &tls.Config{Certificates: pair(foreign)}, client: &tls.Config{RootCAs: made.Pool}, fails: "connect_error/tls connect: connect to SERVER: tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		"another name":       {server: &tls.Config{Certificates: pair(made)}, client: &tls.Config{RootCAs: made.Pool, ServerName: "other.test"}, fails: "x509: certificate is valid for gateway.test, not other.test; --tls-server-name names the host"},
		"no client certificate, TLS 1.2": {server: &tls.Config{Certificates: pair(made), ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}, client: &tls.Config{RootCAs: made.Pool},
			fails: "connect_error/ connect: connect to SERVER: remote error: tls: handshake failure"},
		"old version": {server: &tls.Config{Certificates: pair(made), MaxVersion: tls.VersionTLS12}, client: &tls.Config{RootCAs: made.Pool, MinVersion: tls.VersionTLS13},
			fails: "connect_error/ connect: connect to SERVER: remote error: tls: protocol version not supported"},
	} {
		for _, way := range ways() {
			if way.tls == nil {
				continue
			}
			t.Run(way.name+"/"+name, func(t *testing.T) {
				seen := make(chan tls.ConnectionState, 8)
				ln := listenTLS(t, tt.server, func(c *tls.Conn) {
					requests := bufio.NewReader(c)
					for r, _ := take(requests); r != nil; r, _ = take(requests) {
						seen <- c.ConnectionState()
						io.WriteString(c, small)
					}
				})
				client := cmp.Or(tt.client, &tls.Config{}).Clone()
				if tt.resumes {
					client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
				}
				c := New(Options{
					Clock: bench.NewClock(), Dial: way.dial, TLS: client, SkipTLSVerify: tt.skip,
					ConnectTimeout: 20 * time.Second, Reuse: Never,
				})
				defer c.Close()
				for n := range 2 {
					x := c.Do(t.Context(), &Request{URL: &url.URL{Scheme: "https", Host: ln.Addr().String(), Path: "/"}, Header: http.Header{}})
					f := x.Response.Failure
					if tt.fails != "" {
						want := strings.ReplaceAll(tt.fails, "SERVER", ln.Addr().String())
						if f == nil || !strings.Contains(string(f.Class)+"/"+f.Code+" "+string(f.Step)+": "+f.Message, want) {
							t.Errorf("failure %v, want %s", f, want)
						}
						continue
					}
					if f != nil || x.Conn.TLS <= 0 {
						t.Fatalf("%v after a handshake of %v", f, x.Conn.TLS)
					}
					resumed := n > 0 && tt.resumes
					if got := <-seen; got.Version != tt.version || got.ServerName != tt.name || got.DidResume != resumed || got.NegotiatedProtocol != "" {
						t.Errorf("request %d: version %x, name %q, resumed %v, protocol %q", n, got.Version, got.ServerName, got.DidResume, got.NegotiatedProtocol)
					}
				}
			})
		}
	}
}

// A handshake that is not answered ends with its deadline, that of the request, or its
// context.
func TestUnansweredHandshake(t *testing.T) {
	for name, tt := range map[string]struct {
		connect, total, cancel time.Duration
		want                   bench.Class
		message                string
	}{
		"connect timeout": {connect: 50 * time.Millisecond, want: bench.TimeoutConnect, message: "TLS handshake not answered: no connection within the connect timeout; the port accepts connections but no TLS"},
		"request timeout": {connect: 20 * time.Second, total: 50 * time.Millisecond, want: bench.TimeoutTotal, message: "not finished within the request timeout"},
		"cancelled":       {cancel: 50 * time.Millisecond, want: bench.Cancelled, message: "run aborted"},
	} {
		for _, way := range ways() {
			if way.tls == nil {
				continue
			}
			t.Run(way.name+"/"+name, func(t *testing.T) {
				st := perform(t, func(_ int, c peer, _ *bufio.Reader) {
					if p, ok := c.(securePeer); ok {
						io.Copy(io.Discard, p.tcp)
					}
				}, Options{Dial: way.dial, TLS: way.tls, ConnectTimeout: tt.connect, TotalTimeout: tt.total})
				ctx := t.Context()
				if tt.cancel > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeoutCause(ctx, tt.cancel, context.Canceled)
					defer cancel()
				}
				f := st.do(ctx).Response.Failure
				if f == nil || f.Class != tt.want || f.Step != bench.StepConnect || !strings.Contains(f.Message, tt.message) {
					t.Errorf("failure %+v, want %s with %q", f, tt.want, tt.message)
				}
			})
		}
	}
}

// listenTLS serves TLS connections until the test ends.
func listenTLS(t *testing.T, config *tls.Config, serve func(c *tls.Conn)) net.Listener {
	t.Helper()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
			go func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(time.Minute))
				serve(conn.(*tls.Conn))
			}()
		}
	}()
	return ln
}
