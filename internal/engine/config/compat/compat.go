// Package compat shows resolved documents in the forms of AIPerf.
package compat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/redact"
)

// The keys of AIPerf's resolved document, in its order.
const (
	endpointOrder = "urls urlStrategy type path timeout streaming transport connectionReuse useLegacyMaxTokens" +
		" useServerTokenCount perChunkUsage template headers extra downloadVideoContent requestContentType" +
		" sessionHeader uuidAndStrip waitForModelTimeout waitForModelInterval waitForModelMode resetKvCache serverProfiler"
	endpointOwn   = "connectTimeout firstByteTimeout idleTimeout preconnect streamUsage useClientTokenCount tlsVerify dialect dynamoOslHint jobs" + connectionOwn
	connectionOwn = " urlAffinity urlParams unixSocket apiKeyFile authStyle httpVersion affinityHeaders tls proxy proxyFromEnv ipVersion sourceAddresses"

	syntheticOrder = "name type entries randomSeed sampling systemPrompt systemPromptFile prompts prefixPrompts" +
		" turns turnDelay turnDelayRatio images audio video rankings"
	fileOrder   = "name type path records format entries randomSeed sampling systemPrompt systemPromptFile osl synthesis"
	publicOrder = "name type dataset hfSubset filters entries randomSeed sampling systemPrompt systemPromptFile osl"
	datasetOwn  = "ignoreTraceDelays columns path hfSplit hfRevision interTurnDelayCapSeconds replaySpeedup onTurnError dagFailFast cacheBust warmup oslExact blockSize skipBadLines"

	promptOrder = "isl osl blockSize batchSize cacheBust corpus sequenceDistribution randomRangeRatio randomCorpusStyle"
	prefixOrder = "poolSize length sharedSystemLength userContextLength"

	imageOrder   = "batchSize width height format source sourceSampling"
	audioOrder   = "batchSize length format depths sampleRates channels"
	videoOrder   = "batchSize duration fps width height format codec synthType audio"
	rankingOrder = "passages passageTokens queryTokens"

	synthesisOrder = "speedupRatio prefixLenMultiplier prefixRootMultiplier promptLenMultiplier outputLenMultiplier maxIsl maxOsl"

	phaseOrder = "name kind type excludeFromResults requests duration sessions concurrency concurrencyRamp" +
		" prefillConcurrency prefillRamp gracePeriod cancellation sla seamless timingMode failedRequestThreshold" +
		" adaptiveScale adaptiveSustainDuration adaptiveAssessmentPeriod adaptiveMinCompletedRequests" +
		" adaptiveControlVariable adaptiveControlMin adaptiveControlMax adaptiveScaleStrategyType" +
		" adaptiveScaleStepPolicy adaptiveScaleBaseStep adaptiveScaleMaxStepMultiplier adaptiveScaleStepPercent" +
		" trajectoryStartMinRatio trajectoryStartMaxRatio burstPhaseStarts systemIdleGapCapSeconds" +
		" agenticCacheWarmupDuration agenticWarmupGracePeriod"
	rateOrder = " rate rateRamp rateSeries"
	phaseOwn  = "sessionRate userReplacement saturation saturationLimit excludeRamp"

	artifactOrder = "dir prefix summary records raw trace sliceDuration showTraceTiming userFiles autoPlot" +
		" plotRequired exportOutputsJson"
	artifactOwn    = "recordFormat keepRecords recordSampleRate recordFileSize exportInputs csvPrecision"
	tokenizerOrder = "name revision trustRemoteCode applyChatTemplate"
	runtimeOrder   = "ui workers recordProcessors serviceRunType communication apiPort apiHost datasetApiBaseUrl" +
		" workersPerPod recordProcessorsPerPod workersMin statsInterval"
	benchmarkFeatureOrder = "gpuTelemetry serverMetrics networkLatency otel mlflow wandb"
	restOrder             = "metrics accuracy scenario unsafeOverride"
	benchmarkOwn          = "runSlos tokenDeadline"
)

