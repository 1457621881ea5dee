package schema

import "fmt"

// SaturationLimit is how many arrivals may wait by default before the saturation abort ends a run,
// unless the concurrency is more: a burst is not a rate.
const SaturationLimit = 100

// phaseFields are the rows of the phases of load.
func phaseFields() []section {
	return []section{
		rampFields("concurrencyRamp", "--concurrency-ramp-duration --warmup-concurrency-ramp-duration"),
		rampFields("prefillRamp", "--prefill-concurrency-ramp-duration --warmup-prefill-concurrency-ramp-duration"),
		rampFields("rateRamp", "--request-rate-ramp-duration --warmup-request-rate-ramp-duration"),
		{"benchmark.phases.*", "rateSeries.points.* seamless", []Field{
			{Path: "",
				AIPerf: "name kind type excludeFromResults requests duration sessions concurrency concurrencyRamp " +
					"prefillConcurrency prefillRamp gracePeriod cancellation sla seamless timingMode " +
					"failedRequestThreshold adaptiveScale adaptiveSustainDuration adaptiveAssessmentPeriod " +
					"adaptiveMinCompletedRequests adaptiveControlVariable adaptiveControlMin adaptiveControlMax " +
					"adaptiveScaleStrategyType adaptiveScaleStepPolicy adaptiveScaleBaseStep " +
					"adaptiveScaleMaxStepMultiplier adaptiveScaleStepPercent trajectoryStartMinRatio " +
					"trajectoryStartMaxRatio burstPhaseStarts systemIdleGapCapSeconds agenticCacheWarmupDuration " +
					"agenticWarmupGracePeriod",
				Own: "sessionRate userReplacement saturation saturationLimit excludeRamp laneStart laneRamp " +
					"treeIdleGapCapSeconds warmupRequestsPerLane",
				Lacks: phaseLacks()},
			{Path: "name", Default: "its kind"},
			{Path: "kind", Choices: "warmup profiling", Default: "warmup if that is the name, else profiling"},
			{Path: "type", List: "phaseTypes",
				Default: "fixed_schedule for a trace with timestamps; else concurrency, with users user_centric, " +
					"with a rate poisson, with smoothness too gamma",
				Flags: "--arrival-pattern --warmup-arrival-pattern"},
			{Path: "excludeFromResults", Default: "true for warmup, else false"},
			{Path: "requests", Least: new(1.0), Default: "no limit", Flags: "--request-count --warmup-request-count"},
			{Path: "sessions", Least: new(1.0), Default: "no limit", Flags: "--conversation-num --num-warmup-sessions"},
			{Path: "duration", Above: new(0.0), Default: "no limit", Flags: "--benchmark-duration --warmup-duration"},
			{Path: "gracePeriod", Form: "infinite", Least: new(0.0), Default: "30 for profiling with a duration, else inf",
				Flags: "--benchmark-grace-period --warmup-grace-period"},
			{Path: "concurrency", Least: new(1.0), Default: "1 for the type concurrency, else no limit",
				Flags: "--concurrency --warmup-concurrency"},
			{Path: "rate", Above: new(0.0), Unit: "1/s", Flags: "--request-rate --warmup-request-rate --user-centric-rate"},
			{Path: "sessionRate", Above: new(0.0), Unit: "1/s", Flags: "--session-rate"},
			{Path: "users", Least: new(1.0), Most: new(1e6), Flags: "--num-users"},
			{Path: "userReplacement", Choices: "scheduled on-completion", Default: "scheduled", Flags: "--user-replacement"},
			{Path: "saturation", Choices: "queue drop abort", Default: "queue", Flags: "--saturation"},
			{Path: "saturationLimit", Least: new(1.0),
				Default: fmt.Sprintf("%d, or concurrency if that is more", SaturationLimit), Flags: "--saturation-limit"},
			{Path: "smoothness", Above: new(0.0), Default: "1 with type {shaped}", Flags: "--arrival-smoothness"},
			{Path: "failedRequestThreshold", Least: new(0.0), Most: new(1.0), Flags: "--failed-request-threshold"},
			{Path: "autoOffset", Default: "true without startOffset", Flags: "--fixed-schedule-auto-offset"},
			{Path: "startOffset", Least: new(0.0), Unit: "ms", Flags: "--fixed-schedule-start-offset"},
			{Path: "endOffset", Least: new(0.0), Unit: "ms", Default: "no limit", Flags: "--fixed-schedule-end-offset"},
			{Path: "trajectoryStartMinRatio", Least: new(0.0), Most: new(1.0), Default: "0.25",
				Flags: "--trajectory-start-min-ratio"},
			{Path: "trajectoryStartMaxRatio", Least: new(0.0), Most: new(1.0), Default: "0.75",
				Flags: "--trajectory-start-max-ratio"},
			{Path: "systemIdleGapCapSeconds", Above: new(0.0), Default: "no limit", Flags: "--system-idle-gap-cap-seconds"},
			{Path: "treeIdleGapCapSeconds", Above: new(0.0), Default: "no limit", Flags: "--tree-idle-gap-cap-seconds"},
			{Path: "agenticCacheWarmupDuration", Above: new(0.0), Default: "no cache warm-up, or 1800 with warmupRequestsPerLane",
				Flags: "--agentic-cache-warmup-duration"},
			{Path: "warmupRequestsPerLane", Least: new(1.0), Default: "no limit", Flags: "--warmup-requests-per-lane"},
			{Path: "agenticWarmupGracePeriod", Form: "infinite", Least: new(0.0),
				Default: "gracePeriod or, if more, agenticCacheWarmupDuration up to 300; inf without that",
				Flags:   "--agentic-warmup-grace-period"},
			{Path: "burstPhaseStarts", Flags: "--burst-phase-starts"},
			{Path: "laneStart", Choices: "spread burst ramp", Default: "ramp, with burstPhaseStarts burst", Flags: "--start"},
			{Path: "laneRamp", Above: new(0.0), Default: "60", Flags: "--start-ramp"},
			{Path: "cancellation", AIPerf: "rate delay"},
			{Path: "cancellation.rate", Least: new(0.0), Most: new(100.0), Flags: "--request-cancellation-rate"},
			{Path: "cancellation.delay", Least: new(0.0), Flags: "--request-cancellation-delay"},
			{Path: "prefillConcurrency", Least: new(1.0), Default: "no limit",
				Flags: "--prefill-concurrency --warmup-prefill-concurrency"},
			{Path: "rateSeries", Forms: []Form{FormPoints}},
			{Path: "rateSeries.path", MinLength: 1, Form: "file", Flags: "--request-rate-series"},
			{Path: "rateSeries.points", MinLength: 2, MaxLength: 100000},
			{Path: "rateSeries.points.*.timeS", Least: new(0.0), Unit: "s"},
			{Path: "rateSeries.points.*.qps", Required: true, Above: new(0.0), Unit: "1/s"},
			{Path: "excludeRamp", Flags: "--exclude-ramp"},
		}},
	}
}

// rampFields are the rows of a ramp.
func rampFields(name, flags string) section {
	return section{"benchmark.phases.*." + name, "", []Field{
		{Path: "", Forms: []Form{FormDuration}},
		{Path: "duration", Required: true, Above: new(0.0), Flags: flags},
		{Path: "strategy", Value: "linear", Choices: "linear exponential poisson", Default: "linear"},
	}}
}
