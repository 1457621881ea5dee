package measure

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/timeline"
)

// onDisk returns a file of a test.
func onDisk(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "values"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// observeMany gives a set n records, the same ones each time, and returns their
// phase.
func observeMany(s *Set, n int) bench.PhaseStats {
	l := newLoad(7*ms, 8)
	var end time.Duration
	for i := range n {
		r := l.next(i)
		end = max(end, r.Stamps.End)
		s.Observe(r)
	}
	return bench.PhaseStats{Start: time.Second, RequestsEnd: end, End: bench.PhaseCompleted}
}

// TestKeepIn checks that results do not depend on the place of values.
func TestKeepIn(t *testing.T) {
	const n = 5000
	memory, file := newSet(t, Options{Streaming: true}), newSet(t, Options{Streaming: true})
	file.KeepIn(onDisk(t))
	p := observeMany(memory, n)
	observeMany(file, n)
	window := p.RequestsEnd - p.Start
	want, got := memory.Final(window, p), file.Final(window, p)
	if !reflect.DeepEqual(want, got) {
		t.Error("results differ from those of values in memory")
	}
	if file.DiskError() != nil {
		t.Error(file.DiskError())
	}

	other := newSet(t, Options{Streaming: true})
	other.KeepIn(onDisk(t))
	q := observeMany(other, n)
	pooled := func(a, b *Set) metric.Results {
		res, err := Pool(Part{Set: a, Window: window, Phase: p}, Part{Set: b, Window: window, Phase: q})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	again := newSet(t, Options{Streaming: true})
	observeMany(again, n)
	if !reflect.DeepEqual(pooled(memory, again), pooled(file, other)) {
		t.Error("pooled results differ from those of values in memory")
	}

	if err := file.Merge(other); err != nil {
		t.Fatal(err)
	}
	if err := memory.Merge(again); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(memory.Final(2*window, p), file.Final(2*window, p)) {
		t.Error("merged results differ from those of values in memory")
	}
}

// brokenFile fails from a write, or at every read.
type brokenFile struct {
	timeline.File
	writes int // that succeed
	reads  bool
}

func (f *brokenFile) WriteAt(b []byte, at int64) (int, error) {
	if f.writes--; f.writes < 0 {
		return 0, errors.New("disk is full")
	}
	return f.File.WriteAt(b, at)
}

func (f *brokenFile) ReadAt(b []byte, at int64) (int, error) {
	if !f.reads {
		return 0, errors.New("disk is gone")
	}
	return f.File.ReadAt(b, at)
}

// TestDiskFails checks that a full disk changes nothing but the memory, and that
// values that cannot be read back leave percentiles from sketches.
func TestDiskFails(t *testing.T) {
	const n = 5000
	memory := newSet(t, Options{Streaming: true})
	p := observeMany(memory, n)
	window := p.RequestsEnd - p.Start
	want := memory.Final(window, p)

	full := newSet(t, Options{Streaming: true})
	full.KeepIn(&brokenFile{File: onDisk(t), writes: 10, reads: true})
	observeMany(full, n)
	if got := full.Final(window, p); !reflect.DeepEqual(want, got) {
		t.Error("results with a full disk differ from those of values in memory")
	}
	if err := full.DiskError(); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("error is %v, want the disk's", err)
	}

	gone := newSet(t, Options{Streaming: true})
	gone.KeepIn(&brokenFile{File: onDisk(t), writes: 1 << 30})
	observeMany(gone, n)
	got := gone.Final(window, p)
	if err := gone.DiskError(); err == nil || !strings.Contains(err.Error(), "disk is gone") {
		t.Errorf("error is %v, want the disk's", err)
	}
	sketches := 0
	byTag := map[string]*catalogue.Row{}
	rows := catalogue.Rows()
	for i := range rows {
		byTag[rows[i].Tag] = &rows[i]
	}
	for i := range want {
		w := &want[i]
		g := got.Find(w.Def.Tag)
		if w.Confidence == nil { // one without values
			if row := byTag[w.Def.Tag]; row != nil && row.Curve != catalogue.NoCurve && g != nil {
				t.Errorf("%s: a curve of requests that are gone", w.Def.Tag)
			}
			continue
		}
		if g == nil || g.Count != w.Count {
			t.Errorf("%s is %v, want %d values", w.Def.Tag, g, w.Count)
			continue
		}
		a, _ := w.Get(metric.P90)
		b, _ := g.Get(metric.P90)
		if math.Abs(a-b) > 0.005*math.Abs(a) {
			t.Errorf("%s: p90 is %v, want about %v", w.Def.Tag, b, a)
		}
		if g.RelError > 0 {
			sketches++
		}
	}
	if sketches < 5 {
		t.Errorf("%d metrics came from sketches, want several", sketches)
	}
	pooled, err := Pool(Part{Set: gone, Window: window, Phase: p}, Part{Set: memory, Window: window, Phase: p})
	if err != nil {
		t.Fatal(err)
	}
	const tag = "request_latency"
	g := pooled.Find(tag)
	a, _ := want.Find(tag).Get(metric.P90)
	b, _ := g.Get(metric.P90)
	if g.Confidence != nil || g.Count != 2*want.Find(tag).Count || math.Abs(a-b) > 0.005*a {
		t.Errorf("pooled: %d values, p90 %v, intervals %v; want %d, about %v, none", g.Count, b, g.Confidence, 2*want.Find(tag).Count, a)
	}
}
