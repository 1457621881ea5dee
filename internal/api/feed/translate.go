package feed

import (
	"slices"
	"strconv"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
)

// The types of messages. Those up to kindHeartbeat are AIPerf's.
const (
	kindMetrics       = "realtime_metrics"
	kindServers       = "realtime_server_metrics"
	kindDevices       = "realtime_telemetry_metrics"
	kindPhaseStart    = "credit_phase_start"
	kindPhaseProgress = "credit_phase_progress"
	kindPhaseSent     = "credit_phase_sending_complete"
	kindPhaseComplete = "credit_phase_complete"
	kindCredits       = "credits_complete"
	kindProcessing    = "processing_stats"
	kindRecords       = "all_records_received"
	kindHealth        = "worker_health"
	kindStatus        = "worker_status_summary"
	kindGroup         = "worker_group_stats"
	kindStartup       = "worker_startup_state"
	kindSystem        = "system_state_changed"
	kindResults       = "process_all_results"
	kindExported      = "results_exported"
	kindComplete      = "benchmark_complete"
	kindError         = "service_error"
	kindHeartbeat     = "heartbeat"
	kindRunState      = "run_state_changed"
	kindQueued        = "run_queued"
	kindUpdated       = "run_updated"
	kindDeleted       = "run_deleted"
	kindSnapshot      = "snapshot"
	kindClient        = "client_verdict"
	kindErrors        = "request_errors"
	kindExperiment    = "experiment_started"
	kindPlanned       = "child_planned"
	kindMeasured      = "child_finished"
	kindAnswerSoFar   = "answer_update"
	kindAnswer        = "answer"
)

// Kinds lists every type of message that a client can subscribe to.
func Kinds() []string {
	return []string{
		kindMetrics, kindServers, kindDevices,
		kindPhaseStart, kindPhaseProgress, kindPhaseSent, kindPhaseComplete, kindCredits,
		kindProcessing, kindRecords, kindHealth, kindStatus, kindGroup, kindStartup, kindSystem, kindResults,
		kindExported,
		kindComplete, kindError, kindHeartbeat, kindRunState, kindQueued, kindUpdated, kindDeleted, kindSnapshot,
		kindClient, kindErrors, kindExperiment, kindPlanned, kindMeasured, kindAnswerSoFar, kindAnswer,
	}
}

// replaceable reports whether only the newest message of a type matters.
func replaceable(kind string) bool {
	switch kind {
	case kindMetrics, kindServers, kindDevices, kindPhaseProgress, kindProcessing, kindHealth, kindStatus,
		kindGroup, kindHeartbeat, kindSnapshot, kindClient, kindErrors,
		kindAnswerSoFar:
		return true
	}
	return false
}

// The senders that AIPerf's messages name.
const (
	fromTiming  = "timing_manager"
	fromRecords = "records_manager"
	fromWorker  = "worker-0"
	fromSystem  = "system_controller"
)

// What the message that a load generator has joined or is gone says.
const (
	changeJoined = "joined"
	startupReady = "ready"
	startupOver  = "shutting_down"
)

// draft is a message without a sequence number.
type draft struct {
	kind, service string
	phase         string // for messages about one phase
	payload       any    // encodes to an object
	body          []byte // its members, without braces
}

// key returns the key of the message: newer messages with the same key replace it.
// It is empty if the message is not replaceable.
func (d *draft) key(run string) string {
	if !replaceable(d.kind) {
		return ""
	}
	return d.kind + "\x00" + run + "\x00" + d.phase
}

// encode sets the body. Nulls are omitted, as AIPerf does on this channel. The
// payloads always encode; if one did not, the message would have an empty body.
func (d *draft) encode() {
	if b, err := plainjson.Marshal(d.payload); err == nil && len(b) > 2 {
		b = wire.OmitNulls(b)
		d.body = b[1 : len(b)-1]
	}
}

// finish returns the encoded message: the envelope and the body.
func (d *draft) finish(ev run.Event, seq uint64) []byte {
	out := make([]byte, 0, len(d.body)+160)
	out = append(out, `{"message_type":"`...)
	out = append(out, d.kind...)
	out = append(out, `","service_id":"`...)
	out = append(out, d.service...)
	if ev.RunID != "" {
		out = append(out, `","run_id":"`...)
		out = append(out, ev.RunID...)
		out = append(out, `","seq":`...)
		out = strconv.AppendUint(out, seq, 10)
	} else {
		out = append(out, '"')
	}
	out = append(out, `,"ts_ns":`...)
	out = strconv.AppendInt(out, ev.At.UnixNano(), 10)
	if len(d.body) > 0 {
		out = append(out, ',')
		out = append(out, d.body...)
	}
	return append(out, '}')
}

