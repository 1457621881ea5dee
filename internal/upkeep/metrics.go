package upkeep

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

var _ prometheus.Collector = (*Upkeep)(nil)

// families are the descriptions of the metrics.
type families struct{ errors, free, minFree, deleted, failed *prometheus.Desc }

func newFamilies() families {
	return families{
		errors:  prometheus.NewDesc("aiperfd_store_errors_total", "Operations of the store that failed.", []string{"operation"}, nil),
		free:    prometheus.NewDesc("aiperfd_disk_free_bytes", "Free space on the disk of the data directory; absent if it cannot be read.", nil, nil),
		minFree: prometheus.NewDesc("aiperfd_disk_min_free_bytes", "Free space below which new runs are refused.", nil, nil),
		deleted: prometheus.NewDesc("aiperfd_retention_deleted_runs_total", "Runs and studies deleted by the rules of retention.", nil, nil),
		failed:  prometheus.NewDesc("aiperfd_retention_errors_total", "Attempts to apply the rules of retention that failed.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (u *Upkeep) Describe(out chan<- *prometheus.Desc) {
	f := newFamilies()
	for _, d := range []*prometheus.Desc{f.errors, f.free, f.minFree, f.deleted, f.failed} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (u *Upkeep) Collect(out chan<- prometheus.Metric) {
	f := newFamilies()
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	failures := u.Disk.Failures()
	for _, operation := range slices.Sorted(maps.Keys(failures)) {
		out <- prometheus.MustNewConstMetric(f.errors, counter, float64(failures[operation]), operation)
	}
	if free, err := u.Disk.Free(); err == nil {
		out <- prometheus.MustNewConstMetric(f.free, gauge, float64(free))
	}
	out <- prometheus.MustNewConstMetric(f.minFree, gauge, float64(u.Rules.MinFree))
	out <- prometheus.MustNewConstMetric(f.deleted, counter, float64(u.deleted.Load()))
	out <- prometheus.MustNewConstMetric(f.failed, counter, float64(u.failed.Load()))
}
