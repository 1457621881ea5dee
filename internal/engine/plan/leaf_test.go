package plan

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/transport/testcert"
)

// baseDocument gives every optional section something to change.
const baseDocument = `
randomSeed: 1
benchmark:
  models: {strategy: weighted, items: [{name: a, weight: 0.5}, {name: b, weight: 0.5}]}
  endpoint: {urls: ["http://h:1"], type: chat, streaming: true, apiKey: k1, headers: {X-A: "1"}, extra: {x: 1}}
  datasets:
    - {name: main, type: synthetic, entries: 10, prompts: {isl: 20, osl: 5}, turns: 2, turnDelay: 10, prefixPrompts: {poolSize: 2, length: 5}}
  phases:
    - {name: profiling, kind: profiling, type: gamma, rate: 5, smoothness: 2, requests: 10}
  slos: {request_latency: 100}
`

// changes has a function per leaf of the document that changes it. The test fails if
// one is missing.
var changes = map[string]func(*config.Document){ //nolint:gochecknoglobals // a table
	"randomSeed":                   func(d *config.Document) { *d.RandomSeed = 2 },
	"models.strategy":              func(d *config.Document) { d.Benchmark.Models.Strategy = "random" },
	"models.items.name":            func(d *config.Document) { d.Benchmark.Models.Items[1].Name = "c" },
	"models.items.weight":          func(d *config.Document) { *d.Benchmark.Models.Items[0].Weight = 0.4 },
	"endpoint.urls":                func(d *config.Document) { d.Benchmark.Endpoint.URLs[0] = secret.NewURL("http://h:2") },
	"endpoint.type":                func(d *config.Document) { d.Benchmark.Endpoint.Type = "completions" },
	"endpoint.path":                func(d *config.Document) { d.Benchmark.Endpoint.Path = new("/x") },
	"endpoint.apiKey":              func(d *config.Document) { d.Benchmark.Endpoint.APIKey = secret.New("k2") },
	"endpoint.timeout":             func(d *config.Document) { d.Benchmark.Endpoint.Timeout = 7 },
	"endpoint.connectTimeout":      func(d *config.Document) { d.Benchmark.Endpoint.ConnectTimeout = 7 },
	"endpoint.firstByteTimeout":    func(d *config.Document) { d.Benchmark.Endpoint.FirstByteTimeout = 7 },
	"endpoint.idleTimeout":         func(d *config.Document) { d.Benchmark.Endpoint.IdleTimeout = 7 },
	"endpoint.streaming":           func(d *config.Document) { d.Benchmark.Endpoint.Streaming = false },
	"endpoint.connectionReuse":     func(d *config.Document) { d.Benchmark.Endpoint.ConnectionReuse = "never" },
	"endpoint.useLegacyMaxTokens":  func(d *config.Document) { d.Benchmark.Endpoint.UseLegacyMaxTokens = true },
	"endpoint.useServerTokenCount": func(d *config.Document) { d.Benchmark.Endpoint.UseServerTokenCount = true },
	"endpoint.perChunkUsage":       func(d *config.Document) { d.Benchmark.Endpoint.PerChunkUsage = true },
	"endpoint.preconnect":          func(d *config.Document) { d.Benchmark.Endpoint.Preconnect = false },
	"endpoint.streamUsage":         func(d *config.Document) { d.Benchmark.Endpoint.StreamUsage = false },
	"endpoint.headers":             func(d *config.Document) { d.Benchmark.Endpoint.Headers["X-A"] = secret.New("2") },
	"endpoint.extra":               func(d *config.Document) { d.Benchmark.Endpoint.Extra = config.Object{} },
	"endpoint.sessionHeader":       func(d *config.Document) { d.Benchmark.Endpoint.SessionHeader = new("X-S") },
	"endpoint.tlsVerify":           func(d *config.Document) { d.Benchmark.Endpoint.TLSVerify = false },
	"endpoint.template.body": func(d *config.Document) {
		d.Benchmark.Endpoint.Type, d.Benchmark.Endpoint.Template = "template", &config.Template{Body: `{"a":1}`}
	},
	"endpoint.template.responseField": func(d *config.Document) {
		d.Benchmark.Endpoint.Type, d.Benchmark.Endpoint.Template = "template", &config.Template{Body: "{}", ResponseField: "a"}
	},
	"endpoint.urlStrategy": func(d *config.Document) { d.Benchmark.Endpoint.URLStrategy = "random" },
	"endpoint.urlAffinity": func(d *config.Document) { d.Benchmark.Endpoint.URLAffinity = "request" },
	"endpoint.urlParams": func(d *config.Document) {
		d.Benchmark.Endpoint.URLParams = map[string]secret.Text{"a": secret.New("b")}
	},
	"endpoint.unixSocket":                               func(d *config.Document) { d.Benchmark.Endpoint.UnixSocket = new("/s") },
	"endpoint.authStyle":                                func(d *config.Document) { d.Benchmark.Endpoint.AuthStyle = "x-api-key" },
	"endpoint.httpVersion":                              func(d *config.Document) { d.Benchmark.Endpoint.HTTPVersion = "h2c" },
	"endpoint.ipVersion":                                func(d *config.Document) { d.Benchmark.Endpoint.IPVersion = "6" },
	"endpoint.sourceAddresses":                          func(d *config.Document) { d.Benchmark.Endpoint.SourceAddresses = []string{"127.0.0.1"} },
	"endpoint.affinityHeaders":                          func(d *config.Document) { d.Benchmark.Endpoint.AffinityHeaders = []string{"X-Y"} },
	"endpoint.tls.serverName":                           func(d *config.Document) { d.Benchmark.Endpoint.TLS.ServerName = new("n") },
	"endpoint.tls.minVersion":                           func(d *config.Document) { d.Benchmark.Endpoint.TLS.MinVersion = "1.3" },
	"endpoint.proxy":                                    func(d *config.Document) { d.Benchmark.Endpoint.Proxy = secret.NewURL("http://p:1") },
	"endpoint.proxyFromEnv":                             func(d *config.Document) { d.Benchmark.Endpoint.ProxyFromEnv = true },
	"endpoint.waitForModelTimeout":                      func(d *config.Document) { d.Benchmark.Endpoint.WaitForModelTimeout = 9 },
	"endpoint.waitForModelInterval":                     func(d *config.Document) { d.Benchmark.Endpoint.WaitForModelInterval = 9 },
	"endpoint.waitForModelMode":                         func(d *config.Document) { d.Benchmark.Endpoint.WaitForModelMode = "both" },
	"endpoint.resetKvCache.timeoutSeconds":              resetCache(&config.ResetKVCache{Timeout: new(config.Seconds(9))}),
	"endpoint.resetKvCache.path":                        resetCache(&config.ResetKVCache{Path: new(secret.NewURL("/x"))}),
	"endpoint.resetKvCache.before":                      resetCache(&config.ResetKVCache{Before: "profiling"}),
	"endpoint.serverProfiler.timeoutSeconds":            profiler(&config.ServerProfiler{Timeout: new(config.Seconds(9))}),
	"endpoint.serverProfiler.startPath":                 profiler(&config.ServerProfiler{StartPath: new(secret.NewURL("/x"))}),
	"endpoint.serverProfiler.stopPath":                  profiler(&config.ServerProfiler{StopPath: new(secret.NewURL("/x"))}),
	"datasets.entries":                                  func(d *config.Document) { d.Benchmark.Datasets[0].Entries = 11 },
	"datasets.randomSeed":                               func(d *config.Document) { d.Benchmark.Datasets[0].RandomSeed = new(int64(9)) },
	"datasets.sampling":                                 func(d *config.Document) { d.Benchmark.Datasets[0].Sampling = "shuffle" },
	"datasets.systemPrompt":                             func(d *config.Document) { d.Benchmark.Datasets[0].SystemPrompt = new("s") },
	"datasets.systemPromptFile":                         func(d *config.Document) { d.Benchmark.Datasets[0].SystemPromptFile = new("leaf_test.go") },
	"datasets.prompts.isl":                              func(d *config.Document) { d.Benchmark.Datasets[0].Prompts.ISL.Mean = new(21.0) },
	"datasets.prompts.osl":                              func(d *config.Document) { d.Benchmark.Datasets[0].Prompts.OSL.Mean = new(6.0) },
	"datasets.prompts.batchSize":                        func(d *config.Document) { d.Benchmark.Datasets[0].Prompts.BatchSize = 2 },
	"datasets.prompts.cacheBust.target":                 func(d *config.Document) { d.Benchmark.Datasets[0].Prompts.CacheBust.Target = "per_request" },
	"datasets.cacheBust.target":                         func(d *config.Document) { toFile(d); d.Benchmark.Datasets[0].CacheBust.Target = "system_suffix" },
	"datasets.prompts.corpus":                           func(d *config.Document) { d.Benchmark.Datasets[0].Prompts.Corpus = "coding" },
	"datasets.prefixPrompts.poolSize":                   func(d *config.Document) { d.Benchmark.Datasets[0].PrefixPrompts.PoolSize = 3 },
	"datasets.prefixPrompts.length":                     func(d *config.Document) { d.Benchmark.Datasets[0].PrefixPrompts.Length = 6 },
	"datasets.turns":                                    func(d *config.Document) { d.Benchmark.Datasets[0].Turns.Mean = new(3.0) },
	"datasets.turnDelay":                                func(d *config.Document) { d.Benchmark.Datasets[0].TurnDelay.Mean = new(11.0) },
	"datasets.turnDelayRatio":                           func(d *config.Document) { d.Benchmark.Datasets[0].TurnDelayRatio = 2 },
	"datasets.interTurnDelayCapSeconds":                 func(d *config.Document) { d.Benchmark.Datasets[0].DelayCap = new(config.Seconds(1)) },
	"datasets.prompts.sequenceDistribution.isl":         pairs(func(p *config.LengthPair) { p.ISL.Mean = new(4.0) }),
	"datasets.prompts.sequenceDistribution.osl":         pairs(func(p *config.LengthPair) { p.OSL.Mean = new(4.0) }),
	"datasets.prompts.sequenceDistribution.probability": pairs(func(p *config.LengthPair) { p.Probability = 100.5 }),
	"datasets.prompts.randomRangeRatio.input":           ratio(0.2, 0.1),
	"datasets.prompts.randomRangeRatio.output":          ratio(0.1, 0.2),
	"datasets.prompts.randomCorpusStyle":                func(d *config.Document) { d.Benchmark.Datasets[0].Prompts.RandomCorpusStyle = "sglang" },
	"datasets.prefixPrompts.sharedSystemLength": func(d *config.Document) {
		d.Benchmark.Datasets[0].PrefixPrompts.SharedSystemLength = new(4)
	},
	"endpoint.dialect": func(d *config.Document) {
		d.Benchmark.Endpoint.Type, d.Benchmark.Endpoint.Dialect = "sagemaker", new("completions")
	},
	"endpoint.dynamoOslHint": func(d *config.Document) {
		d.Benchmark.Endpoint.DynamoOSLHint = true
	},
	"datasets.prefixPrompts.userContextLength": func(d *config.Document) {
		d.Benchmark.Datasets[0].PrefixPrompts.UserContextLength = new(4)
	},
	"datasets.images.batchSize":       func(d *config.Document) { d.Benchmark.Datasets[0].Images.BatchSize = new(2) },
	"datasets.images.width":           func(d *config.Document) { d.Benchmark.Datasets[0].Images.Width.Mean = new(9.0) },
	"datasets.images.height":          func(d *config.Document) { d.Benchmark.Datasets[0].Images.Height.Mean = new(8.0) },
	"datasets.images.format":          func(d *config.Document) { d.Benchmark.Datasets[0].Images.Format = "png" },
	"datasets.images.source":          func(d *config.Document) { d.Benchmark.Datasets[0].Images.Source = "assets" },
	"datasets.images.sourceSampling":  func(d *config.Document) { d.Benchmark.Datasets[0].Images.SourceSampling = "shuffle-cycle" },
	"datasets.audio.batchSize":        func(d *config.Document) { d.Benchmark.Datasets[0].Audio.BatchSize = new(2) },
	"datasets.audio.length":           func(d *config.Document) { d.Benchmark.Datasets[0].Audio.Length.Mean = new(3.0) },
	"datasets.audio.depths":           func(d *config.Document) { d.Benchmark.Datasets[0].Audio.Depths[0] = 8 },
	"datasets.audio.sampleRates":      func(d *config.Document) { d.Benchmark.Datasets[0].Audio.SampleRates[0] = 8 },
	"datasets.audio.channels":         func(d *config.Document) { d.Benchmark.Datasets[0].Audio.Channels = 2 },
	"datasets.video.batchSize":        func(d *config.Document) { d.Benchmark.Datasets[0].Video.BatchSize = new(2) },
	"datasets.video.duration":         func(d *config.Document) { d.Benchmark.Datasets[0].Video.Duration = 3 },
	"datasets.video.fps":              func(d *config.Document) { d.Benchmark.Datasets[0].Video.FPS = 2 },
	"datasets.video.width":            func(d *config.Document) { d.Benchmark.Datasets[0].Video.Width = new(9) },
	"datasets.video.height":           func(d *config.Document) { d.Benchmark.Datasets[0].Video.Height = new(8) },
	"datasets.video.synthType":        func(d *config.Document) { d.Benchmark.Datasets[0].Video.SynthType = "noise" },
	"datasets.video.format":           func(d *config.Document) { d.Benchmark.Datasets[0].Video.Format = "mp4" },
	"datasets.video.codec":            func(d *config.Document) { d.Benchmark.Datasets[0].Video.Codec = "libx264" },
	"datasets.video.audio.sampleRate": func(d *config.Document) { d.Benchmark.Datasets[0].Video.Audio.SampleRate = 8 },
	"datasets.video.audio.channels":   func(d *config.Document) { d.Benchmark.Datasets[0].Video.Audio.Channels = 2 },
	"datasets.video.audio.codec":      func(d *config.Document) { d.Benchmark.Datasets[0].Video.Audio.Codec = new("aac") },
	"datasets.video.audio.depth":      func(d *config.Document) { d.Benchmark.Datasets[0].Video.Audio.Depth = 8 },
	"datasets.rankings.passages":      func(d *config.Document) { d.Benchmark.Datasets[0].Rankings.Passages.Mean = new(3.0) },
	"datasets.rankings.passageTokens": func(d *config.Document) { d.Benchmark.Datasets[0].Rankings.PassageTokens.Mean = new(3.0) },
	"datasets.rankings.queryTokens":   func(d *config.Document) { d.Benchmark.Datasets[0].Rankings.QueryTokens.Mean = new(3.0) },
	"datasets.type":                   toFile, "datasets.format": toFile, "datasets.path": toFile,
	"datasets.records": func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].Path = ""
		d.Benchmark.Datasets[0].Records = []config.Object{{{Name: "text", Value: []byte(`"x"`)}}}
	},
	"datasets.prompts.islCalibrate": func(d *config.Document) { d.Benchmark.Datasets[0].Prompts.ISLCalibrate = true },
	"datasets.warmup": func(d *config.Document) {
		first := d.Benchmark.Phases[0]
		first.Name, first.Kind = "warmup", "warmup"
		d.Benchmark.Phases = append([]config.Phase{first}, d.Benchmark.Phases...)
		d.Benchmark.Datasets[0].Warmup = "separate"
	},
	"datasets.oslExact": func(d *config.Document) { d.Benchmark.Datasets[0].OSLExact = true },
	"datasets.osl": func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].OSL.Mean = new(3.0)
	},
	"datasets.columns.prompt":       func(d *config.Document) { toFile(d); d.Benchmark.Datasets[0].Columns.Prompt = "p" },
	"datasets.columns.system":       func(d *config.Document) { toFile(d); d.Benchmark.Datasets[0].Columns.System = "s" },
	"datasets.columns.outputTokens": func(d *config.Document) { toFile(d); d.Benchmark.Datasets[0].Columns.OutputTokens = "o" },
	"datasets.columns.image":        func(d *config.Document) { toFile(d); d.Benchmark.Datasets[0].Columns.Image = "i" },
	"datasets.dataset":              toPublic,
	"datasets.hfSubset":             func(d *config.Document) { toPublic(d); d.Benchmark.Datasets[0].HFSubset = "s" },
	"datasets.hfSplit":              func(d *config.Document) { toPublic(d); d.Benchmark.Datasets[0].HFSplit = "test" },
	"datasets.hfRevision":           func(d *config.Document) { toPublic(d); d.Benchmark.Datasets[0].HFRevision = "v1" },
	"datasets.skipBadLines": func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].SkipBadLines = 3
	},
	"datasets.synthesis.speedupRatio":         synthesized(config.Synthesis{SpeedupRatio: new(2.0)}),
	"datasets.synthesis.prefixLenMultiplier":  synthesized(config.Synthesis{PrefixLenMultiplier: new(2.0)}),
	"datasets.synthesis.prefixRootMultiplier": synthesized(config.Synthesis{PrefixRootMultiplier: new(2)}),
	"datasets.synthesis.promptLenMultiplier":  synthesized(config.Synthesis{PromptLenMultiplier: new(2.0)}),
	"datasets.synthesis.outputLenMultiplier":  synthesized(config.Synthesis{OutputLenMultiplier: new(2.0)}),
	"datasets.synthesis.maxIsl":               synthesized(config.Synthesis{MaxISL: new(9)}),
	"datasets.synthesis.maxOsl":               synthesized(config.Synthesis{MaxOSL: new(9)}),
	"datasets.ignoreTraceDelays": func(d *config.Document) {
		synthesized(config.Synthesis{})(d)
		d.Benchmark.Datasets[0].Synthesis, d.Benchmark.Datasets[0].IgnoreTraceDelays = nil, true
	},
	"datasets.maxContextLength": func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].Format, d.Benchmark.Datasets[0].MaxContextLength = "weka_trace", new(9)
	},
	"datasets.useThinkTimeOnly": func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].Format, d.Benchmark.Datasets[0].UseThinkTimeOnly = "weka_trace", true
	},
	"datasets.traceIdleGapCapSeconds": func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].Format, d.Benchmark.Datasets[0].TraceIdleGapCap = "weka_trace", new(config.Seconds(9))
	},
	"datasets.prompts.cacheBust.salt": func(d *config.Document) {
		d.Benchmark.Datasets[0].Prompts.CacheBust = config.CacheBust{Target: "per_request", Salt: new("s")}
	},
	"datasets.cacheBust.salt": func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].CacheBust = config.CacheBust{Target: "system_suffix", Salt: new("s")}
	},
	"datasets.traceSessionSampleRatio": func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].Format, d.Benchmark.Datasets[0].TraceSessionSampleRatio = "weka_trace", new(0.5)
	},
	"datasets.synthesis.allowDatasetWrap": func(d *config.Document) {
		lanes(d).Duration = new(config.Seconds(9))
		d.Benchmark.Datasets[0].Synthesis = &config.Synthesis{AllowDatasetWrap: true}
	},
	"datasets.gapRule": func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].Format, d.Benchmark.Datasets[0].GapRule = "weka_trace", "aiperf"
	},
	"datasets.filters": func(d *config.Document) {
		toPublic(d)
		d.Benchmark.Datasets[0].Filters = &config.Params{"level": secret.New("easy")}
	},
	"datasets.maxIdleGapCapSeconds": func(d *config.Document) {
		baseten(func(d *config.Dataset) { d.MaxIdleGapCap = new(config.Seconds(3)) })(d)
		d.Benchmark.Phases[0] = config.Phase{Name: "profiling", Kind: "profiling", Type: "fixed_schedule", AutoOffset: new(true)}
	},
	"datasets.openLoopReplay": baseten(func(d *config.Dataset) { d.OpenLoopReplay = new(false) }),
	"datasets.openLoopStrict": baseten(func(d *config.Dataset) { d.OpenLoopStrict = true }),
	"datasets.omitKvHints":    baseten(func(d *config.Dataset) { d.OmitKVHints = true }),
	"datasets.forceMinTokens": baseten(func(d *config.Dataset) { d.ForceMinTokens = new(false) }),
	"datasets.blockSize": func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].Format, d.Benchmark.Datasets[0].BlockSize = "mooncake_trace", new(3)
	},
	"datasets.replaySpeedup":            func(d *config.Document) { d.Benchmark.Datasets[0].ReplaySpeedup = new(2.0) },
	"datasets.onTurnError":              func(d *config.Document) { d.Benchmark.Datasets[0].OnTurnError = "continue" },
	"datasets.dagFailFast":              func(d *config.Document) { d.Benchmark.Datasets[0].DAGFailFast = true },
	"phases.autoOffset":                 replayed(func(p *config.Phase) { p.AutoOffset = new(false) }),
	"phases.startOffset":                replayed(func(p *config.Phase) { p.StartOffset = new(int64(3)) }),
	"phases.endOffset":                  replayed(func(p *config.Phase) { p.EndOffset = new(int64(3)) }),
	"phases.trajectoryStartMinRatio":    func(d *config.Document) { lanes(d).TrajectoryStartMinRatio = new(0.1) },
	"phases.trajectoryStartMaxRatio":    func(d *config.Document) { lanes(d).TrajectoryStartMaxRatio = new(0.9) },
	"phases.treeIdleGapCapSeconds":      func(d *config.Document) { lanes(d).TreeIdleGapCap = new(config.Seconds(3)) },
	"phases.agenticCacheWarmupDuration": func(d *config.Document) { pressed(d).AgenticCacheWarmup = new(config.Seconds(3)) },
	"phases.warmupRequestsPerLane":      func(d *config.Document) { pressed(d).WarmupRequestsPerLane = new(3) },
	"phases.agenticWarmupGracePeriod":   func(d *config.Document) { pressed(d).AgenticWarmupGrace = new(config.Seconds(3)) },
	"phases.systemIdleGapCapSeconds":    func(d *config.Document) { lanes(d).SystemIdleGapCap = new(config.Seconds(3)) },
	"phases.burstPhaseStarts":           func(d *config.Document) { lanes(d).BurstPhaseStarts = true },
	"phases.laneStart":                  func(d *config.Document) { lanes(d).LaneStart = "spread" },
	"phases.laneRamp":                   func(d *config.Document) { lanes(d).LaneRamp = new(config.Seconds(9)) },
	"phases.name":                       func(d *config.Document) { d.Benchmark.Phases[0].Name = "p" },
	"phases.kind":                       func(d *config.Document) { d.Benchmark.Phases[0].Kind = "warmup" },
	"phases.type":                       func(d *config.Document) { d.Benchmark.Phases[0].Type = "constant" },
	"phases.excludeFromResults":         func(d *config.Document) { d.Benchmark.Phases[0].ExcludeFromResults = true },
	"phases.requests":                   func(d *config.Document) { *d.Benchmark.Phases[0].Requests = 11 },
	"phases.sessions":                   func(d *config.Document) { d.Benchmark.Phases[0].Sessions = new(int64(3)) },
	"phases.duration":                   func(d *config.Document) { d.Benchmark.Phases[0].Duration = new(config.Seconds(3)) },
	"phases.gracePeriod":                func(d *config.Document) { d.Benchmark.Phases[0].GracePeriod = new(config.Seconds(3)) },
	"phases.concurrency":                func(d *config.Document) { d.Benchmark.Phases[0].Concurrency = new(3) },
	"phases.rate":                       func(d *config.Document) { *d.Benchmark.Phases[0].Rate = 6 },
	"phases.sessionRate":                func(d *config.Document) { d.Benchmark.Phases[0].SessionRate = new(5.0) },
	"phases.users":                      userCentric(func(p *config.Phase) { p.Users = new(4) }),
	"phases.userReplacement":            userCentric(func(p *config.Phase) { p.UserReplacement = "on-completion" }),
	"phases.saturation":                 func(d *config.Document) { d.Benchmark.Phases[0].Saturation = "drop" },
	"phases.saturationLimit":            func(d *config.Document) { d.Benchmark.Phases[0].SaturationLimit = new(7) },
	"phases.smoothness":                 func(d *config.Document) { *d.Benchmark.Phases[0].Smoothness = 3 },
	"phases.cancellation.rate":          cancelled(config.Cancellation{Rate: 30}),
	"phases.cancellation.delay":         cancelled(config.Cancellation{Rate: 20, Delay: 2}),
	"phases.failedRequestThreshold":     func(d *config.Document) { d.Benchmark.Phases[0].FailedRequestThreshold = new(0.5) },
	"artifacts.prefix":                  func(d *config.Document) { d.Benchmark.Artifacts.Prefix = new("p") },
	"serverMetrics.enabled":             func(d *config.Document) { d.Benchmark.ServerMetrics.Enabled = false },
	"serverMetrics.urls":                func(d *config.Document) { d.Benchmark.ServerMetrics.URLs = []secret.URL{secret.NewURL("http://h:9")} },
	"serverMetrics.formats":             func(d *config.Document) { d.Benchmark.ServerMetrics.Formats = []string{"jsonl"} },
	"serverMetrics.interval":            func(d *config.Document) { d.Benchmark.ServerMetrics.Interval = 3 },
	"serverMetrics.map":                 func(d *config.Document) { d.Benchmark.ServerMetrics.Map = new("testdata/servers.json") },
	"gpuTelemetry.enabled":              func(d *config.Document) { d.Benchmark.GPUTelemetry.Enabled = false },
	"gpuTelemetry.urls":                 func(d *config.Document) { d.Benchmark.GPUTelemetry.URLs = []secret.URL{secret.NewURL("http://h:9")} },
	"gpuTelemetry.metricsFile":          func(d *config.Document) { d.Benchmark.GPUTelemetry.MetricsFile = new("testdata/fields.csv") },
	"gpuTelemetry.collector":            func(d *config.Document) { d.Benchmark.GPUTelemetry.Collector = "pynvml" },
	"gpuTelemetry.interval":             func(d *config.Document) { d.Benchmark.GPUTelemetry.Interval = 3 },
	"gpuTelemetry.idleBaseline":         func(d *config.Document) { d.Benchmark.GPUTelemetry.IdleBaseline = 5 },
	"gpuTelemetry.devices":              func(d *config.Document) { d.Benchmark.GPUTelemetry.Devices = []string{"0"} },
	"client.certify":                    func(d *config.Document) { d.Benchmark.Client.Certify = "after" },
	"artifacts.recordFormat":            func(d *config.Document) { d.Benchmark.Artifacts.RecordFormat = "parquet" },
	"artifacts.summary":                 func(d *config.Document) { d.Benchmark.Artifacts.Summary = false },
	"artifacts.csvPrecision":            func(d *config.Document) { d.Benchmark.Artifacts.CSVPrecision = new(3) },
	"artifacts.exportOutputsJson":       func(d *config.Document) { d.Benchmark.Artifacts.ExportOutputs = true },
	"artifacts.exportInputs":            func(d *config.Document) { d.Benchmark.Artifacts.ExportInputs = true },
	"artifacts.trace":                   func(d *config.Document) { d.Benchmark.Artifacts.Trace = true },
	"artifacts.sliceDuration":           func(d *config.Document) { d.Benchmark.Artifacts.SliceDuration = new(config.Seconds(2)) },
	"artifacts.keepRecords":             func(d *config.Document) { d.Benchmark.Artifacts.KeepRecords = "failures" },
	"artifacts.recordFileSize":          func(d *config.Document) { d.Benchmark.Artifacts.RecordFileSize = new(int64(2_000_000)) },
	"artifacts.recordSampleRate": func(d *config.Document) {
		d.Benchmark.Artifacts.KeepRecords, d.Benchmark.Artifacts.RecordSampleRate = "sample", new(0.5)
	},
	"artifacts.level":              func(d *config.Document) { d.Benchmark.Artifacts.Level = "summary" },
	"gates.failOnFinding":          func(d *config.Document) { d.Benchmark.Gates.FailOnFinding = []string{"kv-full"} },
	"runSlos":                      func(d *config.Document) { d.Benchmark.RunSLOs = []string{"p99(ttft) < 1s"} },
	"tokenDeadline.ttft":           deadlined(func(d *config.TokenDeadline) { *d.TTFT = 3 }),
	"tokenDeadline.itl":            deadlined(func(d *config.TokenDeadline) { *d.ITL = 3 }),
	"slos":                         func(d *config.Document) { d.Benchmark.SLOs["request_latency"] = 101 },
	"tokenizer.name":               func(d *config.Document) { d.Benchmark.Tokenizer.Name = "builtin" },
	"tokenizer.revision":           func(d *config.Document) { d.Benchmark.Tokenizer.Revision = "v2" },
	"tokenizer.applyChatTemplate":  func(d *config.Document) { d.Benchmark.Tokenizer.ApplyChatTemplate = true },
	"tokenizer.allowDownload":      func(d *config.Document) { d.Benchmark.Tokenizer.AllowDownload = true },
	"endpoint.useClientTokenCount": func(d *config.Document) { d.Benchmark.Endpoint.UseClientTokenCount = true },

	"phases.concurrencyRamp.duration": ramped(func(p *config.Phase, r *config.Ramp) { p.ConcurrencyRamp, r.Duration = r, 9 }),
	"phases.concurrencyRamp.strategy": ramped(func(p *config.Phase, r *config.Ramp) { p.ConcurrencyRamp, r.Strategy = r, "poisson" }),
	"phases.prefillConcurrency":       ramped(func(p *config.Phase, _ *config.Ramp) { p.PrefillConcurrency = new(2) }),
	"phases.prefillRamp.duration":     ramped(func(p *config.Phase, r *config.Ramp) { p.PrefillRamp, r.Duration = r, 9 }),
	"phases.prefillRamp.strategy":     ramped(func(p *config.Phase, r *config.Ramp) { p.PrefillRamp, r.Strategy = r, "exponential" }),
	"phases.rateRamp.duration":        ramped(func(p *config.Phase, r *config.Ramp) { p.RateRamp, r.Duration = r, 9 }),
	"phases.rateRamp.strategy":        ramped(func(p *config.Phase, r *config.Ramp) { p.RateRamp, r.Strategy = r, "exponential" }),
	"phases.rateSeries.points.timeS":  series(0, 9),
	"phases.rateSeries.points.qps":    series(1, 5),
	"phases.seamless":                 func(d *config.Document) { d.Benchmark.Phases[0].Seamless = true },
	"phases.excludeRamp":              ramped(func(p *config.Phase, _ *config.Ramp) { p.ExcludeRamp = true }),

	"endpoint.downloadVideoContent": func(d *config.Document) { d.Benchmark.Endpoint.DownloadVideoContent = true },
	"endpoint.uuidAndStrip":         func(d *config.Document) { toFile(d); d.Benchmark.Endpoint.UUIDAndStrip = true },
	"endpoint.requestContentType":   func(d *config.Document) { d.Benchmark.Endpoint.RequestContentType = new("application/json") },
	"endpoint.jobs.pollInterval":    func(d *config.Document) { d.Benchmark.Endpoint.Jobs.PollInterval = new(config.Seconds(3)) },
	"endpoint.jobs.timeout":         func(d *config.Document) { d.Benchmark.Endpoint.Jobs.Timeout = new(config.Seconds(3)) },
	"endpoint.jobs.runpodMode":      func(d *config.Document) { d.Benchmark.Endpoint.Jobs.RunpodMode = "async" },
	"endpoint.jobs.runpodInput":     func(d *config.Document) { d.Benchmark.Endpoint.Jobs.RunpodInput = "prompt" },
}

