package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/testcert"
)

// guardedWays are both paths to a server over plain HTTP, without a dialer of the test.
func guardedWays() map[string]Options {
	return map[string]Options{"net/http": {Sockets: map[string]string{"none:1": "/none"}}, "loop": {}}
}

// patterns reads patterns of targets.
func patterns(t *testing.T, texts ...string) allow.Patterns {
	t.Helper()
	all, err := allow.ParseAll(texts)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestHeadersOfRedirects: another origin gets no header that was meant for the first one.
func TestHeadersOfRedirects(t *testing.T) {
	mine := http.Header{
		"Authorization": {"Bearer k"}, "X-Acme-Token": {"t"}, "Cookie": {"c=1"}, "Proxy-Authorization": {"p"}, "X-Api-Key": {"k"},
		"User-Agent": {"secret"}, "Content-Type": {"text/secret"}, "Accept": {"application/json"}, "X-Request-Id": {"id"},
	}
	for name, o := range guardedWays() {
		for _, c := range []struct {
			name, location string // %s = the host and port of the other server
			want           http.Header
		}{
			{"the same origin", "/moved", mine},
			{"another port", "http://%s/moved", http.Header{"User-Agent": {"aiperfd"}, "Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}},
			{"another port without a scheme", "//%s/moved", http.Header{"User-Agent": {"aiperfd"}, "Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				received := make(chan *http.Request, 1)
				last := func(w http.ResponseWriter, r *http.Request) {
					received <- r.Clone(context.Background())
					body, _ := io.ReadAll(r.Body)
					w.Write(body)
				}
				other := httptest.NewServer(http.HandlerFunc(last))
				defer other.Close()
				first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/moved" {
						last(w, r)
						return
					}
					location := c.location
					if strings.Contains(location, "%s") {
						location = fmt.Sprintf(location, other.Listener.Addr())
					}
					w.Header().Set("Location", location)
					w.WriteHeader(http.StatusPermanentRedirect)
				}))
				defer first.Close()
				o := o
				o.Clock, o.Policy.Foreign = bench.NewClock(), http.Header{"User-Agent": {"aiperfd"}, "Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
				client := New(o)
				defer client.Close()
				u, _ := url.Parse(first.URL)
				x := client.Do(t.Context(), &Request{URL: u, Header: mine.Clone(), Host: "virtual.example", Body: []byte(`{"a":1}`)})
				defer x.Release()
				if x.Response.Failure != nil || string(x.Response.Body) != `{"a":1}` {
					t.Fatalf("failure %v, body %q", x.Response.Failure, x.Response.Body)
				}
				got := <-received
				for _, name := range []string{"Content-Length", "Connection", "Accept-Encoding"} {
					got.Header.Del(name)
				}
				if diff := cmp.Diff(c.want, got.Header); diff != "" {
					t.Errorf("headers (-want +got):\n%s", diff)
				}
				if moved := c.location != "/moved"; (got.Host == "virtual.example") == moved {
					t.Errorf("the host is %q", got.Host)
				}
			})
		}
	}
}

// TestRefusedRedirects: a redirect is not followed to where the client must not send the
// request.
func TestRefusedRedirects(t *testing.T) {
	for name, o := range guardedWays() {
		for _, c := range []struct{ name, location, body, why string }{
			{"link-local", "http://169.254.169.254/latest", "{}", "http://169.254.169.254 was not followed: 169.254.169.254:80 is not an allowed target: it is a metadata service"},
			{"decimal", "http://2852039166/?q=1", "{}", "http://2852039166 was not followed: 2852039166:80 is not an allowed target: the host ends"},
			{"unlisted", "http://user:pw@127.0.0.2:1/x", "{}", "http://127.0.0.2:1 was not followed: 127.0.0.2:1 is not an allowed target: no pattern"},
			{"a name that leads away", "http://rebound.example/", "{}", "http://rebound.example was not followed: rebound.example:80 is not an allowed target: 169.254.169.254, to which it leads,"},
			{"secret body", "http://other.example/", `{"key":"s3cret"}`, "http://other.example was not followed: it leads to another server, and the body contains a secret"},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", c.location)
					w.WriteHeader(http.StatusTemporaryRedirect)
				}))
				defer server.Close()
				o := o
				o.Clock = bench.NewClock()
				o.Policy.Allow = allow.New(allow.Options{Patterns: patterns(t, server.Listener.Addr().String(), "*.example")})
				o.Policy.Private = func(body []byte) bool { return bytes.Contains(body, []byte("s3cret")) }
				o.Policy.Lookup = func(context.Context, string) ([]netip.Addr, error) {
					return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
				}
				client := New(o)
				defer client.Close()
				u, _ := url.Parse(server.URL)
				x := client.Do(t.Context(), &Request{URL: u, Header: http.Header{}, Body: []byte(c.body)})
				defer x.Release()
				f := x.Response.Failure
				if f == nil || f.Class != bench.Redirect || !strings.HasPrefix(f.Message, "the redirect to "+c.why) {
					t.Errorf("failure %v, want %s", f, c.why)
				}
				if f != nil && (strings.Contains(f.Message, "pw@") || strings.Contains(f.Message, "latest")) {
					t.Errorf("the message %q has more than the origin", f.Message)
				}
			})
		}
	}
}

