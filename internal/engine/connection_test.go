package engine_test

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/transport/testcert"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// spreads is a document with three URLs and these members of the endpoint.
func spreads(members, dataset, phases string) string {
	return `
randomSeed: 7
benchmark:
  model: m
  endpoint: {urls: ["http://a", "http://b", "http://c"], useServerTokenCount: true` + members + `}
  dataset: ` + dataset + `
  phases: [` + phases + `]
`
}

// calls counts the inference requests of each host, and records the hosts of each
// session.
type calls struct {
	mu       sync.Mutex
	hosts    map[string]int
	sessions map[string][]string
}

func (v *calls) wrap(next http.Handler) http.Handler {
	v.hosts, v.sessions = map[string]int{}, map[string][]string{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			v.mu.Lock()
			v.hosts[r.Host]++
			session := r.Header.Get("X-Correlation-Id")
			if hosts := v.sessions[session]; !slices.Contains(hosts, r.Host) {
				v.sessions[session] = append(hosts, r.Host)
			}
			v.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// targets counts the records of each target.
func (b *bed) targets(id string) map[int]int {
	b.t.Helper()
	f, err := os.Open(filepath.Join(b.store.Dir(id), export.NamesFor("").Records))
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	out := map[int]int{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var l struct {
			Own struct{ Target int } `json:"aiperfd"`
		}
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			b.t.Fatal(err)
		}
		out[l.Own.Target]++
	}
	return out
}

func TestSpread(t *testing.T) {
	const single = `{type: file, format: single_turn, records: [{text: one, output_length: 3}]}`
	const turns = `{type: synthetic, entries: 20, isl: 5, osl: 3, turns: {mean: 4, stddev: 2}}`
	const load = `{name: profiling, type: concurrency, concurrency: 5, requests: 50}`
	const phases = `{name: warmup, type: concurrency, concurrency: 4, requests: 7}, ` + load
	for _, tt := range []struct {
		name, members, dataset, phases string
		want                           map[string]int // nil = every host is used
		several                        bool           // sessions see several hosts
	}{
		{"in turn", "", single, load, map[string]int{"a": 17, "b": 17, "c": 16}, false},
		{"in turn through phases", "", single, phases, map[string]int{"a": 19, "b": 19, "c": 19}, false},
		{"sessions in turn", "", turns, load, nil, false},
		{"requests in turn", ", urlAffinity: request", turns, load, map[string]int{"a": 17, "b": 17, "c": 16}, true},
		{"requests in turn through phases", ", urlAffinity: request", turns, phases, map[string]int{"a": 19, "b": 19, "c": 19}, true},
		{"sessions at random", ", urlStrategy: random", turns, load, nil, false},
		{"requests at random", ", urlStrategy: random, urlAffinity: request", turns, load, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var first map[string]int
			for range rounds(2) {
				synctest.Test(t, func(t *testing.T) {
					v := &calls{}
					o := mock.Options{TTFT: mock.ConstDelay(20 * time.Millisecond), ITL: mock.ConstDelay(time.Millisecond)}
					b := newBed(t, o, v.wrap)
					r := b.run(spreads(tt.members, tt.dataset, tt.phases))
					if r.State != bench.StateCompleted || r.Summary.Errors != 0 {
						t.Fatalf("run %s: %+v", r.State, r.Error)
					}
					if tt.want != nil {
						if diff := cmp.Diff(tt.want, v.hosts); diff != "" {
							t.Errorf("requests of each host (-want +got):\n%s", diff)
						}
					}
					if len(v.hosts) != 3 {
						t.Errorf("hosts %v, want three", v.hosts)
					}
					if first == nil {
						first = v.hosts
					} else if diff := cmp.Diff(first, v.hosts); diff != "" {
						t.Errorf("the same seed spreads differently (-first +second):\n%s", diff)
					}
					several := false
					for _, hosts := range v.sessions {
						several = several || len(hosts) > 1
					}
					if several != tt.several {
						t.Errorf("sessions see several hosts: %v, want %v", several, tt.several)
					}
					recorded := map[string]int{}
					for target, n := range b.targets(r.ID) {
						recorded[string("abc"[target])] += n
					}
					if diff := cmp.Diff(v.hosts, recorded); diff != "" {
						t.Errorf("records (-server +records):\n%s", diff)
					}
					b.stop()
				})
			}
		})
	}
}

