package access

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var _ prometheus.Collector = (*Guard)(nil)

// families are the descriptions of the metrics of a guard.
type families struct{ good, loaded, expiry, sessions, tokens *prometheus.Desc }

func newFamilies() families {
	file := []string{"file"}
	return families{
		good:     prometheus.NewDesc("aiperfd_reload_successful", "Whether the last reading of the file succeeded.", file, nil),
		loaded:   prometheus.NewDesc("aiperfd_reload_success_timestamp_seconds", "When the file was last read successfully.", file, nil),
		expiry:   prometheus.NewDesc("aiperfd_tls_certificate_expiry_timestamp_seconds", "When the TLS certificate of the API expires.", nil, nil),
		sessions: prometheus.NewDesc("aiperfd_sessions", "Sessions of browsers.", nil, nil),
		tokens:   prometheus.NewDesc("aiperfd_tokens", "Tokens that are valid.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (g *Guard) Describe(out chan<- *prometheus.Desc) {
	f := newFamilies()
	for _, d := range []*prometheus.Desc{f.good, f.loaded, f.expiry, f.sessions, f.tokens} {
		out <- d
	}
}

// Collect implements prometheus.Collector. What is not configured has no metrics.
func (g *Guard) Collect(out chan<- prometheus.Metric) {
	f := newFamilies()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, s := range g.files {
		good := 1.0
		if s.failed.Load() {
			good = 0
		}
		gauge(f.good, good, s.name)
		gauge(f.loaded, float64(s.loaded.Load())/float64(time.Second), s.name)
	}
	if g.cert != nil {
		if pair := g.cert.pair.Load(); pair != nil && pair.Leaf != nil {
			gauge(f.expiry, float64(pair.Leaf.NotAfter.Unix()))
		}
	}
	if ts := g.tokens.Load(); ts != nil {
		gauge(f.tokens, float64(len(*ts)))
		gauge(f.sessions, float64(g.sessions.count(time.Now())))
	}
}
