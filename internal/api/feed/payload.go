package feed

import (
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// The payloads.
type (
	phasePayload struct {
		Stats  wire.Phase   `json:"stats"`
		Config *phaseConfig `json:"config"`
	}
	phaseConfig struct {
		Phase       bench.PhaseKind `json:"phase"`
		Requests    *int64          `json:"total_expected_requests"`
		Sessions    *int64          `json:"expected_num_sessions"`
		DurationSec *float64        `json:"expected_duration_sec"`
		GraceSec    *float64        `json:"grace_period_sec"`
		Concurrency *int            `json:"concurrency"`
	}
	metricsPayload struct {
		Metrics []wire.Record `json:"metrics"`
	}
	recordCounts struct {
		Phase   bench.PhaseKind `json:"phase,omitempty"`
		Index   *int            `json:"phase_index"`
		Name    string          `json:"phase_name,omitempty"`
		Success int64           `json:"success_records"`
		Errors  int64           `json:"error_records"`
		EndNS   *int64          `json:"records_end_ns"`
	}
	processingPayload struct {
		Stats   recordCounts            `json:"processing_stats"`
		Workers map[string]recordCounts `json:"worker_stats"`
	}
	recordsPayload struct {
		Stats recordCounts `json:"final_processing_stats"`
	}
	healthPayload struct {
		Health *wire.ProcessHealth `json:"health"`
		Tasks  wire.TaskStats      `json:"task_stats"`
	}
	statusPayload struct {
		Statuses map[string]wire.WorkerStatus `json:"worker_statuses"`
		Startup  map[string]string            `json:"worker_startup_states"`
	}
	groupPayload struct {
		wire.WorkerGroup
		Statuses map[string]wire.WorkerStatus `json:"worker_statuses"`
		Tasks    map[string]wire.TaskStats    `json:"worker_task_stats"`
	}
	startupPayload struct {
		State  string     `json:"startup_state"`
		Change string     `json:"change"` // joined, left or lost
		Reason string     `json:"reason,omitempty"`
		Worker run.Worker `json:"worker"`
	}
	statePayload struct {
		State wire.SystemState `json:"state"`
	}
	clientPayload struct {
		Client *verdict.Report `json:"client"`
		Stream *verdict.Stream `json:"stream"`
	}
	resultsPayload struct {
		Results wire.ProfileResults `json:"results"`
	}
	endPayload struct {
		Cancelled bool `json:"was_cancelled"`
	}
	errorPayload struct {
		Error *run.Error `json:"error"`
	}
	errorsPayload struct {
		Count   int64             `json:"error_count"`
		Summary []wire.ErrorCount `json:"error_summary"`
	}
	runPayload struct {
		Run wire.Run `json:"run"`
	}
	snapshotPayload struct {
		Run      wire.Run      `json:"run"`
		Progress wire.Progress `json:"progress"`
		Metrics  wire.Metrics  `json:"metrics"`
	}
	heartbeatPayload struct {
		State   string `json:"state"`
		Service string `json:"service_type"`
	}
)
