package plan

import (
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/telemetry"
	"aiperfd/internal/engine/telemetry/servermap"
)

// ServerMetrics describes what is read of the metrics of servers. Without targets nothing is.
type ServerMetrics struct {
	Targets []telemetry.Target // hold secrets
	Period  time.Duration
	Formats []string           // of the files
	Slice   time.Duration      // length of time slices; 0 = none
	Servers []servermap.Server // that the user has described
}

// Paths of pages of metrics.
const (
	metricsPath       = "/metrics"
	secondMetricsPath = "/prometheus/metrics" // trtllm-serve has JSON under the first
)

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
	if metricsAt(p, t.URL) != nil {
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

// metricsAt returns the target whose first page is at the authority of a URL; nil = there is none.
func metricsAt(p *Plan, u *url.URL) *telemetry.Target {
	for i := range p.ServerMetrics.Targets {
		t := &p.ServerMetrics.Targets[i]
		if first := t.Candidates[0]; !t.Apart && first.Scheme == u.Scheme && strings.EqualFold(first.Host, u.Host) {
			return t
		}
	}
	return nil
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
	out, ok := MetricsPage(named)
	if !ok {
		c.problem("serverMetrics/urls", "out-of-range", "%s: must be an http or https URL", named)
		return
	}
	u := out.Candidates[0]
	if same := metricsAt(p, u); same != nil {
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
	const most = 1 << 20
	f, err := c.doc.Open(name)
	if err != nil {
		c.problem("serverMetrics/map", "file-not-allowed", "the file cannot be opened")
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		c.problem("serverMetrics/map", "file-not-allowed", "the file cannot be read")
		return nil
	}
	servers, err := servermap.Parse(data)
	if err != nil {
		c.problem("serverMetrics/map", "out-of-range", "%v", err)
	}
	return servers
}
