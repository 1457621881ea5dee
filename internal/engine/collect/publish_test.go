package collect

import (
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/run"
)

// TestPublishDoesNotHoldUp: a recorder measures while another one publishes.
func TestPublishDoesNotHoldUp(t *testing.T) {
	shared := &Run{Clock: bench.NewClock(), Faults: &Faults{}}
	publishing, measured := make(chan struct{}), make(chan struct{})
	recorder := func() *Recorder {
		set, err := measure.NewSet(measure.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := NewRecorder(RecorderOptions{
			Run: shared, Phase: &spec.Phase{Kind: bench.Warmup}, Set: set,
			Shot: func(...run.EventType) func() {
				if shared.Recording.TryLock() {
					t.Error("a snapshot is taken while recorders measure")
				}
				return func() {
					close(publishing)
					<-measured
				}
			},
		})
		r.load = instant{}
		return r
	}
	first, second := recorder(), recorder()
	done := make(chan struct{})
	go func() {
		first.publish(false)
		close(done)
	}()
	<-publishing
	second.measure(&bench.Record{Answer: bench.Answer{Failure: &bench.Failure{}}})
	close(measured)
	<-done
	if n := second.counts.errors.Load(); n != 1 {
		t.Errorf("%d errors, want 1", n)
	}
}
