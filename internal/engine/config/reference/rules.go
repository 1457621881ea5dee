package reference

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/bound"
	"aiperfd/internal/engine/config/value"
)

// limits reads the rules in a field's tags, see [field.rules].
func limits(f *Field, tag reflect.StructTag, known *config.Choices) {
	for _, c := range known.Of(tag) {
		f.Choices = append(f.Choices, c.Name)
		f.Aliases = append(f.Aliases, c.Aliases...)
	}
	if least, err := strconv.ParseFloat(tag.Get("least"), 64); err == nil {
		f.Least = &least
	}
	for rule := range strings.SplitSeq(tag.Get("validate"), ",") {
		name, param, _ := strings.Cut(rule, "=")
		n, _ := strconv.ParseFloat(param, 64)
		switch name {
		case "":
		case "oneof": // see choices
		case "gt":
			f.Least, f.Above = &n, true
		case "gte":
			f.Least = &n
		case "lte":
			f.Most = &n
		case "min":
			f.MinLength = int(n)
		case "max":
			f.MaxLength = int(n)
		default:
			panic("rule " + rule + " of " + f.Path + " is unknown to the reference") // a test reads every tag
		}
	}
	if f.MaxLength > 0 {
		return
	}
	switch most := bound.ListOf(tag); {
	case f.Kind == KindString && f.Choices == nil:
		f.MaxLength = bound.TextOf(tag)
	case f.Kind == KindList && most < math.MaxInt:
		f.MaxLength = most
	}
}

// checkedLimits adds the limits that are no tags.
func checkedLimits(f *Field) {
	switch f.Path {
	case "metadata.labels":
		f.MaxLength = value.MaxLabels
	case "metadata.labels.*":
		f.MaxLength = value.MaxLabelValue
	case "benchmark.datasets.*.images.width", "benchmark.datasets.*.images.height":
		f.Most = new(float64(config.MaxSide))
	case "benchmark.datasets.*.turns":
		f.Most = new(float64(config.MaxTurns))
	case "benchmark.datasets.*.prompts.isl", "benchmark.datasets.*.rankings.passageTokens", "benchmark.datasets.*.rankings.queryTokens":
		f.Most = new(float64(config.MaxTokens))
	case "benchmark.datasets.*.rankings.passages":
		f.Most = new(float64(config.MaxPassages))
	case "benchmark.datasets.*.audio.length":
		f.Most = new(float64(config.MaxClip))
	case "benchmark.datasets.*.audio.depths.*":
		for _, depth := range config.Depths() {
			f.Choices = append(f.Choices, strconv.Itoa(depth))
		}
	case "benchmark.datasets.*.video.audio.sampleRate":
		f.Least, f.Most = new(8.0), new(float64(config.MaxVideoRate))
	case "benchmark.datasets.*.audio.sampleRates.*":
		f.Least, f.Most = new(1.0), new(float64(config.MaxRate))
	}
}

// required lists the members that have no default and no other spelling; a name of two
// words has two.
func required() []string {
	const pair, ratio = "benchmark.datasets.*.prompts.sequenceDistribution.*.", "benchmark.datasets.*.prompts.randomRangeRatio."
	const filter, stop, phase = "sweep.slaFilters.*.", "sweep.stopWhen.*.", "benchmark.phases.*."
	return []string{"sweep.type", "sweep.dimensions.*.path", filter + "metricTag", filter + "op", filter + "threshold",
		stop + "metricTag", stop + "op", stop + "threshold", "multiRun.convergence.metric",
		"benchmark.artifacts.userFiles.*.path", "benchmark.artifacts.userFiles.*.content", "benchmark.models.items.*.name", "benchmark.endpoint.template.body",
		pair + "isl", pair + "osl", pair + "probability", ratio + "input", ratio + "output",
		phase + "concurrencyRamp.duration", phase + "prefillRamp.duration", phase + "rateRamp.duration",
		phase + "rateSeries.points.*.qps"}
}

// forms lists the short forms of a value, see [shorthand].
func forms(path string) []Form {
	switch path {
	case "benchmark.models":
		return []Form{FormList, FormElement}
	case "benchmark.models.items.*":
		return []Form{FormName}
	case "benchmark.endpoint.urls", "benchmark.datasets", "benchmark.phases":
		return []Form{FormElement}
	case "benchmark.datasets.*.records":
		return []Form{FormGroups}
	case "benchmark.endpoint.resetKvCache", "benchmark.endpoint.serverProfiler":
		return []Form{FormSwitch}
	case "benchmark.datasets.*.prompts.randomRangeRatio":
		return []Form{FormNumber}
	case "benchmark.phases.*.concurrencyRamp", "benchmark.phases.*.prefillRamp", "benchmark.phases.*.rateRamp":
		return []Form{FormDuration}
	case "benchmark.phases.*.rateSeries":
		return []Form{FormPoints}
	case "benchmark.endpoint.urlParams.*":
		return []Form{FormScalar}
	case "benchmark.artifacts.summary":
		return []Form{FormJSON}
	case "benchmark.client.certify":
		return []Form{FormBoolean}
	}
	return nil
}

// shortMembers lists the members that stand for a field, or for a part of it,
// beside it.
func shortMembers(path string) []Field {
	switch path {
	case "benchmark.models":
		return []Field{{Name: "model"}}
	case "benchmark.endpoint.urls":
		return []Field{{Name: "url"}}
	case "benchmark.datasets":
		return []Field{{Name: "dataset"}}
	case "benchmark.phases":
		return []Field{{Name: "warmup", Kind: KindObject, Type: "Phase"}, {Name: "profiling", Kind: KindObject, Type: "Phase"}}
	case "benchmark.datasets.*.prompts":
		return []Field{{Name: "isl", Kind: KindDistribution, Least: new(1.0)}} // osl is a field of files too
	case "benchmark.datasets.*.prompts.sequenceDistribution.*.isl":
		return []Field{{Name: "islStddev", Kind: KindNumber, Least: new(0.0)}}
	case "benchmark.datasets.*.prompts.sequenceDistribution.*.osl":
		return []Field{{Name: "oslStddev", Kind: KindNumber, Least: new(0.0)}}
	case "benchmark.artifacts.level":
		return []Field{{Name: "records"}, {Name: "raw"}}
	}
	return nil
}
