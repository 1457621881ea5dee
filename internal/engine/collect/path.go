package collect

import (
	"slices"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/engine/transport/netpath"
)

// PathOptions configure the observer of the connections.
type PathOptions struct {
	To *PathRecorder
	// Read reads the connections on which nothing is under way.
	Read func()
	// Ended gets the report once no phase is performed any more.
	Ended func(*paths.Report)
}

// NewPath returns the observer that keeps what the kernel counts of the connections in each phase. They are read
// before the phase and after its last response, so that what a phase did is not counted in another one.
func NewPath(o PathOptions) RunObserver {
	return RunObserver{
		Phase: func(p *spec.Phase, _ *measure.Set) Observer {
			if !p.Seamless {
				o.Read()
			}
			return Observer{
				Begin:   func(Load) { o.To.Begin(p.Index, p.Name, p.Kind, p.Counted()) },
				Observe: func(*bench.Record) {},
				Look: func(l *Look) {
					if l.Last {
						o.To.End(p.Index)
					}
				},
			}
		},
		End: func(func(code, detail string)) { o.Ended(o.To.Report()) },
	}
}

// newTarget returns what was counted of a target.
func newTarget(s *netpath.Stat) paths.Target {
	ratio := func(part, of int64) *float64 {
		if of == 0 {
			return nil
		}
		return new(float64(part) / float64(of))
	}
	const ms = float64(time.Millisecond)
	t := paths.Target{
		Target: s.Target, Readings: s.Readings, Busy: float64(s.Busy) / ms,
		ToServer: paths.ToServer{
			Segments: s.Segments, Retransmitted: s.Retransmitted, RetransmittedRatio: ratio(s.Retransmitted, s.Segments),
			BytesRetransmitted: s.BytesRetransmitted, Timeouts: s.Timeouts,
		},
		FromServer: paths.FromServer{
			Segments: s.Received, OutOfOrder: s.OutOfOrder, OutOfOrderRatio: ratio(s.OutOfOrder, s.Received), Duplicates: s.Duplicates,
		},
		RwndLimited: ratio(int64(s.RwndLimited), int64(s.Busy)), SndbufLimited: ratio(int64(s.SndbufLimited), int64(s.Busy)),
		Responses: s.Responses, Affected: s.Affected, AffectedShare: ratio(s.Affected, s.Responses),
	}
	if s.MinRTT > 0 {
		t.MinRTT = new(float64(s.MinRTT) / ms)
	}
	if s.Readings > 0 {
		t.SmoothedRTT = new(float64(s.RTTs) / float64(s.Readings) / ms)
	}
	return t
}

// newTargets returns what was counted of several targets.
func newTargets(stats []netpath.Stat) []paths.Target {
	out := make([]paths.Target, 0, len(stats))
	for i := range stats {
		out = append(out, newTarget(&stats[i]))
	}
	return out
}

// PathRecorder keeps what was counted in each phase of a run. It is safe for concurrent use.
type PathRecorder struct {
	log     *netpath.Log
	toProxy bool

	mu     sync.Mutex
	phases []recordedPath // guarded by mu
}

// recordedPath is a phase that has begun.
type recordedPath struct {
	index      int
	name, kind string
	counted    bool // it enters the results
	window     *netpath.Window
}

// NewPathRecorder returns a recorder of what a log collects. toProxy: the connections lead to a proxy.
func NewPathRecorder(log *netpath.Log, toProxy bool) *PathRecorder {
	return &PathRecorder{log: log, toProxy: toProxy}
}

// Begin begins a phase. counted: it enters the results.
func (r *PathRecorder) Begin(index int, name string, kind bench.PhaseKind, counted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phases = append(r.phases, recordedPath{index, name, string(kind), counted, r.log.Open()})
}

// End ends a phase.
func (r *PathRecorder) End(index int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.phases {
		if r.phases[i].index == index {
			r.phases[i].window.Close()
		}
	}
}

// Counted returns what was counted in a phase so far, of all targets together.
func (r *PathRecorder) Counted(index int) (all netpath.Stat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.phases {
		if r.phases[i].index == index {
			for _, s := range r.phases[i].window.Stats() {
				all.Add(&s)
			}
		}
	}
	return all
}

// Mean returns the shortest round trip to the server of a response of a phase, on average; 0 = it is not known of all
// servers. Without responses on connections of their own, the readings of a server count.
func (r *PathRecorder) Mean(index int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.phases, func(p recordedPath) bool { return p.index == index })
	if at < 0 {
		return 0
	}
	return meanTrip(r.phases[at].window.Stats())
}

// meanTrip returns the mean of the shortest round trips to servers by their responses; 0 = one is unknown.
func meanTrip(stats []netpath.Stat) time.Duration {
	weight := func(s *netpath.Stat) int64 { return s.Responses }
	if !slices.ContainsFunc(stats, func(s netpath.Stat) bool { return s.Responses > 0 }) {
		weight = func(s *netpath.Stat) int64 { return s.Readings }
	}
	var sum time.Duration
	var n int64
	for i := range stats {
		s := &stats[i]
		if s.MinRTT == 0 && weight(s) > 0 {
			return 0
		}
		sum, n = sum+s.MinRTT*time.Duration(weight(s)), n+weight(s)
	}
	if n == 0 {
		return 0
	}
	return sum / time.Duration(n)
}

// Report returns what was counted so far; nil = nothing.
func (r *PathRecorder) Report() *paths.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &paths.Report{Phases: []paths.Phase{}, ToProxy: r.toProxy}
	var sums []netpath.Stat
	counted := false
	for i := range r.phases {
		p := &r.phases[i]
		stats := p.window.Stats()
		counted = counted || len(stats) > 0
		out.Phases = append(out.Phases, paths.Phase{Name: p.name, Kind: p.kind, Targets: newTargets(stats)})
		if p.counted {
			sums = together(sums, stats)
		}
	}
	if !counted {
		return nil
	}
	out.Targets = newTargets(sums)
	return out
}

// together adds counts to those of the same targets.
func together(sums, more []netpath.Stat) []netpath.Stat {
	for i := range more {
		at := slices.IndexFunc(sums, func(s netpath.Stat) bool { return s.Target == more[i].Target })
		if at < 0 {
			sums = append(sums, more[i])
			continue
		}
		sums[at].Add(&more[i])
	}
	return sums
}
