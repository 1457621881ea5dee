package wire

import (
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/slo"
	"aiperfd/internal/run"
)

// RunInfo is the body of GET /api/run: who the run is.
type RunInfo struct {
	BenchmarkID string      `json:"benchmark_id" example:"01990f2c7d3e7a10b1c2d3e4f5a6b7c8"`
	RandomSeed  int64       `json:"random_seed" example:"42"`
	Trial       int         `json:"trial" example:"0"`
	CLICommand  string      `json:"cli_command,omitempty"` // redacted; absent for runs submitted over the API
	State       bench.State `json:"state" example:"running"`
	CreatedAt   time.Time   `json:"created_at" format:"date-time"`
	StartedAt   *time.Time  `json:"started_at,omitempty" format:"date-time"`
	EndedAt     *time.Time  `json:"ended_at,omitempty" format:"date-time"`
	Version     string      `json:"aiperfd_version" example:"0.1.0"`
	Via         string      `json:"submitted_via" enums:"api,cli"`
	// Client is the verdict on the load generator; null before the first profiling
	// phase.
	Client *run.ClientVerdict `json:"client"`
}

// NewRunInfo returns the identity of a run; s may be nil.
func NewRunInfo(r *run.Run, s *run.Snapshot) RunInfo {
	return RunInfo{
		BenchmarkID: r.ID, RandomSeed: r.Seed, CLICommand: r.CLICommand, State: r.State,
		CreatedAt: r.CreatedAt.UTC(), StartedAt: utc(r.StartedAt), EndedAt: utc(r.EndedAt),
		Version: r.Version, Via: r.Via, Client: clientOf(r, s),
	}
}

// clientOf returns the newest verdict on the client; nil if there is none.
func clientOf(r *run.Run, s *run.Snapshot) *run.ClientVerdict {
	if s != nil && s.Client != nil {
		return verdictOf(run.NewClientVerdict(s.Client))
	}
	return verdictOf(r.Client)
}

// Run is the run resource.
type Run struct {
	ID       string            `json:"id" example:"01990f2c7d3e7a10b1c2d3e4f5a6b7c8"`
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels"`
	Notes    string            `json:"notes"`
	Kind     string            `json:"kind" enums:"run"`
	ParentID *string           `json:"parent_id"`
	RunState
	QueuePosition *int               `json:"queue_position"` // 1 = the next to start; null when not queued
	CreatedAt     time.Time          `json:"created_at" format:"date-time"`
	StartedAt     *time.Time         `json:"started_at" format:"date-time"`
	EndedAt       *time.Time         `json:"ended_at" format:"date-time"`
	Via           string             `json:"submitted_via" enums:"api,cli"`
	Version       string             `json:"aiperfd_version"`
	RandomSeed    int64              `json:"random_seed"`
	Models        []string           `json:"models"`
	Targets       []string           `json:"targets"` // redacted
	Endpoint      string             `json:"endpoint_type"`
	Streaming     bool               `json:"streaming"`
	Concurrency   *int               `json:"concurrency"`
	RequestRate   *float64           `json:"request_rate"` // requests per second
	Credentials   run.Credentials    `json:"credentials"`
	Progress      *RunProgress       `json:"progress"` // null before the first phase
	Summary       *run.Summary       `json:"summary"`  // null until the run is terminal
	Client        *run.ClientVerdict `json:"client"`   // null before the first profiling phase
	Error         *run.Error         `json:"error"`
	Warnings      []bench.Warning    `json:"warnings"`
	Artifacts     Artifacts          `json:"artifacts"`
	Links         *Links             `json:"links,omitempty"` // absent in lists
	Revision      int64              `json:"revision"`
}

// RunState is how far a run has come, and how it ended.
type RunState struct {
	State       bench.State `json:"state" enums:"queued,starting,running,stopping,exporting,completed,cancelled,failed"`
	StateReason string      `json:"state_reason"`
	// Verdict is whether the run met its objectives, whatever its state; null without
	// objectives, and until the run is terminal.
	Verdict *string `json:"verdict" enums:"pass,fail"`
}

