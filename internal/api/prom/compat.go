package prom

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/run"
)

// quantiles are the statistics that make a metric a summary.
var quantiles = [...]struct {
	stat  metric.Stat
	label string
}{
	{metric.P1, "0.01"}, {metric.P5, "0.05"}, {metric.P10, "0.1"}, {metric.P25, "0.25"},
	{metric.P50, "0.5"}, {metric.P75, "0.75"}, {metric.P90, "0.9"}, {metric.P95, "0.95"},
	{metric.P99, "0.99"},
}

// gauges are the statistics that become a family of their own.
var gauges = [...]struct {
	stat       metric.Stat
	name, help string
}{
	{metric.Avg, "avg", "average"}, {metric.Min, "min", "minimum"},
	{metric.Max, "max", "maximum"}, {metric.Std, "std", "standard deviation"},
}

// Compat returns the exposition of a run as AIPerf 0.13 formats it: the info metric,
// then every metric of the snapshot as summaries and gauges. s may be
// nil.
func Compat(version string, r *run.Run, s *run.Snapshot) []byte {
	c := compat{labels: compatLabels(r)}
	c.head("aiperf_info", "AIPerf benchmark information", "gauge")
	c.buf.WriteString("aiperf_info{" + c.labels + `,version="` + escape(wire.VersionText(version)) + "\"} 1\n")
	if s == nil || len(s.Metrics) == 0 {
		return c.buf.Bytes()
	}
	c.buf.WriteByte('\n')
	for i := range s.Metrics {
		if m := &s.Metrics[i]; m.Def.Shown() {
			c.metric(m)
		}
	}
	return c.buf.Bytes()
}

// compat writes the exposition of one run.
type compat struct {
	buf    bytes.Buffer
	labels string // without braces
}

func (c *compat) metric(m *metric.Result) {
	base, unit := "aiperf_"+sanitize(m.Def.Tag), unitSuffix(m.Def.Unit)
	in := ""
	if m.Def.Unit != "" {
		in = " (in " + m.Def.Unit + ")"
	}
	summary := c.summary(m, base+unit, m.Def.Header+in)
	for _, g := range gauges {
		if v, ok := m.Get(g.stat); ok {
			c.gauge(base+"_"+g.name+unit, m.Def.Header+" "+g.help+in, Float(v))
		}
	}
	if summary {
		return
	}
	if n := wire.Observations(m); n != nil {
		c.gauge(base+"_count"+unit, m.Def.Header+" observation count"+in, strconv.FormatInt(*n, 10))
	}
	if v, ok := m.Get(metric.Sum); ok {
		c.gauge(base+"_sum"+unit, m.Def.Header+" observation sum"+in, Float(v))
	}
}

// summary writes the percentiles, and reports whether there are any.
func (c *compat) summary(m *metric.Result, name, help string) bool {
	first := true
	for _, q := range quantiles {
		v, ok := m.Get(q.stat)
		if !ok {
			continue
		}
		if first {
			c.head(name, help, "summary")
			first = false
		}
		c.buf.WriteString(name + "{" + c.labels + `,quantile="` + q.label + `"} ` + Float(v) + "\n")
	}
	if first {
		return false
	}
	if v, ok := m.Get(metric.Sum); ok {
		c.sample(name+"_sum", Float(v))
	}
	if n := wire.Observations(m); n != nil {
		c.sample(name+"_count", strconv.FormatInt(*n, 10))
	}
	return true
}

func (c *compat) gauge(name, help, value string) {
	c.head(name, help, "gauge")
	c.sample(name, value)
}

func (c *compat) head(name, help, kind string) {
	help = strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help)
	c.buf.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

func (c *compat) sample(name, value string) {
	c.buf.WriteString(name + "{" + c.labels + "} " + value + "\n")
}

// compatLabels are the labels of every sample, in AIPerf's order.
func compatLabels(r *run.Run) string {
	pairs := []string{
		"benchmark_id", r.ID, "model", wire.ModelText(r), "endpoint_type", r.Endpoint,
		"streaming", strconv.FormatBool(r.Streaming),
	}
	if r.Concurrency != nil {
		pairs = append(pairs, "concurrency", strconv.Itoa(*r.Concurrency))
	}
	if r.Rate != nil {
		pairs = append(pairs, "request_rate", Float(*r.Rate))
	}
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(pairs[i] + `="` + escape(pairs[i+1]) + `"`)
	}
	return b.String()
}

func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}

// sanitize replaces characters that metric names cannot contain.
func sanitize(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(s))
	if s != "" && s[0] >= '0' && s[0] <= '9' {
		return "_" + s
	}
	return s
}

// unitSuffix returns "_" and AIPerf's form of a unit, "" without a unit.
func unitSuffix(unit string) string {
	if unit == "" {
		return ""
	}
	u := strings.ReplaceAll(unit, "%", "percent")
	u = strings.ReplaceAll(u, "/", "_per_")
	u = strings.ReplaceAll(u, "tokens_per_sec", "tps")
	u = strings.ReplaceAll(u, "__", "_")
	return "_" + sanitize(u)
}

// Float formats a number as Python prints a float: shortest, always with a
// point or an exponent (30.0, 1e-05, 1e+16).
func Float(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	if abs := math.Abs(v); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
