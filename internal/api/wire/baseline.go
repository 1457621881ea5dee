package wire

import "aiperfd/internal/run"

// Baselines is the body of GET /api/baselines.
type Baselines struct {
	Items []run.Baseline `json:"items"` // by name
}

// BaselineRuns is the body of PUT /api/baselines/{name}.
type BaselineRuns struct {
	// Runs are ids of runs that have ended, in the order of their measurement; repeats stand for all their runs.
	Runs []string `json:"runs" minItems:"1" maxItems:"100" example:"0199f1c2b7c80000000000000000000a"`
	Note string   `json:"note,omitempty" maxLength:"1024" example:"release 1.4"`
}

// Candidate is the body of POST /api/baselines/{name}/promote.
type Candidate struct {
	BaselineRuns
	// Rules are those of aiperfd gate: limits, or changes from the baseline.
	Rules []string `json:"rules" minItems:"1" maxItems:"50" example:"output_token_throughput>-3%"`
}

// Judgement is the body of POST /api/baselines/{name}/judge.
type Judgement struct {
	// Runs are ids of runs that have ended, in the order of their measurement; repeats stand for all their runs.
	Runs []string `json:"runs" minItems:"1" maxItems:"100" example:"0199f1c2b7c80000000000000000000a"`
	// Rules are those of aiperfd gate: limits, or changes from the baseline.
	Rules []string `json:"rules" minItems:"1" maxItems:"50" example:"output_token_throughput>-3%"`
	// Looks are the numbers of runs after which a measurement that goes on is judged, ascending; none = the runs are
	// judged once.
	Looks []int `json:"looks,omitempty" maxItems:"5" example:"3"`
	// OnInconclusive is what a rule that is not decided counts as.
	OnInconclusive string `json:"on_inconclusive,omitempty" enums:"error,pass,fail" default:"error"`
}
