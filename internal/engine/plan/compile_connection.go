package plan

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

// compileTransport compiles the options of connections.
func compileTransport(c *compiler, p *Plan) {
	e := &c.b.Endpoint
	p.Transport = transport.Options{
		ConnectTimeout: e.ConnectTimeout.Duration(), HeadersTimeout: e.FirstByteTimeout.Duration(),
		IdleTimeout: e.IdleTimeout.Duration(), TotalTimeout: e.Timeout.Duration(),
		SkipTLSVerify: !e.TLSVerify, Streaming: p.Settings.Streaming, EnvProxy: e.ProxyFromEnv, TLS: compileTLS(c), Trace: p.Files.Trace,
	}
	p.Preconnect = e.Preconnect
	o := &p.Transport
	switch e.ConnectionReuse {
	case "", "pooled":
	case "never":
		o.Reuse = transport.Never
	case "sticky-user-sessions":
		o.Reuse = transport.Sticky
	default:
		c.problem("endpoint/connectionReuse", "bad-enum", "connection reuse %q does not exist", e.ConnectionReuse)
	}
	switch e.HTTPVersion {
	case "2":
		o.Version = transport.HTTP2
	case "auto":
		o.Version = transport.HTTPAuto
	case "h2c":
		o.Version = transport.H2C
	}
	switch e.IPVersion {
	case "4":
		o.IPVersion = transport.IPv4
	case "6":
		o.IPVersion = transport.IPv6
	}
	for _, text := range e.SourceAddresses {
		if a, err := netip.ParseAddr(text); err == nil { // the document is checked
			o.Sources = append(o.Sources, a)
		}
	}
	if e.Proxy != (secret.URL{}) {
		proxy, err := url.Parse(e.Proxy.Reveal())
		if err != nil {
			c.problem("endpoint/proxy", "out-of-range", "%s is not a valid URL", e.Proxy)
		}
		o.Proxy = proxy
	}
	if e.UnixSocket != nil {
		o.Sockets = map[string]string{transport.AnyAddress: c.socket("endpoint/unixSocket", *e.UnixSocket)}
	}
}

// sizePool sizes the pool of connections by the phases.
func sizePool(p *Plan) {
	const unlimited = 10_000 // rate phases without a cap
	for _, ph := range p.Phases {
		if ph.Concurrency == 0 {
			p.Transport.MaxIdle = max(p.Transport.MaxIdle, unlimited)
		}
		p.Transport.MaxIdle = max(p.Transport.MaxIdle, ph.Concurrency)
	}
}

// socket finds a unix socket within the document's bounds.
func (c *compiler) socket(pointer, name string) string {
	path, err := c.doc.Socket(name)
	if err != nil {
		c.problem(pointer, "file-not-allowed", "the socket cannot be used")
	}
	return path
}

