package transport

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
)

// A failure to connect names the address and what is most likely wrong; its class
// and its code stay.
func TestFailuresToConnectAreExplained(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	closed := httptest.NewServer(nil)
	dead := closed.Listener.Addr().String()
	closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = nil
	limit := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EMFILE}
	}
	for _, tt := range []struct {
		name, url, class, code, want string
		dial                         func(context.Context, string, string) (net.Conn, error)
	}{
		{"refused", "http://" + dead, "connect_error", "refused", "connect to " + dead + ": connection refused; is the server running, and is the port right?", nil},
		{"https against a plain port", "https://" + plain.Listener.Addr().String(), "connect_error", "tls",
			"connect to " + plain.Listener.Addr().String() + ": the server answered in plain HTTP; use http://" + plain.Listener.Addr().String(), nil},
		{"an unknown authority", "https://" + secure.Listener.Addr().String(), "connect_error", "tls", "--tls-ca-file", nil},
		{"a name that does not exist", "http://no-such-host.invalid", "connect_error", "dns", "is the host name right?", nil},
		{"open files", "http://h:1", "client_error", "limit", "connect to h:1: too many open files; raise the limit of open files (ulimit -n) or lower the concurrency", limit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target, err := url.Parse(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			c := New(Options{Clock: bench.NewClock(), ConnectTimeout: 5 * time.Second, Dial: tt.dial, TLS: &tls.Config{MinVersion: tls.VersionTLS12}})
			defer c.Close()
			x := c.Do(t.Context(), &Request{URL: target, Header: http.Header{}})
			defer x.Release()
			f := x.Response.Failure
			if f == nil || string(f.Class) != tt.class || f.Code != tt.code || !strings.Contains(f.Message, tt.want) {
				t.Errorf("%+v, want %s (%s) with %q", f, tt.class, tt.code, tt.want)
			}
		})
	}
}

// A port that accepts and takes no part in the handshake is named too.
func TestSilentHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var servers []net.Conn
		dial := func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe() // nobody reads from it
			servers = append(servers, server)
			return client, nil
		}
		c := New(Options{Clock: bench.NewClock(), ConnectTimeout: 5 * time.Second, Dial: dial, TLS: &tls.Config{MinVersion: tls.VersionTLS12}})
		defer c.Close()
		x := c.Do(t.Context(), &Request{URL: &url.URL{Scheme: "https", Host: "h:1"}, Header: http.Header{}})
		defer x.Release()
		const want = "connect to h:1: TLS handshake not answered: no connection within the connect timeout; the port accepts connections but no TLS: use http:// if the server speaks plain HTTP"
		if f := x.Response.Failure; f == nil || f.Class != bench.TimeoutConnect || f.Message != want {
			t.Errorf("%+v, want %q", f, want)
		}
		for _, s := range servers {
			_ = s.Close() // the client has closed its end
		}
	})
}
