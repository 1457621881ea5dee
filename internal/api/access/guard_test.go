package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/transport/testcert"
)

// Other machines need tokens, unless that was asked for.
func TestExposure(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		options Options
		err     string
		scope   Scope // of a request without a token
		exposed bool
	}{
		{"loopback", Options{Host: "127.0.0.1"}, "", Admin, false},
		{"other loopback", Options{Host: "127.9.9.9"}, "", Admin, false},
		{"IPv6 loopback", Options{Host: "::1"}, "", Admin, false},
		{"localhost", Options{Host: "localhost"}, "", Admin, false},
		{"all addresses", Options{Host: "0.0.0.0"}, ErrExposed.Error(), 0, false},
		{"all addresses, IPv6", Options{Host: "::"}, ErrExposed.Error(), 0, false},
		{"empty, which means all", Options{}, ErrExposed.Error(), 0, false},
		{"a name", Options{Host: "bench.lab"}, ErrExposed.Error(), 0, false},
		{"one that looks like loopback", Options{Host: "127.0.0.1.evil"}, ErrExposed.Error(), 0, false},
		{"tokens", Options{Host: "0.0.0.0", TokenFile: tokens}, "", Open, false},
		{"tokens on loopback", Options{Host: "127.0.0.1", TokenFile: tokens}, "", Open, false},
		{"asked for", Options{Host: "0.0.0.0", Insecure: true}, "", Admin, true},
		{"asked for on loopback", Options{Host: "127.0.0.1", Insecure: true}, "", Admin, false},
		{"read-only", Options{Host: "0.0.0.0", ReadOnly: true}, "", Read, true},
		{"read-only on loopback", Options{Host: "::1", ReadOnly: true}, "", Admin, false},
		{"both", Options{Host: "0.0.0.0", TokenFile: tokens, Insecure: true}, "cannot be combined", 0, false},
		{"missing file", Options{TokenFile: tokens + "x"}, "no such file", 0, false},
		{"key without certificate", Options{Host: "::1", Key: "k"}, "must be given together", 0, false},
		{"all problems", Options{Cert: "c", Origins: []string{"x"}}, "must be http://", 0, false},
	}
	for _, tt := range tests {
		g, err := New(tt.options)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if id := g.identify(new(http.Request)); id.scope != tt.scope || g.Exposed() != tt.exposed {
			t.Errorf("%s: scope %s, exposed %v, want %s, %v", tt.name, id.scope, g.Exposed(), tt.scope, tt.exposed)
		}
	}
	if _, err := New(Options{Cert: "c", Origins: []string{"x"}}); !errors.Is(err, ErrExposed) || len(strings.Split(err.Error(), "\n")) != 3 {
		t.Errorf("not all problems at once: %v", err)
	}
}

// Scopes include those before them.
func TestAdmit(t *testing.T) {
	all := []Scope{Open, Read, Submit, Admin}
	for i, has := range all {
		for k, needs := range all {
			if err := (Identity{scope: has}).Admit(needs); (err == nil) != (i >= k) {
				t.Errorf("%s admits %s: %v", has, needs, err)
			}
		}
	}
	if (Identity{}).Admit(Open) == nil || (Identity{scope: Admin}).Admit(0) == nil {
		t.Error("zero values admit")
	}
	for _, tt := range []struct {
		id    Identity
		owner string
		good  bool
	}{
		{Identity{Name: "ci", scope: Submit}, "ci", true}, {Identity{Name: "ci", scope: Submit}, "other", false},
		{Identity{Name: "ci", scope: Submit}, "", false}, {Identity{Name: "ci", scope: Read}, "ci", false},
		{Identity{Name: "", scope: Submit}, "", false}, {Identity{scope: Admin}, "ci", true},
	} {
		if err := tt.id.AdmitOwner(tt.owner); (err == nil) != tt.good {
			t.Errorf("%+v, run of %q: %v", tt.id, tt.owner, err)
		}
	}
}

