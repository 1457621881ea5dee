package main

import (
	"context"
	"testing"
	"time"

	"aiperfd/internal/engine/verdict"
)

func TestCertifyIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := execute(ctx, []string{"certify", "--seconds", "60", "--concurrency", "1"}); got != exitCancelled {
		t.Errorf("exit code %d, want %d", got, exitCancelled)
	}
}

// measured is a measurement with bounds and errors in milliseconds.
func measured(streams int, bound, err float64) *verdict.Certificate {
	return &verdict.Certificate{
		Concurrency: &streams, TTFTAdded: 10 * bound, InterChunkAdded: bound,
		TTFT: verdict.Certified{TrueP99: 200, ReportedP99: 200 + 10*err}, InterChunk: verdict.Certified{TrueP99: 20, ReportedP99: 20 - err},
	}
}

// TestAbilities: one percent of 20 ms and of 200 ms are 0.2 and 2 ms. What comes
// after the first failure does not count.
func TestAbilities(t *testing.T) {
	fine, seen, bad := [2]float64{0.2, 0.1}, [2]float64{0.21, 0.2}, [2]float64{0.9, 0.21}
	tests := []struct {
		name string
		runs [][2]float64 // of 1, 2, 4, … streams: bound and error
		want string
	}{
		{"all fine", [][2]float64{fine, fine}, "this host drives at least 2 streams of 50 events/s with an error of at most 1 % (proven: 2; more were not tried)"},
		{"then only the errors", [][2]float64{fine, seen, fine, bad}, "this host drives 4 streams of 50 events/s with an error of at most 1 % (proven: 1)"},
		{"a gap", [][2]float64{fine, bad, fine}, "this host drives 1 stream of 50 events/s with an error of at most 1 % (proven: 1)"},
		{"nothing", [][2]float64{bad}, "this host cannot drive a single stream of 50 events/s with an error of at most 1 %"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &certifyFlags{ttft: 200 * time.Millisecond, itl: 20 * time.Millisecond}
			var all abilities
			for i, r := range tt.runs {
				c := measured(1<<i, r[0], r[1])
				all.Measurements = append(all.Measurements, ability{*c, f.grade(c)})
			}
			all.conclude()
			if got := all.line(f.itl); got != tt.want {
				t.Errorf("line = %s\nwant   %s", got, tt.want)
			}
		})
	}
}