// elsewhere lists the leaves that do not affect the plan, with their use.
var elsewhere = map[string]string{ //nolint:gochecknoglobals // a table
	"scenario":                      "fills in other fields, and judges the result",
	"unsafeOverride":                "decides whether a broken rule of the scenario is a problem",
	"schemaVersion":                 "checked by the loader, one value only",
	"variables":                     "evaluated before the document is decoded, and for user files",
	"endpoint.apiKeyFile":           "read into apiKey when the document is loaded",
	"phases.rateSeries.path":        "read into points when the document is loaded",
	"datasets.name":                 "names the only data set for error messages",
	"datasets.audio.format":         "one value only, wav",
	"artifacts.overwrite":           "where the command line writes",
	"artifacts.dir":                 "where the command line writes; the daemon owns its folders",
	"gpuTelemetry.count":            "divides rates in the results of recorded sessions",
	"gpuTelemetry.mode":             "has no effect; a warning says so",
	"cluster.workers":               "engine.Fleet, which divides the run",
	"cluster.onWorkerLost":          "engine.Fleet, when a load generator is lost",
	"cluster.joinTimeout":           "engine.Fleet, until all have joined",
	"cluster.lostAfter":             "engine.Fleet, and each load generator",
	"runtime.ui":                    "how the command line shows progress",
	"runtime.apiPort":               "the command line's own listener",
	"runtime.apiHost":               "the command line's own listener",
	"runtime.prometheusRemoteWrite": "where the command line sends metrics",
	"runtime.pushGateway":           "where the command line sends metrics",
	"runtime.statsInterval":         "the command line's log lines",
	"artifacts.showTraceTiming":     "what the command line prints",
	"runtime.report":                "what the command line prints",
	"logging.level":                 "the command line's log",
	"client.strict":                 "the command line's exit code",
	"networkLatency.enabled":        "engine.prepare, the probes and the results",
	"networkLatency.pingInterval":   "engine.prepare, the probes",
	"networkLatency.meanMs":         "engine.prepare, the results",
	"path.enabled":                  "engine.prepare, the options of the connections",
	"otel.metricsUrl":               "what is sent to a collector; the engine reads it from the document",
	"otel.streamMetricsEnabled":     "what is sent to a collector; the engine reads it from the document",
	"otel.streamTimingEnabled":      "what is sent to a collector; the engine reads it from the document",
	"otel.customResourceAttributes": "what is sent to a collector; the engine reads it from the document",
	"otel.genAiProvider":            "what is sent to a collector; the engine reads it from the document",
	"otel.protocol":                 "what is sent to a collector; the engine reads it from the document",
	"otel.headers":                  "what is sent to a collector; the engine reads it from the document",
	"otel.timeout":                  "what is sent to a collector; the engine reads it from the document",
	"otel.compression":              "what is sent to a collector; the engine reads it from the document",
	"otel.histograms":               "what is sent to a collector; the engine reads it from the document",
	"otel.tracesUrl":                "what is sent to a collector; the engine reads it from the document",
	"otel.tracesSample":             "what is sent to a collector; the engine reads it from the document",
	"otel.receive":                  "which spans are taken; the engine reads it from the document",
	"otel.propagate":                "which requests have a traceparent; the engine reads it from the document",
	"mlflow.trackingUri":            "what is sent to MLflow after the run; the engine reads it from the document",
	"mlflow.experiment":             "what is sent to MLflow after the run; the engine reads it from the document",
	"mlflow.runName":                "what is sent to MLflow after the run; the engine reads it from the document",
	"mlflow.tags":                   "what is sent to MLflow after the run; the engine reads it from the document",
	"mlflow.parentRunId":            "what is sent to MLflow after the run; the engine reads it from the document",
	"mlflow.artifactGlobs":          "what is sent to MLflow after the run; the engine reads it from the document",
	"mlflow.token":                  "what is sent to MLflow after the run; the engine reads it from the document",
	"repeats.metric":                "a short form of multiRun, which is for studies",
	"repeats.stat":                  "a short form of multiRun, which is for studies",
	"repeats.min":                   "a short form of multiRun, which is for studies",
	"repeats.max":                   "a short form of multiRun, which is for studies",
	"repeats.precision":             "a short form of multiRun, which is for studies",
	"noSweepTable":                  "what the command line prints",
	"ignoreUnsupported":             "what the loader accepts",
	"artifacts.userFiles.path":      "written from the document before the run",
	"artifacts.userFiles.format":    "written from the document before the run",
}

