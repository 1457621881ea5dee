package collect

import (
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

// twoReturned is a load whose two requests have returned.
type twoReturned struct{}

func (twoReturned) Start() time.Duration { return 0 }
func (twoReturned) Stats(time.Duration) bench.PhaseStats {
	return bench.PhaseStats{Sent: 2, Completed: 1, Cancelled: 1}
}
func (twoReturned) Stop(bench.PhaseEnd) {}
func (twoReturned) Settled(bool)        {}

// TestForced: what has returned and is not decoded when the run is cancelled by force
// counts as cancelled, so that nobody waits for it.
func TestForced(t *testing.T) {
	decoded := false
	p := &plan.Plan{}
	p.Kind.Decode = func(*bench.Response, bool) bench.Answer {
		decoded = true
		return bench.Answer{}
	}
	r := NewRecorder(RecorderOptions{
		Run: &Run{Plan: p, Clock: bench.NewClock(), Tokens: &Tokens{}, Files: &Files{}, Faults: &Faults{}, Forced: func() bool { return true }}, Phase: &spec.Phase{},
	})
	r.load = twoReturned{}
	recorded := make(chan *bench.Record)
	r.decoded.record = func(rec *bench.Record) { recorded <- rec }
	r.startFinishers()
	for _, failure := range []*bench.Failure{nil, load.Forced()} {
		r.Finished(load.Finished{Record: new(bench.Record), Exchange: transport.Exchange{Response: &bench.Response{Status: 200, Failure: failure}}})
		if rec := <-recorded; !rec.Cancelled() || rec.Answer.Failure.Code != load.CodeForced {
			t.Errorf("record with %+v, want it cancelled by force", rec.Answer.Failure)
		}
	}
	close(r.finish)
	r.finishers.Wait()
	if s := r.Stats(); decoded || s.Completed != 0 || s.Cancelled != 2 || s.Errors != 0 {
		t.Errorf("decoded %v, %d completed, %d cancelled, %d errors; want false, 0, 2, 0", decoded, s.Completed, s.Cancelled, s.Errors)
	}
}
