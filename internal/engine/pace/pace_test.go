package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTimers(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration // of the instant
		close time.Duration // of done; <0 = never
		want  bool
		took  time.Duration
	}{
		{"a future instant", 3 * time.Second, -1, true, 3 * time.Second},
		{"a nanosecond later", 1, -1, true, 1},
		{"now", 0, -1, true, 0},
		{"an instant that has passed", -time.Second, -1, true, 0},
		{"done before", 3 * time.Second, time.Second, false, time.Second},
		{"done after", time.Second, 3 * time.Second, true, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := Timers()
				defer w.Close()
				done := make(chan struct{})
				if tt.close >= 0 {
					defer time.AfterFunc(tt.close, func() { close(done) }).Stop()
				}
				start := time.Now()
				for range 2 { // the second instant has passed
					if got := w.Until(start.Add(tt.after), done); got != tt.want {
						t.Errorf("Until = %v, want %v", got, tt.want)
					}
					if took := time.Since(start); took != tt.took {
						t.Errorf("took %v, want %v", took, tt.took)
					}
				}
			})
		})
	}
}

// Until must never return before the instant: a request that is sent early was
// never due.
func TestPreciseIsNeverEarly(t *testing.T) {
	w := Precise()
	defer w.Close()
	at := time.Now()
	for i := range 200 {
		at = at.Add(time.Duration(i%5) * 100 * time.Microsecond)
		if !w.Until(at, nil) {
			t.Fatal("Until = false without done")
		}
		if early := time.Until(at); early > 0 {
			t.Fatalf("wait %d ended %v early", i, early)
		}
	}
}

func TestPreciseEndsWhenDone(t *testing.T) {
	done := make(chan struct{})
	close(done)
	w := Precise()
	defer w.Close()
	for _, after := range []time.Duration{-time.Second, 0, time.Millisecond, time.Hour} {
		if w.Until(time.Now().Add(after), done) {
			t.Errorf("Until(now%+v) = true although done is closed", after)
		}
	}
}

func TestPreciseDoesNotAllocate(t *testing.T) {
	w := Precise()
	defer w.Close()
	if n := testing.AllocsPerRun(100, func() { w.Until(time.Now().Add(10*time.Microsecond), nil) }); n > 0 {
		t.Errorf("a wait allocates %v times", n)
	}
}

func TestLeadFollowsTheWakeUps(t *testing.T) {
	tests := []struct {
		name     string
		late     time.Duration
		min, max time.Duration
	}{
		{"as late as usual", 50 * time.Microsecond, 49 * time.Microsecond, 50 * time.Microsecond},
		{"an outlier counts as the bound", time.Second, 79 * time.Microsecond, maxLead},
		{"early", -time.Second, 0, 0},
	}
	for _, tt := range tests {
		var l lead
		for range 200 {
			l.woke(tt.late)
		}
		if l.size < tt.min || l.size > tt.max {
			t.Errorf("%s: lead %v, want %v to %v", tt.name, l.size, tt.min, tt.max)
		}
	}
}

// Spinning stays within its share: a lead is given out only while less than a
// twentieth of the time was spun away.
func TestLeadBoundsSpinning(t *testing.T) {
	l := lead{size: maxLead}
	const step = 100 * time.Microsecond
	start := time.Now()
	for i := range 10_000 {
		l.spun += l.take(start.Add(time.Duration(i) * step)) // every lead is spun away whole
	}
	elapsed := 10_000 * step
	if limit := elapsed/spinShare + maxLead; l.spun > limit || l.spun < elapsed/spinShare/2 {
		t.Errorf("%v of %v spun away, want about a twentieth and at most %v", l.spun, elapsed, limit)
	}
}

func BenchmarkPrecise(b *testing.B) {
	w := Precise()
	defer w.Close()
	var late time.Duration
	for b.Loop() {
		at := time.Now().Add(200 * time.Microsecond)
		w.Until(at, nil)
		late += time.Since(at)
	}
	b.ReportMetric(float64(late.Nanoseconds())/float64(b.N), "late-ns/op")
}