// Resolved returns the resolved benchmark section as AIPerf's API shows it:
// camelCase, every key, nulls kept, secrets redacted, apiKey absent. Fields that
// only aiperfd has follow AIPerf's if they differ from their defaults. The result
// marshals to JSON (encode without HTML escaping to keep "<redacted>" readable)
// and, without secrets, loads again to the same benchmark. A dataset without a
// seed shows the seed of the run.
func Resolved(d *config.Document) any { return schema.ObjectOf(hidden(d)) }

// hidden returns the resolved section without the secrets of the document, wherever
// they are in it.
func hidden(d *config.Document) *tree.Node {
	set, root := redact.NewSet(d.Secrets()...), reread(resolved(d))
	root.Walk(func(n *tree.Node) {
		switch {
		case n.Shape != tree.Text:
		case slices.Contains(d.Confidential(), n.Scalar): // also a short one
			n.Scalar = redact.Placeholder
		case isWord(n.Scalar): // a key that is called like a value of ours hides only itself
		default:
			clean, _ := redact.Value(set.Exact(n.Scalar)).(string)
			n.Scalar = clean
		}
	})
	return root
}

// isWord reports whether a text has only small letters, as the words of closed lists do.
func isWord(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_-") == ""
}

func resolved(d *config.Document) config.Object {
	b := &d.Benchmark
	plain := defaults().Benchmark
	var out config.Object
	put(&out, "models", modelsView(b.Models))
	endpoint := view(b.Endpoint, "benchmark.endpoint", endpointOrder)
	putOwn(&endpoint, b.Endpoint, plain.Endpoint, endpointOwn)
	put(&out, "endpoint", endpoint)
	put(&out, "datasets", each(b.Datasets, func(x config.Dataset) config.Object { return datasetView(x, d.RandomSeed) }))
	put(&out, "phases", each(b.Phases, phaseView))
	put(&out, "artifacts", artifactsView(b.Artifacts))
	put(&out, "slos", sortedOrNull(b.SLOs))
	tokenizer := view(b.Tokenizer, "benchmark.tokenizer", tokenizerOrder)
	putOwn(&tokenizer, b.Tokenizer, plain.Tokenizer, "allowDownload")
	put(&out, "tokenizer", tokenizer)
	for _, m := range view(struct{}{}, "benchmark", benchmarkFeatureOrder).Members() {
		out.Set(m)
	}
	runtime := view(b.Runtime, "benchmark.runtime", runtimeOrder)
	putOwn(&runtime, b.Runtime, plain.Runtime, "report")
	put(&out, "runtime", runtime)
	put(&out, "logging", view(b.Logging, "benchmark.logging", "level"))
	for _, m := range view(struct{}{}, "benchmark", restOrder).Members() {
		out.Set(m)
	}
	putOwn(&out, *b, plain, benchmarkOwn)
	if b.Client != plain.Client {
		put(&out, "client", view(b.Client, "benchmark.client", "strict certify"))
	}
	return out
}

// defaults returns what a document with one empty phase resolves to.
func defaults() *config.Document {
	draft := config.NewDraft(config.LoadOptions{})
	draft.Root.Get("benchmark").Set("phases", tree.ListNode(tree.ObjectNode()))
	return draft.Defaults()
}

// put adds a member; v must be encodable.
func put(o *config.Object, name string, v any) {
	o.Set(config.Member{Name: name, Value: encode(v)})
}

// encode writes JSON without HTML escaping.
func encode(v any) json.RawMessage {
	out, err := plainjson.Marshal(v)
	if err != nil {
		// Every type of a document encodes; non-finite numbers cannot get in.
		panic("encode configuration: " + err.Error())
	}
	return out
}