// A token of workers lets so many workers join and does nothing else, and no other token does it.
func TestWorker(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("eu:worker,max=3:"+sum+"\nroot:admin:"+digestHex("root")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := New(Options{TokenFile: path})
	if err != nil {
		t.Fatal(err)
	}
	knows := func(text string) func([sha256.Size]byte) bool {
		return func(sum [sha256.Size]byte) bool { return sum == digestOf(text) }
	}
	if name, most, ok := g.Worker(knows("test")); name != "eu" || most != 3 || !ok {
		t.Errorf("%q, %d, %v, want eu, 3", name, most, ok)
	}
	for _, text := range []string{"", "root", "tes"} {
		if name, most, ok := g.Worker(knows(text)); ok || name != "" || most != 0 {
			t.Errorf("%q is a token of workers: %q, %d", text, name, most)
		}
	}
	id := g.identify(&http.Request{Header: http.Header{"Authorization": {"Bearer test"}}})
	for _, s := range Scopes() {
		if err := id.Admit(s); !errors.Is(err, ErrScope) {
			t.Errorf("%s by a worker: %v, want %v", s, err, ErrScope)
		}
	}
	if err := id.Admit(Open); err != nil {
		t.Errorf("what everybody may do: %v", err)
	}
	without, err := New(Options{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := without.Worker(knows("test")); ok {
		t.Error("a worker joins without a token file")
	}
}

func digestHex(text string) string {
	d := digestOf(text)
	return hex.EncodeToString(d[:])
}

// A file is read again when it changes; a bad one changes nothing.
func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ci:submit:" + sum + "\n")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g, err := New(Options{TokenFile: path, AuditFile: audit, Log: zerolog.New(&log)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { g.Watch(ctx); close(ended) }()
		scope := func() Scope {
			return g.identify(&http.Request{Header: http.Header{"Authorization": {"Bearer test"}}}).scope
		}
		good := func() string {
			t.Helper()
			if err := testutil.CollectAndCompare(g, strings.NewReader("# HELP aiperfd_reload_successful Whether the last reading of the file succeeded.\n# TYPE aiperfd_reload_successful gauge\naiperfd_reload_successful{file=\"tokens\"} 1\n"), "aiperfd_reload_successful"); err != nil {
				return "failed"
			}
			return "ok"
		}
		step := func(what, text string, want Scope, metric string) {
			t.Helper()
			if text != "-" {
				write(text)
			}
			time.Sleep(reloadEvery + time.Second)
			if got := scope(); got != want || good() != metric {
				t.Errorf("%s: scope %s, reload %s, want %s, %s", what, got, good(), want, metric)
			}
		}
		step("start", "-", Submit, "ok")
		step("another scope", "ci:admin:"+sum+"\n", Admin, "ok")
		step("bad file", "ci:admin:"+sum+"\nx\n", Admin, "failed")
		step("still bad", "-", Admin, "failed")
		step("good again", "ci:read:"+sum+"\n", Read, "ok")
		if err := os.Chmod(path, 0o602); err != nil {
			t.Fatal(err)
		}
		step("all may write it", "-", Read, "failed")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		step("gone", "-", Read, "failed")
		step("nobody", "# empty\n", Open, "ok")
		write("ci:submit:" + sum + "\n")
		if ok := g.Reload(); !ok || scope() != Submit {
			t.Errorf("at once: Reload = %v, scope %s; want true, submit", ok, scope())
		}
		write("x\n")
		if ok := g.Reload(); ok || scope() != Submit {
			t.Errorf("bad file at once: Reload = %v, scope %s; want false, submit", ok, scope())
		}
		stop()
		<-ended
		if n := strings.Count(log.String(), "the previous content stays in force"); n != 4 {
			t.Errorf("%d errors in the log, want one for each bad state:\n%s", n, log.String())
		}
	})
	data, err := os.ReadFile(audit)
	if n := strings.Count(string(data), `"action":"reload-tokens"`); err != nil || n != 8 || strings.Contains(string(data), sum) {
		t.Errorf("%d reloads in the audit log, want 8: %s", n, data)
	}
	if info, err := os.Stat(audit); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the audit log = %v, %v", info.Mode(), err)
	}
}

