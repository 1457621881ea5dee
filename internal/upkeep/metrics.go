package upkeep

import "github.com/prometheus/client_golang/prometheus"

var _ prometheus.Collector = (*Upkeep)(nil)

// Describe implements prometheus.Collector. It sends nothing: Collect makes the descriptions.
func (*Upkeep) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (u *Upkeep) Collect(out chan<- prometheus.Metric) {
	gauge := func(name, help string, v int64) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, float64(v))
	}
	counter := func(name, help string, v int64) {
		desc := prometheus.NewDesc(name, help, nil, nil)
		out <- prometheus.MustNewConstMetricWithCreatedTimestamp(desc, prometheus.CounterValue, float64(v), u.since)
	}
	if free, err := u.Disk.Free(); err == nil {
		gauge("aiperfd_disk_free_bytes", "Free space on the disk of the data directory; absent if it cannot be read.", free)
	}
	gauge("aiperfd_disk_min_free_bytes", "Free space below which new runs are refused.", u.Rules.MinFree)
	if reserve := u.Rules.Reserve(); reserve > 0 {
		gauge("aiperfd_disk_reserve_bytes",
			"Free space below which runs stop recording; absent without a minimum of free space.", reserve)
	}
	counter("aiperfd_retention_deleted_runs_total", "Runs and studies deleted by the rules of retention.", u.deleted.Load())
	counter("aiperfd_retention_errors_total", "Attempts to apply the rules of retention that failed.", u.failed.Load())
}
