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

// AnswerHead is what the answers to all kinds of questions have in common. What else an answer has depends on its
// kind. Make one with [NewAnswerHead].
type AnswerHead struct {
	Schema    string        `json:"schema" example:"aiperfd-answer/1"`
	Kind      string        `json:"kind" enums:"capacity,ab,compare,gate"`
	Final     bool          `json:"final"` // no further measurement changes it
	Question  string        `json:"question"`
	SpeaksFor string        `json:"speaks_for" example:"these runs"` // whose variation its intervals include
	Doubts    []AnswerDoubt `json:"doubts"`                          // reasons to trust it less
}

// NewAnswerHead returns the head of an answer without doubts, which is not final.
func NewAnswerHead(kind, question, speaksFor string) AnswerHead {
	return AnswerHead{Schema: AnswerSchema, Kind: kind, Question: question, SpeaksFor: speaksFor, Doubts: []AnswerDoubt{}}
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
	RunID string `json:"run_id"`
	// Verdict of kind ab: the worst one of the metrics of B; inconclusive if one is open and none is worse. Of a
	// capacity: estimated, or a bound on one side; not_found if the least load misses
	// the objectives; non_monotone if more load met them better than less; invalid if the load
	// generator may have decided, or nothing was measured, or too little to bound it on a side.
	Verdict   string          `json:"verdict" enums:"estimated,lower_bound,upper_bound,not_found,non_monotone,better,worse,equivalent,inconclusive,invalid"`
	Sentences []string        `json:"sentences"` // the answer in words, the main one first
	Estimate  *AnswerEstimate `json:"estimate"`  // null = there is none
	// ConfirmedGood and ConfirmedBad are measured levels on both sides; null = there is none.
	ConfirmedGood *AnswerProbe   `json:"confirmed_good"`
	ConfirmedBad  *AnswerProbe   `json:"confirmed_bad"`
	Binding       string         `json:"binding,omitempty" example:"time_to_first_token"` // the objective that is missed most often
	Evidence      []AnswerProbe  `json:"evidence"`                                        // all probes, in order
	Stop          AnswerStop     `json:"stop"`
	Decide        AnswerDecision `json:"decide"`
	Provenance    AnswerOrigin   `json:"provenance"`
	Paired        *Paired        `json:"paired,omitempty"` // of kind ab only
}

// Control names the load whose capacity was asked for: request_rate or concurrency; empty = it was none.
func (a *Answer) Control() string {
	switch {
	case a.Estimate == nil:
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

// AnswerEstimate is a number with its interval.
type AnswerEstimate struct {
	Value   float64 `json:"value" example:"28.1"`
	Rounded float64 `json:"rounded" example:"28"` // the largest level that can be set
	Low     float64 `json:"low" example:"27.3"`
	High    float64 `json:"high" example:"28.9"`
	Unit    string  `json:"unit" example:"requests per second"`
	Level   float64 `json:"level" example:"0.95"` // probability of the interval
	Target  float64 `json:"target" example:"0.95"`
	// Replication is the unit that was repeated: the interval speaks for its variation.
	Replication string  `json:"unit_of_replication" example:"probes"`
	N           int     `json:"n" example:"10"` // of these, near the capacity
	Dispersion  float64 `json:"dispersion"`     // requests that are worth one independent one
	Method      string  `json:"method" example:"complementary log-log, grid posterior"`
	// Costs is how many percentage points of good requests 5 % more load costs.
	Costs float64 `json:"cost_of_5_percent_more" example:"4"`
}

// AnswerProbe is one measured level.
type AnswerProbe struct {
	RunID     string   `json:"run_id"`
	Role      string   `json:"role" enums:"baseline,bracket,refine,confirm_high,confirm_low"`
	X         float64  `json:"x" example:"27.3"`
	Value     float64  `json:"value" example:"0.961"`            // share of good requests by due time
	FromStart float64  `json:"value_from_start" example:"0.962"` // the same by the start of requests
	Low       float64  `json:"low"`
	High      float64  `json:"high"`
	Requests  float64  `json:"requests"`
	Effective float64  `json:"effective_n"` // independent requests that they are worth
	Window    float64  `json:"window_sec"`
	Flags     []string `json:"flags"` // growing, overload, hopeless, distorted, failed
	Failure   string   `json:"failure,omitempty"`
}

// AnswerDoubt is a reason to trust an answer less.
type AnswerDoubt struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// AnswerStop says why an experiment ended, and what it has cost.
type AnswerStop struct {
	Reason string  `json:"reason"` // empty = it goes on
	Text   string  `json:"text"`
	Probes int     `json:"probes"`
	Load   float64 `json:"load_sec"` // for which the server was under load
	// Budget is the share of the budget that is spent: of the part of it, probes or time, that is spent most.
	Budget float64 `json:"budget_used" example:"0.45"`
}

// AnswerDecision says what would make the answer better.
type AnswerDecision struct {
	Needs string  `json:"needs"`
	Load  float64 `json:"load_sec"` // more of it; 0 = unknown
}

// AnswerOrigin is what repeats the experiment.
type AnswerOrigin struct {
	Seed    int64  `json:"seed"`
	Version string `json:"version"`
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