// The log says each hour that everybody has access.
func TestWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g, err := New(Options{Host: "0.0.0.0", Insecure: true, Log: zerolog.New(&log)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Hour+time.Minute)
		defer stop()
		g.Watch(ctx)
		if n := strings.Count(log.String(), "without a token"); n != 4 {
			t.Errorf("%d warnings in three hours, want 4:\n%s", n, log.String())
		}
	})
}

// There is a bound on sessions; the oldest one ends.
func TestSessionBound(t *testing.T) {
	var s sessions
	now := time.Now()
	first := s.begin(digest{1}, now)
	for i := range maxSessions {
		s.begin(digest{2}, now.Add(time.Duration(i+1)*time.Second))
	}
	if _, ok := s.find(digestOf(first), now); !ok || len(s.open) != maxOfToken+1 {
		t.Errorf("first %v, %d sessions; one token must not end those of others", ok, len(s.open))
	}
	for i := range maxSessions {
		s.begin(digest{3, byte(i), byte(i >> 8)}, now.Add(time.Hour))
	}
	if _, ok := s.find(digestOf(first), now); ok || len(s.open) != maxSessions {
		t.Errorf("first %v, %d sessions", ok, len(s.open))
	}
	later := now.Add(sessionLife + time.Hour)
	last := s.begin(digest{3}, later)
	if got, ok := s.find(digestOf(last), later); !ok || got != (digest{3}) || s.count(later) != 1 || len(s.open) != 1 {
		t.Errorf("last %v %v, %d of %d sessions", got, ok, s.count(later), len(s.open))
	}
}

func TestParseOrigins(t *testing.T) {
	for text, good := range map[string]bool{
		"*": true, "https://a.example": true, "http://a:8080": true, "HTTPS://A.example": true, "http://[::1]:8080": true,
		"": false, "null": false, "a.example": false, "https://": false, "https://a.example/": false, "https://a.example/x": false,
		"https://u@a.example": false, "ftp://a.example": false, "https://*.example": true, "https://a.example?x": false,
	} {
		if _, err := ParseOrigins([]string{text}); (err == nil) != good {
			t.Errorf("ParseOrigins(%q) = %v", text, err)
		}
	}
	env := func(text string) func(string) (string, bool) {
		return func(string) (string, bool) { return text, true }
	}
	if list, err := OriginsFromEnv(env(`["https://a","*"]`)); err != nil || strings.Join(list, " ") != "https://a *" {
		t.Errorf("list = %v, %v", list, err)
	}
	if _, err := OriginsFromEnv(env("https://a")); err == nil || !strings.Contains(err.Error(), "AIPERF_API_SERVER_CORS_ORIGINS") {
		t.Errorf("no JSON: %v", err)
	}
}

