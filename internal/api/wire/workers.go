package wire

import (
	"runtime"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// Workers is the body of GET /api/workers. A load generator that is alone appears as one worker of the group "local",
// several ones by their names in the group "cluster".
type Workers struct {
	Workers map[string]Worker      `json:"workers"`
	Groups  map[string]WorkerGroup `json:"worker_groups"`
}

// Worker is the load generator as a worker.
type Worker struct {
	ID             string          `json:"worker_id" example:"worker-0"`
	Tasks          TaskStats       `json:"task_stats"`
	Processing     ProcessingStats `json:"processing_stats"`
	Health         *ProcessHealth  `json:"health"`
	Status         WorkerStatus    `json:"status" enums:"healthy,high_load,error,idle,stale"`
	StartupState   *string         `json:"startup_state"`
	StartupStateNS *int64          `json:"startup_state_updated_ns"`
	LastUpdateNS   *int64          `json:"last_update_ns"`
	// Part is what one of several load generators performs of the run; absent if it is the only one.
	Part *run.WorkerState `json:"part,omitempty"`
}

// WorkerGroup is a group of workers.
type WorkerGroup struct {
	ID           string            `json:"group_id" example:"local"`
	Status       WorkerStatus      `json:"status" enums:"healthy,high_load,error,idle,stale"`
	StartupState *string           `json:"startup_state"`
	Declared     int               `json:"declared_workers"`
	Ready        int               `json:"ready_workers"`
	Health       *ProcessHealth    `json:"health"`
	Tasks        TaskStats         `json:"task_stats"`
	Workers      map[string]Worker `json:"workers"`
	LastUpdateNS *int64            `json:"last_update_ns"`
	// Of several load generators, after the run: within which bounds percentiles are if some were too busy, and what
	// became of all requests.
	Contamination []verdict.Contamination `json:"contamination,omitempty"`
	Conservation  *verdict.Conservation   `json:"conservation,omitempty"`
}

// TaskStats counts requests; Completed excludes the failed ones.
type TaskStats struct {
	Total     int64 `json:"total"`
	Failed    int64 `json:"failed"`
	Completed int64 `json:"completed"`
}

// ProcessingStats counts records.
type ProcessingStats struct {
	Processed int64 `json:"processed"`
	Errors    int64 `json:"errors"`
}

// ProcessHealth is what the process uses.
type ProcessHealth struct {
	PID        int        `json:"pid"`
	CreateTime float64    `json:"create_time"` // seconds since 1970
	Uptime     float64    `json:"uptime"`      // seconds
	CPU        float64    `json:"cpu_usage"`   // percent; 100 = one core
	Memory     int64      `json:"memory_usage"`
	IO         *[6]int64  `json:"io_counters"` // operations, bytes, characters; read and write of each
	CPUTimes   [3]float64 `json:"cpu_times"`   // user, system, iowait; seconds
	Switches   [2]int64   `json:"num_ctx_switches"`
	Threads    int        `json:"num_threads"`
}

// WorkerStatus is the state of a worker.
type WorkerStatus string

// The statuses.
const (
	Healthy  WorkerStatus = "healthy"
	HighLoad WorkerStatus = "high_load" // more than 85 % of the processors
	InError  WorkerStatus = "error"     // at least half of the last ten seconds' requests failed
	Idle     WorkerStatus = "idle"      // nothing in flight
	Stale    WorkerStatus = "stale"     // no update for ten seconds
)

const (
	workerID   = "worker-0"
	groupID    = "local"
	clusterID  = "cluster"
	staleAfter = 10 * time.Second
	busyShare  = 85.0 // percent of all processors
)

// Recent counts the requests that returned in the last ten seconds.
type Recent struct{ Completed, Errors int64 }

// NewWorkers returns the state of the load generator. r and s may be nil; now
// determines whether the snapshot is stale.
func NewWorkers(r *run.Run, s *run.Snapshot, recent Recent, now time.Time) Workers {
	if s != nil && len(s.Workers) > 0 {
		return newFleet(r, s, now)
	}
	group := WorkerGroup{ID: groupID, Status: Idle, Workers: map[string]Worker{}}
	out := Workers{Workers: map[string]Worker{}, Groups: map[string]WorkerGroup{}}
	if r != nil && s != nil && s.Process.PID != 0 {
		w := newWorker(r, s, recent, now)
		out.Workers[workerID] = w
		group.Status, group.StartupState, group.Tasks = w.Status, w.StartupState, w.Tasks
		group.Declared, group.LastUpdateNS = 1, w.LastUpdateNS
		if *w.StartupState == startupReady {
			group.Ready = 1
		}
		group.Workers[workerID] = w
	}
	out.Groups[groupID] = group
	return out
}

func newWorker(r *run.Run, s *run.Snapshot, recent Recent, now time.Time) Worker {
	w := Worker{ID: workerID, Health: newHealth(s), LastUpdateNS: nanos(s.Wall)}
	var inFlight int64
	for i := range s.Phases {
		st := &s.Phases[i].Stats
		w.Tasks.Total += st.Sent
		w.Tasks.Failed += st.Errors
		w.Tasks.Completed += st.Completed - st.Errors
		w.Processing.Processed += st.Records.Success
		w.Processing.Errors += st.Records.Errors
		inFlight += st.InFlight()
	}
	state, since := startup(r, s)
	w.StartupState, w.StartupStateNS = &state, since
	switch {
	case r.State.Active() && now.Sub(s.Wall) > staleAfter:
		w.Status = Stale
	case recent.Errors > 0 && 2*recent.Errors >= recent.Completed:
		w.Status = InError
	case s.Process.CPUPercent > busyShare*float64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0))):
		w.Status = HighLoad
	case inFlight == 0:
		w.Status = Idle
	default:
		w.Status = Healthy
	}
	return w
}

