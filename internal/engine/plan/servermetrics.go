package plan

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/telemetry"
	"aiperfd/internal/engine/telemetry/servermap"
)

// ServerMetrics describes what is read of the metrics of servers.
type ServerMetrics struct {
	Targets  []telemetry.Target    // hold secrets
	Discover []telemetry.Discovery // hold secrets
	Period   time.Duration
	Formats  []string           // of the files
	Slice    time.Duration      // length of time slices; 0 = none
	Servers  []servermap.Server // that the user has described
}

// Reads reports whether anything is read.
func (m *ServerMetrics) Reads() bool { return len(m.Targets) > 0 || len(m.Discover) > 0 }

const secondMetricsPath = "/prometheus/metrics" // trtllm-serve has JSON under the first

// compileServerMetrics compiles the targets: the servers under test, and those that the document names.
func compileServerMetrics(c *compiler, p *Plan) {
	s := &c.b.ServerMetrics
	if !s.Enabled {
		return
	}
	p.ServerMetrics = ServerMetrics{Period: s.Interval.Duration(), Formats: s.Formats}
	if d := c.b.Artifacts.SliceDuration; d != nil {
		p.ServerMetrics.Slice = d.Duration()
	}
	for i := range p.Targets {
		addMetricsOf(p, &p.Targets[i])
	}
	for _, u := range s.URLs {
		addMetricsPage(c, p, u)
	}
	if s.Map != nil {
		p.ServerMetrics.Servers = c.readServerMap(*s.Map)
	}
}

// addMetricsOf adds the page of a server under test, if it has none yet.
func addMetricsOf(p *Plan, t *Target) {
	if p.ServerMetrics.under(t.URL) >= 0 {
		return
	}
	h := http.Header{}
	for name, values := range p.Header {
		if name != "Content-Type" && name != "Accept" {
			h[name] = values
		}
	}
	if t.Basic != "" && h["Authorization"] == nil {
		h["Authorization"] = []string{t.Basic}
	}
	out := telemetry.Target{Host: t.Host, Header: h}
	for _, page := range []string{metricsPath, secondMetricsPath} {
		out.Candidates = append(out.Candidates, &url.URL{Scheme: t.URL.Scheme, Host: t.URL.Host, Path: page})
		if below, err := t.FunctionURL(page, true); err == nil && below.Path != page {
			out.Candidates = append(out.Candidates, below)
		}
	}
	p.ServerMetrics.Targets = append(p.ServerMetrics.Targets, out)
}

// under returns the index of the server under test whose first page is at the authority of a URL; < 0 = there is none.
func (m *ServerMetrics) under(u *url.URL) int {
	return slices.IndexFunc(m.Targets, func(t telemetry.Target) bool {
		first := t.Candidates[0]
		return !t.Apart && first.Scheme == u.Scheme && strings.EqualFold(first.Host, u.Host)
	})
}

// MetricsPage returns a page of metrics by its URL, or by that of the server, which is none of those under test. ok =
// false if it is no http or https URL.
func MetricsPage(named secret.URL) (page telemetry.Target, ok bool) {
	u, err := url.Parse(named.Reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return telemetry.Target{}, false
	}
	u.Fragment = ""
	page = telemetry.Target{Given: true, Apart: true}
	if basic, ok := endpoint.BasicAuth(named.Reveal()); ok {
		page.Header = http.Header{"Authorization": {basic}}
	}
	u.User = nil
	if last := path.Base(u.Path); last == "metrics" {
		page.Candidates = append(page.Candidates, u)
	} else {
		below := *u
		below.Path, below.RawPath = strings.TrimRight(u.Path, "/")+metricsPath, ""
		if u.Path != "" && u.Path != "/" {
			page.Candidates = append(page.Candidates, u)
		}
		page.Candidates = append(page.Candidates, &below)
	}
	if first := page.Candidates[0]; first.Path == metricsPath {
		second := *first
		second.Path = secondMetricsPath
		page.Candidates = append(page.Candidates, &second)
	}
	return page, true
}

// addMetricsPage adds a page that the document names. The credentials of the servers under test go to none
// but themselves.
func addMetricsPage(c *compiler, p *Plan, named secret.URL) {
	if name, ok := strings.CutPrefix(named.Reveal(), secret.TargetsFile); ok {
		p.ServerMetrics.Discover = append(p.ServerMetrics.Discover, c.listedPages(name))
		return
	}
	address, everyAddress := strings.CutPrefix(named.Reveal(), secret.EveryAddress)
	out, ok := MetricsPage(secret.NewURL(address))
	switch {
	case !ok:
		c.problem("serverMetrics/urls", "out-of-range", "%s: must be an http or https URL", named)
		return
	case everyAddress:
		if i := p.ServerMetrics.under(out.Candidates[0]); i >= 0 { // the page of one of its processes, whichever answers
			same := p.ServerMetrics.Targets[i]
			out.Host, out.Apart = same.Host, false
			if out.Header == nil {
				out.Header = same.Header
			}
			p.ServerMetrics.Targets = slices.Delete(p.ServerMetrics.Targets, i, i+1)
		}
		p.ServerMetrics.Discover = append(p.ServerMetrics.Discover, telemetry.AtEachAddress(out, lookUpEvery))
		return
	}
	u := out.Candidates[0]
	if i := p.ServerMetrics.under(u); i >= 0 {
		same := &p.ServerMetrics.Targets[i]
		if u.Path == "" || u.Path == "/" || u.Path == metricsPath {
			same.Given = true
			return
		}
		out.Host, out.Apart = same.Host, false
		if out.Header == nil {
			out.Header = same.Header
		}
	}
	p.ServerMetrics.Targets = append(p.ServerMetrics.Targets, out)
}

// readServerMap reads the file that describes further servers.
func (c *compiler) readServerMap(name string) []servermap.Server {
	data, err := readFile(c.doc, name, maxSmallFile)
	if err != nil {
		c.problem("serverMetrics/map", "file-not-allowed", "%v", err)
		return nil
	}
	servers, err := servermap.Parse(data)
	if err != nil {
		c.problem("serverMetrics/map", "out-of-range", "%v", err)
	}
	return servers
}
