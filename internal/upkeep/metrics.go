package upkeep

import "github.com/prometheus/client_golang/prometheus"

var _ prometheus.Collector = (*Upkeep)(nil)

// families are the descriptions of the metrics.
type families struct{ free, minFree, reserve, deleted, failed *prometheus.Desc }

func newFamilies() families {
	return families{
		free:    prometheus.NewDesc("aiperfd_disk_free_bytes", "Free space on the disk of the data directory; absent if it cannot be read.", nil, nil),
		minFree: prometheus.NewDesc("aiperfd_disk_min_free_bytes", "Free space below which new runs are refused.", nil, nil),
		reserve: prometheus.NewDesc("aiperfd_disk_reserve_bytes", "Free space below which runs stop recording; absent without a minimum of free space.", nil, nil),
		deleted: prometheus.NewDesc("aiperfd_retention_deleted_runs_total", "Runs and studies deleted by the rules of retention.", nil, nil),
		failed:  prometheus.NewDesc("aiperfd_retention_errors_total", "Attempts to apply the rules of retention that failed.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (u *Upkeep) Describe(out chan<- *prometheus.Desc) {
	f := newFamilies()
	for _, d := range []*prometheus.Desc{f.free, f.minFree, f.reserve, f.deleted, f.failed} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (u *Upkeep) Collect(out chan<- prometheus.Metric) {
	f := newFamilies()
	gauge := func(d *prometheus.Desc, v int64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
	counter := func(d *prometheus.Desc, v int64) {
		out <- prometheus.MustNewConstMetricWithCreatedTimestamp(d, prometheus.CounterValue, float64(v), u.since)
	}
	if free, err := u.Disk.Free(); err == nil {
		gauge(f.free, free)
	}
	gauge(f.minFree, u.Rules.MinFree)
	if reserve := u.Rules.Reserve(); reserve > 0 {
		gauge(f.reserve, reserve)
	}
	counter(f.deleted, u.deleted.Load())
	counter(f.failed, u.failed.Load())
}
