package export

import (
	"fmt"
	"math"
	"testing"

	"aiperfd/internal/engine/bench"
)

// Failures and cancelled requests are always kept; of the others none, all, or the share that
// was asked for, always the same ones.
func TestAdmits(t *testing.T) {
	good := make([]*bench.Record, 20_000)
	for i := range good {
		good[i] = &bench.Record{RequestID: fmt.Sprintf("5bb8a768-c439-451c-b5ab-%012d", i)}
	}
	failed := &bench.Record{RequestID: "x", Answer: bench.Answer{Failure: &bench.Failure{Class: bench.ServerError}}}
	for _, tt := range []struct {
		keep RecordKeep
		want float64
	}{
		{RecordKeep{}, 1}, {RecordKeep{Mode: KeepAll}, 1}, {RecordKeep{Mode: KeepFailures}, 0},
		{RecordKeep{Mode: KeepSample, Rate: 0.01}, 0.01}, {RecordKeep{Mode: KeepSample, Rate: 0.5}, 0.5}, {RecordKeep{Mode: KeepSample, Rate: 1}, 1},
	} {
		kept := 0
		for _, r := range good {
			if tt.keep.Admits(r) {
				kept++
			}
			if tt.keep.Admits(r) != tt.keep.Admits(&bench.Record{RequestID: r.RequestID}) {
				t.Fatalf("%+v: not always the same", tt.keep)
			}
		}
		n := float64(len(good))
		if off := math.Abs(float64(kept)/n - tt.want); off > 4*math.Sqrt(tt.want*(1-tt.want)/n) {
			t.Errorf("%+v keeps %d of %d", tt.keep, kept, len(good))
		}
		if !tt.keep.Admits(failed) {
			t.Errorf("%+v drops a failure", tt.keep)
		}
	}
}
