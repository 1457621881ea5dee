package wire

import (
	"time"

	"aiperfd/internal/run"
)

// Problem is an RFC 9457 problem with aiperfd's extension members.
type Problem struct {
	Type      string  `json:"type" example:"urn:aiperfd:problem:not-found"`
	Title     string  `json:"title" example:"Not found"`
	Status    int     `json:"status" example:"404"`
	Detail    string  `json:"detail" example:"Not Found"`
	Instance  string  `json:"instance" example:"/api/nope"`
	RequestID string  `json:"request_id"`
	Line      int     `json:"line,omitempty"`   // malformed-body: 1-based
	Column    int     `json:"column,omitempty"` // malformed-body: 1-based
	Errors    []Fault `json:"errors,omitempty"`
	Warnings  []Fault `json:"warnings,omitempty"`
}

// Fault is one thing that is wrong with a document, or worth a warning.
type Fault struct {
	Pointer string `json:"pointer"`          // RFC 6901 in fragment form, in the user's spelling: #/benchmark/phases/0/rate
	Flag    string `json:"flag,omitempty"`   // the flag or environment variable at fault, if it was one
	Code    string `json:"code"`             // one of the Code constants
	Detail  string `json:"detail"`           // a sentence: field, value, what is accepted
	Value   any    `json:"value,omitempty"`  // the value; nil if it may be secret
	Line    int    `json:"line,omitempty"`   // 1-based; 0 = not from a file
	Column  int    `json:"column,omitempty"` // 1-based, in bytes
} // @name problem.Problem

// Validation is the body of POST /api/validate. Its lists are never null.
type Validation struct {
	Valid    bool      `json:"valid"`
	Errors   []Fault   `json:"errors"`
	Warnings []Fault   `json:"warnings"`
	Defaults []Default `json:"defaults"`                              // values that follow from others; only if valid
	Config   any       `json:"config,omitempty" swaggertype:"object"` // the resolved document, redacted; only if valid
}

// Default is a value of a document that follows from others.
type Default struct {
	Pointer string `json:"pointer"` // canonical: #/benchmark/phases/0/concurrency
	Value   any    `json:"value"`
	Reason  string `json:"reason"`
} // @name config.Default

// Cancel is the body of POST /api/runs/{id}/cancel.
type Cancel struct {
	Mode   string   `json:"mode" enums:"graceful,force" default:"graceful"`
	Grace  *float64 `json:"grace_period_sec" minimum:"0" maximum:"86400"` // null = the phase's own
	Reason string   `json:"reason" maxLength:"1024"`
}

// Simulator is the simulated server.
type Simulator struct {
	URL   string `json:"url" example:"http://127.0.0.1:40123"`
	Model string `json:"model" example:"demo-model"`
}

// Cluster is the body of GET /api/cluster.
type Cluster struct {
	Enabled bool         `json:"enabled"` // load generators can join: the daemon has --bus-listen or --bus-url
	Workers []run.Worker `json:"workers"` // by name; never null
}

// ClusterWorker is a load generator that has joined.
type ClusterWorker = run.Worker

// Version is the body of GET /api/version. Callers without the scope read see name and
// version only.
type Version struct {
	Name     string   `json:"name" example:"aiperfd"`
	Version  string   `json:"version" example:"0.1.0"`
	APILevel int      `json:"api_level,omitzero" example:"1"`
	Compat   string   `json:"compat,omitzero" example:"aiperf-0.13"`
	Go       string   `json:"go,omitzero" example:"go1.26.8"`
	Features []string `json:"features,omitzero"`
}

// Health is the verbose body of the probes.
type Health struct {
	State      string            `json:"state" enums:"starting,running,stopping,failed"`
	Since      time.Time         `json:"since" format:"date-time"`
	Checks     map[string]string `json:"checks"`
	ActiveRuns int               `json:"active_runs"`
	QueueDepth int               `json:"queue_depth"`
	Version    string            `json:"version"`
}

// ShuttingDown is the body of POST /api/shutdown.
type ShuttingDown struct {
	Status string `json:"status" enums:"shutting_down"`
}
