package schema

const cacheBusts = "none system_prefix system_suffix first_turn_prefix first_turn_suffix per_request " +
	"warmup_isolation_system warmup_isolation_first_turn"

// datasetFields are the rows of the datasets.
func datasetFields() []Field {
	return []Field{
		{Path: "benchmark.datasets", MinLength: 1, MaxLength: 1, Forms: []Form{FormElement}},
		{
			Path: "benchmark.datasets.*",
			AIPerf: "name type entries randomSeed sampling systemPrompt systemPromptFile prompts prefixPrompts turns " +
				"turnDelay turnDelayRatio images audio video rankings",
			Own: "ignoreTraceDelays columns path hfSplit hfRevision interTurnDelayCapSeconds replaySpeedup " +
				"onTurnError dagFailFast cacheBust warmup oslExact blockSize skipBadLines",
			Lacks: lacking("replay of traces and public datasets", "hfWekaDataset filters useThinkTimeOnly "+
				"maxContextLength traceSessionSampleRatio maxIdleGapCapSeconds openLoopReplay openLoopStrict omitKvHints "+
				"forceMinTokens traceIdleGapCapSeconds"),
		},
		{Path: "benchmark.datasets.*.name", MinLength: 1, MaxBytes: MaxName, Default: "main"},
		{
			Path: "benchmark.datasets.*.type", Choices: "synthetic file public",
			Default: "file with path or records, else synthetic",
		},
		{
			Path: "benchmark.datasets.*.entries", Least: new(1.0), Most: new(10000000.0),
			Default: "as many as all phases need; 100,000 if that depends on the server; of a file, all",
		},
		{Path: "benchmark.datasets.*.randomSeed", Least: new(0.0), Default: "randomSeed"},
		{Path: "benchmark.datasets.*.sampling", Value: "sequential", List: "samplings"},
		{Path: "benchmark.datasets.*.systemPrompt", MinLength: 1, MaxBytes: MaxPrompt},
		{Path: "benchmark.datasets.*.systemPromptFile", MinLength: 1},
		{
			Path: "benchmark.datasets.*.prompts",
			AIPerf: "isl osl blockSize batchSize cacheBust corpus sequenceDistribution randomRangeRatio " +
				"randomCorpusStyle",
			Own:   "islCalibrate",
			Lacks: lacking("hash-id blocks", "blockSize"),
		},
		{Path: "benchmark.datasets.*.prompts.isl", Value: 550.0, Least: new(1.0), Unit: "tokens"},
		{Path: "benchmark.datasets.*.prompts.osl", Least: new(1.0), Unit: "tokens", Default: "no limit"},
		{Path: "benchmark.datasets.*.prompts.batchSize", Value: 1, Least: new(1.0), Most: new(10000.0)},
		{Path: "benchmark.datasets.*.prompts.cacheBust"},
		{
			Path: "benchmark.datasets.*.prompts.cacheBust.target", Value: "none", Choices: cacheBusts, Default: "none",
		},
		{Path: "benchmark.datasets.*.prompts.corpus", Value: "sonnet", List: "corpora"},
		{Path: "benchmark.datasets.*.prompts.sequenceDistribution", MinLength: 1, Default: "none"},
		{Path: "benchmark.datasets.*.prompts.sequenceDistribution.*", AIPerf: "isl osl probability"},
		{
			Path: "benchmark.datasets.*.prompts.sequenceDistribution.*.isl", Required: true, Least: new(1.0),
			Unit: "tokens",
		},
		{
			Path: "benchmark.datasets.*.prompts.sequenceDistribution.*.osl", Required: true, Least: new(1.0),
			Unit: "tokens",
		},
		{
			Path: "benchmark.datasets.*.prompts.sequenceDistribution.*.probability", Required: true,
			Above: new(0.0), Most: new(100.0),
		},
		{Path: "benchmark.datasets.*.prompts.randomRangeRatio", Forms: []Form{FormNumber}},
		{
			Path: "benchmark.datasets.*.prompts.randomRangeRatio.input", Required: true, Least: new(0.0),
			Most: new(1.0),
		},
		{
			Path: "benchmark.datasets.*.prompts.randomRangeRatio.output", Required: true, Least: new(0.0),
			Most: new(1.0),
		},
		{Path: "benchmark.datasets.*.prompts.randomCorpusStyle", Value: "vllm", Choices: "vllm sglang"},
		{Path: "benchmark.datasets.*.prompts.islCalibrate"},
		{Path: "benchmark.datasets.*.prefixPrompts", AIPerf: "poolSize length sharedSystemLength userContextLength"},
		{Path: "benchmark.datasets.*.prefixPrompts.poolSize", Least: new(0.0), Most: new(1000000.0)},
		{Path: "benchmark.datasets.*.prefixPrompts.length", Least: new(0.0), Most: new(16777216.0), Unit: "tokens"},
		{
			Path: "benchmark.datasets.*.prefixPrompts.sharedSystemLength", Least: new(1.0), Most: new(16777216.0),
			Unit: "tokens",
		},
		{
			Path: "benchmark.datasets.*.prefixPrompts.userContextLength", Least: new(1.0), Most: new(16777216.0),
			Unit: "tokens",
		},
		{Path: "benchmark.datasets.*.images", AIPerf: "batchSize width height format source sourceSampling"},
		{
			Path: "benchmark.datasets.*.images.batchSize", Least: new(0.0), Most: new(10000.0),
			Default: "1 if another field of images is given, else 0",
		},
		{Path: "benchmark.datasets.*.images.width", Value: 512.0, Unit: "pixels"},
		{Path: "benchmark.datasets.*.images.height", Value: 512.0, Unit: "pixels"},
		{Path: "benchmark.datasets.*.images.format", Value: "jpeg", Choices: "jpeg png random"},
		{Path: "benchmark.datasets.*.images.source", Value: "noise", MinLength: 1},
		{
			Path:    "benchmark.datasets.*.images.sourceSampling",
			Value:   "random-with-replacement",
			Choices: "random-with-replacement shuffle-cycle sequential-cycle",
		},
		{Path: "benchmark.datasets.*.audio", AIPerf: "batchSize length format depths sampleRates channels"},
		{
			Path: "benchmark.datasets.*.audio.batchSize", Least: new(0.0), Most: new(10000.0),
			Default: "1 if another field of audio is given, else 0",
		},
		{Path: "benchmark.datasets.*.audio.length", Value: 10.0, Unit: "s"},
		{Path: "benchmark.datasets.*.audio.format", Lacked: "mp3", Value: "wav", Choices: "wav"},
		{Path: "benchmark.datasets.*.audio.depths", Value: []int{16}, MinLength: 1, Unit: "bit", Default: "16"},
		{
			Path: "benchmark.datasets.*.audio.sampleRates", Value: []float64{16}, MinLength: 1, Unit: "kHz",
			Default: "16",
		},
		{Path: "benchmark.datasets.*.audio.channels", Value: 1, Least: new(1.0), Most: new(2.0)},
		{Path: "benchmark.datasets.*.video", AIPerf: "batchSize duration fps width height format codec synthType audio"},
		{
			Path: "benchmark.datasets.*.video.batchSize", Least: new(0.0), Most: new(10000.0),
			Default: "1 if another field of video is given, else 0",
		},
		{Path: "benchmark.datasets.*.video.duration", Value: 1.0, Above: new(0.0), Unit: "s"},
		{Path: "benchmark.datasets.*.video.fps", Value: 4, Least: new(1.0), Most: new(240.0), Unit: "1/s"},
		{
			Path: "benchmark.datasets.*.video.width", Least: new(1.0), Most: new(8192.0), Unit: "pixels",
			Default: "required if there are videos",
		},
		{
			Path: "benchmark.datasets.*.video.height", Least: new(1.0), Most: new(8192.0), Unit: "pixels",
			Default: "required if there are videos",
		},
		{
			Path: "benchmark.datasets.*.video.synthType", Value: "moving_shapes",
			Choices: "moving_shapes grid_clock noise",
		},
		{Path: "benchmark.datasets.*.video.format", Value: "webm", Choices: "webm mp4"},
		{Path: "benchmark.datasets.*.video.codec", Value: "libvpx-vp9", MinLength: 1},
		{Path: "benchmark.datasets.*.video.audio", AIPerf: "sampleRate channels codec depth"},
		{Path: "benchmark.datasets.*.video.audio.sampleRate", Value: 44.1, Above: new(0.0), Unit: "kHz"},
		{Path: "benchmark.datasets.*.video.audio.channels", Least: new(0.0), Most: new(2.0)},
		{
			Path: "benchmark.datasets.*.video.audio.codec", Choices: "aac libvorbis libopus",
			Default: "libvorbis for webm, libopus for mp4",
		},
		{Path: "benchmark.datasets.*.video.audio.depth", Value: 16, Choices: "8 16 24 32", Unit: "bit"},
		{
			Path: "benchmark.datasets.*.rankings", Default: "present if the endpoint type ranks",
			AIPerf: "passages passageTokens queryTokens",
		},
		{Path: "benchmark.datasets.*.rankings.passages", Value: 10.0, Least: new(1.0)},
		{Path: "benchmark.datasets.*.rankings.passageTokens", Value: 128.0, Least: new(1.0), Unit: "tokens"},
		{Path: "benchmark.datasets.*.rankings.queryTokens", Value: 32.0, Least: new(1.0), Unit: "tokens"},
		{Path: "benchmark.datasets.*.turns", Value: 1.0, Least: new(1.0), Unit: "turns"},
		{Path: "benchmark.datasets.*.turnDelay", Value: 0.0, Unit: "ms"},
		{Path: "benchmark.datasets.*.turnDelayRatio", Value: 1.0, Least: new(0.0)},
		{Path: "benchmark.datasets.*.interTurnDelayCapSeconds", Least: new(0.0), Default: "no limit"},
		{Path: "benchmark.datasets.*.path", MinLength: 1},
		{
			Path: "benchmark.datasets.*.format", Lacked: "weka_trace tracelab speed_bench_*", List: "formats",
			Default: "what the first record looks like",
		},
		{Path: "benchmark.datasets.*.skipBadLines", Least: new(0.0)},
		{Path: "benchmark.datasets.*.records", MinLength: 1, MaxLength: Unlimited, Forms: []Form{FormGroups}},
		{Path: "benchmark.datasets.*.columns"},
		{
			Path: "benchmark.datasets.*.columns.prompt", MinLength: 1,
			Default: "the first of the usual names (docs/datasets.md)",
		},
		{Path: "benchmark.datasets.*.columns.system", MinLength: 1, Default: "the first of the usual names"},
		{
			Path: "benchmark.datasets.*.columns.outputTokens", MinLength: 1, Unit: "tokens",
			Default: "the first of the usual names",
		},
		{Path: "benchmark.datasets.*.columns.image", MinLength: 1, Default: "the first of the usual names"},
		{Path: "benchmark.datasets.*.dataset", MinLength: 1},
		{
			Path: "benchmark.datasets.*.hfSubset", MinLength: 1,
			Default: "that of the named dataset; else the only one",
		},
		{Path: "benchmark.datasets.*.hfSplit", MinLength: 1, Default: "that of the named dataset; else train"},
		{Path: "benchmark.datasets.*.hfRevision", MinLength: 1, Default: "main"},
		{Path: "benchmark.datasets.*.warmup", Choices: "shared separate", Default: "shared"},
		{Path: "benchmark.datasets.*.oslExact"},
		{Path: "benchmark.datasets.*.blockSize", Least: new(1.0)},
		{Path: "benchmark.datasets.*.osl", Least: new(1.0), Unit: "tokens", Default: "no limit"},
		{Path: "benchmark.datasets.*.replaySpeedup", Above: new(0.0)},
		{
			Path: "benchmark.datasets.*.onTurnError", Choices: "end_session continue retry_turn",
			Default: "end_session",
		},
		{Path: "benchmark.datasets.*.dagFailFast"},
		{Path: "benchmark.datasets.*.cacheBust"},
		{Path: "benchmark.datasets.*.cacheBust.target", Choices: cacheBusts, Default: "none"},
		{
			Path: "benchmark.datasets.*.synthesis",
			AIPerf: "speedupRatio prefixLenMultiplier prefixRootMultiplier promptLenMultiplier outputLenMultiplier " +
				"maxIsl maxOsl",
		},
		{Path: "benchmark.datasets.*.synthesis.speedupRatio", Least: new(0.0), Most: new(1000000.0), Default: "1"},
		{
			Path: "benchmark.datasets.*.synthesis.prefixLenMultiplier", Least: new(0.0), Most: new(1000.0),
			Default: "1",
		},
		{
			Path: "benchmark.datasets.*.synthesis.prefixRootMultiplier", Least: new(1.0), Most: new(1000000.0),
			Default: "1",
		},
		{
			Path: "benchmark.datasets.*.synthesis.promptLenMultiplier", Least: new(0.0), Most: new(1000.0),
			Default: "1",
		},
		{
			Path: "benchmark.datasets.*.synthesis.outputLenMultiplier", Least: new(0.0), Most: new(1000.0),
			Default: "1",
		},
		{
			Path: "benchmark.datasets.*.synthesis.maxIsl", Least: new(1.0), Most: new(16777216.0), Unit: "tokens",
			Default: "no limit",
		},
		{
			Path: "benchmark.datasets.*.synthesis.maxOsl", Least: new(1.0), Most: new(16777216.0), Unit: "tokens",
			Default: "no limit",
		},
		{Path: "benchmark.datasets.*.ignoreTraceDelays"},
	}
}
