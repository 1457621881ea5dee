// This file has the flag table. flags.md beside it has the spellings, the groups and the help.

package flags

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/redact"
)

// optionKind is the way in which an option takes values.
type optionKind uint8

const (
	optBool    optionKind = iota // presence; =true and =false are understood too
	optText                      // one value
	optNumber                    // one number
	optFile                      // one path
	optList                      // comma lists, repeated
	optWords                     // comma lists, repeated, and several tokens up to the next flag
	optHeader                    // like optWords without commas; Name:Value or JSON
	optExtra                     // like optWords; name:value or JSON
	optGoodput                   // "tag:number tag:number" in one argument
)

// optionStatus is how aiperfd treats an option.
type optionStatus uint8

const (
	supported optionStatus = iota
	refused                // AIPerf's, and not here yet
	inert                  // AIPerf's, without meaning in one process
)

// option is one row of the flag table.
type option struct {
	names  string // all spellings, blanks between; the first is the main one
	kind   optionKind
	path   string
	status optionStatus
	sweep  bool   // AIPerf takes a comma list as a sweep
	idle   string // refused: the value that changes nothing, which is accepted; "" = false of a boolean, else none
	why    string // inert: the reason; "" = that of a program of one process; refused: what to know besides
	extra  bool   // refused: it only adds files or destinations, so that --ignore-unsupported leaves it out
	redact redact.FlagKind

	// Of flags.md, which has the names too.
	name    string // the main spelling
	negated string // the spelling for false; "" = none
	group   string
	help    string
	def     string // effective default, for the help text; "" there = that of the field, if it is a constant
}

// spellings returns all names, the negated one included.
func (o option) spellings() []string {
	return append(strings.Fields(o.names), strings.Fields(o.negated)...)
}

// several reports whether an option takes tokens up to the next flag.
func (o option) several() bool { return o.kind >= optWords && o.kind <= optExtra }

//go:embed flags.md
var flagTexts string

// options returns the flags in the order of flags.md.
var options = sync.OnceValue(func() []option {
	rows := make(map[string]option)
	for _, row := range optionRows() {
		for name := range strings.FieldsSeq(row.names) {
			rows[name] = row
		}
	}
	var all []option
	_, groups, _ := strings.Cut(flagTexts, "\n## ") // behind the heading of the file
	for section := range strings.SplitSeq(groups, "\n## ") {
		group, flags, _ := strings.Cut(section, "\n")
		for flag := range strings.SplitSeq(strings.TrimPrefix(flags, "\n### "), "\n### ") {
			heading, help, _ := strings.Cut(flag, "\n")
			names, negated, _ := strings.Cut(heading, " / ")
			name, _, _ := strings.Cut(names, " ")
			row, ok := rows[name]
			if !ok {
				panic("the flag table has no row of " + name) // a test reads every flag
			}
			help, row.def, _ = strings.Cut(strings.TrimSpace(help), "\n\nDefault: ")
			row.name, row.names, row.negated, row.group, row.help = name, names, negated, group, help
			all = append(all, row.completed())
		}
	}
	return all
})

func flagTable() map[string]option {
	table := make(map[string]option)
	for _, o := range options() {
		for _, name := range o.spellings() {
			table[name] = o
		}
	}
	return table
}

// supportedOptions returns those that do something.
func supportedOptions() []option {
	return slices.DeleteFunc(slices.Clone(options()), func(o option) bool { return o.status != supported })
}

// completed returns a row with what follows from its kind and its field: how it is shown, and the
// default. A switch says what it does, and not what is the case without it.
func (o option) completed() option {
	switch o.kind {
	case optBool:
		o.redact = redact.Bool
	case optFile:
		o.redact = redact.File
	}
	if o.def == "" && o.kind != optBool {
		o.def = constantDefault(o.path)
	}
	return o
}

// constantDefault returns the default of the field at an option's path, if it is the same in every
// document.
func constantDefault(path string) string {
	switch value := schema.FieldAt(strings.TrimSuffix(fieldOf(path), ".mean")).Value.(type) {
	case nil:
		if strings.HasSuffix(path, ".stddev") {
			return "0"
		}
		return ""
	case float64:
		return schema.FormatNumber(value)
	case []string:
		return strings.Join(value, ", ")
	default:
		return fmt.Sprint(value)
	}
}