// withContent adds content that only some endpoint types accept.
func withContent(d *config.Document) {
	few := func() config.Distribution { return config.Distribution{Mean: new(2.0)} }
	data := &d.Benchmark.Datasets[0]
	data.Images = &config.Images{BatchSize: new(1), Width: few(), Height: few(), Format: "jpeg", Source: "noise", SourceSampling: "random-with-replacement"}
	data.Audio = &config.Audio{BatchSize: new(1), Length: few(), Format: "wav", Depths: []int{16}, SampleRates: []float64{16}, Channels: 1}
	data.Video = &config.Video{
		BatchSize: new(1), Duration: 1, FPS: 4, Width: new(2), Height: new(2), SynthType: "moving_shapes", Format: "webm", Codec: "libvpx-vp9",
		Audio: config.VideoAudio{SampleRate: 44.1, Channels: 1, Codec: new("libvorbis"), Depth: 16},
	}
	data.Rankings = &config.Rankings{Passages: few(), PassageTokens: few(), QueryTokens: few()}
}

// withRamps adds ramps and a limit of prefills to a document.
func withRamps(d *config.Document) {
	p := &d.Benchmark.Phases[0]
	p.Concurrency, p.PrefillConcurrency = new(5), new(3)
	p.ConcurrencyRamp, p.PrefillRamp, p.RateRamp = newTestRamp(), newTestRamp(), newTestRamp()
}