// translate returns the messages of an event, in the order of sending.
func (s *stream) translate(ev run.Event, recent wire.Recent) []draft {
	switch ev.Type {
	case run.EventQueued:
		return []draft{{kind: kindQueued, service: fromSystem, payload: runPayload{briefRun(ev)}}}
	case run.EventUpdated:
		return []draft{{kind: kindUpdated, service: fromSystem, payload: runPayload{briefRun(ev)}}}
	case run.EventStateChanged:
		return s.stateMessages(ev)
	case run.EventPhaseStart:
		return phaseMessage(kindPhaseStart, ev)
	case run.EventPhaseProgress:
		return append(phaseMessage(kindPhaseProgress, ev), s.workerMessages(ev, recent)...)
	case run.EventPhaseSent:
		return phaseMessage(kindPhaseSent, ev)
	case run.EventPhaseComplete:
		return phaseMessage(kindPhaseComplete, ev)
	case run.EventMetrics:
		return slices.Concat(metricsMessage(ev), clientMessage(ev), s.errorMessage(ev))
	case run.EventExported:
		out := append(s.creditMessages(ev), s.errorMessage(ev)...)
		if ev.Snapshot != nil && ev.Run != nil {
			results := resultsPayload{wire.NewProfileResults(ev.Run, ev.Snapshot)}
			out = append(out, draft{kind: kindResults, service: fromRecords, payload: results})
		}
		return append(out, draft{kind: kindExported, service: fromSystem, payload: endPayload{wasCancelled(ev)}})
	case run.EventExperimentStarted, run.EventChildPlanned, run.EventChildFinished, run.EventAnswerUpdate, run.EventAnswer:
		return []draft{{kind: string(ev.Type), service: fromSystem, payload: ev.News}}
	case run.EventComplete:
		return []draft{{kind: kindComplete, service: fromSystem, payload: endPayload{wasCancelled(ev)}}}
	case run.EventDeleted:
		return []draft{{kind: kindDeleted, service: fromSystem, payload: struct{}{}}}
	}
	return nil
}

// stateMessages returns the messages of a change of state, ours and AIPerf's.
func (s *stream) stateMessages(ev run.Event) []draft {
	if ev.Run == nil {
		return nil
	}
	out := []draft{{kind: kindRunState, service: fromSystem, payload: runPayload{briefRun(ev)}}}
	if now := wire.SystemStateOf(ev.Run.State); now != s.state {
		s.state = now
		out = append(out, draft{kind: kindSystem, service: fromSystem, payload: statePayload{now}})
	}
	if ev.Run.State == bench.StateExporting {
		out = append(out, s.creditMessages(ev)...)
	}
	if ev.Run.State == bench.StateFailed && ev.Run.Error != nil {
		out = append(out, draft{kind: kindError, service: fromSystem, payload: errorPayload{ev.Run.Error}})
	}
	return out
}

// creditMessages returns, once per run, the messages that all requests have
// returned and all records have been processed.
func (s *stream) creditMessages(ev run.Event) []draft {
	if s.credits {
		return nil
	}
	s.credits = true
	out := []draft{{kind: kindCredits, service: fromTiming, payload: struct{}{}}}
	if ev.Snapshot == nil {
		return out
	}
	var total recordCounts
	for i := range ev.Snapshot.Phases {
		if p := &ev.Snapshot.Phases[i]; p.Stats.Kind == bench.Profiling {
			counts := countRecords(p)
			total.Phase, total.EndNS = counts.Phase, counts.EndNS
			total.Success += counts.Success
			total.Errors += counts.Errors
		}
	}
	return append(out, draft{kind: kindRecords, service: fromRecords, payload: recordsPayload{total}})
}

func phaseMessage(kind string, ev run.Event) []draft {
	if ev.Phase == nil {
		return nil
	}
	p := phasePayload{Stats: wire.NewPhase(ev.Phase, ev.At)}
	if kind == kindPhaseStart {
		p.Config = &phaseConfig{
			Phase: p.Stats.Phase, Requests: p.Stats.ExpectedRequests, Sessions: p.Stats.ExpectedSessions,
			DurationSec: p.Stats.ExpectedDuration, GraceSec: p.Stats.ExpectedGrace, Concurrency: ev.Phase.Concurrency,
		}
	}
	return []draft{{kind: kind, service: fromTiming, phase: p.Stats.PhaseName, payload: p}}
}

