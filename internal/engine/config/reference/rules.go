package reference

import (
	"strconv"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/schema"
)

// limits takes the limits of a row.
func limits(f *Field, row schema.Field, known *config.Choices) {
	for _, c := range known.Of(row) {
		f.Choices = append(f.Choices, c.Name)
		f.Aliases = append(f.Aliases, c.Aliases...)
	}
	f.Most, f.MinLength = row.Most, row.MinLength
	if row.Least != nil {
		f.Least = row.Least
	}
	if row.Above != nil {
		f.Least, f.Above = row.Above, true
	}
	switch {
	case row.MaxLength == schema.Unlimited:
	case row.MaxLength > 0, f.Kind == KindString && f.Choices == nil, f.Kind == KindList:
		f.MaxLength = row.Longest(f.Kind == KindList)
	}
}

// checkedLimits adds the limits that rules check with words of their own.
func checkedLimits(f *Field) {
	switch f.Path {
	case "metadata.labels":
		f.MaxLength = schema.MaxLabels
	case "metadata.labels.*":
		f.MaxLength = schema.MaxLabelValue
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
