package wire

import (
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// Progress is the body of GET /api/progress.
type Progress struct {
	Phases          map[string]Phase `json:"phases"` // by the user's phase name
	Workers         WorkerCounts     `json:"workers"`
	ResultsExported bool             `json:"results_exported"`
	SystemState     SystemState      `json:"system_state"`
}

// WorkerCounts are the counts of the load generators that perform a run together; all 0 if there is only one.
type WorkerCounts struct {
	Ready              int `json:"ready"`
	Total              int `json:"total"`
	Dispatchable       int `json:"dispatchable"`
	RouterConnected    int `json:"router_connected"`
	ReadyProcessors    int `json:"ready_record_processors"`
	DeclaredProcessors int `json:"declared_record_processors"`
	ReadyPods          int `json:"ready_pods"`
	TotalPods          int `json:"total_pods"`
	DegradedPods       int `json:"degraded_pods"`
}

// SystemState is AIPerf's name for where a benchmark is; it only moves forward.
type SystemState string

// The system states.
const (
	Initializing SystemState = "initializing"
	Configuring  SystemState = "configuring"
	Ready        SystemState = "ready"
	InProfiling  SystemState = "profiling"
	StoppingRun  SystemState = "stopping"
	Processing   SystemState = "processing"
	ShutDown     SystemState = "shutdown"
)

// SystemStateOf maps the state of a run.
func SystemStateOf(s bench.State) SystemState {
	switch s {
	case bench.StateQueued:
		return Initializing
	case bench.StateStarting:
		return Configuring
	case bench.StateRunning:
		return InProfiling
	case bench.StateStopping:
		return StoppingRun
	case bench.StateExporting:
		return Processing
	case bench.StateCompleted, bench.StateCancelled, bench.StateFailed:
		return ShutDown
	}
	return Initializing
}

// Phase is the state of one phase. Times are nanoseconds since 1970, null until
// they happen.
type Phase struct {
	Phase           bench.PhaseKind `json:"phase" enums:"warmup,profiling"`
	PhaseIndex      int             `json:"phase_index"`
	ProfilingIndex  *int            `json:"profiling_index"` // null for warm-up
	PhaseName       string          `json:"phase_name"`
	PhaseKind       bench.PhaseKind `json:"phase_kind" enums:"warmup,profiling"`
	StartNS         *int64          `json:"start_ns"`
	SentEndNS       *int64          `json:"sent_end_ns"`
	RequestsEndNS   *int64          `json:"requests_end_ns"`
	RecordsEndNS    *int64          `json:"records_end_ns"`
	BaselineStartNS *int64          `json:"baseline_start_ns"`
	BaselineEndNS   *int64          `json:"baseline_end_ns"`
	LastUpdateNS    *int64          `json:"last_update_ns"`

	ExpectedRequests *int64   `json:"total_expected_requests"`
	ExpectedSessions *int64   `json:"expected_num_sessions"`
	ExpectedDuration *float64 `json:"expected_duration_sec"`
	ExpectedGrace    *float64 `json:"expected_grace_period_sec"` // null = without limit

	Sent              int64 `json:"requests_sent"`
	Completed         int64 `json:"requests_completed"` // success and error, not cancelled
	Cancelled         int64 `json:"requests_cancelled"`
	Errors            int64 `json:"request_errors"`
	SentSessions      int64 `json:"sent_sessions"`
	CompletedSessions int64 `json:"completed_sessions"`
	CancelledSessions int64 `json:"cancelled_sessions"`
	SessionTurns      int64 `json:"total_session_turns"`
	SuccessRecords    int64 `json:"success_records"`
	ErrorRecords      int64 `json:"error_records"`

	FinalSent              *int64 `json:"final_requests_sent"`
	FinalCompleted         *int64 `json:"final_requests_completed"`
	FinalCancelled         *int64 `json:"final_requests_cancelled"`
	FinalErrors            *int64 `json:"final_request_errors"`
	FinalSentSessions      *int64 `json:"final_sent_sessions"`
	FinalCompletedSessions *int64 `json:"final_completed_sessions"`
	FinalCancelledSessions *int64 `json:"final_cancelled_sessions"`

	TimeoutTriggered bool     `json:"timeout_triggered"` // also for a normal end by duration
	GraceTriggered   bool     `json:"grace_period_timeout_triggered"`
	WasCancelled     bool     `json:"was_cancelled"`
	RequestRate      *float64 `json:"requests_per_second"` // cumulative
	RecordRate       *float64 `json:"records_per_second"`  // cumulative
	RequestsETA      *float64 `json:"requests_eta_sec"`
	RecordsETA       *float64 `json:"records_eta_sec"`

	Additional
}

// Additional are the fields of a phase that AIPerf does not have.
type Additional struct {
	Percent         *float64  `json:"progress_percent"` // 0 to 100; null when nothing bounds the phase
	InFlight        int64     `json:"in_flight_requests"`
	CancelledByTest int64     `json:"requests_cancelled_by_test,omitempty"` // not in requests_cancelled; absent if there were none
	Arrivals        *Arrivals `json:"arrivals"`                             // null for a closed loop
	State           string    `json:"state" enums:"running,draining,complete,cancelled,failed"`
}

// Arrivals are the arrivals of an open loop: requests, or with users, a schedule or a rate
// of sessions, new conversations. Each of them was sent, was dropped or waits.
type Arrivals struct {
	Due          int64    `json:"due"`
	Dropped      int64    `json:"dropped"`     // found no free slot, with saturation drop
	Waiting      int64    `json:"waiting"`     // for a slot; at the end of the phase, those that were not sent
	WaitingMax   int64    `json:"waiting_max"` // at the same time
	Waited       int64    `json:"waited"`      // waited for a slot and were sent
	WaitAvg      *float64 `json:"wait_avg_ms"` // of those
	WaitMax      *float64 `json:"wait_max_ms"`
	LiveSessions int64    `json:"live_sessions"` // started and not ended; users, if there are any
	LiveMax      int64    `json:"live_sessions_max"`
}

func newArrivals(st *bench.PhaseStats) *Arrivals {
	a := &st.Arrivals
	if a.Used == 0 {
		return nil
	}
	out := &Arrivals{
		Due: a.Used, Dropped: a.Dropped, Waiting: st.Backlog, WaitingMax: st.BacklogMax, Waited: a.Waited,
		LiveSessions: st.SentSessions - st.CompletedSessions - st.CancelledSessions, LiveMax: a.LiveMax,
	}
	if a.Waited > 0 {
		const ms = float64(time.Millisecond)
		out.WaitAvg, out.WaitMax = new(float64(a.WaitSum)/float64(a.Waited)/ms), new(float64(a.WaitMax)/ms)
	}
	return out
}

// NewProgress returns the progress of a run. Both arguments may be nil.
func NewProgress(r *run.Run, s *run.Snapshot) Progress {
	out := Progress{Phases: map[string]Phase{}, SystemState: Ready}
	if r != nil {
		out.SystemState = SystemStateOf(r.State)
	}
	if s == nil {
		return out
	}
	out.ResultsExported = s.Exported
	if r != nil && len(s.Workers) > 0 {
		group := newFleet(r, s, s.Wall).Groups[clusterID]
		out.Workers.Ready, out.Workers.Total = group.Ready, group.Declared
	}
	for i := range s.Phases {
		out.Phases[s.Phases[i].Stats.Name] = newPhase(&s.Phases[i], s)
	}
	return out
}

// NewPhase returns the state of a phase at an instant.
func NewPhase(p *run.Phase, at time.Time) Phase {
	return newPhase(p, &run.Snapshot{Wall: at})
}

func newPhase(p *run.Phase, s *run.Snapshot) Phase {
	st := &p.Stats
	now := s.Wall.Sub(p.Epoch)
	out := Phase{
		Phase: st.Kind, PhaseIndex: st.Index, PhaseName: st.Name, PhaseKind: st.Kind,
		StartNS:       nonzero(p.UnixNano(st.Start)),
		SentEndNS:     nonzero(p.UnixNano(st.SentEnd)),
		RequestsEndNS: nonzero(p.UnixNano(st.RequestsEnd)), RecordsEndNS: nonzero(p.UnixNano(st.RecordsEnd)),
		LastUpdateNS:     nonzero(p.UnixNano(st.LastUpdate)),
		ExpectedRequests: nonzero(st.ExpectedRequests), ExpectedSessions: nonzero(st.ExpectedSessions),
		ExpectedDuration: positive(st.ExpectedDuration.Seconds()),
		Sent:             st.Sent, Completed: st.Completed, Cancelled: st.Cancelled, Errors: st.Errors,
		SentSessions: st.SentSessions, CompletedSessions: st.CompletedSessions,
		CancelledSessions: st.CancelledSessions, SessionTurns: st.SessionTurns,
		SuccessRecords: st.Records.Success, ErrorRecords: st.Records.Errors,
		TimeoutTriggered: st.DurationReached, GraceTriggered: st.End == bench.PhaseGraceTimeout,
		WasCancelled: st.End == bench.PhaseCancelled,
		Additional: Additional{
			InFlight: st.InFlight(), CancelledByTest: st.CancelledByTest, Arrivals: newArrivals(st), State: phaseState(st),
		},
	}
	if st.ProfilingIndex >= 0 {
		out.ProfilingIndex = new(st.ProfilingIndex)
	}
	if st.Grace >= 0 {
		out.ExpectedGrace = new(st.Grace.Seconds())
	}
	if st.End != "" {
		out.FinalSent, out.FinalCompleted = new(st.Sent), new(st.Completed)
		out.FinalCancelled, out.FinalErrors = new(st.Cancelled), new(st.Errors)
		out.FinalSentSessions, out.FinalCompletedSessions = new(st.SentSessions), new(st.CompletedSessions)
		out.FinalCancelledSessions = new(st.CancelledSessions)
	}
	out.rates(st, now)
	return out
}

// rates sets the fields that derive from the counters and the elapsed time.
func (p *Phase) rates(st *bench.PhaseStats, now time.Duration) {
	records := st.Records.Success + st.Records.Errors
	window := st.Window(now)
	recordWindow := max(0, now-st.Start)
	if st.RecordsEnd != 0 {
		recordWindow = st.RecordsEnd - st.Start
	}
	if st.Start == 0 {
		recordWindow = 0
	}
	p.RequestRate = positive(float64(st.Completed) / window.Seconds())
	p.RecordRate = positive(float64(records) / recordWindow.Seconds())
	p.Percent = percent(st, window)
	if st.End == "" {
		p.RequestsETA = eta(st, st.Returned(), window)
		p.RecordsETA = eta(st, records, window)
	}
}

func phaseState(st *bench.PhaseStats) string {
	switch st.End {
	case bench.PhaseCompleted, bench.PhaseGraceTimeout:
		return "complete"
	case bench.PhaseCancelled:
		return "cancelled"
	case bench.PhaseAborted: // the process ended, perhaps after this phase
		if st.ExpectedRequests > 0 && st.Returned() >= st.ExpectedRequests {
			return "complete"
		}
		return "failed"
	case bench.PhaseFailed, bench.PhaseSaturated:
		return "failed"
	}
	if st.SentEnd != 0 {
		return "draining"
	}
	return "running"
}

// percent returns the progress towards the nearest bound.
func percent(st *bench.PhaseStats, window time.Duration) *float64 {
	share, bounded := 0.0, false
	take := func(done, expected float64) {
		if expected > 0 {
			share, bounded = max(share, done/expected), true
		}
	}
	take(float64(st.Returned()), float64(st.ExpectedRequests))
	take(float64(st.CompletedSessions+st.CancelledSessions), float64(st.ExpectedSessions))
	take(window.Seconds(), st.ExpectedDuration.Seconds())
	if !bounded {
		return nil
	}
	if st.End == bench.PhaseCompleted || st.End == bench.PhaseGraceTimeout {
		share = 1
	}
	return new(100 * min(1, share))
}

// eta returns the time in seconds until the nearest bound is reached at the current
// rate, nil if it is not known.
func eta(st *bench.PhaseStats, done int64, window time.Duration) *float64 {
	var best *float64
	take := func(v float64) {
		if p := finite(max(0, v)); p != nil && (best == nil || *p < *best) {
			best = p
		}
	}
	if st.ExpectedRequests > 0 && done > 0 {
		take(float64(st.ExpectedRequests-done) * window.Seconds() / float64(done))
	}
	if st.ExpectedSessions > 0 && st.CompletedSessions > 0 {
		take(float64(st.ExpectedSessions-st.CompletedSessions) * window.Seconds() / float64(st.CompletedSessions))
	}
	if st.ExpectedDuration > 0 {
		take((st.ExpectedDuration - window).Seconds())
	}
	return best
}