func newTestRamp() *config.Ramp { return &config.Ramp{Duration: 7, Strategy: "linear"} }

// ramped changes a phase with ramps.
func ramped(change func(*config.Phase, *config.Ramp)) func(*config.Document) {
	return func(d *config.Document) { change(&d.Benchmark.Phases[0], newTestRamp()) }
}

// series gives a phase a series of rates.
func series(at, rate float64) func(*config.Document) {
	return func(d *config.Document) {
		d.Benchmark.Phases[0].Rate = nil
		d.Benchmark.Phases[0].RateSeries = &config.RateSeries{Points: []config.Point{{TimeS: at, QPS: 6}, {TimeS: 10, QPS: rate}}}
	}
}

// resetCache changes how the cache is reset, not whether.
func resetCache(to *config.ResetKVCache) func(*config.Document) {
	return func(d *config.Document) { d.Benchmark.Endpoint.ResetKVCache = to }
}

// profiler changes how the profiler is used, not whether.
func profiler(to *config.ServerProfiler) func(*config.Document) {
	return func(d *config.Document) { d.Benchmark.Endpoint.ServerProfiler = to }
}

// pairs changes a pair of lengths.
func pairs(change func(*config.LengthPair)) func(*config.Document) {
	return func(d *config.Document) {
		two := config.Distribution{Mean: new(2.0)}
		pair := config.LengthPair{ISL: two, OSL: two, Probability: 100}
		change(&pair)
		d.Benchmark.Datasets[0].Prompts.SequenceDistribution = []config.LengthPair{pair}
	}
}