// capture records the inference requests that a server receives.
type capture struct {
	mu   sync.Mutex
	seen []*http.Request
}

func (c *capture) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.seen = append(c.seen, r.Clone(r.Context()))
		c.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// header lists the values that a header had at a host, without repetitions.
func (c *capture) header(host, name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, r := range c.seen {
		if value := r.Header.Get(name); r.Host == host && !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return strings.Join(out, " | ")
}

// The credentials of a URL go to that URL only, with probes and with load.
func TestUserInfoOfEachURL(t *testing.T) {
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, affinity := range []string{"session", "request"} {
		t.Run(affinity, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &capture{}
				b := newBed(t, mock.Options{TTFT: mock.ConstDelay(time.Millisecond)}, c.wrap)
				r := b.run(`
benchmark:
  model: m
  endpoint:
    urls: ["http://u1:p1@a/?x=1", "http://u2:p2@b", "http://c"]
    urlAffinity: ` + affinity + `
    urlParams: {api-version: "7", x: "2"}
    waitForModelTimeout: 5
    useServerTokenCount: true
  dataset: {type: file, format: single_turn, records: [{text: one, output_length: 3}]}
  phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 6}]
`)
				if r.State != bench.StateCompleted || r.Summary.Errors != 0 {
					t.Fatalf("run %s: %+v", r.State, r.Error)
				}
				got := []string{c.header("a", "Authorization"), c.header("b", "Authorization"), c.header("c", "Authorization")}
				if diff := cmp.Diff([]string{basic("u1:p1"), basic("u2:p2"), ""}, got); diff != "" {
					t.Errorf("Authorization (-want +got):\n%s", diff)
				}
				for _, r := range c.seen {
					if got := r.URL.RawQuery; got != "api-version=7&x=2" {
						t.Errorf("%s %s: query %q, want api-version=7&x=2", r.Method, r.URL.Path, got)
					}
				}
				b.stop()
			})
		})
	}
}

func TestAuthStyles(t *testing.T) {
	for _, tt := range []struct{ members, authorization, xAPIKey, apiKey string }{
		{"", "Bearer k1", "", ""},
		{", authStyle: bearer", "Bearer k1", "", ""},
		{", authStyle: x-api-key", "", "k1", ""},
		{", authStyle: both", "Bearer k1", "k1", ""},
		{", authStyle: api-key", "", "", "k1"},
		{", authStyle: none", "", "", ""},
		{", headers: {authorization: Custom x}", "Custom x", "", ""},
	} {
		t.Run(tt.members, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &capture{}
				b := newBed(t, mock.Options{TTFT: mock.ConstDelay(time.Millisecond)}, c.wrap)
				b.run(waiting("apiKey: k1, affinityHeaders: [x-session-id, X-SMG-Routing-Key], waitForModelTimeout: 5" + tt.members))
				got := []string{c.header("mem", "Authorization"), c.header("mem", "X-Api-Key"), c.header("mem", "Api-Key")}
				if diff := cmp.Diff([]string{tt.authorization, tt.xAPIKey, tt.apiKey}, got); diff != "" {
					t.Errorf("headers (-want +got):\n%s", diff)
				}
				load := c.seen[len(c.seen)-1].Header
				session := load.Get("X-Correlation-Id")
				if session == "" || load.Get("X-Session-Id") != session || load.Get("X-Smg-Routing-Key") != session || load.Get("X-Session-Affinity") != "" {
					t.Errorf("headers of the session: %v", load)
				}
				b.stop()
			})
		})
	}
}

// realBed is an engine in real time, with the system's network.
func realBed(t *testing.T) *bed {
	t.Helper()
	store := &memStore{dir: t.TempDir(), runs: map[string]run.Run{}}
	e, err := engine.New(engine.Options{Store: store, Log: zerolog.Nop(), Version: "test", Monitor: monitor.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if err := e.Run(t.Context()); err != nil {
			t.Errorf("engine: %v", err)
		}
	})
	t.Cleanup(group.Wait) // t's context ends before
	return &bed{t: t, engine: e, store: store}
}