const startupReady = "ready"

// startup returns AIPerf's startup state of a worker and the time of its last
// change.
func startup(r *run.Run, s *run.Snapshot) (string, *int64) {
	switch r.State {
	case bench.StateQueued, bench.StateStarting:
		if r.StartedAt == nil {
			return "starting", nil
		}
		return "starting", nanos(*r.StartedAt)
	case bench.StateCompleted, bench.StateCancelled, bench.StateFailed:
		if r.EndedAt == nil {
			return "shutting_down", nil
		}
		return "shutting_down", nanos(*r.EndedAt)
	case bench.StateRunning, bench.StateStopping, bench.StateExporting:
	}
	if len(s.Phases) == 0 {
		return startupReady, nil
	}
	return startupReady, nonzero(s.Phases[0].UnixNano(s.Phases[0].Stats.Start))
}

func newHealth(s *run.Snapshot) *ProcessHealth {
	p := &s.Process
	h := &ProcessHealth{
		PID: p.PID, CreateTime: float64(p.Created.UnixMilli()) / 1e3, Uptime: s.Wall.Sub(p.Created).Seconds(),
		CPU: p.CPUPercent, Memory: int64(p.RSS), Threads: p.Threads,
		CPUTimes: [3]float64{p.CPUUser.Seconds(), p.CPUSystem.Seconds(), 0},
		Switches: [2]int64{p.VoluntarySwitches, p.InvoluntarySwitches},
	}
	if p.IO != nil {
		h.IO = &[6]int64{p.IO.ReadOps, p.IO.WriteOps, p.IO.ReadBytes, p.IO.WriteBytes, p.IO.ReadChars, p.IO.WriteChars}
	}
	return h
}

// newFleet returns the state of the load generators that perform a run together.
func newFleet(r *run.Run, s *run.Snapshot, now time.Time) Workers {
	group := WorkerGroup{
		ID: clusterID, Status: Idle, Declared: len(s.Workers), Workers: map[string]Worker{},
		Contamination: s.Contamination, Conservation: s.Conservation,
	}
	state, since := startup(r, s)
	group.StartupState, group.LastUpdateNS = &state, nanos(s.Wall)
	out := Workers{Workers: map[string]Worker{}, Groups: map[string]WorkerGroup{}}
	for i := range s.Workers {
		m := &s.Workers[i]
		w := Worker{
			ID: m.Name, LastUpdateNS: nanos(m.Heard), StartupState: &state, StartupStateNS: since, Status: Healthy,
			Part:  m,
			Tasks: TaskStats{Total: m.Requests, Failed: m.Failed, Completed: m.Requests - m.Failed - m.InFlight},
		}
		switch {
		case m.State == "lost" || m.State == "late" || r.State.Active() && now.Sub(m.Heard) > staleAfter:
			w.Status = Stale
		case m.InFlight == 0:
			w.Status = Idle
		default:
			group.Status = Healthy
		}
		if state == startupReady && w.Status != Stale {
			group.Ready++
		}
		group.Tasks.Total += w.Tasks.Total
		group.Tasks.Failed += w.Tasks.Failed
		group.Tasks.Completed += w.Tasks.Completed
		group.Workers[m.Name], out.Workers[m.Name] = w, w
	}
	out.Groups[clusterID] = group
	return out
}