// ratio changes the range of lengths.
func ratio(input, output float64) func(*config.Document) {
	return func(d *config.Document) {
		d.Benchmark.Datasets[0].Prompts.RandomRangeRatio = &config.RangeRatio{Input: input, Output: output}
	}
}

// certificates are the changes that need files.
func certificates(t *testing.T) map[string]func(*config.Document) {
	t.Helper()
	made := testcert.New(t, "h")
	files := func(d *config.Document) *config.TLS {
		d.Benchmark.Endpoint.TLS.CertFile, d.Benchmark.Endpoint.TLS.KeyFile = &made.CertFile, &made.KeyFile
		return &d.Benchmark.Endpoint.TLS
	}
	return map[string]func(*config.Document){
		"endpoint.tls.caFile":   func(d *config.Document) { d.Benchmark.Endpoint.TLS.CAFile = &made.CAFile },
		"endpoint.tls.certFile": func(d *config.Document) { files(d) },
		"endpoint.tls.keyFile":  func(d *config.Document) { files(d) },
	}
}

// userCentric changes a phase of users.
func userCentric(change func(*config.Phase)) func(*config.Document) {
	return func(d *config.Document) {
		p := &d.Benchmark.Phases[0]
		p.Type, p.Users = config.UserCentric, new(3)
		change(p)
	}
}

