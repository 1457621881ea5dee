package access

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var _ prometheus.Collector = (*Guard)(nil)

// Describe implements prometheus.Collector. It sends nothing: Collect makes the descriptions.
func (*Guard) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. What is not configured has no metrics.
func (g *Guard) Collect(out chan<- prometheus.Metric) {
	gauge := func(name, help string, v float64) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, v)
	}
	ofFile := func(name, help string, v float64, file string) {
		desc := prometheus.NewDesc(name, help, []string{"file"}, nil)
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, file)
	}
	for _, s := range g.files {
		good := 1.0
		if s.failed.Load() {
			good = 0
		}
		ofFile("aiperfd_reload_successful", "Whether the last reading of the file succeeded.", good, s.name)
		ofFile("aiperfd_reload_success_timestamp_seconds", "When the file was last read successfully.",
			float64(s.loaded.Load())/float64(time.Second), s.name)
	}
	if g.cert != nil {
		if pair := g.cert.pair.Load(); pair != nil && pair.Leaf != nil {
			gauge("aiperfd_tls_certificate_expiry_timestamp_seconds",
				"When the TLS certificate of the API expires.", float64(pair.Leaf.NotAfter.Unix()))
		}
	}
	if ts := g.tokens.Load(); ts != nil {
		gauge("aiperfd_tokens", "Tokens that are valid.", float64(len(*ts)))
		gauge("aiperfd_sessions", "Sessions of browsers.", float64(g.sessions.count(time.Now())))
	}
}