// Lines are appended, and old files removed.
func TestAuditRotation(t *testing.T) {
	a := &auditLog{path: filepath.Join(t.TempDir(), "audit.jsonl")}
	for n := range olderAudits + 2 {
		if err := a.write(Entry{Action: "submit", RunID: "full"}); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(a.path, maxAuditBytes); err != nil {
			t.Fatal(err)
		}
		if err := a.write(Entry{Action: "submit", Caller: string(rune('a' + n))}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(a.path + "*")
	if err != nil || len(files) != olderAudits {
		t.Fatalf("files = %v, %v, want %d", files, err, olderAudits)
	}
	newest, err := os.ReadFile(a.path + ".1")
	if err != nil {
		t.Fatal(err)
	}
	last := newest[bytes.LastIndexByte(newest[:len(newest)-1], 0)+1:]
	var e Entry
	if err := json.Unmarshal(last, &e); err != nil || e.Caller != "f" {
		t.Errorf("last line of the newest file: %s, %v", last, err)
	}
}

// The listener speaks TLS 1.2 and later with the newest certificate; a bad pair is not
// used.
func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	first, second := testcert.New(t), testcert.New(t)
	write := func(c, k []byte) {
		t.Helper()
		if err := errors.Join(os.WriteFile(cert, c, 0o600), os.WriteFile(key, k, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	pem := func(m *testcert.Made) (c, k []byte) {
		t.Helper()
		c, err := os.ReadFile(m.CertFile)
		k, err2 := os.ReadFile(m.KeyFile)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		return c, k
	}
	firstCert, firstKey := pem(first)
	secondCert, secondKey := pem(second)
	write(firstCert, secondKey)
	if _, err := New(Options{Host: "::1", Cert: cert, Key: key}); err == nil || !strings.Contains(err.Error(), "load TLS certificate") {
		t.Errorf("a pair that does not match: %v", err)
	}
	write(firstCert, firstKey)
	g, err := New(Options{Host: "::1", Cert: cert, Key: key, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	inner := memnet.Listen()
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(g.Listener(inner)) }()
	t.Cleanup(func() { server.Close(); <-ended })
	get := func(c *tls.Config) (*http.Response, error) {
		c.InsecureSkipVerify = true // the test compares the certificate
		transport := &http.Transport{DialContext: inner.DialContext, TLSClientConfig: c, ForceAttemptHTTP2: true, DisableKeepAlives: true}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost/", nil)
		if err != nil {
			t.Fatal(err)
		}
		return transport.RoundTrip(req)
	}
	check := func(what string, want *testcert.Made) {
		t.Helper()
		resp, err := get(new(tls.Config))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.TLS.PeerCertificates[0].Raw; !bytes.Equal(got, want.Pair.Certificate[0]) || resp.Proto != "HTTP/2.0" || g.Scheme() != "https" {
			t.Errorf("%s: another certificate, %s, %s", what, resp.Proto, g.Scheme())
		}
	}
	check("start", first)
	write(secondCert, firstKey)
	g.reload(false)
	check("half of a new pair", first)
	write(secondCert, secondKey)
	g.reload(false)
	check("new pair", second)
	if resp, err := get(&tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		resp.Body.Close()
		t.Error("TLS 1.1 was accepted")
	}
	leaf, err := x509.ParseCertificate(second.Pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := testutil.ToFloat64(only{g, "aiperfd_tls_certificate_expiry_timestamp_seconds"}); got != float64(leaf.NotAfter.Unix()) {
		t.Errorf("expiry = %v, want %v", got, leaf.NotAfter)
	}
}

// only collects one metric of a guard.
type only struct {
	*Guard
	name string
}

func (o only) Collect(out chan<- prometheus.Metric) {
	all := make(chan prometheus.Metric, 100)
	o.Guard.Collect(all)
	close(all)
	for m := range all {
		if strings.Contains(m.Desc().String(), `"`+o.name+`"`) {
			out <- m
		}
	}
}

// FuzzIdentify: no header gives access but that with the token, and none of them lets
// a foreign page connect.
func FuzzIdentify(f *testing.F) {
	path := filepath.Join(f.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("ci:submit:"+sum+"\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	g, err := New(Options{TokenFile: path, Origins: []string{"https://dash.example"}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"Bearer test", "bearer  test", "Bearer test, test", "Basic dGVzdA==", "Bearer\ttest", "", "Bearer " + sum} {
		f.Add(seed, CookieName+"="+sum, "https://dash.example.evil.example", "localhost")
	}
	f.Fuzz(func(t *testing.T, authorization, cookies, origin, host string) {
		r := &http.Request{Method: http.MethodPost, Host: host, Header: http.Header{
			"Authorization": {authorization}, "Cookie": {cookies}, "Origin": {origin},
		}}
		id := g.identify(r)
		scheme, text, _ := strings.Cut(authorization, " ")
		if want := strings.EqualFold(scheme, "Bearer") && strings.TrimLeft(text, " ") == "test"; (id.Admit(Read) == nil) != want || id.Admit(Admin) == nil {
			t.Errorf("%q: %+v", authorization, id)
		}
		r = r.WithContext(context.WithValue(t.Context(), key{}, Identity{scope: Admin, token: digest{1}, session: digest{1}}))
		u, err := url.Parse(origin)
		ours := err == nil && strings.EqualFold(u.Host, host)
		if g.AdmitsHandshake(r) && !ours && !strings.EqualFold(origin, "https://dash.example") {
			t.Errorf("origin %q may connect to %q", origin, host)
		}
	})
}
