package engine

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/run"
)

// publicPhase describes a phase by its metrics and its counters.
func publicPhase(plan *plan.Phase, set *metric.Set, stats bench.PhaseStats, clock bench.Clock) run.Phase {
	count := set.Counters()
	c := run.Counters{
		Sent: stats.Sent, Success: count.Success, Cancelled: count.Cancelled, Errors: count.ByClass,
		InputTokens: count.InputTokens, OutputTokens: count.OutputTokens + count.ReasoningTokens,
		ReasoningTokens: count.ReasoningTokens,
		SLOMet:          map[string]int64{}, SLOMissed: map[string]int64{}, Histograms: map[string]*sketch.Sketch{},
	}
	delete(c.Errors, bench.Cancelled)
	for _, slo := range count.SLOs {
		c.SLOMet[slo.Tag], c.SLOMissed[slo.Tag] = slo.Met, slo.Missed
	}
	for _, tag := range histogramTags {
		if h, ok := set.Histogram(tag); ok {
			c.Histograms[tag] = h
		}
	}
	return run.Phase{Stats: stats, Epoch: clock.Wall(0), Counters: c, Concurrency: optional(plan.Concurrency)}
}

// histogramTags lists the metrics whose distributions Prometheus gets.
var histogramTags = [...]string{
	"request_latency", "time_to_first_token", "inter_token_latency", "inter_chunk_latency",
	"schedule_lag", "input_sequence_length", "output_sequence_length",
}

// optional returns nil for 0.
func optional(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}
