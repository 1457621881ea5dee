package collect

import (
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/run"
)

// NewTwin returns the observer that shows the requests of profiling to the twin of the run; it is zero without one.
// Requests that the client cancelled are left out.
func NewTwin(to run.Twin) RunObserver {
	if to == nil {
		return RunObserver{}
	}
	all := catalogue.Rows()
	row := func(tag string) *catalogue.Row {
		return &all[slices.IndexFunc(all, func(r catalogue.Row) bool { return r.Tag == tag })]
	}
	first, inter, whole := row("time_to_first_token"), row("inter_token_latency"), row("request_latency")
	return RunObserver{Phase: func(p *spec.Phase, _ *measure.Set) Observer {
		if !p.Counted() {
			return Observer{}
		}
		var start time.Duration
		var view catalogue.View
		value := func(r *catalogue.Row) float64 { return r.Each(&view) / r.Div }
		return Observer{
			Begin: func(l Load) { start = l.Start() },
			Observe: func(rec *bench.Record) {
				if rec.Cancelled() || rec.Lineage != nil {
					return
				}
				view.Load(rec)
				s := run.TwinSample{
					Session: rec.SessionNum, Turn: rec.Turn, Conversation: rec.ConversationID,
					Due: rec.Stamps.Due - start, Lag: rec.Stamps.Start - rec.Stamps.Due, Failed: !rec.OK(),
					Input: view.ISL, Output: view.OSL,
				}
				if !s.Failed {
					s.FirstToken, s.InterToken, s.Whole = value(first), value(inter), value(whole)
				}
				to.Take(&s)
			},
		}
	}}
}
