package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/run"
)

// operation is an operation of a store that can fail.
type operation string

// The operations.
const (
	opPut    operation = "put"
	opGet    operation = "get"
	opList   operation = "list"
	opDelete operation = "delete"
	opPing   operation = "ping"
)

// metrics measures a store. Safe for concurrent use.
type metrics struct {
	durations *prometheus.HistogramVec // by operation
	errors    *prometheus.CounterVec   // by operation
	size      prometheus.GaugeFunc
	checked   prometheus.Gauge // nil = the integrity was not checked completely

	mu      sync.Mutex
	damaged error // guarded by mu; nil = no operation has found damage in the database
}

func newMetrics(dir string) *metrics {
	m := &metrics{
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "aiperfd_store_operation_duration_seconds", Help: "Duration of operations of the store.",
			Buckets:                     []float64{.0001, .00025, .001, .0025, .01, .025, .1, .25, 1, 2.5, 10},
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
		}, []string{"operation"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aiperfd_store_errors_total", Help: "Operations of the store that failed.",
		}, []string{"operation"}),
		size: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "aiperfd_store_size_bytes", Help: "Size of the database with its log, without the folders of runs.",
		}, func() float64 { return databaseSize(dir) }),
	}
	for _, o := range []operation{opPut, opGet, opList, opDelete, opPing} {
		m.durations.WithLabelValues(string(o))
		m.errors.WithLabelValues(string(o))
	}
	return m
}

// databaseSize returns the bytes of the files of a database.
func databaseSize(dir string) (size float64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(filepath.Join(dir, databaseFile+suffix)); err == nil {
			size += float64(info.Size())
		}
	}
	return size
}

// verified notes that the integrity of the database has been checked.
func (m *metrics) verified() {
	m.checked = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "aiperfd_store_check_timestamp_seconds", Help: "When the integrity of the database was last checked completely.",
	})
	m.checked.SetToCurrentTime()
}

// collectors returns what exports the metrics. Call it after the database was opened.
func (m *metrics) collectors() []prometheus.Collector {
	out := []prometheus.Collector{m.durations, m.errors, m.size}
	if m.checked != nil {
		out = append(out, m.checked)
	}
	return out
}

// timed measures an operation until the function that it returns is called.
func (m *metrics) timed(o operation) (done func()) {
	start := time.Now()
	return func() { m.durations.WithLabelValues(string(o)).Observe(time.Since(start).Seconds()) }
}

// failed counts the failure of an operation, if err is one of the store and not of its
// caller. It returns err.
func (m *metrics) failed(o operation, err error) error {
	switch {
	case err == nil, errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrBadCursor), errors.Is(err, context.Canceled):
		return err
	}
	m.errors.WithLabelValues(string(o)).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.damaged == nil && damaged(err) {
		m.damaged = fmt.Errorf("database is damaged and is rebuilt at the next start: %w", err)
	}
	return err
}

// damage returns the first sign of a damaged database.
func (m *metrics) damage() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.damaged
}