// handler is a simulated server.
func handler(t *testing.T) http.Handler {
	t.Helper()
	server, err := mock.New(mock.Options{ServedModels: []string{"m"}, TTFT: mock.ConstDelay(time.Millisecond), ITL: mock.ConstDelay(time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server.Handler()
}

// patience is an endpoint section that waits for a server.
const patience = "waitForModelTimeout: 60, waitForModelMode: both, waitForModelInterval: 0.1, "

// connectionDocument returns a document with members of the endpoint section.
func connectionDocument(endpoint string) string {
	return `
benchmark:
  model: m
  endpoint: {streaming: true, useServerTokenCount: true, ` + patience + endpoint + `}
  dataset: {type: file, format: single_turn, records: [{text: one, output_length: 3}]}
  phases: [{name: profiling, type: concurrency, concurrency: 3, requests: 12}]
`
}

func TestUnixSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c := &capture{}
	web := &http.Server{Handler: c.wrap(handler(t))}
	var group sync.WaitGroup
	group.Go(func() { web.Serve(ln) })
	t.Cleanup(func() { web.Close(); group.Wait() })
	b := realBed(t)
	for _, tt := range []struct{ name, endpoint, host string }{
		{"option", `url: "http://name:81/v1", unixSocket: ` + path, "name:81"},
		{"URL", `url: "http+unix://` + strings.ReplaceAll(path, "/", "%2F") + `/v1"`, "localhost"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := b.run(connectionDocument(tt.endpoint))
			if r.State != bench.StateCompleted || r.Summary.Requests != 12 || r.Summary.Errors != 0 {
				t.Fatalf("run %s: %+v", r.State, r.Error)
			}
			for _, seen := range c.seen {
				if seen.Host != tt.host || !strings.HasPrefix(seen.URL.Path, "/v1/") {
					t.Errorf("host %s, path %s; want %s", seen.Host, seen.URL.Path, tt.host)
				}
			}
			c.seen = nil
		})
	}
}

func TestTLS(t *testing.T) {
	made, other := testcert.New(t, "127.0.0.1", "inference.test"), testcert.New(t, "127.0.0.1")
	server := httptest.NewUnstartedServer(handler(t))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{made.Pair}, ClientCAs: made.Pool, ClientAuth: tls.VerifyClientCertIfGiven, MaxVersion: tls.VersionTLS12}
	strict := httptest.NewUnstartedServer(handler(t))
	strict.TLS = &tls.Config{Certificates: []tls.Certificate{made.Pair}, ClientCAs: made.Pool, ClientAuth: tls.RequireAndVerifyClientCert}
	for _, s := range []*httptest.Server{server, strict} {
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail on purpose
		s.StartTLS()
		t.Cleanup(s.Close)
	}
	url, mutual := "url: "+server.URL, "url: "+strict.URL
	ca := "caFile: " + made.CAFile
	own := ", certFile: " + made.CertFile + ", keyFile: " + made.KeyFile
	b := realBed(t)
	for _, tt := range []struct {
		name, endpoint string
		want           string // part of the error; empty = it works
		warning        string
	}{
		{"authority", url + ", tls: {" + ca + "}", "", ""},
		{"unknown authority", url, "certificate", ""},
		{"another authority", url + ", tls: {caFile: " + other.CAFile + "}", "certificate", ""},
		{"not verified", url + ", tlsVerify: false", "", "tls-not-verified"},
		{"server name", url + ", tls: {" + ca + ", serverName: inference.test}", "", ""},
		{"wrong server name", url + ", tls: {" + ca + ", serverName: elsewhere.test}", "elsewhere.test", ""},
		{"minimum version", url + ", tls: {" + ca + ", minVersion: 1.3}", "version", ""},
		{"client certificate", mutual + ", tls: {" + ca + own + ", minVersion: 1.3}", "", ""},
		{"no client certificate", mutual + ", tls: {" + ca + "}", "certificate required", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			document := connectionDocument(tt.endpoint)
			if tt.want != "" {
				document = strings.Replace(document, patience, "", 1)
			}
			r := b.run(document)
			switch {
			case tt.want == "" && (r.State != bench.StateCompleted || r.Summary.Errors != 0):
				t.Errorf("run %s: %+v", r.State, r.Error)
			case tt.want != "" && (r.Error == nil || !strings.Contains(r.Error.Message, tt.want)):
				t.Errorf("run %s: %+v, want %s", r.State, r.Error, tt.want)
			}
			if got := slices.Contains(codes(r.Warnings), "tls-not-verified"); got != (tt.warning != "") {
				t.Errorf("warnings %v, want %q", codes(r.Warnings), tt.warning)
			}
		})
	}
}