func each[T any](items []T, f func(T) config.Object) []config.Object {
	out := make([]config.Object, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}

// view shows the fields of a struct in an order, and between them the unsupported
// fields of AIPerf, switched off.
func view(v any, path, order string) config.Object {
	var out config.Object
	features := schema.Lacks(path)
	for name := range strings.FieldsSeq(order) {
		i := slices.IndexFunc(features, func(f schema.Lack) bool { return f.Name == name })
		if i >= 0 {
			out.Set(config.Member{Name: name, Value: json.RawMessage(features[i].Off)})
			continue
		}
		put(&out, name, shown(reflect.ValueOf(v), name))
	}
	return out
}

// putOwn adds fields that only aiperfd has if they are not the default.
func putOwn(o *config.Object, v, plain any, order string) {
	for name := range strings.FieldsSeq(order) {
		value := encode(shown(reflect.ValueOf(v), name))
		if !bytes.Equal(value, encode(shown(reflect.ValueOf(plain), name))) {
			o.Set(config.Member{Name: name, Value: value})
		}
	}
}

// shown returns the field called name in the form in which it is shown.
func shown(v reflect.Value, name string) any {
	f, _, ok := schema.FieldNamed(v.Type(), name)
	if !ok {
		return nil // a key of AIPerf that nothing here has is null; a test compares the names
	}
	switch value := v.FieldByIndex(f.Index).Interface().(type) {
	case config.Distribution:
		return distributionView(value)
	case *config.Template:
		return optional(value, "benchmark.endpoint.template", "body responseField")
	case config.Params:
		return paramsView(value)
	case config.Headers:
		return headersView(value)
	case config.Object:
		return redacted(value)
	case []config.Object:
		if len(value) == 0 {
			return nil
		}
		return each(value, redacted)
	case config.Prompts:
		return promptsView(value)
	case []config.LengthPair:
		if len(value) == 0 {
			return nil
		}
		return each(value, func(pair config.LengthPair) config.Object {
			return view(pair, "benchmark.datasets.*.prompts.sequenceDistribution.*", "isl osl probability")
		})
	case *config.Cancellation:
		return optional(value, "benchmark.phases.*.cancellation", "rate delay")
	case *config.RangeRatio:
		return rangeRatioView(value)
	case *config.Images:
		return optional(value, "benchmark.datasets.*.images", imageOrder)
	case *config.Audio:
		return optional(value, "benchmark.datasets.*.audio", audioOrder)
	case *config.Video:
		return optional(value, "benchmark.datasets.*.video", videoOrder)
	case config.VideoAudio:
		return view(value, "benchmark.datasets.*.video.audio", "sampleRate channels codec depth")
	case *config.Rankings:
		return optional(value, "benchmark.datasets.*.rankings", rankingOrder)
	case *config.Synthesis:
		return optional(value, "benchmark.datasets.*.synthesis", synthesisOrder)
	case config.PrefixPrompts:
		if value == (config.PrefixPrompts{}) {
			return nil
		}
		return view(value, "benchmark.datasets.*.prefixPrompts", prefixOrder)
	default:
		return value
	}
}

// optional shows a section that may be absent.
func optional[T any](section *T, path, order string) any {
	if section == nil {
		return nil
	}
	return view(*section, path, order)
}

func promptsView(p config.Prompts) config.Object {
	out := view(p, "benchmark.datasets.*.prompts", promptOrder)
	putOwn(&out, p, config.Prompts{}, "islCalibrate")
	return out
}

func modelsView(m config.Models) config.Object {
	var out config.Object
	put(&out, "strategy", m.Strategy)
	put(&out, "items", each(m.Items, func(item config.Model) config.Object {
		return view(item, "benchmark.models.items.*", "name weight lora modalities tokenizer")
	}))
	return out
}

func datasetView(d config.Dataset, seed *int64) config.Object {
	if d.RandomSeed == nil {
		d.RandomSeed = seed
	}
	order := syntheticOrder
	switch d.Type {
	case "file":
		order = fileOrder
	case "public":
		order = publicOrder
	}
	out := view(d, "benchmark.datasets.*", order)
	if d.Type != "synthetic" && d.Entries == 0 {
		put(&out, "entries", nil)
	}
	if d.Type == "file" && d.Path == "" {
		put(&out, "path", nil)
	}
	if d.Type == "public" && d.HFSubset == "" {
		put(&out, "hfSubset", nil)
	}
	putOwn(&out, d, config.Dataset{}, datasetOwn)
	return out
}

func phaseView(p config.Phase) config.Object {
	// Without a duration there is no grace period; JSON has no infinity.
	if p.Duration == nil && p.GracePeriod != nil && math.IsInf(float64(*p.GracePeriod), 1) {
		p.GracePeriod = nil
	}
	order := phaseOrder
	switch p.Type {
	case "concurrency":
	case config.FixedSchedule:
		order += " autoOffset startOffset endOffset"
	default:
		order += rateOrder
	}
	if p.Type == config.UserCentric {
		order += " users"
	}
	if p.Smoothness != nil {
		order += " smoothness"
	}
	out := view(p, "benchmark.phases.*", order)
	putOwn(&out, p, config.Phase{}, phaseOwn)
	return out
}

func artifactsView(a config.Artifacts) config.Object {
	var out config.Object
	for name := range strings.FieldsSeq(artifactOrder) {
		switch name {
		case "records":
			var records any = []string{"jsonl"}
			if a.Level == "summary" {
				records = false
			}
			put(&out, name, records)
		case "raw":
			put(&out, name, a.Level == "raw")
		case "userFiles":
			put(&out, name, append([]config.File{}, a.UserFiles...))
		case "summary":
			var summary any = []string{"json"}
			if !a.Summary {
				summary = false
			}
			put(&out, name, summary)
		default:
			for _, m := range view(a, "benchmark.artifacts", name).Members() {
				out.Set(m)
			}
		}
	}
	putOwn(&out, a, config.Artifacts{RecordFormat: "jsonl", KeepRecords: "all"}, artifactOwn)
	return out
}

func distributionView(d config.Distribution) any {
	if !d.Given() {
		return nil
	}
	var out config.Object
	put(&out, "min", d.Min)
	put(&out, "max", d.Max)
	switch {
	case len(d.Peaks) > 0:
		put(&out, "peaks", d.Peaks)
	case len(d.Points) > 0:
		put(&out, "points", d.Points)
	case d.Median != nil:
		put(&out, "mean", d.Mean)
		put(&out, "median", d.Median)
	default:
		put(&out, "mean", d.Mean)
		put(&out, "stddev", d.Stddev)
	}
	return out
}

// rangeRatioView shows a range ratio as the text that AIPerf has.
func rangeRatioView(r *config.RangeRatio) any {
	switch {
	case r == nil:
		return nil
	case r.Input == r.Output:
		return schema.FormatNumber(r.Input)
	}
	return fmt.Sprintf(`{"input":%s,"output":%s}`, schema.FormatNumber(r.Input), schema.FormatNumber(r.Output))
}

// headersView shows the values of headers that hold no secret.
func headersView(headers map[string]secret.Text) config.Object {
	var out config.Object
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name].Reveal()
		if redact.SensitiveHeader(name) {
			value = redact.Placeholder
		}
		put(&out, name, redact.Text(value))
	}
	return out
}

// paramsView shows the values of URL parameters that hold no secret.
func paramsView(params map[string]secret.Text) config.Object {
	var out config.Object
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value := params[name].Reveal()
		if secret.SensitiveParam(name, value) {
			value = redact.Placeholder
		}
		put(&out, name, redact.Text(value))
	}
	return out
}

// redacted returns a copy without secrets.
func redacted(o config.Object) config.Object {
	var out config.Object
	for _, m := range o.Members() {
		d := json.NewDecoder(bytes.NewReader(m.Value))
		d.UseNumber()
		var value any
		if d.Decode(&value) != nil {
			value = redact.Placeholder // not JSON, so it may contain anything
		}
		clean, _ := redact.Value(map[string]any{m.Name: value}).(map[string]any)
		if reflect.DeepEqual(clean[m.Name], value) {
			out.Set(m) // untouched, with the order of its members
			continue
		}
		put(&out, m.Name, clean[m.Name])
	}
	return out
}

func sortedOrNull(m map[string]float64) any {
	if len(m) == 0 {
		return nil
	}
	var out config.Object
	for _, name := range slices.Sorted(maps.Keys(m)) {
		put(&out, name, m[name])
	}
	return out
}