// lanes lets the phase play recorded sessions that begin one after the other, and returns it.
func lanes(d *config.Document) *config.Phase {
	toFile(d)
	d.Benchmark.Datasets[0].Format = "weka_trace"
	p := &d.Benchmark.Phases[0]
	p.Type, p.LaneStart, p.LaneRamp = config.AgenticReplay, "ramp", new(config.Seconds(60))
	p.TrajectoryStartMinRatio, p.TrajectoryStartMaxRatio = new(0.25), new(0.75)
	return p
}

// pressed gives a document lanes with a cache warm-up, and returns their phase.
func pressed(d *config.Document) *config.Phase {
	p := *lanes(d)
	p.AgenticCacheWarmup, p.WarmupRequestsPerLane, p.AgenticWarmupGrace = new(config.Seconds(9)), new(2), new(config.Seconds(9))
	warmup := func(name string) config.Phase {
		return config.Phase{Name: name, Kind: "warmup", Type: config.AgenticReplay}
	}
	d.Benchmark.Phases = []config.Phase{warmup("primers"), warmup("cache-warmup"), p}
	return &d.Benchmark.Phases[2]
}

// cancelled changes how requests are cancelled; those of the base document are not.
func cancelled(to config.Cancellation) func(*config.Document) {
	return func(d *config.Document) { d.Benchmark.Phases[0].Cancellation = &to }
}

