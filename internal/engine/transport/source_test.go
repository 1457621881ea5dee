package transport

import (
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// direct returns clients of both transports over TCP, which open a connection for each
// request.
func direct(t *testing.T, o Options) []struct {
	name   string
	client *Client
} {
	t.Helper()
	o.Clock, o.Trace, o.Reuse = bench.NewClock(), true, Never
	std, loop := New(o), New(o)
	std.loops = func() *loopTransport { return nil }
	t.Cleanup(std.Close)
	t.Cleanup(loop.Close)
	return []struct {
		name   string
		client *Client
	}{{"net/http", std}, {"loop", loop}}
}

// Connections come from the source addresses in turn; one of the other IP version is left
// out.
func TestSourceAddresses(t *testing.T) {
	stage := perform(t, answers(true, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), Options{})
	var addrs []netip.Addr
	for _, a := range []string{"127.0.0.2", "::1", "127.0.0.3"} {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	for _, way := range direct(t, Options{Sources: addrs}) {
		t.Run(way.name, func(t *testing.T) {
			used := map[string]int{}
			for range 6 {
				x := way.client.Do(t.Context(), stage.request())
				if x.Response.Failure != nil {
					t.Fatal(x.Response.Failure)
				}
				used[x.Conn.Trace.Local.Addr().String()]++
				x.Release()
			}
			if len(used) != 2 || used["127.0.0.2"]+used["127.0.0.3"] != 6 || used["127.0.0.2"] < 2 || used["127.0.0.3"] < 2 {
				t.Errorf("connections from %v", used)
			}
		})
	}
}

// An address that this machine does not have is named before the run, and by requests.
func TestForeignSourceAddress(t *testing.T) {
	foreign := netip.MustParseAddr("192.0.2.7") // RFC 5737: nobody's
	err := CheckSources([]netip.Addr{netip.MustParseAddr("127.0.0.1"), foreign})
	if err == nil || err.Error() != "source address 192.0.2.7 is not an address of this machine" {
		t.Errorf("error = %v", err)
	}
	if err := CheckSources(nil); err != nil {
		t.Errorf("error = %v", err)
	}
	stage := perform(t, answers(true, ""), Options{})
	for _, way := range direct(t, Options{Sources: []netip.Addr{foreign}}) {
		x := way.client.Do(t.Context(), stage.request())
		f := x.Response.Failure
		if f == nil || f.Class != bench.ClientError || !strings.HasSuffix(f.Message, "is the source address one of this machine?") {
			t.Errorf("%s: %v", way.name, f)
		}
	}
}

// Names with addresses of both versions are reached by the wanted one, IPv4 first.
func TestIPVersion(t *testing.T) {
	four, six := "127.0.0.1:80", "[::1]:80"
	for _, tt := range []struct {
		version IPVersion
		sources []string
		want    []string
	}{
		{IPAny, nil, []string{four, six}},
		{IPv4, nil, []string{four}},
		{IPv6, nil, []string{six}},
		{IPAny, []string{"::1"}, []string{six}},
		{IPv4, []string{"::1"}, nil},
	} {
		o := Options{IPVersion: tt.version}
		for _, s := range tt.sources {
			o.Sources = append(o.Sources, netip.MustParseAddr(s))
		}
		var got []string
		for _, host := range []string{"::1", "127.0.0.1", "::ffff:127.0.0.1"} {
			addrs, err := o.lookup(t.Context(), host, "80")
			if (err == nil) != (len(addrs) > 0) {
				t.Errorf("lookup(%s) = %v, %v", host, addrs, err)
			}
			for _, a := range addrs {
				got = append(got, a.String())
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, slices.Compact(got)); diff != "" {
			t.Errorf("%+v: %s", tt, diff)
		}
	}
	addrs, err := (&Options{}).lookup(t.Context(), "localhost", "80")
	if err != nil || !addrs[0].Addr().Is4() {
		t.Errorf("localhost = %v, %v; want IPv4 first", addrs, err)
	}
	if _, err := (&Options{}).lookup(t.Context(), "localhost", "x"); err == nil {
		t.Error("a port that is no number is accepted")
	}
}

// A server with an address of the wanted version only is reached over it; one without
// fails with the reason.
func TestServerOfTheOtherIPVersion(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, way := range direct(t, Options{IPVersion: IPv6}) {
		x := way.client.Do(t.Context(), &Request{URL: &url.URL{Scheme: "http", Host: ln.Addr().String()}, Header: http.Header{}})
		f := x.Response.Failure
		if f == nil || f.Class != bench.ConnectError || !strings.Contains(f.Message, "no address of the wanted IP version") {
			t.Errorf("%s: %v", way.name, f)
		}
	}
}

// Each server has connections from every source address, also if servers take turns.
func TestSourcesTakeTurnsForEachServer(t *testing.T) {
	s := sources{addrs: []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("::1"), netip.MustParseAddr("127.0.0.3")}}
	used := map[string]int{}
	for n := range 12 {
		to := netip.MustParseAddrPort([]string{"127.0.0.1:1", "127.0.0.1:2", "[::1]:1"}[n%3])
		from, ok := s.to(to)
		if !ok {
			t.Fatalf("no address to %s", to)
		}
		used[from.String()+" to "+to.String()]++
	}
	want := map[string]int{
		"127.0.0.2 to 127.0.0.1:1": 2, "127.0.0.3 to 127.0.0.1:1": 2, "127.0.0.2 to 127.0.0.1:2": 2, "127.0.0.3 to 127.0.0.1:2": 2,
		"::1 to [::1]:1": 4,
	}
	if diff := cmp.Diff(want, used); diff != "" {
		t.Error(diff)
	}
}

// There is a local port for each pair of a source address and an address of a server.
func TestLocalPorts(t *testing.T) {
	one, ok := localPorts()
	if !ok {
		t.Skip("the range of local ports is unknown")
	}
	a, b := netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("::1")
	addresses := func(_ context.Context, host string) ([]netip.Addr, error) {
		if host != "name.test" {
			return nil, errors.New("unknown")
		}
		return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("2001:db8::1")}, nil
	}
	for _, tt := range []struct {
		sources []netip.Addr
		targets string
		want    int
	}{
		{nil, "http://127.0.0.1", 1},
		{nil, "http://127.0.0.1 https://127.0.0.1 http://127.0.0.1:80/v1", 2},
		{[]netip.Addr{a, b, a.Next()}, "http://127.0.0.1", 2},
		{[]netip.Addr{a, b}, "http://127.0.0.1 http://[::1]:8000", 2},
		{[]netip.Addr{a, b}, "http://name.test", 3},
		{nil, "http://name.test http://[::1] http://10.0.0.1:80", 4},
	} {
		var targets []*url.URL
		for text := range strings.FieldsSeq(tt.targets) {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			targets = append(targets, u)
		}
		o := Options{Sources: tt.sources, Policy: Policy{Lookup: addresses}}
		if got, ok := o.LocalPorts(t.Context(), targets, math.MaxInt); !ok || got != tt.want*one {
			t.Errorf("LocalPorts from %v to %s = %d, want %d times %d", tt.sources, tt.targets, got, tt.want, one)
		}
	}
	unknown := []*url.URL{{Scheme: "http", Host: "unknown.test"}}
	o := Options{Policy: Policy{Lookup: addresses}}
	if n, ok := o.LocalPorts(t.Context(), unknown, one+1); ok {
		t.Errorf("LocalPorts to an unknown name = %d", n)
	}
	if n, ok := o.LocalPorts(t.Context(), unknown, one); !ok || n < one {
		t.Errorf("LocalPorts that are enough without a look at names = %d, %v, want %d", n, ok, one)
	}
}