// Over HTTP/2 requests share connections. Their number follows from the limit of the
// server, and the result has it.
func TestHTTPVersions(t *testing.T) {
	made := testcert.New(t, "127.0.0.1")
	start := func(two bool, limit int) string {
		s := httptest.NewUnstartedServer(handler(t))
		s.EnableHTTP2 = two
		s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: limit}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{made.Pair}}
		s.StartTLS()
		t.Cleanup(s.Close)
		return "url: " + s.URL + ", tls: {caFile: " + made.CAFile + "}"
	}
	plain := httptest.NewUnstartedServer(handler(t))
	plain.Config.Protocols = new(http.Protocols)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Config.Protocols.SetHTTP1(true)
	plain.Start()
	t.Cleanup(plain.Close)
	modern, narrow, old := start(true, 100), start(true, 2), start(false, 0)
	b := realBed(t)
	for _, tt := range []struct{ name, endpoint, want string }{
		{"1.1", modern, ""},
		{"2", modern + ", httpVersion: 2", "http2: requests shared connections of HTTP/2: 1 were opened in all, with 100 requests at a time on each at most, as the server allows"},
		{"2 with a low limit", narrow + ", httpVersion: 2", "http2: requests shared connections of HTTP/2: 2 were opened in all, with 2 requests at a time on each at most, as the server allows"},
		{"auto", modern + ", httpVersion: auto", "http2: requests shared connections of HTTP/2: 1 were opened in all, with 100 requests at a time on each at most, as the server allows"},
		{"auto with an old server", old + ", httpVersion: auto", "http2-not-offered: the server offers no HTTP/2; requests went over HTTP/1.1"},
		{"h2c", "url: " + plain.URL + ", httpVersion: h2c", "http2: requests shared connections of HTTP/2: 1 were opened in all, with 250 requests at a time on each at most, as the server allows"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := b.run(connectionDocument(tt.endpoint))
			if r.State != bench.StateCompleted || r.Summary.Errors != 0 || r.Summary.Requests != 12 {
				t.Fatalf("run %s: %+v", r.State, r.Error)
			}
			got := ""
			for _, w := range r.Warnings {
				if strings.HasPrefix(w.Code, "http2") {
					got += w.Code + ": " + w.Detail
				}
			}
			if got != tt.want {
				t.Errorf("the result says %q, want %q", got, tt.want)
			}
		})
	}
}

