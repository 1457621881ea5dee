package schema

import (
	"fmt"
	"slices"
)

// SaturationLimit is how many arrivals may wait by default before the saturation abort ends a run,
// unless the concurrency is more: a burst is not a rate.
const SaturationLimit = 100

// phaseFields are the rows of the phases of load.
func phaseFields() []Field {
	return slices.Concat(phaseOnlyFields(), rampFields("benchmark.phases.*.concurrencyRamp"),
		rampFields("benchmark.phases.*.prefillRamp"), rampFields("benchmark.phases.*.rateRamp"))
}

// rampFields are the rows of a ramp.
func rampFields(path string) []Field {
	return []Field{
		{Path: path, Forms: []Form{FormDuration}},
		{Path: path + ".duration", Required: true, Above: new(0.0)},
		{Path: path + ".strategy", Value: "linear", Choices: "linear exponential poisson", Default: "linear"},
	}
}

// phaseOnlyFields are the rows that only one field has.
func phaseOnlyFields() []Field {
	return []Field{
		{Path: "benchmark.phases", MinLength: 1, MaxLength: 100, Forms: []Form{FormElement}},
		{
			Path: "benchmark.phases.*",
			AIPerf: "name kind type excludeFromResults requests duration sessions concurrency concurrencyRamp " +
				"prefillConcurrency prefillRamp gracePeriod cancellation sla seamless timingMode " +
				"failedRequestThreshold adaptiveScale adaptiveSustainDuration adaptiveAssessmentPeriod " +
				"adaptiveMinCompletedRequests adaptiveControlVariable adaptiveControlMin adaptiveControlMax " +
				"adaptiveScaleStrategyType adaptiveScaleStepPolicy adaptiveScaleBaseStep " +
				"adaptiveScaleMaxStepMultiplier adaptiveScaleStepPercent trajectoryStartMinRatio " +
				"trajectoryStartMaxRatio burstPhaseStarts systemIdleGapCapSeconds agenticCacheWarmupDuration " +
				"agenticWarmupGracePeriod",
			Own:   "sessionRate userReplacement saturation saturationLimit excludeRamp",
			Lacks: phaseLacks(),
		},
		{Path: "benchmark.phases.*.name", Default: "its kind"},
		{
			Path: "benchmark.phases.*.kind", Choices: "warmup profiling",
			Default: "warmup if that is the name, else profiling",
		},
		{
			Path: "benchmark.phases.*.type", Lacked: "agentic_replay", List: "phaseTypes",
			Default: "fixed_schedule for a trace with timestamps; else concurrency, with users user_centric, " +
				"with a rate poisson, with smoothness too gamma",
		},
		{Path: "benchmark.phases.*.excludeFromResults", Default: "true for warmup, else false"},
		{Path: "benchmark.phases.*.requests", Least: new(1.0), Default: "no limit"},
		{Path: "benchmark.phases.*.sessions", Least: new(1.0), Default: "no limit"},
		{Path: "benchmark.phases.*.duration", Above: new(0.0), Default: "no limit"},
		{
			Path: "benchmark.phases.*.gracePeriod", Form: "infinite", Least: new(0.0),
			Default: "30 for profiling with a duration, else inf",
		},
		{
			Path: "benchmark.phases.*.concurrency", Least: new(1.0),
			Default: "1 for the type concurrency, else no limit",
		},
		{Path: "benchmark.phases.*.rate", Above: new(0.0), Unit: "1/s"},
		{Path: "benchmark.phases.*.sessionRate", Above: new(0.0), Unit: "1/s"},
		{Path: "benchmark.phases.*.users", Least: new(1.0), Most: new(1000000.0)},
		{Path: "benchmark.phases.*.userReplacement", Choices: "scheduled on-completion", Default: "scheduled"},
		{Path: "benchmark.phases.*.saturation", Choices: "queue drop abort", Default: "queue"},
		{
			Path: "benchmark.phases.*.saturationLimit", Least: new(1.0),
			Default: fmt.Sprintf("%d, or concurrency if that is more", SaturationLimit),
		},
		{Path: "benchmark.phases.*.smoothness", Above: new(0.0), Default: "1 with type {shaped}"},
		{Path: "benchmark.phases.*.failedRequestThreshold", Least: new(0.0), Most: new(1.0)},
		{Path: "benchmark.phases.*.autoOffset", Default: "true without startOffset"},
		{Path: "benchmark.phases.*.startOffset", Least: new(0.0), Unit: "ms"},
		{Path: "benchmark.phases.*.endOffset", Least: new(0.0), Unit: "ms", Default: "no limit"},
		{Path: "benchmark.phases.*.cancellation", AIPerf: "rate delay"},
		{Path: "benchmark.phases.*.cancellation.rate", Least: new(0.0), Most: new(100.0)},
		{Path: "benchmark.phases.*.cancellation.delay", Least: new(0.0)},
		{Path: "benchmark.phases.*.prefillConcurrency", Least: new(1.0), Default: "no limit"},
		{Path: "benchmark.phases.*.rateSeries", Forms: []Form{FormPoints}},
		{Path: "benchmark.phases.*.rateSeries.path", MinLength: 1},
		{Path: "benchmark.phases.*.rateSeries.points", MinLength: 2, MaxLength: 100000},
		{Path: "benchmark.phases.*.rateSeries.points.*"},
		{Path: "benchmark.phases.*.rateSeries.points.*.timeS", Least: new(0.0), Unit: "s"},
		{Path: "benchmark.phases.*.rateSeries.points.*.qps", Required: true, Above: new(0.0), Unit: "1/s"},
		{Path: "benchmark.phases.*.seamless"},
		{Path: "benchmark.phases.*.excludeRamp"},
	}
}
