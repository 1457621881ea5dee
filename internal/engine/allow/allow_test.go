package allow

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func patterns(t testing.TB, texts ...string) Patterns {
	t.Helper()
	all, err := ParseAll(texts)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// own is the address of the daemon in the tests.
func own() []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9097")} }

// TestSpellings: no spelling of an address that is always denied passes, with a list
// that allows everything else.
func TestSpellings(t *testing.T) {
	for name, l := range map[string]*List{
		"open": New(Options{Open: true, Own: own()}),
		"any":  New(Options{Patterns: patterns(t, "*", "0.0.0.0/0", "::/0"), Own: own()}),
	} {
		for _, raw := range []string{
			"http://169.254.169.254/latest", "http://169.254.169.254./", "http://169.254.0.1:8000", "http://user@169.254.169.254",
			"http://good.example@169.254.169.254/", "http://good.example:80@169.254.169.254:80/v1",
			"http://2852039166/", "http://0xa9fea9fe", "http://0XA9FEA9FE/", "http://0xa9.0xfe.0xa9.0xfe", "http://0251.0376.0251.0376",
			"http://169.254.43518", "http://169.16689662", "http://169.254.169.0xfe", "http://1.0x", "http://127.1", "http://0x7f.1:9097",
			"http://[::ffff:169.254.169.254]", "http://[::ffff:a9fe:a9fe]:80", "http://[0:0:0:0:0:ffff:a9fe:a9fe]",
			"http://[64:ff9b::169.254.169.254]", "http://[64:ff9b::a9fe:a9fe]", "http://[64:ff9b:1::a9fe:a9fe]", "http://[::169.254.169.254]",
			"http://[2002:a9fe:a9fe::1]", "http://[2001:0:a9fe:a9fe::1]", "http://[2001:0:4136:e378:8000:63bf:5601:5601]",
			"http://[fe80::1]", "http://[fe80::1%25eth0]:8000", "http://[febf::1]", "http://[fd00:ec2::254]", "http://[FD00:EC2::254]",
			"http://[fd00:0ec2:0:0:0:0:0:0254]", "http://[fd20:ce::254]", "http://100.100.100.200", "http://168.63.129.16", "http://192.0.0.192",
			"http://metadata.google.internal", "http://METADATA.google.Internal./computeMetadata", "http://metadata.goog:80",
			"http://0.0.0.0:8000", "http://0.1.2.3", "http://[::]:8000", "http://[::ffff:0.0.0.0]", "http://224.0.0.1", "http://239.255.255.250:1900", "http://[ff02::1]",
			"http://255.255.255.255", "http://127.0.0.1:9097/api/shutdown", "http://[::ffff:127.0.0.1]:9097", "http://１６９.254.169.254",
			"http://169。254。169。254", "http://metadata。google.internal", "http://ⓜetadata.google.internal", "http://exam%C3%A9ple.org",
		} {
			u, err := url.Parse(raw)
			if err != nil {
				t.Errorf("%s: %s is no URL: %v", name, raw, err)
				continue
			}
			err = l.URL(u)
			if _, denied := errors.AsType[*Denied](err); !denied {
				t.Errorf("%s: URL(%s) = %v, want it denied", name, raw, err)
			}
		}
		for _, raw := range []string{
			"http://127.0.0.1:8000", "http://localhost:9097", "http://10.0.0.7", "https://192.168.1.5:8443", "http://[::1]:8000", "http://[fd00::7]:80",
			"http://gw.lab", "https://api.example.com/v1", "http://xn--bcher-kva.example", "http://1password.com", "http://node1.0a", "http://127.0.0.2:9097",
		} {
			u, err := url.Parse(raw)
			if err == nil {
				err = l.URL(u)
			}
			if err != nil {
				t.Errorf("%s: URL(%s) = %v, want it allowed", name, raw, err)
			}
		}
	}
}

func TestURL(t *testing.T) {
	listed := func(texts ...string) *List { return New(Options{Patterns: patterns(t, texts...), Own: own()}) }
	for _, c := range []struct {
		name, url string
		list      *List
		reason    string // empty = allowed
	}{
		{"nil", "http://169.254.169.254", nil, ""},
		{"closed", "http://gw.lab", New(Options{}), noList},
		{"closed, literal", "http://10.0.0.1", New(Options{}), noList},
		{"host", "http://gw.lab:8000", listed("gw.lab"), ""},
		{"host in another case", "http://GW.lab.:8000", listed("gw.LAB."), ""},
		{"host with port", "http://gw.lab", listed("gw.lab:80"), ""},
		{"default port of https", "https://gw.lab", listed("gw.lab:443"), ""},
		{"other port", "http://gw.lab:8000", listed("gw.lab:80"), unlisted},
		{"other host", "http://evilgw.lab", listed("gw.lab", "*.gw.lab"), unlisted},
		{"suffix", "http://a.b.lab", listed("*.lab:80"), ""},
		{"suffix is not the name", "http://lab", listed("*.lab"), unlisted},
		{"suffix ends at a dot", "http://evillab", listed("*.lab"), unlisted},
		{"name and a range: decided when it is resolved", "http://gw.lab", listed("10.0.0.0/8"), ""},
		{"name and a range with another port", "http://gw.lab", listed("10.0.0.0/8:8000"), unlisted},
		{"address in range", "http://10.1.2.3:8000", listed("10.0.0.0/8:8000"), ""},
		{"address outside", "http://11.1.2.3:8000", listed("10.0.0.0/8:8000"), unlisted},
		{"mapped address in range", "http://[::ffff:10.1.2.3]:8000", listed("10.0.0.0/8:8000"), ""},
		{"IPv6", "http://[fd00::1]:8000", listed("[fd00::1]:8000"), ""},
		{"IPv6 range", "http://[fd00::1]:8000", listed("fd00::/8"), ""},
		{"IPv6 range with port", "http://[fd00::1]:8000", listed("[fd00::]/8:8001"), unlisted},
		{"metadata listed", "http://169.254.169.254", listed("169.254.169.254"), ""},
		{"metadata in a listed range of link-local addresses", "http://169.254.169.254", listed("169.254.0.0/16"), "it is a metadata service" + literal},
		{"link-local listed", "http://169.254.7.7", listed("169.254.0.0/16"), ""},
		{"link-local in a larger range", "http://169.254.7.7", listed("169.0.0.0/8"), "it is a link-local address" + literal},
		{"NAT64 of a listed address", "http://[64:ff9b::a9fe:101]", listed("169.254.1.1", "64:ff9b::/96"), ""},
		{"metadata name listed", "http://metadata.google.internal", listed("metadata.google.internal"), ""},
		{"metadata name by suffix", "http://metadata.google.internal", listed("*.internal"), "it is a metadata service" + literal},
		{"own address listed", "http://127.0.0.1:9097", listed("127.0.0.1:9097"), ""},
		{"own address without its port", "http://127.0.0.1:9097", listed("127.0.0.1"), "it is this daemon" + literal + ", with its port"},
		{"unspecified", "http://0.0.0.0:8000", listed("*"), "it is the unspecified address" + literal},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if denied, ok := errors.AsType[*Denied](c.list.URL(u)); ok {
			got = denied.Reason
		}
		if got != c.reason {
			t.Errorf("%s: URL(%s): %q, want %q", c.name, c.url, got, c.reason)
		}
	}
}

// TestAddress: what a name leads to is checked, whatever it was when the document came.
func TestAddress(t *testing.T) {
	open := New(Options{Open: true, Own: []netip.AddrPort{netip.MustParseAddrPort("[::]:9097")}})
	named := New(Options{Patterns: patterns(t, "gw.lab", "10.0.0.0/8:8000")})
	for _, c := range []struct {
		list     *List
		host, at string
		want     string // empty = allowed
	}{
		{open, "gw.lab", "10.0.0.1:80", ""},
		{open, "gw.lab", "169.254.169.254:80", "gw.lab:80 is not an allowed target: 169.254.169.254, to which it leads, is a metadata service" + literal},
		{open, "localhost", "127.0.0.1:9097", "localhost:9097 is not an allowed target: 127.0.0.1, to which it leads, is this daemon" + literal + ", with its port"},
		{open, "::1", "[::1]:9097", "[::1]:9097 is not an allowed target: it is this daemon" + literal + ", with its port"},
		{open, "::1", "[::1]:9098", ""},
		{named, "gw.lab", "192.168.0.1:443", ""},
		{named, "gw.lab", "[fe80::1%eth0]:443", "gw.lab:443 is not an allowed target: fe80::1%eth0, to which it leads, is a link-local address" + literal},
		{named, "other.lab", "10.0.0.1:8000", ""},
		{named, "other.lab", "10.0.0.1:80", "other.lab:80 is not an allowed target: " + unlisted},
		{named, "10.0.0.1", "10.0.0.1:80", "10.0.0.1:80 is not an allowed target: " + unlisted},
		{New(Options{}), "gw.lab", "10.0.0.1:80", "gw.lab:80 is not an allowed target: " + noList},
		{nil, "gw.lab", "169.254.169.254:80", ""},
	} {
		got := ""
		if err := c.list.Address(c.host, netip.MustParseAddrPort(c.at)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Address(%s, %s) = %q, want %q", c.host, c.at, got, c.want)
		}
	}
}

func TestSocket(t *testing.T) {
	listed := New(Options{Patterns: patterns(t, "unix:/run/vllm.sock")})
	for _, c := range []struct {
		list *List
		path string
		ok   bool
	}{
		{nil, "/run/x", true}, {listed, "/run/vllm.sock", true}, {listed, "/run/docker.sock", false}, {New(Options{Open: true}), "/run/x", true},
		{New(Options{}), "/run/x", false}, {New(Options{Patterns: patterns(t, "*")}), "/run/x", false},
	} {
		if err := c.list.Socket(c.path); (err == nil) != c.ok {
			t.Errorf("Socket(%s) = %v, want ok = %v", c.path, err, c.ok)
		}
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{
		"", ":80", "gw.lab:0", "gw.lab:65536", "gw.lab:http", "http://gw.lab", "gw.lab/v1", "a@b", "*.", "*.*", "a.*.b", "*lab", "a..b", ".lab",
		"10.0.0.1/8", "10.0.0.0/33", "300.1.1.1", "0x7f.1", "2130706433", "[fd00::1", "[fd00::1]80", "[gw.lab]:80", "[::1]:0", "unix:vllm.sock", "büro.lab", "a b",
		"::ffff:10.0.0.0/104",
	} {
		if p, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", text, p)
		} else if !strings.Contains(err.Error(), grammar) {
			t.Errorf("Parse(%q): %v does not say what is accepted", text, err)
		}
	}
	_, err := ParseAll([]string{"gw.lab", "gw.lab:0", "a b"})
	if err == nil || !strings.Contains(err.Error(), `"gw.lab:0"`) || !strings.Contains(err.Error(), `"a b"`) {
		t.Errorf("ParseAll: %v, want both problems", err)
	}
}

// FuzzParse: what is accepted matches only what its text names.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"gw.lab:80", "*.lab", "*", "10.0.0.0/8:80", "[fd00::1]:80", "[fd00::]/8:1", "unix:/a", "::1"} {
		f.Add(s, "gw.lab")
	}
	f.Fuzz(func(t *testing.T, text, host string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		matches := Patterns{p}.Host(host, 80)
		if matches && !p.any && !p.prefix.IsValid() && !strings.HasSuffix(normal(host), strings.TrimPrefix(p.suffix+p.host, "*")) {
			t.Errorf("%q matches %q", text, host)
		}
		l := New(Options{Patterns: Patterns{p}})
		if at := netip.MustParseAddrPort("169.254.169.254:80"); l.Address(host, at) == nil && !strings.Contains(text, "169.254.169.254") && !strings.Contains(strings.ToLower(text), "a9fe:a9fe") {
			t.Errorf("%q allows the metadata service for %q", text, host)
		}
	})
}
