package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/redact"
)

// The keys of AIPerf's resolved document, in its order.
const (
	endpointOrder = "urls urlStrategy type path timeout streaming transport connectionReuse useLegacyMaxTokens" +
		" useServerTokenCount perChunkUsage template headers extra downloadVideoContent requestContentType" +
		" sessionHeader uuidAndStrip waitForModelTimeout waitForModelInterval waitForModelMode resetKvCache serverProfiler"
	endpointOwn   = "connectTimeout firstByteTimeout idleTimeout preconnect streamUsage useClientTokenCount tlsVerify dialect dynamoOslHint jobs" + connectionOwn
	connectionOwn = " urlAffinity urlParams unixSocket apiKeyFile authStyle httpVersion affinityHeaders tls proxy proxyFromEnv"

	syntheticOrder = "name type entries randomSeed sampling systemPrompt systemPromptFile prompts prefixPrompts" +
		" turns turnDelay turnDelayRatio images audio video rankings"
	fileOrder  = "name type path records format entries randomSeed sampling systemPrompt systemPromptFile osl synthesis"
	datasetOwn = "interTurnDelayCapSeconds"

	promptOrder = "isl osl blockSize batchSize cacheBust corpus sequenceDistribution randomRangeRatio randomCorpusStyle"
	prefixOrder = "poolSize length sharedSystemLength userContextLength"

	imageOrder   = "batchSize width height format source sourceSampling"
	audioOrder   = "batchSize length format depths sampleRates channels"
	rankingOrder = "passages passageTokens queryTokens"

	phaseOrder = "name kind type excludeFromResults requests duration sessions concurrency concurrencyRamp" +
		" prefillConcurrency prefillRamp gracePeriod cancellation sla seamless timingMode failedRequestThreshold" +
		" adaptiveScale adaptiveSustainDuration adaptiveAssessmentPeriod adaptiveMinCompletedRequests" +
		" adaptiveControlVariable adaptiveControlMin adaptiveControlMax adaptiveScaleStrategyType" +
		" adaptiveScaleStepPolicy adaptiveScaleBaseStep adaptiveScaleMaxStepMultiplier adaptiveScaleStepPercent" +
		" trajectoryStartMinRatio trajectoryStartMaxRatio burstPhaseStarts systemIdleGapCapSeconds" +
		" agenticCacheWarmupDuration agenticWarmupGracePeriod"
	rateOrder = " rate rateRamp rateSeries"

	artifactOrder = "dir prefix summary records raw trace sliceDuration showTraceTiming userFiles autoPlot" +
		" plotRequired exportOutputsJson"
	tokenizerOrder = "name revision trustRemoteCode applyChatTemplate"
	runtimeOrder   = "ui workers recordProcessors serviceRunType communication apiPort apiHost datasetApiBaseUrl" +
		" workersPerPod recordProcessorsPerPod workersMin statsInterval"
	benchmarkFeatureOrder = "gpuTelemetry serverMetrics networkLatency otel mlflow wandb"
	restOrder             = "metrics accuracy scenario unsafeOverride"
)

// Compat returns the resolved benchmark section as AIPerf's API shows it:
// camelCase, every key, nulls kept, secrets redacted, apiKey absent. Fields that
// only aiperfd has follow AIPerf's, where they differ from their defaults. What
// it returns marshals to JSON (encode without HTML escaping to keep
// "<redacted>" readable) and, without secrets, loads again to the same
// benchmark. A dataset without a seed of its own shows the run's.
func Compat(d *Document) any { return compat(d) }