// compileTLS reads the certificates that the document names; nil = the document has no TLS
// options.
func compileTLS(c *compiler) *tls.Config {
	t := &c.b.Endpoint.TLS
	if *t == (config.TLS{}) {
		return nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.MinVersion == "1.3" {
		out.MinVersion = tls.VersionTLS13
	}
	if t.ServerName != nil {
		out.ServerName = *t.ServerName
	}
	if t.CAFile != nil {
		pem, err := readFile(c.doc, *t.CAFile, maxSmallFile)
		out.RootCAs = x509.NewCertPool()
		if err == nil && !out.RootCAs.AppendCertsFromPEM(pem) {
			err = errors.New("the file contains no PEM certificate")
		}
		if err != nil {
			c.problem("endpoint/tls/caFile", "file-not-allowed", "%v", err)
		}
	}
	if t.CertFile != nil && t.KeyFile != nil {
		certificate, certErr := readFile(c.doc, *t.CertFile, maxSmallFile)
		key, keyErr := readFile(c.doc, *t.KeyFile, maxSmallFile)
		if err := errors.Join(certErr, keyErr); err != nil {
			c.problem("endpoint/tls/certFile", "file-not-allowed", "%v", err)
			return out
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			c.problem("endpoint/tls/certFile", "out-of-range", "certificate and key: %v", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out
}

// compileTargets compiles the URLs of requests. It needs the model for paths that name it,
// and may be called again when the model is known.
func compileTargets(c *compiler, p *Plan) {
	e := &c.b.Endpoint
	p.Targets = nil
	p.Spread = spec.Spread{
		Seed: p.Seed.Child(bench.StreamTargetSelection), Targets: len(e.URLs),
		Random: e.URLStrategy == "random", Request: e.URLAffinity == "request", Least: e.URLStrategy == "least_inflight" && len(e.URLs) > 1,
	}
	for i, base := range e.URLs {
		t, err := compileTarget(c, p, i, base)
		if err != nil {
			c.problem(fmt.Sprintf("endpoint/urls/%d", i), "out-of-range", "%v", err)
			continue
		}
		p.Targets = append(p.Targets, t)
	}
}

func compileTarget(c *compiler, p *Plan, i int, base secret.URL) (Target, error) {
	e := &c.b.Endpoint
	raw, model := base.Reveal(), ""
	if len(c.b.Models.Items) > 0 {
		model = c.b.Models.Items[0].Name
	}
	joined, err := endpoint.JoinURL(raw, p.Kind, p.Settings.Streaming, e.Path, model)
	if err != nil {
		return Target{}, err
	}
	joined = endpoint.WithQuery(joined, query(e.URLParams))
	t := Target{Shown: base.String()}
	t.Basic, _ = endpoint.BasicAuth(raw)
	if rest, ok := strings.CutPrefix(joined, "http+unix://"); ok {
		name, path, _ := strings.Cut(rest, "/")
		if name, err = url.PathUnescape(name); err != nil {
			return Target{}, fmt.Errorf("read the socket in %s: %w", base, err)
		}
		host := fmt.Sprintf("unix-%d.invalid", i)
		t.Address, t.Host = c.socket(fmt.Sprintf("endpoint/urls/%d", i), name), "localhost"
		if p.Transport.Sockets == nil {
			p.Transport.Sockets = map[string]string{}
		}
		p.Transport.Sockets[host+":80"] = t.Address
		joined = "http://" + host + "/" + path
	}
	if t.URL, err = url.Parse(joined); err != nil {
		return Target{}, fmt.Errorf("%s is not a valid URL", base)
	}
	if t.Address == "" {
		t.Address = cmp.Or(p.Transport.Sockets[transport.AnyAddress], strings.ToLower(t.URL.Host))
	}
	path := p.Kind.DefaultPath(p.Settings.Streaming)
	if e.Path != nil {
		path, _, _ = strings.Cut(*e.Path, "?")
	}
	t.Root = root(joined, strings.ReplaceAll(path, "{model}", url.PathEscape(model)))
	return t, nil
}

// root returns a URL without the path of the endpoint; the origin if the URL does not
// end with that path.
func root(joined, path string) string {
	if base, ok := endpoint.TrimPath(joined, path); ok {
		return base
	}
	head, query, _ := strings.Cut(joined, "?")
	scheme, rest, _ := strings.Cut(head, "://")
	authority, _, _ := strings.Cut(rest, "/")
	return endpoint.WithQuery(scheme+"://"+authority, query)
}

// query writes URL parameters in the order of their names.
func query(params map[string]secret.Text) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(params[name].Reveal()))
	}
	return strings.Join(pairs, "&")
}

// compileHeaders compiles the headers of every request. Headers of the user override the
// defaults; the identity headers are written last, by the execution.
func compileHeaders(c *compiler, p *Plan) {
	e := &c.b.Endpoint
	h := http.Header{
		"User-Agent": {userAgent}, "Content-Type": {cmp.Or(p.Kind.ContentType, "application/json")},
		"Accept": {cmp.Or(p.Kind.Accept, "application/json")}, "Accept-Encoding": {"identity"},
	}
	if p.Settings.Streaming {
		h.Set("Accept", cmp.Or(p.Kind.StreamAccept, "text/event-stream"))
	}
	p.Transport.Policy.Foreign = h.Clone()
	authorize(h, p.Kind, e.AuthStyle, e.APIKey.Reveal(), p.hosts())
	for name, value := range e.Headers {
		h.Set(name, value.Reveal())
	}
	p.Header = h
	p.SessionID = "X-Correlation-Id"
	if e.SessionHeader != nil && *e.SessionHeader != "" {
		p.SessionID = textproto.CanonicalMIMEHeaderKey(*e.SessionHeader)
	}
	for _, name := range e.AffinityHeaders {
		p.Affinity = append(p.Affinity, textproto.CanonicalMIMEHeaderKey(name))
	}
}

// authorize sets the headers with the credentials, in the style of the endpoint type,
// or in the style that the user chose for a gateway.
func authorize(h http.Header, kind endpoint.Kind, style, key string, hosts []string) {
	const own = "type"
	if kind.Authorize != nil {
		typeKey := ""
		if style == own {
			typeKey = key
		}
		kind.Authorize(h, typeKey, hosts)
	}
	if key == "" {
		return
	}
	if style == "bearer" || style == "both" || style == own && kind.Authorize == nil {
		h.Set("Authorization", "Bearer "+key)
	}
	if style == "x-api-key" || style == "both" {
		h.Set("X-Api-Key", key)
	}
	if style == "api-key" {
		h.Set("Api-Key", key)
	}
}

// hosts returns the hosts of the targets, with their ports.
func (p *Plan) hosts() []string {
	hosts := make([]string, len(p.Targets))
	for i := range p.Targets {
		hosts[i] = p.Targets[i].URL.Host
	}
	return hosts
}

// CallTimeout is the default timeout of a request that is not load.
const CallTimeout = 5 * time.Second

// compileServerCalls compiles the requests to the servers that are not load.
func compileServerCalls(c *compiler, p *Plan) {
	e := &c.b.Endpoint
	p.Wait = Readiness{
		Timeout: e.WaitForModelTimeout.Duration(), Interval: e.WaitForModelInterval.Duration(),
		Models: e.WaitForModelMode != "inference", Inference: e.WaitForModelMode != "models",
	}
	if r := e.ResetKVCache; r != nil {
		p.Reset = &CacheReset{Timeout: orCallTimeout(r.Timeout), Paths: []secret.URL{secret.NewURL("/reset_prefix_cache"), secret.NewURL("/flush_cache")}}
		p.Reset.Run, p.Reset.Profiling = r.Before != "profiling", r.Before == "profiling" || r.Before == "both"
		if r.Path != nil {
			p.Reset.Paths = []secret.URL{*r.Path}
		}
	}
	if s := e.ServerProfiler; s != nil {
		p.Profiler = &Profiler{Timeout: orCallTimeout(s.Timeout), Start: secret.NewURL("/start_profile"), Stop: secret.NewURL("/stop_profile")}
		if s.StartPath != nil {
			p.Profiler.Start = *s.StartPath
		}
		if s.StopPath != nil {
			p.Profiler.Stop = *s.StopPath
		}
	}
}

func orCallTimeout(s *config.Seconds) time.Duration {
	if s == nil {
		return CallTimeout
	}
	return s.Duration()
}

// Shares reports whether two plans load the same server.
func (p *Plan) Shares(other *Plan) bool {
	for i := range p.Targets {
		for j := range other.Targets {
			if p.Targets[i].Address == other.Targets[j].Address {
				return true
			}
		}
	}
	return false
}

// WithModel returns the plan for the model that the server has named, and the document
// with that model. The plan and its document do not change.
func (p *Plan) WithModel(model string) (*Plan, error) {
	doc, q := *p.Document, *p
	doc.Benchmark.Models.Items = []config.Model{{Name: model}}
	if doc.Benchmark.Tokenizer.Name == "" {
		doc.Benchmark.Tokenizer.Name, q.Tokens.Names = model, []string{model}
	}
	q.Document, q.Transport.Sockets = &doc, maps.Clone(p.Transport.Sockets)
	c := newCompiler(&doc)
	q.Models = newModels(c.b.Models)
	compileTargets(c, &q)
	if err := c.err(); err != nil {
		return nil, err
	}
	return &q, nil
}