// replayed changes how a dataset is replayed, not whether.
func replayed(change func(*config.Phase)) func(*config.Document) {
	return func(d *config.Document) { change(&d.Benchmark.Phases[0]) }
}

// deadlined gives each token a deadline.
func deadlined(change func(*config.TokenDeadline)) func(*config.Document) {
	return func(d *config.Document) {
		d.Benchmark.TokenDeadline = &config.TokenDeadline{TTFT: new(1.0), ITL: new(2.0)}
		change(d.Benchmark.TokenDeadline)
	}
}

func toFile(d *config.Document) {
	data := &d.Benchmark.Datasets[0]
	data.Type, data.Format, data.Path = "file", "single_turn", "leaf_test.go"
}

func toPublic(d *config.Document) {
	data := &d.Benchmark.Datasets[0]
	data.Type, data.Dataset = "public", "aimo"
}

// No option is accepted and ignored: changing a leaf changes the plan.
func TestEveryLeafReachesThePlan(t *testing.T) {
	changed := 0
	for name, pair := range changedDocuments(t) {
		changed++
		if a, b := digest(t, pair[0]), digest(t, pair[1]); a == b {
			t.Errorf("leaf %s changes nothing in the plan", name)
		}
	}
	if changed < 150 {
		t.Errorf("%d leaves were changed", changed)
	}
}

// No option is lost when a run is stored: changing a leaf changes the document that is shown
// and stored, and that document, if it loads, gives the same value again.
func TestEveryLeafIsStored(t *testing.T) {
	loaded := 0
	for name, pair := range changedDocuments(t) {
		if name == "randomSeed" || name == "endpoint.apiKey" {
			continue // beside the section, and never stored
		}
		before, after := stored(t, pair[0]), stored(t, pair[1])
		if before == after {
			t.Errorf("leaf %s changes nothing in the stored document", name)
		}
		again, _, err := config.Load([]byte(after), config.LoadOptions{Choices: Choices(), Format: config.JSON})
		if err != nil {
			continue // most changes are made alone, and not all of them make a valid document
		}
		loaded++
		if text := stored(t, again); text != after {
			t.Errorf("leaf %s: the stored document loads as another one:\n%s\n%s", name, after, text)
		}
	}
	if loaded < 90 {
		t.Errorf("%d stored documents load", loaded)
	}
}

