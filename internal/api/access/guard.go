package access

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Options are the parameters of a [Guard]. Without a token file, everybody who can
// reach the listener has access.
type Options struct {
	Host      string // that the listener is bound to; anything but a loopback address needs tokens
	TokenFile string // empty = no tokens
	Insecure  bool   // allow any Host without tokens
	ReadOnly  bool   // allow any Host without tokens; callers may only read unless Host is loopback

	MetricsPublic bool     // /metrics needs no token
	Origins       []string // of web pages that may use the API, or "*"; see ParseOrigins
	Cert, Key     string   // PEM files of the listener; empty = plain HTTP
	AuditFile     string   // empty = no audit log
	Log           zerolog.Logger
}

// ErrExposed is the error of a listener that other machines can reach without tokens.
var ErrExposed = errors.New("other machines could use the API without a token")

// Guard decides about requests. Make one with [New]. It is safe for concurrent use.
type Guard struct {
	log           zerolog.Logger
	anonymous     Scope // of requests without a token
	exposed       bool  // other machines have access without a token
	metricsPublic bool
	origins       Origins

	tokens   atomic.Pointer[tokens] // nil = there is no token file
	sessions sessions
	leases   leases
	cert     *certificate // nil = plain HTTP
	audit    *auditLog    // nil = none

	files     []*source  // watched
	reloading sync.Mutex // held while they are read again
}

// source are watched files and how the last reading of them went.
type source struct {
	watched

	name   string // for logs and metrics
	failed atomic.Bool
	loaded atomic.Int64 // Unix nanoseconds of the last success
}

// New returns a guard. Its error says what is wrong with the options or the files.
func New(o Options) (*Guard, error) {
	g := &Guard{log: o.Log, anonymous: Admin, metricsPublic: o.MetricsPublic}
	var errs []error
	switch {
	case o.TokenFile != "" && o.Insecure:
		errs = append(errs, errors.New("a token file cannot be combined with access without tokens (--insecure-no-auth)"))
	case o.TokenFile != "":
		g.anonymous = Open
		g.watch("tokens", func() ([]byte, error) { return readTokenFile(o.TokenFile) }, func(text []byte) error {
			ts, err := parseTokenFile(o.TokenFile, text)
			if err == nil {
				g.tokens.Store(&ts)
				g.settle()
			}
			return err
		})
	case Loopback(o.Host):
	case o.ReadOnly:
		g.anonymous, g.exposed = Read, true
	case o.Insecure:
		g.exposed = true
	default:
		errs = append(errs, fmt.Errorf("listen on %q: %w; pass --token-file (aiperfd token new makes tokens), listen on 127.0.0.1, or pass --insecure-no-auth", o.Host, ErrExposed))
	}
	var err error
	if g.origins, err = ParseOrigins(o.Origins); err != nil {
		errs = append(errs, err)
	}
	switch {
	case o.Cert != "" && o.Key != "":
		g.cert = new(certificate)
		g.watch("certificate", func() ([]byte, error) { return readPair(o.Cert, o.Key) }, g.cert.load)
	case o.Cert+o.Key != "":
		errs = append(errs, errors.New("--tls-cert and --tls-key must be given together"))
	}
	if o.AuditFile != "" {
		g.audit = &auditLog{path: o.AuditFile}
	}
	for _, s := range g.files {
		_, err := s.check(true)
		s.loaded.Store(time.Now().UnixNano())
		errs = append(errs, err)
	}
	return g, errors.Join(errs...)
}

// watch adds files to those that are read again when they change.
func (g *Guard) watch(name string, read func() ([]byte, error), apply func([]byte) error) {
	g.files = append(g.files, &source{watched: watched{read: read, apply: apply}, name: name})
}

// The times of [Guard.Watch].
const (
	reloadEvery = 5 * time.Second
	warnEvery   = time.Hour
)

// Watch reads the files again when they change, until ctx ends. Every hour it warns if
// other machines have access without a token.
func (g *Guard) Watch(ctx context.Context) {
	g.warn()
	reload, warn := time.NewTicker(reloadEvery), time.NewTicker(warnEvery)
	defer reload.Stop()
	defer warn.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-warn.C:
			g.warn()
		case <-reload.C:
			g.reload(false)
		}
	}
}

func (g *Guard) warn() {
	if g.exposed {
		g.log.Warn().Msg("other machines can use the API without a token: --insecure-no-auth is set")
	}
	if ts := g.tokens.Load(); ts != nil && len(*ts) == 0 {
		g.log.Warn().Msg("the token file contains no token, so nobody can use the API; add one with aiperfd token new")
	}
}

// Reload reads the files again and reports whether all can be used. The previous content
// of one that cannot stays in force, and the log has the error.
func (g *Guard) Reload() (ok bool) { return g.reload(true) }

// reload reads the files again if they have changed, or in any case.
func (g *Guard) reload(always bool) (ok bool) {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	ok = true
	for _, s := range g.files {
		changed, err := s.check(always)
		if !changed {
			continue
		}
		s.failed.Store(err != nil)
		result := "ok"
		if err != nil {
			result = "kept the previous " + s.name
			g.log.Error().Err(err).Msg("read " + s.name + " again: the previous content stays in force")
		} else {
			s.loaded.Store(time.Now().UnixNano())
		}
		g.Audit(Entry{Action: "reload-" + s.name, Result: result})
		ok = ok && err == nil
	}
	return ok
}