// A configured proxy is used for http and https; its requests are counted.
func TestProxies(t *testing.T) {
	made := testcert.New(t, "127.0.0.1")
	plain := httptest.NewServer(handler(t))
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(handler(t))
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{made.Pair}}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	b := realBed(t)
	for _, tt := range []struct {
		name, url string
		serve     func(*testing.T, *proxy) string
	}{
		{"http to http", plain.URL, httpProxy},
		{"http to https", secure.URL, httpProxy},
		{"https to http", plain.URL, func(t *testing.T, p *proxy) string { return httpsProxy(t, p, made) }},
		{"https to https", secure.URL, func(t *testing.T, p *proxy) string { return httpsProxy(t, p, made) }},
		{"socks5 to http", plain.URL, socksProxy},
		{"socks5 to https", secure.URL, socksProxy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &proxy{}
			r := b.run(connectionDocument("url: " + tt.url + ", proxy: " + tt.serve(t, p) + ", tls: {caFile: " + made.CAFile + "}"))
			if r.State != bench.StateCompleted || r.Summary.Errors != 0 || r.Summary.Requests != 12 {
				t.Fatalf("run %s: %+v", r.State, r.Error)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.used == 0 || p.refused != 0 {
				t.Errorf("the proxy was used %d times, and refused %d", p.used, p.refused)
			}
			i := slices.IndexFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == "proxy" })
			if i < 0 || strings.Contains(r.Warnings[i].Detail, "word") {
				t.Errorf("warnings %+v, want that of the proxy, redacted", r.Warnings)
			}
		})
	}
	t.Run("refusal", func(t *testing.T) {
		p := &proxy{}
		address := strings.Replace(httpProxy(t, p), "pass", "wrong", 1)
		r := b.run(strings.Replace(connectionDocument("url: "+secure.URL+", proxy: "+address), patience, "", 1))
		if r.Error == nil || !strings.Contains(r.Error.Message, "Proxy Authentication Required") || strings.Contains(r.Error.Message, "word") {
			t.Errorf("run %s: %+v", r.State, r.Error)
		}
	})
	t.Run("environment is ignored", func(t *testing.T) {
		p := &proxy{}
		t.Setenv("HTTP_PROXY", httpProxy(t, p))
		if r := b.run(connectionDocument("url: " + plain.URL)); r.State != bench.StateCompleted || p.used != 0 {
			t.Errorf("run %s, the proxy was used %d times", r.State, p.used)
		}
	})
}

// proxy counts the requests through it.
type proxy struct {
	mu            sync.Mutex
	used, refused int // guarded by mu
}

func (p *proxy) count(ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok {
		p.used++
	} else {
		p.refused++
	}
}

const proxyUser = "user:password"

// ServeHTTP is a proxy for http, and for https by CONNECT.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ok := r.Header.Get("Proxy-Authorization") == "Basic "+base64.StdEncoding.EncodeToString([]byte(proxyUser))
	p.count(ok)
	switch {
	case !ok:
		http.Error(w, "who are you?", http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer to.Close()
		from, rest, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer from.Close()
		fmt.Fprint(from, "HTTP/1.1 200 OK\r\n\r\n")
		relay(struct {
			io.Reader
			io.WriteCloser
		}{rest, from}, to)
	default:
		out := r.Clone(r.Context())
		out.RequestURI = ""
		resp, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
	}
}

// relay copies both ways until one side ends.
func relay(a, b io.ReadWriteCloser) {
	var group sync.WaitGroup
	for _, way := range [][2]io.ReadWriteCloser{{a, b}, {b, a}} {
		group.Go(func() {
			io.Copy(way[0], way[1])
			way[0].Close()
			way[1].Close()
		})
	}
	group.Wait()
}

func httpProxy(t *testing.T, p *proxy) string {
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "://", "://"+proxyUser+"@", 1)
}

func httpsProxy(t *testing.T, p *proxy, made *testcert.Made) string {
	s := httptest.NewUnstartedServer(p)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{made.Pair}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "://", "://"+proxyUser+"@", 1)
}

// socksProxy is SOCKS5 (RFC 1928) with user name and password (RFC 1929).
func socksProxy(t *testing.T, p *proxy) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(20 * time.Second))
				to, err := socks(c)
				p.count(err == nil)
				if err == nil {
					relay(c, to)
				}
			})
		}
	})
	t.Cleanup(func() { ln.Close(); group.Wait() })
	return "socks5://" + proxyUser + "@" + ln.Addr().String()
}

// socks answers the handshake and connects to the requested address.
func socks(c net.Conn) (net.Conn, error) {
	read := func(n byte) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(c, b); err != nil {
			return make([]byte, n)
		}
		return b
	}
	read(read(2)[1]) // methods
	c.Write([]byte{5, 2})
	user := string(read(read(2)[1]))
	password := string(read(read(1)[0]))
	if user+":"+password != proxyUser {
		c.Write([]byte{1, 1})
		return nil, fmt.Errorf("refused %s", user)
	}
	c.Write([]byte{1, 0})
	var host string
	switch read(4)[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 3:
		host = string(read(read(1)[0]))
	}
	port := read(2)
	to, err := net.Dial("tcp", net.JoinHostPort(host, fmt.Sprint(int(port[0])<<8|int(port[1]))))
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	return to, err
}