// stored returns the document as it is shown and stored.
func stored(t *testing.T, d *config.Document) string {
	t.Helper()
	text, err := plainjson.Marshal(config.Resolved(d))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// changedDocuments yields each leaf with a change, and a document before and after it. It
// fails the test if a leaf has no change.
func changedDocuments(t *testing.T) iter.Seq2[string, [2]*config.Document] {
	t.Helper()
	changes := maps.Clone(changes)
	maps.Copy(changes, certificates(t))
	return func(yield func(string, [2]*config.Document) bool) {
		var names []string
		for name := range leaves(reflect.TypeFor[config.Document](), "") {
			names = append(names, name)
			change, ok := changes[name]
			if _, other := elsewhere[name]; ok == other {
				t.Errorf("leaf %s: must be in exactly one of changes and elsewhere", name)
			}
			if !ok {
				continue
			}
			before, after := load(t), load(t)
			prepareLeaf(name, before, after)
			change(after)
			if !yield(name, [2]*config.Document{before, after}) {
				return
			}
		}
		for name := range changes {
			if !slices.Contains(names, name) {
				t.Errorf("the document has no leaf %s", name)
			}
		}
	}
}

// prepareLeaf gives both documents what a leaf needs to have an effect.
func prepareLeaf(name string, before, after *config.Document) {
	if section := strings.Split(name, "."); len(section) >= 3 && slices.Contains([]string{"images", "audio", "video", "rankings"}, section[1]) {
		withContent(before)
		withContent(after)
	}
	switch {
	case slices.Contains([]string{"agenticCacheWarmupDuration", "warmupRequestsPerLane", "agenticWarmupGracePeriod"},
		strings.TrimPrefix(name, "phases.")):
		pressed(before)
	case slices.Contains([]string{"trajectoryStartMinRatio", "trajectoryStartMaxRatio", "systemIdleGapCapSeconds", "treeIdleGapCapSeconds",
		"burstPhaseStarts", "laneStart", "laneRamp"}, strings.TrimPrefix(name, "phases.")):
		lanes(before)
	case strings.HasPrefix(name, "phases.rateSeries"):
		series(0, 5)(before)
	case strings.Contains(name, "Ramp") || strings.Contains(name, "prefill"):
		withRamps(before)
		withRamps(after)
	}
	if strings.HasSuffix(name, "Offset") {
		before.Benchmark.Phases[0].Type, after.Benchmark.Phases[0].Type = config.FixedSchedule, config.FixedSchedule
	}
	if name == "phases.cancellation.delay" {
		before.Benchmark.Phases[0].Cancellation = &config.Cancellation{Rate: 20}
	}
	if name == "datasets.skipBadLines" || name == "datasets.osl" {
		toFile(before)
	}
}

// TestUnknownNames: a policy that is none is a problem, and not the first one.
func TestUnknownNames(t *testing.T) {
	d := load(t)
	d.Benchmark.Phases[0].Saturation, d.Benchmark.Datasets[0].OnTurnError = "ignore", "give_up"
	_, err := Compile(d)
	for _, want := range []string{
		`benchmark/phases/0/saturation: must be one of queue, drop, abort, not "ignore"`,
		`benchmark/datasets/0/onTurnError: must be one of end_session, continue, retry_turn, not "give_up"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func load(t *testing.T) *config.Document {
	t.Helper()
	d, _, err := config.Load([]byte(baseDocument), config.LoadOptions{Choices: Choices()})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// leaves yields the JSON paths of all values below a document, without indices.
func leaves(typ reflect.Type, prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || slices.Contains([]string{"metadata", "sweep", "multiRun", "gate"}, name) {
				// Descriptions of a run do not change what is measured. How a study varies
				// and repeats the document is tested with package study.
				continue
			}
			path := strings.TrimPrefix(prefix+"."+name, ".")
			path = strings.TrimPrefix(path, "benchmark.")
			inner := f.Type
			for inner != reflect.TypeFor[config.Object]() && (inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer) {
				inner = inner.Elem()
			}
			if structured(inner) {
				for p := range leaves(inner, path) {
					if !yield(p) {
						return
					}
				}
			} else if !yield(path) {
				return
			}
		}
	}
}

// structured reports whether a type is a section of the document rather than a
// value in it.
func structured(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[secret.Text](), reflect.TypeFor[secret.URL](),
		reflect.TypeFor[config.Distribution]():
		return false
	}
	return t.Kind() == reflect.Struct
}

// digest returns a text with everything in a plan that can be compared.
func digest(t *testing.T, d *config.Document) string {
	t.Helper()
	p, err := Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i := range p.Phases {
		ph := &p.Phases[i]
		if ph.Arrivals != nil {
			n := 0
			for at := range ph.Arrivals {
				fmt.Fprintf(&out, "%d ", at)
				if n++; n == 5 {
					break
				}
			}
			ph.Arrivals, ph.Shape.Rates = nil, nil
		}
		fmt.Fprintf(&out, "fail above %v\n", deref(ph.FailThreshold))
		ph.FailThreshold = nil
		fmt.Fprintf(&out, "cancel %+v\n", deref(ph.Cancellation))
		ph.Cancellation = nil
		if ph.Replay != nil {
			fmt.Fprintf(&out, "replay %+v\n", *ph.Replay)
			ph.Replay = nil
		}
	}
	o := p.Dataset.Options
	fmt.Fprintf(&out, "%+v\n", p.Sessions)
	fmt.Fprintf(&out, "cap %v\n", deref(o.DelayCap))
	o.DelayCap = nil
	for _, target := range p.Targets {
		fmt.Fprintln(&out, target.URL.String(), target.Basic, target.Host)
	}
	m := p.ServerMetrics
	fmt.Fprintln(&out, "metrics", m.Period, m.Formats, m.Slice, m.Servers)
	for _, target := range m.Targets {
		fmt.Fprintln(&out, target.Candidates, target.Header)
	}
	g := p.GPUTelemetry
	fmt.Fprintln(&out, "GPUs", g.Local, g.Period, g.Devices, g.Extra, g.Idle)
	for _, target := range g.Targets {
		fmt.Fprintln(&out, target.Candidates, target.Header)
	}
	if c := p.Transport.TLS; c != nil {
		fmt.Fprintln(&out, c.ServerName, c.MinVersion, len(c.Certificates), c.RootCAs != nil)
		p.Transport.TLS = nil
	}
	fmt.Fprintf(&out, "preconnect %v\nproxy %s\nspread %+v\naffinity %v\nwait %+v\nreset %+v\nprofiler %+v\n",
		p.Preconnect, p.Transport.Proxy, p.Spread, p.Affinity, p.Wait, deref(p.Reset), deref(p.Profiler))
	p.Transport.Proxy = nil
	p.Transport.Dial = nil
	fmt.Fprintf(&out, "%v %+v %s %+v %+v %s %+v %s %+v %s %v %v %+v %+v %+v %+v %s",
		p.Seed, p.Models, p.Kind.Name, p.Settings, p.Header, p.SessionID, p.Transport, p.Dataset.Kind.Name, o,
		p.Dataset.Sampling, p.Dataset.Calibrate, p.Dataset.SeparateWarmup, p.Tokens, p.Phases, p.Metrics, p.Files, p.Certify)
	fmt.Fprintf(&out, "%+v %+v", p.CacheBust, p.RunSLOs)
	fmt.Fprintf(&out, "%v", p.Unwanted)
	return out.String()
}

func deref[T any](p *T) any {
	if p == nil {
		return "none"
	}
	return *p
}

// baseten makes the dataset a trace of Baseten and changes it.
func baseten(change func(*config.Dataset)) func(*config.Document) {
	return func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].Format = "baseten_trace"
		change(&d.Benchmark.Datasets[0])
	}
}

// synthesized makes the dataset a trace that is changed.
func synthesized(s config.Synthesis) func(*config.Document) {
	return func(d *config.Document) {
		toFile(d)
		d.Benchmark.Datasets[0].Format, d.Benchmark.Datasets[0].Synthesis = "mooncake_trace", &s
	}
}