// Audit writes an entry to the audit log and to the log, if there is an audit log. An
// entry that cannot be written is an error of the log only.
func (g *Guard) Audit(e Entry) {
	if g.audit == nil {
		return
	}
	e.Time = time.Now().UTC()
	line := g.log.Info().Str("action", e.Action).Str("result", e.Result)
	for _, field := range []struct{ name, value string }{{"by", e.Caller}, {"remote", e.Remote}, {"request_id", e.RequestID}, {"run", e.RunID}} {
		if field.value != "" {
			line.Str(field.name, field.value)
		}
	}
	line.Msg("audit")
	if err := g.audit.write(e); err != nil {
		g.log.Error().Err(err).Msg("write audit log")
	}
}

// Reloads reports whether there are files to read again.
func (g *Guard) Reloads() bool { return len(g.files) > 0 }

// Exposed reports whether other machines have access without a token.
func (g *Guard) Exposed() bool { return g.exposed }

// Tokens reports whether callers need tokens.
func (g *Guard) Tokens() bool { return g.tokens.Load() != nil }

// MetricsScope returns the scope that /metrics needs.
func (g *Guard) MetricsScope() Scope {
	if g.metricsPublic {
		return Open
	}
	return Read
}

// Identify puts the identity of each request into its context. It rejects none.
func (g *Guard) Identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, g.identify(r))))
	})
}

// identify returns who has sent a request. A header Authorization takes precedence over
// cookies, whether it is valid or not.
func (g *Guard) identify(r *http.Request) Identity {
	ts := g.tokens.Load()
	if ts == nil {
		return Identity{scope: g.anonymous}
	}
	if fields := r.Header.Values("Authorization"); len(fields) > 0 {
		text, ok := bearer(fields)
		t, known := ts.find(text)
		if !ok || !known {
			return Identity{scope: Open, refused: true}
		}
		return Identity{Name: t.Name, scope: t.Scope, token: t.sum}
	}
	for _, c := range r.CookiesNamed(CookieName) {
		id := digestOf(c.Value)
		if holder, ok := g.sessions.find(id, time.Now()); ok {
			if t, ok := ts.holder(holder); ok {
				return Identity{Name: t.Name, scope: t.Scope, token: t.sum, session: id}
			}
		}
	}
	return Identity{scope: Open}
}

// Worker returns the name of the token of a worker, and how many workers may be connected
// with it at once. holds is asked about the SHA-256 of every token of workers, and says
// whether the worker has shown that it knows the token.
func (g *Guard) Worker(holds func(sum [sha256.Size]byte) bool) (name string, most int, ok bool) {
	ts := g.tokens.Load()
	if ts == nil {
		return "", 0, false
	}
	for _, t := range *ts {
		if t.Scope == Worker && holds(t.sum) {
			name, most, ok = t.Name, t.Most, true
		}
	}
	return name, most, ok
}

// bearer returns the token of the header Authorization (RFC 6750 section 2.1). The
// scheme is case-insensitive; there must be one header with one token.
func bearer(fields []string) (string, bool) {
	scheme, text, ok := strings.Cut(fields[0], " ")
	text = strings.TrimLeft(text, " ")
	if len(fields) != 1 || !ok || !strings.EqualFold(scheme, "Bearer") || text == "" || len(text) > maxToken {
		return "", false
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' || c == ',' {
			return "", false
		}
	}
	return text, true
}

// maxToken is the maximum length of a token in a request, in bytes.
const maxToken = 1024

// Listener adds TLS to a listener, if the guard has a certificate.
func (g *Guard) Listener(l net.Listener) net.Listener {
	if g.cert == nil {
		return l
	}
	return tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return g.cert.pair.Load(), nil },
	})
}

// Scheme returns the scheme of URLs of the listener.
func (g *Guard) Scheme() string {
	if g.cert == nil {
		return "http"
	}
	return "https"
}

// leases are the open feeds.
type leases struct {
	mu   sync.Mutex
	open map[*lease]struct{}
}

// lease is a feed that ends when its caller loses access.
type lease struct {
	id  Identity
	end context.CancelFunc
}

// Lease returns a context that ends when the caller of a request loses the right to
// read: its token was removed, or its session has ended. The caller must call release.
func (g *Guard) Lease(ctx context.Context) (leased context.Context, release context.CancelFunc) {
	id := Of(ctx)
	var end context.CancelFunc
	if id.session == (digest{}) {
		leased, end = context.WithCancel(ctx)
	} else {
		leased, end = context.WithDeadline(ctx, g.sessions.expiry(id.session))
	}
	l := &lease{id: id, end: end}
	g.leases.mu.Lock()
	if g.leases.open == nil {
		g.leases.open = map[*lease]struct{}{}
	}
	g.leases.open[l] = struct{}{}
	g.leases.mu.Unlock()
	if !g.holds(id) { // it was lost since the request was identified
		end()
	}
	return leased, func() {
		g.leases.mu.Lock()
		delete(g.leases.open, l)
		g.leases.mu.Unlock()
		end()
	}
}

// holds reports whether an identity still has the right to read.
func (g *Guard) holds(id Identity) bool {
	ts := g.tokens.Load()
	if ts == nil || id.token == (digest{}) {
		return id.scope >= Read
	}
	if id.session != (digest{}) {
		if _, ok := g.sessions.find(id.session, time.Now()); !ok {
			return false
		}
	}
	t, ok := ts.holder(id.token)
	return ok && t.Scope >= Read
}

// settle ends the feeds of callers that have lost access.
func (g *Guard) settle() {
	g.leases.mu.Lock()
	defer g.leases.mu.Unlock()
	for l := range g.leases.open {
		if !g.holds(l.id) {
			l.end() // its owner calls release
		}
	}
}