// TestRedirectWithoutTLS: what was sent over TLS is not sent again without it.
func TestRedirectWithoutTLS(t *testing.T) {
	reached := false
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", plain.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	certificate := testcert.New(t, "127.0.0.1")
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{certificate.Pair}}
	secure.StartTLS()
	defer secure.Close()
	client := New(Options{Clock: bench.NewClock(), SkipTLSVerify: true})
	defer client.Close()
	u, _ := url.Parse(secure.URL)
	x := client.Do(t.Context(), &Request{URL: u, Header: http.Header{}})
	defer x.Release()
	if f := x.Response.Failure; reached || f == nil || f.Class != bench.Redirect || !strings.Contains(f.Message, "it leads from https to http") {
		t.Errorf("reached %v, failure %v", reached, f)
	}
}

// TestRebinding: a name that leads to an address which is not allowed is refused at each
// connection, although it was allowed when the document came.
func TestRebinding(t *testing.T) {
	for name, o := range guardedWays() {
		t.Run(name, func(t *testing.T) {
			st := perform(t, func(_ int, c peer, r *bufio.Reader) {
				for req, _ := take(r); req != nil; req, _ = take(r) {
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
				}
			}, Options{})
			_, port, _ := net.SplitHostPort(st.url.Host)
			var mu sync.Mutex
			answers := []string{"127.0.0.1"}
			o := o
			o.Clock, o.Reuse = bench.NewClock(), Never
			o.Policy.Lookup = func(context.Context, string) (out []netip.Addr, err error) {
				mu.Lock()
				defer mu.Unlock()
				for _, text := range answers {
					out = append(out, netip.MustParseAddr(text))
				}
				return out, nil
			}
			o.Policy.Allow = allow.New(allow.Options{Patterns: patterns(t, "*.example", "127.0.0.1:1")})
			client := New(o)
			defer client.Close()
			u := &url.URL{Scheme: "http", Host: "gw.example:" + port, Path: "/v1"}
			do := func() *bench.Failure {
				x := client.Do(t.Context(), &Request{URL: u, Header: http.Header{}, Body: []byte("{}")})
				defer x.Release()
				return x.Response.Failure
			}
			if f := do(); f != nil {
				t.Fatal(f)
			}
			for _, bad := range []string{"169.254.169.254", "0.0.0.0", "::ffff:169.254.1.1", "64:ff9b::a9fe:a9fe", "fe80::1", "255.255.255.255"} {
				mu.Lock()
				answers = []string{bad}
				mu.Unlock()
				if f := do(); f == nil || f.Class != bench.TargetNotAllowed || f.Step != bench.StepConnect || !strings.Contains(f.Message, "gw.example:"+port+" is not an allowed target: ") {
					t.Errorf("%s: %v", bad, f)
				}
			}
			mu.Lock()
			answers = []string{"169.254.169.254", "127.0.0.1"} // a good one beside it is used
			mu.Unlock()
			if f := do(); f != nil {
				t.Error(f)
			}
			if got := st.dialed(); got != 2 {
				t.Errorf("%d connections, want 2", got)
			}
		})
	}
}

// TestProxyIsATarget: the address of a proxy is checked as well, and so are preconnected
// addresses.
func TestProxyIsATarget(t *testing.T) {
	o := Options{Clock: bench.NewClock(), Policy: Policy{Allow: allow.New(allow.Options{Patterns: patterns(t, "gw.example")})}}
	for _, scheme := range []string{"http", "socks5"} {
		o.Proxy = &url.URL{Scheme: scheme, Host: "127.0.0.1:1"}
		client := New(o)
		x := client.Do(t.Context(), &Request{URL: &url.URL{Scheme: "http", Host: "gw.example"}, Header: http.Header{}})
		if f := x.Response.Failure; f == nil || f.Class != bench.TargetNotAllowed || !strings.Contains(f.Message, "127.0.0.1:1 is not an allowed target") {
			t.Errorf("%s: %v", scheme, f)
		}
		client.Close()
	}
	o.Proxy = nil
	client := New(o)
	defer client.Close()
	st := perform(t, func(int, peer, *bufio.Reader) {}, Options{})
	if opened := client.Preconnect(t.Context(), []*url.URL{st.url}); len(opened) > 0 || st.dialed() > 0 {
		t.Errorf("opened %d connections to %s", st.dialed(), st.url)
	}
}