// fieldOf returns the generic path of the field that an option's path names.
func fieldOf(path string) string {
	for _, root := range []struct{ option, field string }{
		{"dataset.", "datasets.*."}, {"profiling.", "phases.*."}, {"warmup.", "phases.*."},
	} {
		if rest, ok := strings.CutPrefix(path, root.option); ok {
			path = root.field + rest
		}
	}
	if atRoot(path) {
		return path
	}
	return "benchmark." + path
}

// atRoot reports whether an option's path is beside the benchmark section.
func atRoot(path string) bool {
	return slices.Contains([]string{"randomSeed", "noSweepTable", "ignoreUnsupported"}, path) ||
		strings.HasPrefix(path, "sweep.") || strings.HasPrefix(path, "multiRun.")
}

// optionRows are the rows of the flags, by their first spelling.
// Paths are relative to the benchmark section; dataset, profiling and warmup stand for the only
// dataset and for the phases of that kind.
func optionRows() []option {
	return []option{
		{names: "--model-names", kind: optList, path: "models.items"},
		{names: "--model-selection-strategy", kind: optText, path: "models.strategy"},
		{names: "--model-weights", kind: optList, path: "models.weights"},
		{names: "--custom-endpoint", kind: optText, path: "endpoint.path"},
		{names: "--endpoint-type", kind: optText, path: "endpoint.type"},
		{names: "--streaming", kind: optBool, path: "endpoint.streaming"},
		{names: "--url", kind: optWords, path: "endpoint.urls", redact: redact.URLs},
		{names: "--url-strategy", kind: optText, path: "endpoint.urlStrategy"},
		{names: "--request-timeout-seconds", kind: optNumber, path: "endpoint.timeout"},
		{names: "--wait-for-model-timeout", kind: optNumber, path: "endpoint.waitForModelTimeout"},
		{names: "--wait-for-model-mode", kind: optText, path: "endpoint.waitForModelMode"},
		{names: "--wait-for-model-interval", kind: optNumber, path: "endpoint.waitForModelInterval"},
		{names: "--reset-kv-cache", kind: optBool, path: "endpoint.resetKvCache"},
		{names: "--reset-kv-cache-before", kind: optText, path: "endpoint.resetKvCache.before"},
		{names: "--reset-kv-cache-timeout-seconds", kind: optNumber, path: "endpoint.resetKvCache.timeoutSeconds"},
		{names: "--reset-kv-cache-path", kind: optText, path: "endpoint.resetKvCache.path", redact: redact.URLs},
		{names: "--server-profiler", kind: optBool, path: "endpoint.serverProfiler"},
		{names: "--server-profiler-timeout-seconds", kind: optNumber, path: "endpoint.serverProfiler.timeoutSeconds"},
		{
			names: "--server-profiler-start-path", kind: optText, path: "endpoint.serverProfiler.startPath",
			redact: redact.URLs,
		},
		{names: "--server-profiler-stop-path", kind: optText, path: "endpoint.serverProfiler.stopPath", redact: redact.URLs},
		{names: "--api-key", kind: optText, path: "endpoint.apiKey", redact: redact.Secret},
		{names: "--transport", kind: optText, path: "endpoint.transport"},
		{names: "--use-legacy-max-tokens", kind: optBool, path: "endpoint.useLegacyMaxTokens"},
		{names: "--use-server-token-count", kind: optBool, path: "endpoint.useServerTokenCount"},
		{names: "--use-client-token-count", kind: optBool, path: "endpoint.useClientTokenCount"},
		{names: "--per-chunk-usage", kind: optBool, path: "endpoint.perChunkUsage"},
		{names: "--connection-reuse-strategy", kind: optText, path: "endpoint.connectionReuse"},
		{names: "--download-video-content", kind: optBool, path: "endpoint.downloadVideoContent"},
		{names: "--request-content-type", kind: optText, path: "endpoint.requestContentType"},
		{names: "--session-header", kind: optText, path: "endpoint.sessionHeader"},
		{names: "--api-key-file", kind: optFile, path: "endpoint.apiKey"},
		{names: "--connect-timeout-seconds", kind: optNumber, path: "endpoint.connectTimeout"},
		{names: "--first-byte-timeout-seconds", kind: optNumber, path: "endpoint.firstByteTimeout"},
		{names: "--idle-timeout-seconds", kind: optNumber, path: "endpoint.idleTimeout"},
		{names: "--no-preconnect", kind: optBool, path: "endpoint.preconnect"},
		{names: "--no-stream-usage", kind: optBool, path: "endpoint.streamUsage"},
		{names: "--endpoint-dialect", kind: optText, path: "endpoint.dialect"},
		{names: "--dynamo-osl-hint", kind: optBool, path: "endpoint.dynamoOslHint"},
		{names: "--poll-interval", kind: optNumber, path: "endpoint.jobs.pollInterval"},
		{names: "--job-timeout-seconds", kind: optNumber, path: "endpoint.jobs.timeout"},
		{names: "--runpod-mode", kind: optText, path: "endpoint.jobs.runpodMode"},
		{names: "--runpod-input", kind: optText, path: "endpoint.jobs.runpodInput"},
		{names: "--insecure", kind: optBool, path: "endpoint.tlsVerify"},
		{names: "--url-affinity", kind: optText, path: "endpoint.urlAffinity"},
		{names: "--url-param", kind: optHeader, path: "endpoint.urlParams", redact: redact.KeyValue},
		{names: "--ip-version", kind: optText, path: "endpoint.ipVersion"},
		{names: "--source-address", kind: optList, path: "endpoint.sourceAddresses"},
		{names: "--unix-socket", kind: optFile, path: "endpoint.unixSocket"},
		{names: "--auth-style", kind: optText, path: "endpoint.authStyle"},
		{names: "--affinity-header", kind: optList, path: "endpoint.affinityHeaders"},
		{names: "--http-version", kind: optText, path: "endpoint.httpVersion"},
		{names: "--tls-ca-file", kind: optFile, path: "endpoint.tls.caFile"},
		{names: "--tls-cert-file", kind: optFile, path: "endpoint.tls.certFile"},
		{names: "--tls-key-file", kind: optFile, path: "endpoint.tls.keyFile"},
		{names: "--tls-server-name", kind: optText, path: "endpoint.tls.serverName"},
		{names: "--tls-min-version", kind: optText, path: "endpoint.tls.minVersion"},
		{names: "--proxy", kind: optText, path: "endpoint.proxy", redact: redact.URLs},
		{names: "--proxy-from-env", kind: optBool, path: "endpoint.proxyFromEnv"},
		{names: "--tokenizer", kind: optText, path: "tokenizer.name"},
		{names: "--tokenizer-revision", kind: optText, path: "tokenizer.revision"},
		{names: "--allow-download", kind: optBool, path: "tokenizer.allowDownload"},
		{
			names: "--tokenizer-trust-remote-code", kind: optBool, status: inert,
			why: "it never runs code of a tokenizer's repository",
		},
		{names: "--apply-chat-template", kind: optBool, path: "tokenizer.applyChatTemplate"},
		{names: "--extra-inputs", kind: optExtra, path: "endpoint.extra", redact: redact.KeyValue},
		{names: "--header", kind: optHeader, path: "endpoint.headers", redact: redact.Header},
		{names: "--input-file", kind: optFile, path: "dataset.path"},
		{names: "--public-dataset", kind: optText, path: "dataset.dataset"},
		{names: "--hf-subset", kind: optText, path: "dataset.hfSubset"},
		{names: "--hf-split", kind: optText, path: "dataset.hfSplit"},
		{names: "--hf-revision", kind: optText, path: "dataset.hfRevision"},
		{names: "--prompt-column", kind: optText, path: "dataset.columns.prompt"},
		{names: "--system-column", kind: optText, path: "dataset.columns.system"},
		{names: "--output-tokens-column", kind: optText, path: "dataset.columns.outputTokens"},
		{names: "--image-column", kind: optText, path: "dataset.columns.image"},
		{names: "--custom-dataset-type", kind: optText, path: "dataset.format"},
		{names: "--skip-bad-lines", kind: optNumber, path: "dataset.skipBadLines"},
		{names: "--ignore-trace-delays", kind: optBool, path: "dataset.ignoreTraceDelays"},
		{names: "--dataset-sampling-strategy", kind: optText, path: "dataset.sampling"},
		{names: "--random-seed", kind: optNumber, path: "randomSeed"},
		{names: "--config", kind: optFile},
		{names: "--ignore-unsupported", kind: optBool, path: "ignoreUnsupported"},
		{names: "--fixed-schedule", kind: optBool},
		{names: "--no-fixed-schedule", kind: optBool},
		{names: "--fixed-schedule-auto-offset", kind: optBool, path: "profiling.autoOffset"},
		{names: "--fixed-schedule-start-offset", kind: optNumber, path: "profiling.startOffset"},
		{names: "--fixed-schedule-end-offset", kind: optNumber, path: "profiling.endOffset"},
		{names: "--goodput", kind: optGoodput, path: "slos"},
		{names: "--slo", kind: optList, path: "runSlos"},
		{names: "--deadline-first-token", kind: optNumber, path: "tokenDeadline.ttft"},
		{names: "--deadline-inter-token", kind: optNumber, path: "tokenDeadline.itl"},
		{names: "--conversation-num", kind: optNumber, path: "profiling.sessions", sweep: true},
		{names: "--num-dataset-entries", kind: optNumber, path: "dataset.entries"},
		{names: "--conversation-turn-mean", kind: optNumber, path: "dataset.turns.mean", sweep: true},
		{names: "--conversation-turn-stddev", kind: optNumber, path: "dataset.turns.stddev"},
		{names: "--conversation-turn-delay-mean", kind: optNumber, path: "dataset.turnDelay.mean"},
		{names: "--conversation-turn-delay-stddev", kind: optNumber, path: "dataset.turnDelay.stddev"},
		{names: "--conversation-turn-delay-ratio", kind: optNumber, path: "dataset.turnDelayRatio"},
		{names: "--inter-turn-delay-cap-seconds", kind: optNumber, path: "dataset.interTurnDelayCapSeconds"},
		{names: "--replay-speedup", kind: optNumber, path: "dataset.replaySpeedup"},
		{names: "--open-loop-replay", kind: optBool, status: refused, idle: "true", why: "it is always the case"},
		{names: "--force-min-tokens", kind: optBool, status: refused, idle: "true", why: "it is always the case"},
		{names: "--on-turn-error", kind: optText, path: "dataset.onTurnError"},
		{names: "--dag-fail-fast", kind: optBool, path: "dataset.dagFailFast"},
		{names: "--prompt-batch-size", kind: optNumber, path: "dataset.prompts.batchSize"},
		{names: "--prompt-corpus", kind: optText, path: "dataset.prompts.corpus"},
		{names: "--cache-bust", kind: optText, path: "dataset.prompts.cacheBust.target"},
		{names: "--system-prompt", kind: optText, path: "dataset.systemPrompt"},
		{names: "--system-prompt-file", kind: optFile, path: "dataset.systemPromptFile"},
		{names: "--prompt-prefix-pool-size", kind: optNumber, path: "dataset.prefixPrompts.poolSize"},
		{names: "--prompt-prefix-length", kind: optNumber, path: "dataset.prefixPrompts.length"},
		{names: "--shared-system-prompt-length", kind: optNumber, path: "dataset.prefixPrompts.sharedSystemLength"},
		{names: "--user-context-prompt-length", kind: optNumber, path: "dataset.prefixPrompts.userContextLength"},
		{names: "--prompt-input-tokens-mean", kind: optNumber, path: "dataset.prompts.isl.mean", sweep: true},
		{names: "--prompt-input-tokens-stddev", kind: optNumber, path: "dataset.prompts.isl.stddev", sweep: true},
		{names: "--prompt-input-tokens-block-size", kind: optNumber, path: "dataset.blockSize"},
		{names: "--isl-calibrate", kind: optBool, path: "dataset.prompts.islCalibrate"},
		{names: "--seq-dist", kind: optText, path: "dataset.prompts.sequenceDistribution"},
		{names: "--random-range-ratio", kind: optText, path: "dataset.prompts.randomRangeRatio"},
		{names: "--random-corpus-style", kind: optText, path: "dataset.prompts.randomCorpusStyle"},
		{names: "--prompt-output-tokens-mean", kind: optNumber, path: "dataset.prompts.osl.mean", sweep: true},
		{names: "--osl-exact", kind: optBool, path: "dataset.oslExact"},
		{names: "--prompt-output-tokens-stddev", kind: optNumber, path: "dataset.prompts.osl.stddev", sweep: true},
		{names: "--audio-batch-size", kind: optNumber, path: "dataset.audio.batchSize"},
		{names: "--audio-length-mean", kind: optNumber, path: "dataset.audio.length.mean"},
		{names: "--audio-length-stddev", kind: optNumber, path: "dataset.audio.length.stddev"},
		{names: "--audio-format", kind: optText, path: "dataset.audio.format"},
		{names: "--audio-depths", kind: optList, path: "dataset.audio.depths"},
		{names: "--audio-sample-rates", kind: optList, path: "dataset.audio.sampleRates"},
		{names: "--audio-num-channels", kind: optNumber, path: "dataset.audio.channels"},
		{names: "--image-width-mean", kind: optNumber, path: "dataset.images.width.mean"},
		{names: "--image-width-stddev", kind: optNumber, path: "dataset.images.width.stddev"},
		{names: "--image-height-mean", kind: optNumber, path: "dataset.images.height.mean"},
		{names: "--image-height-stddev", kind: optNumber, path: "dataset.images.height.stddev"},
		{names: "--image-batch-size", kind: optNumber, path: "dataset.images.batchSize"},
		{names: "--image-format", kind: optText, path: "dataset.images.format"},
		{names: "--image-source", kind: optText, path: "dataset.images.source", redact: redact.File},
		{names: "--image-source-sampling", kind: optText, path: "dataset.images.sourceSampling"},
		{names: "--video-batch-size", kind: optNumber, path: "dataset.video.batchSize"},
		{names: "--video-duration", kind: optNumber, path: "dataset.video.duration"},
		{names: "--video-fps", kind: optNumber, path: "dataset.video.fps"},
		{names: "--video-width", kind: optNumber, path: "dataset.video.width"},
		{names: "--video-height", kind: optNumber, path: "dataset.video.height"},
		{names: "--video-synth-type", kind: optText, path: "dataset.video.synthType"},
		{names: "--video-format", kind: optText, path: "dataset.video.format"},
		{names: "--video-codec", kind: optText, path: "dataset.video.codec"},
		{names: "--video-audio-sample-rate", kind: optNumber, path: "dataset.video.audio.sampleRate"},
		{names: "--video-audio-num-channels", kind: optNumber, path: "dataset.video.audio.channels"},
		{names: "--video-audio-codec", kind: optText, path: "dataset.video.audio.codec"},
		{names: "--video-audio-depth", kind: optNumber, path: "dataset.video.audio.depth"},
		{names: "--rankings-passages-mean", kind: optNumber, path: "dataset.rankings.passages.mean"},
		{names: "--rankings-passages-stddev", kind: optNumber, path: "dataset.rankings.passages.stddev"},
		{names: "--rankings-passages-prompt-token-mean", kind: optNumber, path: "dataset.rankings.passageTokens.mean"},
		{names: "--rankings-passages-prompt-token-stddev", kind: optNumber, path: "dataset.rankings.passageTokens.stddev"},
		{names: "--rankings-query-prompt-token-mean", kind: optNumber, path: "dataset.rankings.queryTokens.mean"},
		{names: "--rankings-query-prompt-token-stddev", kind: optNumber, path: "dataset.rankings.queryTokens.stddev"},
		{names: "--synthesis-speedup-ratio", kind: optNumber, path: "dataset.synthesis.speedupRatio"},
		{names: "--synthesis-prefix-len-multiplier", kind: optNumber, path: "dataset.synthesis.prefixLenMultiplier"},
		{names: "--synthesis-prefix-root-multiplier", kind: optNumber, path: "dataset.synthesis.prefixRootMultiplier"},
		{names: "--synthesis-prompt-len-multiplier", kind: optNumber, path: "dataset.synthesis.promptLenMultiplier"},
		{names: "--synthesis-output-len-multiplier", kind: optNumber, path: "dataset.synthesis.outputLenMultiplier"},
		{names: "--synthesis-max-isl", kind: optNumber, path: "dataset.synthesis.maxIsl"},
		{names: "--synthesis-max-osl", kind: optNumber, path: "dataset.synthesis.maxOsl"},
		{names: "--benchmark-duration", kind: optNumber, path: "profiling.duration", sweep: true},
		{names: "--benchmark-grace-period", kind: optNumber, path: "profiling.gracePeriod"},
		{names: "--concurrency", kind: optNumber, path: "profiling.concurrency", sweep: true},
		{names: "--prefill-concurrency", kind: optNumber, path: "profiling.prefillConcurrency", sweep: true},
		{names: "--request-rate", kind: optNumber, path: "profiling.rate", sweep: true},
		{names: "--session-rate", kind: optNumber, path: "profiling.sessionRate"},
		{names: "--arrival-pattern", kind: optText, path: "profiling.type"},
		{names: "--arrival-smoothness", kind: optNumber, path: "profiling.smoothness"},
		{names: "--request-count", kind: optNumber, path: "profiling.requests", sweep: true},
		{names: "--concurrency-ramp-duration", kind: optNumber, path: "profiling.concurrencyRamp.duration"},
		{names: "--prefill-concurrency-ramp-duration", kind: optNumber, path: "profiling.prefillRamp.duration"},
		{names: "--request-rate-ramp-duration", kind: optNumber, path: "profiling.rateRamp.duration"},
		{names: "--request-rate-series", kind: optFile, path: "profiling.rateSeries.path"},
		{names: "--exclude-ramp", kind: optBool, path: "profiling.excludeRamp"},
		{names: "--saturation", kind: optText, path: "profiling.saturation"},
		{names: "--saturation-limit", kind: optNumber, path: "profiling.saturationLimit"},
		{names: "--failed-request-threshold", kind: optNumber, path: "profiling.failedRequestThreshold"},
		{names: "--warmup-request-count", kind: optNumber, path: "warmup.requests"},
		{names: "--warmup-dataset", kind: optText, path: "dataset.warmup"},
		{names: "--warmup-duration", kind: optNumber, path: "warmup.duration"},
		{names: "--num-warmup-sessions", kind: optNumber, path: "warmup.sessions"},
		{names: "--warmup-concurrency", kind: optNumber, path: "warmup.concurrency"},
		{names: "--warmup-prefill-concurrency", kind: optNumber, path: "warmup.prefillConcurrency"},
		{names: "--warmup-request-rate", kind: optNumber, path: "warmup.rate"},
		{names: "--warmup-arrival-pattern", kind: optText, path: "warmup.type"},
		{names: "--warmup-grace-period", kind: optNumber, path: "warmup.gracePeriod"},
		{names: "--warmup-concurrency-ramp-duration", kind: optNumber, path: "warmup.concurrencyRamp.duration"},
		{names: "--warmup-prefill-concurrency-ramp-duration", kind: optNumber, path: "warmup.prefillRamp.duration"},
		{names: "--warmup-request-rate-ramp-duration", kind: optNumber, path: "warmup.rateRamp.duration"},
		{names: "--user-centric-rate", kind: optNumber, path: "profiling.rate"},
		{names: "--num-users", kind: optNumber, path: "profiling.users", sweep: true},
		{names: "--user-replacement", kind: optText, path: "profiling.userReplacement"},
		{names: "--request-cancellation-rate", kind: optNumber, path: "profiling.cancellation.rate"},
		{names: "--request-cancellation-delay", kind: optNumber, path: "profiling.cancellation.delay"},
		{names: "--output-artifact-dir", kind: optFile, path: "artifacts.dir"},
		{names: "--profile-export-prefix", kind: optFile, path: "artifacts.prefix"},
		{names: "--export-level", kind: optText, path: "artifacts.level"},
		{names: "--record-format", kind: optText, path: "artifacts.recordFormat"},
		{names: "--keep-records", kind: optText, path: "artifacts.keepRecords"},
		{names: "--record-sample-rate", kind: optNumber, path: "artifacts.recordSampleRate"},
		{names: "--record-file-size", kind: optNumber, path: "artifacts.recordFileSize"},
		{names: "--csv-precision", kind: optNumber, path: "artifacts.csvPrecision"},
		{names: "--overwrite", kind: optBool, path: "artifacts.overwrite"},
		{names: "--report", kind: optText, path: "runtime.report"},
		{names: "--slice-duration", kind: optNumber, path: "artifacts.sliceDuration"},
		{names: "--plot-required", kind: optBool, status: inert, why: "nothing is plotted after the run"},
		{names: "--export-inputs", kind: optBool, path: "artifacts.exportInputs"},
		{names: "--export-outputs-json", kind: optBool, path: "artifacts.exportOutputsJson"},
		{
			names: "--stream", kind: optWords, status: refused,
			why: "it selects what AIPerf sends to OpenTelemetry; for streamed responses use --streaming", extra: true,
		},
		{names: "--export-http-trace", kind: optBool, path: "artifacts.trace"},
		{names: "--show-trace-timing", kind: optBool, path: "artifacts.showTraceTiming"},
		{names: "--no-server-metrics", kind: optBool, path: "serverMetrics.enabled"},
		{names: "--no-gpu-telemetry", kind: optBool, path: "gpuTelemetry.enabled"},
		{names: "--ui-type", kind: optText, path: "runtime.ui"},
		{names: "--num-profile-runs", kind: optNumber, path: "multiRun.numRuns"},
		{names: "--profile-run-cooldown-seconds", kind: optNumber, path: "multiRun.cooldownSeconds"},
		{names: "--confidence-level", kind: optNumber, path: "multiRun.confidenceLevel"},
		{names: "--profile-run-disable-warmup-after-first", kind: optBool, path: "multiRun.disableWarmupAfterFirst"},
		{names: "--set-consistent-seed", kind: optBool, path: "multiRun.setConsistentSeed"},
		{names: "--vary-seed-per-trial", kind: optBool, path: "multiRun.varySeedPerTrial"},
		{names: "--convergence-metric", kind: optText, path: "multiRun.convergence.metric"},
		{names: "--convergence-stat", kind: optText, path: "multiRun.convergence.stat"},
		{names: "--convergence-threshold", kind: optNumber, path: "multiRun.convergence.threshold"},
		{names: "--convergence-mode", kind: optText, path: "multiRun.convergence.mode"},
		{names: "--parameter-sweep-cooldown-seconds", kind: optNumber, path: "sweep.cooldownSeconds"},
		{names: "--parameter-sweep-same-seed", kind: optBool, path: "sweep.sameSeed"},
		{names: "--parameter-sweep-mode", kind: optText, path: "sweep.iterationOrder"},
		{names: "--sweep-type", kind: optText, path: "sweep.type"},
		{names: "--no-sweep-table", kind: optBool, path: "noSweepTable"},
		{names: "--search-space", kind: optList, path: "search.space"},
		{names: "--search-metric", kind: optText, path: "search.metric"},
		{names: "--search-stat", kind: optText, path: "search.stat"},
		{names: "--search-direction", kind: optText, path: "search.direction"},
		{names: "--search-max-iterations", kind: optNumber, path: "sweep.maxIterations"},
		{names: "--search-initial-points", kind: optNumber, path: "sweep.nInitialPoints"},
		{names: "--search-random-seed", kind: optNumber, path: "sweep.randomSeed"},
		{names: "--search-planner", kind: optText, path: "sweep.planner"},
		{names: "--variant", kind: optWords, path: "sweep.runs"},
		{names: "--sweep-on-failure", kind: optText, path: "sweep.onFailure"},
		{names: "--sweep-max-failures", kind: optNumber, path: "sweep.maxFailures"},
		{names: "--sweep-stop-when", kind: optList, path: "search.stopWhen"},
		{names: "--search-sla", kind: optList, path: "search.sla"},
		{names: "--search-sla-tier", kind: optList, path: "search.tier"},
		{names: "--search-recipe", kind: optText, path: "recipe.name"},
		{names: "--log-level", kind: optText, path: "logging.level"},
		{names: "--verbose", kind: optBool, path: "logging.level"},
		{names: "--extra-verbose", kind: optBool, path: "logging.level"},
		{names: "--api-port", kind: optNumber, path: "runtime.apiPort"},
		{names: "--api-host", kind: optText, path: "runtime.apiHost"},
		{names: "--strict-client", kind: optBool, path: "client.strict"},
		{names: "--certify", kind: optBool, path: "client.certify"},
		{names: "--stats-interval", kind: optNumber, path: "runtime.statsInterval"},
		{names: "--dataset-filter", kind: optWords, status: refused},
		{names: "--auto-plot", kind: optBool, status: refused, extra: true},
		{names: "--accuracy-tasks", kind: optList, status: refused},
		{names: "--zmq-ipc-path", kind: optText, status: inert, redact: redact.File},
		{names: "--zmq-dual-bind", kind: optBool, status: inert},

		// Options that are treated alike: those that are not supported, and those that recipes read.
		{
			kind: optBool, status: refused,
			names: "--uuid-and-strip --use-think-time-only --allow-dataset-wrap --open-loop-strict --omit-kv-hints " +
				"--burst-phase-starts --unsafe-override --network-latency-automatic --accuracy-enable-cot " +
				"--accuracy-verbose",
		},
		{
			kind: optText, status: refused,
			names: "--hf-weka-dataset --max-context-length --trace-session-sample-ratio --max-idle-gap-cap-seconds " +
				"--trajectory-start-min-ratio --trajectory-start-max-ratio --trace-idle-gap-cap-seconds " +
				"--system-idle-gap-cap-seconds --scenario --agentic-cache-warmup-duration " +
				"--agentic-warmup-grace-period --network-latency-mean --network-latency-ping-interval " +
				"--optuna-sampler --optuna-acquisition --optuna-terminator --search-percentile-pooling " +
				"--bo-constraint-mode --accuracy-benchmark --accuracy-n-shots --accuracy-grader " +
				"--accuracy-system-prompt",
		},
		{
			kind: optText, status: refused, extra: true, redact: redact.URLs,
			names: "--otel-url --mlflow-tracking-uri",
		},
		{
			kind: optWords, status: refused, extra: true, redact: redact.KeyValue,
			names: "--otel-resource-attributes --mlflow-tag",
		},
		{
			kind: optText, status: refused, extra: true,
			names: "--gen-ai-provider --mlflow-experiment --mlflow-run-name --mlflow-parent-run-id --wandb-project " +
				"--wandb-entity --wandb-run-name",
		},
		{
			kind: optWords, status: refused, extra: true,
			names: "--mlflow-artifact-glob --wandb-tag --server-metrics-formats",
		},
		{
			kind: optWords, status: refused, extra: true, redact: redact.URLs,
			names: "--server-metrics --gpu-telemetry",
		},
		{
			kind: optNumber, path: "recipe.option",
			names: "--ttft-sla-ms --itl-sla-ms --tpot-sla-ms --e2e-sla-ms --error-rate-sla --slo-attainment-fraction " +
				"--degradation-threshold --isl-min --isl-max --isl-steps --concurrency-min --concurrency-max " +
				"--concurrency-steps --rate-min --rate-max --rate-steps --osl-min --osl-max --osl-steps",
		},
		{
			kind: optText, path: "recipe.option",
			names: "--isl-osl-pairs --search-style --degradation-metric-tag --degradation-stat",
		},
		{kind: optText, status: inert, names: "--record-processor-service-count --workers-max --zmq-host"},
	}
}
