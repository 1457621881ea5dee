package plan

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/telemetry"
	"aiperfd/internal/engine/telemetry/gpu"
)

// GPUTelemetry describes what is read of accelerators. Without targets and without Local nothing is.
type GPUTelemetry struct {
	Targets []telemetry.Target // hold secrets
	Local   telemetry.Local    // reads the cards of this machine; empty = they are not read
	Period  time.Duration
	Devices []string      // that count; empty = all
	Extra   []gpu.Field   // further fields of DCGM
	Idle    time.Duration // before the first phase, in which the idle cards are measured; 0 = they are not
}

// Reads reports whether anything is read.
func (g *GPUTelemetry) Reads() bool { return g.Local != "" || len(g.Targets) > 0 }

// defaultExporters are the addresses at which AIPerf looks for exporters.
func defaultExporters() []string { return []string{"localhost:9400", "localhost:9401"} }

// compileGPUTelemetry compiles the pages of exporters: those of this machine, and those that the document names.
func compileGPUTelemetry(c *compiler, p *Plan) {
	g := &c.b.GPUTelemetry
	if !g.Enabled {
		return
	}
	p.GPUTelemetry = GPUTelemetry{
		Period: g.Interval.Duration(), Devices: g.Devices, Idle: g.IdleBaseline.Duration(),
	}
	switch g.Collector {
	case config.CollectorNVIDIA:
		p.GPUTelemetry.Local = telemetry.SMI
	case config.CollectorAMD:
		p.GPUTelemetry.Local = telemetry.AMDSysfs
	}
	if g.MetricsFile != nil {
		p.GPUTelemetry.Extra = c.readGPUFields(*g.MetricsFile)
	}
	if p.GPUTelemetry.Local != "" {
		return
	}
	for _, host := range defaultExporters() {
		p.GPUTelemetry.Targets = append(p.GPUTelemetry.Targets, telemetry.Target{
			Candidates: []*url.URL{{Scheme: "http", Host: host, Path: metricsPath}}, Apart: true, Devices: true,
		})
	}
	for _, u := range g.URLs {
		addExporter(c, p, u)
	}
}

// addExporter adds a page that the document names.
func addExporter(c *compiler, p *Plan, named secret.URL) {
	u, err := url.Parse(named.Reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		c.problem("gpuTelemetry/urls", "out-of-range", "%s: must be an http or https URL", named)
		return
	}
	out := telemetry.Target{Given: true, Apart: true, Devices: true}
	if basic, ok := endpoint.BasicAuth(named.Reveal()); ok {
		out.Header = http.Header{"Authorization": {basic}}
	}
	u.User, u.Fragment = nil, ""
	if path.Base(u.Path) != "metrics" {
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+metricsPath, ""
	}
	out.Candidates = []*url.URL{u}
	for i := range p.GPUTelemetry.Targets { // one that AIPerf would look at anyway
		if same := &p.GPUTelemetry.Targets[i]; same.Candidates[0].String() == u.String() && out.Header == nil {
			same.Given = true
			return
		}
	}
	p.GPUTelemetry.Targets = append(p.GPUTelemetry.Targets, out)
}

// readGPUFields reads the file with further fields of DCGM.
func (c *compiler) readGPUFields(name string) []gpu.Field {
	f, err := c.doc.Open(name)
	if err != nil {
		c.problem("gpuTelemetry/metricsFile", "file-not-allowed", "the file cannot be opened")
		return nil
	}
	defer f.Close()
	fields, err := gpu.ParseFields(f)
	if err != nil {
		c.problem("gpuTelemetry/metricsFile", "out-of-range", "%v", err)
	}
	return fields
}
