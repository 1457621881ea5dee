package wire

import (
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// RunInfo is the body of GET /api/run: who the run is.
type RunInfo struct {
	BenchmarkID string `json:"benchmark_id" example:"01990f2c7d3e7a10b1c2d3e4f5a6b7c8"`
	RandomSeed  int64  `json:"random_seed" example:"42"`
	SweepID     string `json:"sweep_id,omitempty"` // study that the run belongs to
	Trial       int    `json:"trial" example:"0"`
	RunLabel    string `json:"run_label,omitempty" example:"run_0001"`

	VariationLabel  string         `json:"variation_label,omitempty" example:"phases.profiling.concurrency=4"`
	VariationIndex  *int           `json:"variation_index,omitempty"`
	VariationValues map[string]any `json:"variation_values,omitempty"`

	CLICommand string      `json:"cli_command,omitempty"` // redacted; absent for runs submitted over the API
	State      bench.State `json:"state" example:"running"`
	CreatedAt  time.Time   `json:"created_at" format:"date-time"`
	StartedAt  *time.Time  `json:"started_at,omitempty" format:"date-time"`
	EndedAt    *time.Time  `json:"ended_at,omitempty" format:"date-time"`
	Version    string      `json:"aiperfd_version" example:"0.1.0"`
	Via        string      `json:"submitted_via" enums:"api,cli"`
	// Client is the verdict on the load generator; null before the first profiling
	// phase.
	Client *run.ClientVerdict `json:"client"`
}

// NewRunInfo returns the identity of a run; s may be nil.
func NewRunInfo(r *run.Run, s *run.Snapshot) RunInfo {
	out := RunInfo{
		BenchmarkID: r.ID, RandomSeed: r.Seed, CLICommand: r.CLICommand, State: r.State,
		CreatedAt: r.CreatedAt.UTC(), StartedAt: utc(r.StartedAt), EndedAt: utc(r.EndedAt),
		Version: r.Version, Via: r.Via, Client: clientOf(r, s),
	}
	if c := newCell(r.Cell); c != nil {
		out.SweepID, out.Trial, out.RunLabel = r.Cell.ParentID, c.Trial, c.Run
		out.VariationLabel, out.VariationIndex, out.VariationValues = c.Label, &c.Index, c.Values
	}
	return out
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
	Kind     run.Kind          `json:"kind" enums:"run,sweep"`
	ParentID *string           `json:"parent_id"`      // study that the run belongs to
	Cell     *Cell             `json:"cell,omitempty"` // its place there
	RunState
	QueuePosition *int `json:"queue_position"` // 1 = the next to start; null when not queued
	RunTimes
	RunOrigin
	RandomSeed  int64           `json:"random_seed"`
	Models      []string        `json:"models"`
	Targets     []string        `json:"targets"` // redacted
	Endpoint    string          `json:"endpoint_type"`
	Streaming   bool            `json:"streaming"`
	Concurrency *int            `json:"concurrency"`
	RequestRate *float64        `json:"request_rate"`    // requests per second
	Loads       []run.PhaseLoad `json:"loads,omitempty"` // of the profiling phases; in lists only if there are several
	Credentials run.Credentials `json:"credentials"`
	Progress    *RunProgress    `json:"progress"` // null before the first phase
	Summary     *run.Summary    `json:"summary"`  // null until the run is terminal
	// Metrics has the main metrics by tag, also while the run is active; the results have all.
	Metrics   map[string]MainStats `json:"metrics"`
	Client    *run.ClientVerdict   `json:"client"` // null before the first profiling phase
	Error     *run.Error           `json:"error"`
	Warnings  []bench.Warning      `json:"warnings"`
	Artifacts Artifacts            `json:"artifacts"`
	Links     *Links               `json:"links,omitempty"` // absent in lists
	Revision  int64                `json:"revision"`
}

// RunState is how far a run has come, how it ended, and whether it is kept.
type RunState struct {
	State       bench.State `json:"state" enums:"queued,starting,running,stopping,exporting,completed,cancelled,failed"`
	StateReason string      `json:"state_reason"`
	// Verdict is whether the run met its objectives, whatever its state; null without
	// objectives, and until the run is terminal.
	Verdict *string `json:"verdict" enums:"pass,fail"`
	Pinned  bool    `json:"pinned"` // kept: neither the rules of retention nor DELETE without force remove it
	// Priority is the place in the queue: the highest starts first.
	Priority     int  `json:"priority" minimum:"-100" maximum:"100"`
	SharesTarget bool `json:"allow_shared_target"` // may load a server beside other runs that permit it
}

// RunOrigin is where a run comes from.
type RunOrigin struct {
	Via         string `json:"submitted_via" enums:"api,cli"`
	SubmittedBy string `json:"submitted_by" example:"ci"` // name of the token; empty without tokens
	Version     string `json:"aiperfd_version"`
}

// RunTimes are when a run came into being, began and ended.
type RunTimes struct {
	CreatedAt time.Time  `json:"created_at" format:"date-time"`
	StartedAt *time.Time `json:"started_at" format:"date-time"`
	EndedAt   *time.Time `json:"ended_at" format:"date-time"`

	StartAfter *time.Time `json:"start_after" format:"date-time"` // not started before; null = at once
	Deadline   *float64   `json:"deadline"`                       // seconds after the start; null = none
	TTL        *float64   `json:"ttl"`                            // seconds after the end; null = as the rules of retention say
	ExpiresAt  *time.Time `json:"expires_at" format:"date-time"`  // deleted then, unless pinned; null before the end
}

// timesOf returns the times of a run.
func timesOf(r *run.Run) RunTimes {
	return RunTimes{
		CreatedAt: r.CreatedAt.UTC(), StartedAt: utc(r.StartedAt), EndedAt: utc(r.EndedAt), StartAfter: utc(r.StartAfter),
		Deadline: seconds(r.Deadline), TTL: seconds(r.TTL), ExpiresAt: utc(r.ExpiresAt()),
	}
}

// seconds returns a length of time; nil for 0.
func seconds(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	return new(d.Seconds())
}

// Cell is the place of a run in a study.
type Cell struct {
	Index  int            `json:"variation_index"`
	Label  string         `json:"variation_label" example:"phases.profiling.concurrency=4"`
	Values map[string]any `json:"variation_values"` // by path
	Trial  int            `json:"trial"`            // from 0
	Run    string         `json:"run_label" example:"run_0001"`
}

// newCell returns the place of a run; nil = it stands alone.
func newCell(c *run.Cell) *Cell {
	if c == nil {
		return nil
	}
	out := &Cell{Index: c.Variation.Index, Label: c.Variation.Label, Values: map[string]any{}, Trial: c.Trial, Run: c.Label}
	for _, a := range c.Variation.Values {
		out.Values[a.Path] = a.Value
	}
	return out
}

// RunProgress is the progress of the phase that started last, or of a study.
type RunProgress struct {
	Phase     string   `json:"phase" example:"profiling"`
	Percent   *float64 `json:"percent"`
	Sent      int64    `json:"requests_sent"`
	Completed int64    `json:"requests_completed"`
	Errors    int64    `json:"request_errors"`
	InFlight  int64    `json:"in_flight"`
	ETASec    *float64 `json:"eta_sec"`

	// Of a study: the runs that it plans (an upper bound if results decide what comes
	// next), those that have ended, and those of them that failed.
	CellsTotal  *int   `json:"cells_total,omitempty"`
	CellsDone   *int   `json:"cells_done,omitempty"`
	CellsFailed *int   `json:"cells_failed,omitempty"`
	CurrentCell string `json:"current_cell,omitempty"` // label of the variation that is being performed

	// Of a study: the objectives of its runs, once all have ended; absent in a search.
	Objectives []run.StudyObjective `json:"objectives,omitempty"`
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
	Children  string `json:"children,omitempty"` // of a study
}

// RunList is the body of GET /api/runs.
type RunList struct {
	Items      []Run   `json:"items"`
	NextCursor *string `json:"next_cursor"` // null on the last page
	Total      int     `json:"total"`
}

// Session is the body of GET /api/session.
type Session struct {
	Name  string `json:"name"` // of the token; empty without one
	Scope string `json:"scope" enums:"read,submit,admin"`
	Begun bool   `json:"begun"` // the caller has a session, which can be ended
}

// Queue is the body of GET /api/queue.
type Queue struct {
	Queued            []string `json:"queued"`  // the next to start first
	Running           []string `json:"running"` // in the order of their start
	MaxQueued         int      `json:"max_queued"`
	MaxConcurrentRuns int      `json:"max_concurrent_runs"`
	Paused            bool     `json:"paused"` // no run starts
}

// NewQueue returns the state of the queue.
func NewQueue(q run.Queue) Queue {
	return Queue{
		Queued: append([]string{}, q.IDs...), Running: append([]string{}, q.Running...),
		MaxQueued: q.Max, MaxConcurrentRuns: q.MaxRuns, Paused: q.Paused,
	}
}

// Patch is the body of PATCH /api/runs/{id}, a JSON merge patch: members that are absent
// stay, null removes.
type Patch struct {
	Name     *string            `json:"name" maxLength:"128"`
	Labels   map[string]*string `json:"labels"` // by name; null removes one label, or all
	Notes    *string            `json:"notes" maxLength:"4096"`
	Pinned   *bool              `json:"pinned"`
	Priority *int               `json:"priority" minimum:"-100" maximum:"100"` // of a queued run
	TTL      *float64           `json:"ttl" maximum:"315360000"`               // seconds, above 0, or a text such as 7d
}

// NewRun returns the resource of a run. s is nil if nothing was measured yet;
// position is its position in the queue from 1, or 0 if it is not queued.
func NewRun(r *run.Run, s *run.Snapshot, position int, files Artifacts) Run {
	out := Run{
		ID: r.ID, Name: r.Name, Labels: r.Labels, Notes: r.Notes, Kind: r.Kind(), Cell: newCell(r.Cell),
		RunState:   RunState{r.State, r.StateReason, r.ObjectivesVerdict(), r.Pinned, r.Priority, r.SharesTarget},
		RunTimes:   timesOf(r),
		RunOrigin:  RunOrigin{r.Via, r.SubmittedBy, r.Version},
		RandomSeed: r.Seed,
		Models:     list(r.Models), Targets: list(r.Targets), Endpoint: r.Endpoint, Streaming: r.Streaming,
		Concurrency: r.Concurrency, RequestRate: r.Rate, Loads: loadsOf(r), Credentials: r.Credentials,
		Progress: newRunProgress(r, s), Summary: summaryOf(r.Summary), Metrics: newMainStats(s), Client: clientOf(r, s), Error: r.Error, Warnings: list(r.Warnings),
		Artifacts: files, Links: newLinks(r.ID), Revision: r.Revision,
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	if id := r.ParentID(); id != "" {
		out.ParentID = &id
	}
	if r.Study != nil {
		out.Links.Children = out.Links.Self + "/children"
	}
	out.Credentials.Headers = list(out.Credentials.Headers)
	if position > 0 {
		out.QueuePosition = &position
	}
	return out
}

// loadsOf returns the loads of a run. Lists do not have its configuration, but the loads if there are several.
func loadsOf(r *run.Run) []run.PhaseLoad {
	if len(r.Loads) > 0 {
		return r.Loads
	}
	return run.Loads(r.Config)
}

// NewBriefRun returns the resource of a run without metrics, artifacts, warnings, the windows of the summary, and what
// the verdict on the client is based on.
func NewBriefRun(r *run.Run, s *run.Snapshot, position int) Run {
	out := NewRun(r, s, position, Artifacts{})
	out.Metrics, out.Warnings = map[string]MainStats{}, []bench.Warning{}
	if out.Summary != nil { // a copy
		out.Summary.Windows = nil
	}
	if c := out.Client; c != nil {
		out.Client = &run.ClientVerdict{Verdict: c.Verdict, Reasons: c.Reasons, Evidence: []verdict.Sign{}, Bias: []verdict.Bias{}}
	}
	return out
}

func newLinks(id string) *Links {
	self := "/api/runs/" + id
	return &Links{
		Self: self, Config: self + "/config", Metrics: self + "/metrics", Progress: self + "/progress",
		Results: self + "/results", Artifacts: self + "/results/list", Cancel: self + "/cancel",
		Dashboard: "/dashboard#/runs/" + id,
	}
}

func newRunProgress(r *run.Run, s *run.Snapshot) *RunProgress {
	if r.Study != nil {
		out := &RunProgress{
			CellsTotal: &r.Study.Total, CellsDone: &r.Study.Done, CellsFailed: &r.Study.Failed, CurrentCell: r.Study.Current,
			Objectives: r.Study.Objectives,
		}
		if r.Study.Total > 0 {
			out.Percent = new(100 * float64(r.Study.Done) / float64(r.Study.Total))
		}
		return out
	}
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