// RunProgress is the progress of the phase that started last.
type RunProgress struct {
	Phase     string   `json:"phase" example:"profiling"`
	Percent   *float64 `json:"percent"`
	Sent      int64    `json:"requests_sent"`
	Completed int64    `json:"requests_completed"`
	Errors    int64    `json:"request_errors"`
	InFlight  int64    `json:"in_flight"`
	ETASec    *float64 `json:"eta_sec"`
}

// Artifacts counts the files of a run that can be downloaded.
type Artifacts struct {
	Ready bool  `json:"ready"`
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Links are the addresses of a run's other resources, without the host.
type Links struct {
	Self      string `json:"self"`
	Config    string `json:"config"`
	Metrics   string `json:"metrics"`
	Progress  string `json:"progress"`
	Results   string `json:"results"`
	Artifacts string `json:"artifacts"`
	Cancel    string `json:"cancel"`
	Dashboard string `json:"dashboard"`
}

// RunList is the body of GET /api/runs.
type RunList struct {
	Items      []Run   `json:"items"`
	NextCursor *string `json:"next_cursor"` // null on the last page
	Total      int     `json:"total"`
}

// Queue is the body of GET /api/queue.
type Queue struct {
	Queued            []string `json:"queued"`  // the next to start first
	Running           []string `json:"running"` // in the order of their start
	MaxQueued         int      `json:"max_queued"`
	MaxConcurrentRuns int      `json:"max_concurrent_runs"`
}

// NewRun returns the resource of a run. s is nil if nothing was measured yet;
// position is its position in the queue from 1, or 0 if it is not queued.
func NewRun(r *run.Run, s *run.Snapshot, position int, files Artifacts) Run {
	out := Run{
		ID: r.ID, Name: r.Name, Labels: r.Labels, Notes: r.Notes, Kind: "run",
		RunState:  RunState{r.State, r.StateReason, objectivesVerdict(r.Summary)},
		CreatedAt: r.CreatedAt.UTC(), StartedAt: utc(r.StartedAt),
		EndedAt: utc(r.EndedAt), Via: r.Via, Version: r.Version, RandomSeed: r.Seed,
		Models: list(r.Models), Targets: list(r.Targets), Endpoint: r.Endpoint, Streaming: r.Streaming,
		Concurrency: r.Concurrency, RequestRate: r.Rate, Credentials: r.Credentials,
		Progress: newRunProgress(s), Summary: summaryOf(r.Summary), Client: clientOf(r, s), Error: r.Error, Warnings: list(r.Warnings),
		Artifacts: files, Links: newLinks(r.ID), Revision: r.Revision,
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	out.Credentials.Headers = list(out.Credentials.Headers)
	if position > 0 {
		out.QueuePosition = &position
	}
	return out
}

// objectivesVerdict returns whether all objectives are met; nil if there are none.
func objectivesVerdict(s *run.Summary) *string {
	switch {
	case s == nil || len(s.SLOs) == 0:
		return nil
	case slo.Passed(s.SLOs):
		return new("pass")
	}
	return new("fail")
}

func newLinks(id string) *Links {
	self := "/api/runs/" + id
	return &Links{
		Self: self, Config: self + "/config", Metrics: self + "/metrics", Progress: self + "/progress",
		Results: self + "/results", Artifacts: self + "/results/list", Cancel: self + "/cancel",
		Dashboard: "/dashboard#/runs/" + id,
	}
}

func newRunProgress(s *run.Snapshot) *RunProgress {
	if s == nil || len(s.Phases) == 0 {
		return nil
	}
	p := &s.Phases[len(s.Phases)-1]
	st := newPhase(p, s)
	return &RunProgress{
		Phase: p.Stats.Name, Percent: st.Percent, Sent: p.Stats.Sent, Completed: p.Stats.Completed,
		Errors: p.Stats.Errors, InFlight: st.InFlight, ETASec: st.RequestsETA,
	}
}
