package store

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"aiperfd/internal/run"
)

// The metrics have the size of the database, the operations, and when its integrity was
// checked. A run that does not exist is no error of the store.
func TestMetrics(t *testing.T) {
	before := time.Now()
	dir := filepath.Join(t.TempDir(), "data")
	s := open(t, dir)
	if err := s.Put(t.Context(), newRun(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), id(2)); !errors.Is(err, run.ErrNotFound) {
		t.Fatalf("Get = %v", err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.Collectors()...)
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for name, want := range map[string]float64{
		"aiperfd_store_operation_duration_seconds put": 1, "aiperfd_store_operation_duration_seconds get": 1,
		"aiperfd_store_operation_duration_seconds list": 0, "aiperfd_store_errors_total get": 0, "aiperfd_store_errors_total put": 0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s = %v, want %v", name, v, want)
		}
	}
	if size := got["aiperfd_store_size_bytes"]; size < 4096 || size != databaseSize(dir) {
		t.Errorf("size = %v, want %v", size, databaseSize(dir))
	}
	if at := got["aiperfd_store_check_timestamp_seconds"]; at < float64(before.Unix()) || at > float64(time.Now().Unix()+1) {
		t.Errorf("checked at %v, want now", at)
	}
}