func compat(d *Document) Object {
	b := &d.Benchmark
	var plain Benchmark
	prefill(&plain)
	var out Object
	out.put("models", modelsView(b.Models))
	endpoint := view(b.Endpoint, "benchmark.endpoint", endpointOrder)
	endpoint.putOwn(b.Endpoint, plain.Endpoint, endpointOwn)
	out.put("endpoint", endpoint)
	out.put("datasets", each(b.Datasets, func(x Dataset) Object { return datasetView(x, d.RandomSeed) }))
	out.put("phases", each(b.Phases, phaseView))
	out.put("artifacts", artifactsView(b.Artifacts))
	out.put("slos", sortedOrNull(b.SLOs))
	tokenizer := view(b.Tokenizer, "benchmark.tokenizer", tokenizerOrder)
	tokenizer.putOwn(b.Tokenizer, plain.Tokenizer, "allowDownload")
	out.put("tokenizer", tokenizer)
	for _, m := range view(struct{}{}, "benchmark", benchmarkFeatureOrder).members {
		out.set(m)
	}
	runtime := view(b.Runtime, "benchmark.runtime", runtimeOrder)
	runtime.putOwn(b.Runtime, plain.Runtime, "report")
	out.put("runtime", runtime)
	out.put("logging", view(b.Logging, "benchmark.logging", "level"))
	for _, m := range view(struct{}{}, "benchmark", restOrder).members {
		out.set(m)
	}
	if b.Client != plain.Client {
		out.put("client", view(b.Client, "benchmark.client", "strict certify"))
	}
	return out
}

// put adds a member; v must be encodable.
func (o *Object) put(name string, v any) { o.set(Member{Name: name, Value: encode(v)}) }

// encode writes JSON without HTML escaping.
func encode(v any) json.RawMessage {
	out, err := plainjson.Marshal(v)
	if err != nil {
		// Every type of a document encodes; non-finite numbers cannot get in.
		panic("encode configuration: " + err.Error())
	}
	return out
}

