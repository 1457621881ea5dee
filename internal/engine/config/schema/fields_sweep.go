package schema

// sweepFields are the rows of sweeps and repeats.
func sweepFields() []section {
	return []section{
		filterFields("sweep.slaFilters.*", true), filterFields("sweep.stopWhen.*", true),
		filterFields("sweep.postProcess.params.slaFilters.*", false), filterFields("sweep.slaTiers.*.filters.*", false),
		{"sweep",
			"parameters runs.* runs.*.variables runs.*.benchmark runs.*.values dimensions.* dimensions.*.lo " +
				"dimensions.*.hi dimensions.*.choices slaFilters stopWhen recipeName autoRequests postProcess " +
				"postProcess.params postProcess.params.sweptParam postProcess.params.concurrencyParam " +
				"postProcess.params.oslParam searchSpace.* searchSpace.*.lo searchSpace.*.hi objectives.* " +
				"outcomeConstraints outcomeConstraints.* outcomeConstraints.*.bound slaTiers.*", []Field{
				{Path: "type", Value: "grid", Required: true, Choices: "grid zip scenarios sobol latin_hypercube adaptive_search",
					Flags: "--sweep-type"},
				{Path: "runs", Flags: "--variant"},
				{Path: "runs.*.name", MinLength: 1},
				{Path: "samples", Least: new(2.0), Most: new(1000.0)},
				{Path: "seed", Least: new(0.0), Default: "randomSeed"},
				{Path: "dimensions", MinLength: 1, MaxLength: 21},
				{Path: "dimensions.*.path", Required: true, MinLength: 1},
				{Path: "dimensions.*.scale", Choices: "linear log", Default: "linear"},
				{Path: "dimensions.*.kind", Choices: "int real", Default: "real"},
				{Path: "scramble", Default: "true"},
				{Path: "optimization", Choices: "random-cd lloyd none", Default: "random-cd"},
				{Path: "labelFormat", Value: "index", Choices: "index kv", Default: "index"},
				{Path: "iterationOrder", Value: "repeated", Choices: "repeated independent", Default: "repeated",
					Flags: "--parameter-sweep-mode"},
				{Path: "sameSeed", Flags: "--parameter-sweep-same-seed"},
				{Path: "cooldownSeconds", Least: new(0.0), Most: new(86400.0), Unit: "s",
					Flags: "--parameter-sweep-cooldown-seconds"},
				{Path: "onFailure", Value: "continue", Choices: "continue abort", Default: "continue",
					Flags: "--sweep-on-failure"},
				{Path: "maxFailures", Least: new(1.0), Default: "no limit", Flags: "--sweep-max-failures"},
				{Path: "postProcess.handler",
					Choices: "sla_breach_knee degradation_knee_detect ttft_curve_fit itl_surface_fit " +
						"pareto_sweep_export"},
				{Path: "postProcess.params.metricTag", List: "metrics"},
				{Path: "postProcess.params.stat", Choices: "avg p50 p90 p95 p99"},
				{Path: "postProcess.params.thresholdPct", Above: new(0.0)},
				{Path: "postProcess.params.slaFilters", MinLength: 1},
				{Path: "postProcess.params.rSquaredFloor", Above: new(0.0), Most: new(1.0), Default: "0.85"},
				{Path: "postProcess.params.xMetric", List: "metrics"},
				{Path: "postProcess.params.xStat", Choices: "avg p50 p90 p95 p99"},
				{Path: "postProcess.params.yMetric", List: "metrics"},
				{Path: "postProcess.params.yStat", Choices: "avg p50 p90 p95 p99"},
				{Path: "postProcess.outputFilename", MinLength: 1, MaxLength: 128},
				{Path: "planner", Choices: "bayesian optuna monotonic_sla smooth_isotonic capacity", Flags: "--search-planner"},
				{Path: "searchSpace", MinLength: 1, MaxLength: 21},
				{Path: "searchSpace.*.path", MinLength: 1},
				{Path: "searchSpace.*.kind", Choices: "int real", Default: "real"},
				{Path: "searchSpace.*.prior", Choices: "uniform log-uniform", Default: "uniform"},
				{Path: "objectives", MaxLength: 4},
				{Path: "objectives.*.metric", List: "metrics"},
				{Path: "objectives.*.stat", Choices: "avg p1 p5 p10 p25 p50 p75 p90 p95 p99 min max", Default: "avg"},
				{Path: "objectives.*.direction", Choices: "maximize minimize"},
				{Path: "outcomeConstraints.*.metric", List: "metrics"},
				{Path: "outcomeConstraints.*.op", Choices: "<= >="},
				{Path: "slaTiers", MinLength: 2, MaxLength: 10},
				{Path: "slaTiers.*.label", MinLength: 1, MaxLength: 64},
				{Path: "slaTiers.*.filters", MinLength: 1},
				{Path: "maxIterations", Least: new(2.0), Most: new(200.0), Flags: "--search-max-iterations"},
				{Path: "nInitialPoints", Least: new(1.0), Flags: "--search-initial-points"},
				{Path: "improvementPatience", Least: new(2.0), Default: "10"},
				{Path: "plateauWindow", Least: new(2.0), Default: "8"},
				{Path: "plateauThreshold", Above: new(0.0), Default: "0.01"},
				{Path: "randomSeed", Least: new(0.0), Flags: "--search-random-seed"},
				{Path: "monotonicStabilityTrials", Least: new(1.0), Most: new(10.0), Default: "2"},
				{Path: "slaReplicates", Least: new(0.0), Most: new(20.0), Default: "2"},
				{Path: "slaPrecision", Choices: "tight normal coarse", Default: "normal"},
				{Path: "slaWarmupSeconds", Least: new(0.0), Most: new(3600.0), Unit: "s"},
				{Path: "sloAttainmentFraction", Least: new(0.5), Most: new(0.999), Default: "0.95"},
				{Path: "relativePrecision", Least: new(0.005), Most: new(0.5), Default: "0.05"},
				{Path: "searchStart", Above: new(0.0)},
				{Path: "maxLoadSeconds", Least: new(1.0), Most: new(604800.0), Unit: "s", Default: "3600"},
			}},
		{"multiRun", "convergence", []Field{
			{Path: "numRuns", Value: 1, Least: new(1.0), Most: new(10.0), Flags: "--num-profile-runs"},
			{Path: "cooldownSeconds", Least: new(0.0), Most: new(86400.0), Unit: "s", Flags: "--profile-run-cooldown-seconds"},
			{Path: "confidenceLevel", Value: 0.95, Above: new(0.0), Flags: "--confidence-level"},
			{Path: "disableWarmupAfterFirst", Value: true, Flags: "--profile-run-disable-warmup-after-first"},
			{Path: "setConsistentSeed", Value: true, Flags: "--set-consistent-seed"},
			{Path: "varySeedPerTrial", Flags: "--vary-seed-per-trial"},
			{Path: "convergence.metric", Required: true, List: "metrics", Flags: "--convergence-metric"},
			{Path: "convergence.stat", Choices: "avg p50 p90 p95 p99 min max", Flags: "--convergence-stat"},
			{Path: "convergence.mode", Choices: "ci_width cv distribution precision", Flags: "--convergence-mode"},
			{Path: "convergence.threshold", Above: new(0.0), Flags: "--convergence-threshold"},
			{Path: "convergence.minRuns", Least: new(2.0), Most: new(10.0), Default: "2; with mode precision, 3"},
		}},
		{"repeats", "", []Field{
			{Path: "metric", Value: "request_latency", List: "metrics", Flags: "--repeat-metric"},
			{Path: "stat", Value: "avg", Choices: "avg p50 p90 p95 p99", Flags: "--repeat-stat"},
			{Path: "min", Value: 3, Least: new(2.0), Most: new(10.0), Flags: "--repeat-min"},
			{Path: "max", Value: 10, Least: new(2.0), Most: new(10.0), Flags: "--repeat-max"},
			{Path: "precision", Value: 0.05, Least: new(0.001), Most: new(0.5), Flags: "--repeat-precision"},
		}},
	}
}

// filterFields are the rows of a limit on a statistic.
func filterFields(path string, required bool) section {
	return section{path, "", []Field{
		{Path: ""},
		{Path: "metricTag", Required: required, List: "metrics"},
		{Path: "stat", Choices: "avg p1 p5 p10 p25 p50 p75 p90 p95 p99 min max", Default: "p95"},
		{Path: "op", Required: required, Choices: "lt le gt ge"},
		{Path: "threshold", Required: required},
	}}
}