func metricsMessage(ev run.Event) []draft {
	if ev.Snapshot == nil {
		return nil
	}
	return []draft{{kind: kindMetrics, service: fromRecords, payload: metricsPayload{wire.NewRecords(ev.Snapshot.Metrics)}}}
}

// clientMessage returns the verdict on the load generator.
func clientMessage(ev run.Event) []draft {
	if ev.Snapshot == nil || ev.Snapshot.Client == nil {
		return nil
	}
	return []draft{{kind: kindClient, service: fromSystem, payload: clientPayload{ev.Snapshot.Client, ev.Snapshot.Stream}}}
}

// mostErrors is the number of kinds of errors in a message; there may be many more.
const mostErrors = 20

// errorMessage returns the most frequent errors of the profiling phases if there are more
// errors than in the last such message.
func (s *stream) errorMessage(ev run.Event) []draft {
	if ev.Snapshot == nil {
		return nil
	}
	var total int64
	for i := range ev.Snapshot.Errors {
		total += ev.Snapshot.Errors[i].Count
	}
	if total == s.failed {
		return nil
	}
	s.failed = total
	groups := ev.Snapshot.Errors
	payload := errorsPayload{Count: total, Summary: wire.NewErrorSummary(groups[:min(mostErrors, len(groups))])}
	return []draft{{kind: kindErrors, service: fromRecords, payload: payload}}
}

// The periods of messages that are sent with the progress of a phase.
const (
	slowCadence   = 2 * time.Second
	statusCadence = 500 * time.Millisecond
)

// workerMessages returns the messages that AIPerf's services send periodically.
func (s *stream) workerMessages(ev run.Event, recent wire.Recent) []draft {
	var out []draft
	if ev.Phase != nil {
		counts := countRecords(ev.Phase)
		out = append(out, draft{
			kind: kindProcessing, service: fromRecords, phase: ev.Phase.Stats.Name, payload: processingPayload{
				Stats:   counts,
				Workers: map[string]recordCounts{fromWorker: {Success: counts.Success, Errors: counts.Errors}},
			},
		})
	}
	if ev.Snapshot == nil || ev.Run == nil {
		return out
	}
	ws := wire.NewWorkers(ev.Run, ev.Snapshot, recent, ev.At)
	if len(ws.Workers) == 0 {
		return out
	}
	group := groupPayload{Statuses: map[string]wire.WorkerStatus{}, Tasks: map[string]wire.TaskStats{}}
	startup := map[string]string{}
	for name, w := range ws.Workers {
		group.Statuses[name], group.Tasks[name], startup[name] = w.Status, w.Tasks, *w.StartupState
	}
	if s.due(kindStatus, ev.At, statusCadence) {
		out = append(out, draft{kind: kindStatus, service: fromSystem, payload: statusPayload{
			Statuses: group.Statuses, Startup: startup,
		}})
	}
	if !s.due(kindHealth, ev.At, slowCadence) {
		return out
	}
	if w, ok := ws.Workers[fromWorker]; ok { // of others it is not known what their processes use
		out = append(out, draft{kind: kindHealth, service: fromWorker, payload: healthPayload{w.Health, w.Tasks}})
	}
	for _, group.WorkerGroup = range ws.Groups { // there is one
		out = append(out, draft{kind: kindGroup, service: fromSystem, payload: group})
	}
	return out
}

// due reports whether the period of a type of message is over, and starts the
// next one if so.
func (s *stream) due(kind string, now time.Time, every time.Duration) bool {
	if last, ok := s.cadence[kind]; ok && now.Sub(last) < every {
		return false
	}
	s.cadence[kind] = now
	return true
}

func countRecords(p *run.Phase) recordCounts {
	out := recordCounts{
		Phase: p.Stats.Kind, Index: &p.Stats.Index, Name: p.Stats.Name,
		Success: p.Stats.Records.Success, Errors: p.Stats.Records.Errors,
	}
	if end := p.UnixNano(p.Stats.RecordsEnd); end != 0 {
		out.EndNS = &end
	}
	return out
}

// briefRun returns the run resource without the fields that only the API knows.
func briefRun(ev run.Event) wire.Run {
	if ev.Run == nil {
		return wire.Run{ID: ev.RunID}
	}
	r := wire.NewRun(ev.Run, ev.Snapshot, 0, wire.Artifacts{Ready: ev.Snapshot != nil && ev.Snapshot.Exported})
	return r
}

func wasCancelled(ev run.Event) bool {
	return ev.Run != nil && ev.Run.State == bench.StateCancelled || ev.Snapshot != nil && ev.Snapshot.Cancelled
}
