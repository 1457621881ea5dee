package results

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"aiperfd/internal/engine/regular"
)

// AnswerSchema is the schema of the answers to all kinds of questions.
const AnswerSchema = "aiperfd-answer/1"

// The files of the answer of an experiment, in the folder of its study. They are replaced when a probe or a block has
// ended.
const (
	AnswerFile     = "answer.json"
	AnswerMarkdown = "answer.md"
	ProbesFile     = "probes.jsonl" // the probes of a search for a capacity, a line each
)

// Verdict is how a question was answered, or what is said of a part of the answer: one of a closed list that depends on
// the kind of the answer.
type Verdict string

// AnswerHead is what the answers to all kinds of questions have in common. What else an answer has depends on its
// kind. Make one with [NewAnswerHead].
type AnswerHead struct {
	Schema   string `json:"schema" example:"aiperfd-answer/1"`
	Kind     string `json:"kind" enums:"capacity,ab,repeats,compare,gate"`
	Final    bool   `json:"final"` // no further measurement changes it
	Question string `json:"question"`
	// Verdict is one of a closed list that depends on the kind. Of compare and ab: better, worse, equivalent,
	// inconclusive, invalid (the load generator may have decided) and, of compare, not_comparable; it is the worst of the metrics. Of
	// gate: pass, fail, inconclusive, invalid, not_comparable. Of capacity: estimated, lower_bound, upper_bound, not_found
	// (the least load misses the objectives), non_monotone (more load met them better than less), invalid. Of repeats:
	// estimated, inconclusive (fewer than three runs count, or the precision that was asked is not reached), invalid.
	Verdict    Verdict        `json:"verdict" example:"inconclusive"`
	Sentences  []string       `json:"sentences"`                       // the answer in words, the main one first
	SpeaksFor  string         `json:"speaks_for" example:"these runs"` // whose variation its intervals include
	Doubts     []AnswerDoubt  `json:"doubts"`                          // reasons to trust it less
	Stop       AnswerStop     `json:"stop"`
	Decide     AnswerDecision `json:"decide"`
	Provenance AnswerOrigin   `json:"provenance"`
}

// NewAnswerHead returns the head of an answer without doubts, which is not final.
func NewAnswerHead(kind, question, speaksFor string) AnswerHead {
	return AnswerHead{
		Schema: AnswerSchema, Kind: kind, Question: question, SpeaksFor: speaksFor,
		Sentences: []string{}, Doubts: []AnswerDoubt{},
	}
}

// Open reports whether the question is not decided: there is no verdict on it, or one that leaves a side open.
func (h *AnswerHead) Open() bool {
	return slices.Contains([]Verdict{
		"inconclusive", "invalid", "not_comparable", "lower_bound", "upper_bound", "non_monotone",
	}, h.Verdict)
}

// AddDoubt adds a reason to trust the answer less, once.
func (h *AnswerHead) AddDoubt(code, message string) {
	if d := (AnswerDoubt{code, message}); !slices.Contains(h.Doubts, d) {
		h.Doubts = append(h.Doubts, d)
	}
}

// Answer is what an experiment says about a question: a verdict, an estimate with its interval, what it rests on, what
// speaks against it, and what would decide it. It is the body of GET /api/runs/{id}/answer.
type Answer struct {
	AnswerHead
	RunID    string          `json:"run_id"`
	Estimate *AnswerEstimate `json:"estimate"` // null = there is none
	// ConfirmedGood and ConfirmedBad are measured levels on both sides of a capacity; null = there is none.
	ConfirmedGood *AnswerProbe `json:"confirmed_good"`
	ConfirmedBad  *AnswerProbe `json:"confirmed_bad"`
	// Binding is the objective that is missed most often.
	Binding  string        `json:"binding,omitempty" example:"time_to_first_token"`
	Evidence []AnswerProbe `json:"evidence"`         // all probes or repeats, in order
	Paired   *Paired       `json:"paired,omitempty"` // of kind ab only
}

// Notes says why the measurement ended, what would decide it, and what speaks against the answer.
func (a *Answer) Notes() []string {
	var out []string
	if a.Stop.Text != "" {
		out = append(out, "The measurement ended: "+a.Stop.Text+".")
	}
	if a.Decide.Needs != "" {
		what := "What would decide it: "
		if a.Verdict == "estimated" {
			what = "What would narrow it: "
		}
		out = append(out, what+a.Decide.Needs+".")
	}
	for _, d := range a.Doubts {
		out = append(out, "Doubt: "+d.Message+".")
	}
	return out
}

// Control names the load whose capacity was asked for: request_rate or concurrency; empty = it was none.
func (a *Answer) Control() string {
	switch {
	case a.Estimate == nil || a.Estimate.Tag != "":
		return ""
	case a.Estimate.Unit == ConcurrentRequests:
		return "concurrency"
	}
	return "request_rate"
}

