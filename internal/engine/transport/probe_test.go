package transport

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"testing"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/bench"
)

func parsedURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A probe connects to where requests connect, and its name is looked up once.
func TestProbeAddress(t *testing.T) {
	lookups := 0
	lookup := func(context.Context, string) ([]netip.Addr, error) {
		lookups++
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	for _, test := range []struct {
		name, server, proxy string
		sockets             map[string]string
		want                string // "" = an error
	}{
		{name: "http", server: "http://h/v1", want: "h:80"},
		{name: "https", server: "https://h", want: "h:443"},
		{name: "port", server: "http://h:8000", want: "h:8000"},
		{name: "behind a proxy", server: "http://h:8000", proxy: "http://p:3128", want: "p:3128"},
		{name: "socket", server: "http://h:8000", sockets: map[string]string{"h:8000": "/run/server.sock"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := &Options{Sockets: test.sockets, Policy: Policy{Lookup: lookup}}
			if test.proxy != "" {
				o.Proxy = parsedURL(t, test.proxy)
			}
			p, err := NewProbe(t.Context(), o, parsedURL(t, test.server))
			switch {
			case test.want == "" && err == nil:
				t.Errorf("%s has a probe", test.server)
			case test.want != "" && (err != nil || p.Address() != test.want):
				t.Errorf("address %v, %v, want %s", p, err, test.want)
			}
		})
	}
	if lookups != 4 {
		t.Errorf("%d look-ups, want 4", lookups)
	}
}

// A probe measures a connection, which the server sees closed; a server that may not be reached has no probe.
func TestProbeConnect(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	server := parsedURL(t, "http://"+ln.Addr().String())
	o := &Options{Clock: bench.NewClock()}
	p, err := NewProbe(t.Context(), o, server)
	if err != nil {
		t.Fatal(err)
	}
	trip, err := p.Connect(t.Context())
	if err != nil || trip <= 0 {
		t.Errorf("round trip %v, %v", trip, err)
	}
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("the server received %d bytes", n)
	}
	patterns, err := allow.ParseAll([]string{"example.com"})
	if err != nil {
		t.Fatal(err)
	}
	o.Policy.Allow = allow.New(allow.Options{Patterns: patterns})
	var denied *allow.Denied
	if _, err := NewProbe(t.Context(), o, server); !errors.As(err, &denied) {
		t.Errorf("a server that is not allowed: %v", err)
	}
	o.Policy.Allow = nil
	_ = ln.Close()
	if _, err := p.Connect(t.Context()); err == nil {
		t.Error("a connection to nobody")
	}
}
