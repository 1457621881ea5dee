package timeline

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestRequestsOnDisk checks that full blocks of requests leave the memory and come
// back with their gaps.
func TestRequestsOnDisk(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "values"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	var disk Disk
	disk.Use(f)
	gaps := On(&disk)
	line := New(1<<30, &disk, &gaps)
	const n = 10*blockLen + 3
	for i := range n {
		own := []float64{float64(i), float64(i + 1), float64(i + 2)}[:i%4%3]
		gaps.AddAll(own)
		gaps.Add(-1) // of no request
		gaps.AddAll(own)
		line.Add(&Request{Start: time.Duration(i), End: time.Duration(i + 1), Gaps: len(own)}, nil)
	}
	for _, b := range line.requests.full {
		if b.kept != nil {
			t.Fatal("a full block is in memory")
		}
	}
	i := 0
	for r, got := range line.Requests() {
		want := []float64{float64(i), float64(i + 1), float64(i + 2)}[:i%4%3]
		if r.Start != time.Duration(i) || !slices.Equal(got, want) {
			t.Fatalf("request %d has start %d and gaps %v, want %v", i, r.Start, got, want)
		}
		i++
	}
	if i != n || disk.Err() != nil {
		t.Errorf("%d requests came back, want %d; error %v", i, n, disk.Err())
	}
}
