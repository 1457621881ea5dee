package config

import (
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// feature is a field of AIPerf's document whose feature aiperfd does not have.
// The value that switches it off is accepted, so that a resolved document can be
// posted back; anything else is refused by name.
type feature struct {
	name string
	off  string // AIPerf's value for "off" or "default", as JSON; it is also what Compat shows
	alt  string // another accepted value; "" = none
	what string // the feature, in words
	// inert fields have no effect in one process; other values are accepted
	// with a warning.
	inert bool
	// strict fields do something by default, so that false and empty are not
	// the same as off.
	strict bool
}

// lacking returns the fields that the object at a canonical path has in AIPerf
// and not here, in AIPerf's order.
func unsupportedFields(path string) []feature {
	switch generic(path) {
	case "":
		return []feature{
			{name: "variables", off: `{}`, what: "template variables"},
			{name: "sweep", off: `null`, what: "sweeps"},
			{name: "multiRun", off: multiRunOff, what: "repeated runs"},
			{name: "plot", off: `null`, what: "plotting"},
			{name: "noSweepTable", off: `false`, inert: true},
			{name: "apiVersion", off: `null`, what: "Kubernetes resources"},
			{name: "kind", off: `null`, what: "Kubernetes resources"},
			{name: "spec", off: `null`, what: "Kubernetes resources"},
		}
	case "metadata":
		return []feature{
			{name: "priority", off: `0`, what: "priority"},
			{name: "ttl", off: `null`, what: "a time to live"},
			{name: "deadline", off: `null`, what: "a deadline"},
			{name: "startAfter", off: `null`, what: "start times"},
		}
	case "benchmark":
		return benchmarkFeatures()
	case "benchmark.models.items.*":
		return []feature{
			{name: "lora", off: `null`, what: "LoRA selection"},
			{name: "modalities", off: `null`, what: "modalities of a model"},
			{name: "tokenizer", off: `null`, what: "one tokenizer per model"},
		}
	case "benchmark.endpoint":
		return endpointFeatures()
	case "benchmark.datasets.*":
		return datasetFeatures()
	case "benchmark.datasets.*.prompts":
		return promptFeatures()
	case "benchmark.phases.*":
		return phaseFeatures()
	case "benchmark.artifacts":
		return artifactFeatures()
	case "benchmark.tokenizer":
		return []feature{
			{name: "trustRemoteCode", off: `false`, what: "running code from a tokenizer repository"},
		}
	case "benchmark.runtime":
		return runtimeFeatures()
	}
	return nil
}

const multiRunOff = `{"numRuns":1,"cooldownSeconds":0,"confidenceLevel":0.95,"disableWarmupAfterFirst":true,` +
	`"setConsistentSeed":true,"varySeedPerTrial":false,"convergence":null}`

func benchmarkFeatures() []feature {
	return []feature{
		{name: "gpuTelemetry", what: "GPU telemetry",
			off: `{"enabled":false,"urls":[],"metricsFile":null,"collector":"dcgm","mode":"summary"}`},
		{name: "serverMetrics", what: "scraping of server metrics",
			off: `{"enabled":false,"urls":[],"formats":["json","csv"],` +
				`"discovery":{"mode":"auto","labelSelector":null,"namespace":null,"timeoutSeconds":30}}`},
		{name: "networkLatency", off: `{"enabled":false,"pingInterval":1,"meanMs":null}`, what: "network latency probing"},
		{name: "otel", what: "OpenTelemetry export",
			off: `{"metricsUrl":null,"streamMetricsEnabled":true,"streamTimingEnabled":true,` +
				`"customResourceAttributes":{},"genAiProvider":null}`},
		{name: "mlflow", what: "MLflow export",
			off: `{"trackingUri":null,"experiment":"aiperf","runName":null,"tags":null,"parentRunId":null,"artifactGlobs":null}`},
		{name: "wandb", off: `{"project":null,"entity":null,"runName":null,"tags":null}`, what: "Weights & Biases export"},
		{name: "metrics", off: `{}`, what: "selection of metrics"},
		{name: "accuracy", off: `null`, what: "accuracy benchmarking"},
		{name: "scenario", off: `null`, what: "named scenarios"},
		{name: "unsafeOverride", off: `false`, what: "overriding a scenario"},
	}
}

func endpointFeatures() []feature {
	return []feature{
		{name: "transport", off: `null`, alt: `"http"`, what: "a transport other than http"},
		{name: "uuidAndStrip", off: `false`, what: "stripping of images"},
	}
}

func datasetFeatures() []feature {
	fields := []feature{
		{name: "video", off: `null`, what: "generated video"},
		{name: "synthesis", off: `null`, what: "trace synthesis"},
		{name: "dataset", off: `null`, what: "public datasets"},
		{name: "cacheBust", off: `{"target":"none"}`, what: "cache busting"},
	}
	for name := range strings.FieldsSeq("hfSubset hfWekaDataset filters ignoreTraceDelays useThinkTimeOnly maxContextLength" +
		" traceSessionSampleRatio maxIdleGapCapSeconds replaySpeedup openLoopReplay openLoopStrict omitKvHints" +
		" forceMinTokens traceIdleGapCapSeconds blockSize") {
		fields = append(fields, feature{name: name, off: `null`, what: "replay of traces and public datasets"})
	}
	return fields
}

func promptFeatures() []feature {
	return []feature{
		{name: "blockSize", off: `null`, what: "hash-id blocks"},
		{name: "cacheBust", off: `{"target":"none"}`, what: "cache busting"},
		{name: "sequenceDistribution", off: `null`, what: "pairs of lengths"},
		{name: "randomRangeRatio", off: `null`, what: "range ratios"},
		{name: "randomCorpusStyle", off: `"vllm"`, what: "other styles of the random corpus"},
	}
}

func phaseFeatures() []feature {
	return []feature{
		{name: "concurrencyRamp", off: `null`, what: "ramping"},
		{name: "prefillConcurrency", off: `null`, what: "a prefill limit"},
		{name: "prefillRamp", off: `null`, what: "ramping"},
		{name: "cancellation", off: `null`, what: "request cancellation"},
		{name: "sla", off: `[]`, what: "in-run control"},
		{name: "seamless", off: `false`, what: "seamless phase transitions"},
		{name: "timingMode", off: `null`, what: "agentic replay"},
		{name: "adaptiveScale", off: `false`, what: "in-run control"},
		{name: "adaptiveSustainDuration", off: `null`, what: "in-run control"},
		{name: "adaptiveAssessmentPeriod", off: `null`, what: "in-run control"},
		{name: "adaptiveMinCompletedRequests", off: `1`, what: "in-run control"},
		{name: "adaptiveControlVariable", off: `"concurrency"`, what: "in-run control"},
		{name: "adaptiveControlMin", off: `1`, what: "in-run control"},
		{name: "adaptiveControlMax", off: `null`, what: "in-run control"},
		{name: "adaptiveScaleStrategyType", off: `"ramp_until_fail"`, what: "in-run control"},
		{name: "adaptiveScaleStepPolicy", off: `"sla_margin"`, what: "in-run control"},
		{name: "adaptiveScaleBaseStep", off: `10`, what: "in-run control"},
		{name: "adaptiveScaleMaxStepMultiplier", off: `4`, what: "in-run control"},
		{name: "adaptiveScaleStepPercent", off: `25`, what: "in-run control"},
		{name: "trajectoryStartMinRatio", off: `0.25`, what: "agentic replay"},
		{name: "trajectoryStartMaxRatio", off: `0.75`, what: "agentic replay"},
		{name: "burstPhaseStarts", off: `false`, what: "agentic replay"},
		{name: "systemIdleGapCapSeconds", off: `null`, what: "agentic replay"},
		{name: "agenticCacheWarmupDuration", off: `null`, what: "agentic replay"},
		{name: "agenticWarmupGracePeriod", off: `null`, what: "agentic replay"},
		{name: "rateRamp", off: `null`, what: "ramping"},
		{name: "rateSeries", off: `null`, what: "a series of rates"},
		{name: "users", off: `null`, what: "user-centric load"},
		{name: "autoOffset", off: `null`, what: "a fixed schedule"},
		{name: "startOffset", off: `null`, what: "a fixed schedule"},
		{name: "endOffset", off: `null`, what: "a fixed schedule"},
	}
}

func artifactFeatures() []feature {
	return []feature{
		{name: "summary", off: `["json"]`, strict: true, what: "selecting summary files"},
		{name: "trace", off: `false`, what: "export of HTTP traces"},
		{name: "sliceDuration", off: `null`, what: "time slices"},
		{name: "showTraceTiming", off: `false`, what: "printing of HTTP timing"},
		{name: "userFiles", off: `[]`, what: "writing files from the document"},
		{name: "autoPlot", off: `false`, what: "plotting"},
		{name: "plotRequired", off: `false`, what: "plotting"},
	}
}

func runtimeFeatures() []feature {
	fields := []feature{{name: "serviceRunType", off: `"multiprocessing"`, inert: true}}
	for name := range strings.FieldsSeq("workers recordProcessors communication datasetApiBaseUrl workersPerPod" +
		" recordProcessorsPerPod workersMin") {
		fields = append(fields, feature{name: name, off: `null`, inert: true})
	}
	return fields
}

// refuse accepts the value that switches f off and reports any other.
func (d *decoder) refuse(n *tree.Node, f feature) {
	off, _, err := tree.ParseJSON([]byte(f.off))
	if err != nil {
		panic("bad default in the table of lacking features: " + f.name) // a test reads every row
	}
	bad := differs(n, off)
	if f.alt != "" && string(n.JSON()) == f.alt {
		bad = nil
	}
	if f.strict && n.Shape != off.Shape {
		bad = n
	}
	switch {
	case bad == nil:
		if on := n.Get("enabled"); on != nil && on.Scalar == "true" {
			d.warn(n.Place, CodeNoEffect, "%s is not supported by aiperfd yet; no data is collected", f.what)
		}
	case f.inert:
		d.warn(n.Place, CodeNoEffect, "%s has no effect: aiperfd is a single process without a message bus", label(n.Place))
	case f.name == "userFiles" && d.options.Untrusted, f.name == "trustRemoteCode" && d.options.Untrusted:
		d.fail(bad.Place, CodeNotAllowed, "%s: %s is not allowed here", label(bad.Place), f.what)
	default:
		d.fail(bad.Place, CodeUnsupported, "%s: not supported by aiperfd yet: %s", label(bad.Place), f.what)
	}
}

// differs returns the first part of n that says something else than off, or
// nil. Null, false, empty and disabled values say nothing; nor do the switches
// enabled of collectors that AIPerf has on by default and that have no target.
func differs(n, off *tree.Node) *tree.Node {
	switch {
	case n.Shape == tree.Null, n.Shape == tree.Boolean && n.Scalar == "false":
		return nil
	case n.Shape == tree.Object && (off.Shape == tree.Object || len(n.Members) == 0 || disabled(n)):
		return memberDiffers(n, off)
	case n.Shape == tree.List && len(n.Items) == 0:
		return nil
	case n.Shape == tree.Text && n.Scalar == "":
		return nil
	case n.Shape != off.Shape:
		return n
	case n.Shape == tree.List:
		return listDiffers(n, off)
	case n.Shape == tree.Number:
		a, _ := strconv.ParseFloat(n.Scalar, 64)
		b, _ := strconv.ParseFloat(off.Scalar, 64)
		if a == b {
			return nil
		}
		return n
	case n.Shape == tree.Text && suggest.Fold(n.Scalar) == suggest.Fold(off.Scalar), n.Scalar == off.Scalar:
		return nil
	}
	return n
}

func memberDiffers(n, off *tree.Node) *tree.Node {
	if off.Shape != tree.Object {
		return nil
	}
	for _, m := range n.Members {
		i := off.Index(m.Name)
		for j, known := range off.Members {
			if m.Name == tree.SnakeCase(known.Name) {
				i = j
			}
		}
		if i < 0 {
			return &tree.Node{Place: m.Place}
		}
		want := off.Members[i].Value
		collects := off.Index("enabled") >= 0 && off.Index("urls") >= 0
		if m.Name == "enabled" && m.Value.Shape == tree.Boolean && collects {
			continue
		}
		if bad := differs(m.Value, want); bad != nil {
			return bad
		}
	}
	return nil
}

// disabled reports whether n is {enabled: false} and nothing else.
func disabled(n *tree.Node) bool {
	on := n.Get("enabled")
	return len(n.Members) == 1 && on != nil && on.Shape == tree.Boolean && on.Scalar == "false"
}

func listDiffers(n, off *tree.Node) *tree.Node {
	if len(n.Items) != len(off.Items) {
		return n
	}
	for i, item := range n.Items {
		if differs(item, off.Items[i]) != nil {
			return n
		}
	}
	return nil
}