// The units of a capacity.
const (
	ConcurrentRequests = "concurrent requests"
	RequestsPerSecond  = "requests per second"
)

// AnswerInterval is a number with its interval.
type AnswerInterval struct {
	Tag       string  `json:"tag,omitempty" example:"time_to_first_token"` // the metric; absent of a capacity
	Statistic string  `json:"statistic,omitempty" example:"p95"`           // of the metric
	Value     float64 `json:"value" example:"28.1"`
	Unit      string  `json:"unit" example:"requests per second"`
	Low       float64 `json:"low" example:"27.3"`
	High      float64 `json:"high" example:"28.9"`
	Level     float64 `json:"level" example:"0.95"` // probability of the interval
	// Replication is the unit that was repeated: the interval speaks for its variation.
	Replication string `json:"unit_of_replication" enums:"runs,blocks,probes"`
	N           int    `json:"n" example:"10"` // of these; of probes, those near the capacity
	Method      string `json:"method" example:"complementary log-log, grid posterior"`
}

// AnswerEstimate is a capacity, or the value that repeats are about, with its interval.
type AnswerEstimate struct {
	AnswerInterval
	Rounded float64 `json:"rounded,omitempty" example:"28"` // the largest level that can be set; of a capacity
	// Advised is the load to plan for at most: of a capacity, the lower end of the interval, as a level that can be set.
	Advised    *float64 `json:"advised,omitempty" example:"27.3"`
	Target     float64  `json:"target,omitempty" example:"0.95"`
	Dispersion float64  `json:"dispersion,omitempty"` // requests that are worth one independent one
	// Costs is how many percentage points of good requests 5 % more load than the capacity costs.
	Costs float64 `json:"cost_of_5_percent_more,omitempty" example:"4"`
}

// AnswerProbe is one run that an answer rests on: a level of load, or a repeat.
type AnswerProbe struct {
	RunID     string   `json:"run_id"`
	Role      string   `json:"role" enums:"baseline,bracket,refine,confirm_high,confirm_low,trial"`
	X         float64  `json:"x" example:"27.3"`                           // the load; of repeats, the number of the run
	Value     float64  `json:"value" example:"0.961"`                      // share of good requests by due time; of repeats, that of the estimate
	FromStart *float64 `json:"value_from_start,omitempty" example:"0.962"` // the share by the start of requests
	Low       float64  `json:"low"`                                        // interval within the run
	High      float64  `json:"high"`
	Requests  float64  `json:"requests,omitempty"`
	Effective float64  `json:"effective_n,omitempty"` // independent requests that they are worth
	Window    float64  `json:"window_sec,omitempty"`
	Flags     []string `json:"flags"` // growing, overload, hopeless, distorted, not-idle, failed
	Failure   string   `json:"failure,omitempty"`
}

// AnswerDoubt is a reason to trust an answer less.
type AnswerDoubt struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// AnswerStop says why a measurement ended, and what it has cost.
type AnswerStop struct {
	// Reason is empty while the measurement goes on; "given" means that the runs were there.
	Reason string  `json:"reason" example:"precision"`
	Text   string  `json:"text"`               // the same in words; empty = there is no more to say
	Probes int     `json:"probes,omitempty"`   // runs that it took
	Load   float64 `json:"load_sec,omitempty"` // for which the server was under load
	// Budget is the share of the budget that is spent: of the part of it, probes or time, that is spent most.
	Budget float64 `json:"budget_used,omitempty" example:"0.45"`
}

// The reasons of measurements that are no search.
const (
	StopGiven     = "given"     // the runs were there
	StopComplete  = "complete"  // all runs that were planned have ended
	StopDecided   = "decided"   // the answer was known before all runs that were planned
	StopBudget    = "budget"    // the time that was allowed is over
	StopCancelled = "cancelled" // by a user, or by its deadline
)

// AnswerDecision says what would decide an open answer, or make it better.
type AnswerDecision struct {
	Needs string  `json:"needs"`              // empty = nothing is open
	Load  float64 `json:"load_sec,omitempty"` // for which servers would be under load; 0 = unknown
	// RequestsPerRun is how many requests a repeat should have for the least cost of time; 0 = unknown.
	RequestsPerRun int64 `json:"requests_per_run,omitempty"`
}

// AnswerOrigin is what repeats the measurement.
type AnswerOrigin struct {
	Seed    *int64 `json:"seed"`             // from which those of the runs follow; null = the runs were given
	SeedB   *int64 `json:"seed_b,omitempty"` // of document B, if two were measured for the answer
	Version string `json:"version"`          // of aiperfd that gave the answer
}

// Answer returns the answer of the experiment in this folder. The error is fs.ErrNotExist if it has
// none.
func (r *Results) Answer() (*Answer, error) {
	path := filepath.Join(r.Dir, AnswerFile)
	data, err := regular.Read(path)
	if err != nil {
		return nil, err
	}
	var a Answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &a, nil
}