func each[T any](items []T, f func(T) Object) []Object {
	out := make([]Object, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}

// view shows the fields of a struct in an order, and between them AIPerf's
// fields that aiperfd lacks, switched off.
func view(v any, path, order string) Object {
	var out Object
	features := UnsupportedFields(path)
	for name := range strings.FieldsSeq(order) {
		i := slices.IndexFunc(features, func(f Feature) bool { return f.Name == name })
		if i >= 0 {
			out.set(Member{Name: name, Value: json.RawMessage(features[i].Off)})
			continue
		}
		out.put(name, shown(reflect.ValueOf(v), name))
	}
	return out
}

// putOwn adds fields that only aiperfd has, where they are not the default.
func (o *Object) putOwn(v, plain any, order string) {
	for name := range strings.FieldsSeq(order) {
		value := encode(shown(reflect.ValueOf(v), name))
		if !bytes.Equal(value, encode(shown(reflect.ValueOf(plain), name))) {
			o.set(Member{Name: name, Value: value})
		}
	}
}

// shown returns the field called name in the form in which it is shown.
func shown(v reflect.Value, name string) any {
	f, _, ok := fieldNamed(v.Type(), name)
	if !ok {
		panic("no field " + name + " in " + v.Type().Name()) // a test reads every layout
	}
	switch value := v.FieldByIndex(f.Index).Interface().(type) {
	case Distribution:
		return distributionView(value)
	case *Template:
		if value == nil {
			return nil
		}
		return view(*value, "benchmark.endpoint.template", "body responseField")
	case Params:
		return paramsView(value)
	case Headers:
		return headersView(value)
	case Object:
		return redacted(value)
	case []Object:
		if len(value) == 0 {
			return nil
		}
		return each(value, redacted)
	case Prompts:
		return view(value, "benchmark.datasets.*.prompts", promptOrder)
	case *Images:
		if value == nil {
			return nil
		}
		return view(*value, "benchmark.datasets.*.images", imageOrder)
	case *Audio:
		if value == nil {
			return nil
		}
		return view(*value, "benchmark.datasets.*.audio", audioOrder)
	case *Rankings:
		if value == nil {
			return nil
		}
		return view(*value, "benchmark.datasets.*.rankings", rankingOrder)
	case PrefixPrompts:
		if value == (PrefixPrompts{}) {
			return nil
		}
		return view(value, "benchmark.datasets.*.prefixPrompts", prefixOrder)
	default:
		return value
	}
}

func modelsView(m Models) Object {
	var out Object
	out.put("strategy", m.Strategy)
	out.put("items", each(m.Items, func(item Model) Object {
		return view(item, "benchmark.models.items.*", "name weight lora modalities tokenizer")
	}))
	return out
}

func datasetView(d Dataset, seed *int64) Object {
	if d.RandomSeed == nil {
		d.RandomSeed = seed
	}
	order := syntheticOrder
	if d.Type == "file" {
		order = fileOrder
	}
	out := view(d, "benchmark.datasets.*", order)
	if d.Type == "file" {
		if d.Entries == 0 {
			out.put("entries", nil)
		}
		if d.Path == "" {
			out.put("path", nil)
		}
	}
	out.putOwn(d, Dataset{}, datasetOwn)
	return out
}

func phaseView(p Phase) Object {
	// Without a duration there is no grace period; JSON has no infinity.
	if p.Duration == nil && p.GracePeriod != nil && math.IsInf(float64(*p.GracePeriod), 1) {
		p.GracePeriod = nil
	}
	order := phaseOrder
	if p.Type != "concurrency" {
		order += rateOrder
	}
	if p.Smoothness != nil {
		order += " smoothness"
	}
	return view(p, "benchmark.phases.*", order)
}

func artifactsView(a Artifacts) Object {
	var out Object
	for name := range strings.FieldsSeq(artifactOrder) {
		switch name {
		case "records":
			var records any = []string{"jsonl"}
			if a.Level == "summary" {
				records = false
			}
			out.put(name, records)
		case "raw":
			out.put(name, a.Level == "raw")
		default:
			for _, m := range view(a, "benchmark.artifacts", name).members {
				out.set(m)
			}
		}
	}
	return out
}

func distributionView(d Distribution) any {
	if !d.Given() {
		return nil
	}
	var out Object
	out.put("min", d.Min)
	out.put("max", d.Max)
	switch {
	case len(d.Peaks) > 0:
		out.put("peaks", d.Peaks)
	case len(d.Points) > 0:
		out.put("points", d.Points)
	case d.Median != nil:
		out.put("mean", d.Mean)
		out.put("median", d.Median)
	default:
		out.put("mean", d.Mean)
		out.put("stddev", d.Stddev)
	}
	return out
}

// headersView shows the values of headers that hold no secret.
func headersView(headers map[string]Secret) Object {
	var out Object
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name].Reveal()
		if redact.SensitiveHeader(name) {
			value = redact.Placeholder
		}
		out.put(name, redact.Text(value))
	}
	return out
}

// paramsView shows the values of URL parameters that hold no secret.
func paramsView(params map[string]Secret) Object {
	var out Object
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value := params[name].Reveal()
		if sensitiveParam(name, value) {
			value = redact.Placeholder
		}
		out.put(name, redact.Text(value))
	}
	return out
}

// redacted returns a copy without secrets.
func redacted(o Object) Object {
	var out Object
	for _, m := range o.members {
		d := json.NewDecoder(bytes.NewReader(m.Value))
		d.UseNumber()
		var value any
		if d.Decode(&value) != nil {
			value = redact.Placeholder // not JSON, so it may contain anything
		}
		clean, _ := redact.Value(map[string]any{m.Name: value}).(map[string]any)
		if reflect.DeepEqual(clean[m.Name], value) {
			out.set(m) // untouched, with the order of its members
			continue
		}
		out.put(m.Name, clean[m.Name])
	}
	return out
}

func sortedOrNull(m map[string]float64) any {
	if len(m) == 0 {
		return nil
	}
	var out Object
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out.put(name, m[name])
	}
	return out
}
