package config

import (
	"slices"

	"aiperfd/internal/engine/config/schema"
)

// DefaultFlagRequests is AIPerf's bound for a command line without one.
const DefaultFlagRequests = 10

// fillDocument sets the values that a document does not give, in document order.
func fillDocument(in *input) {
	b := &in.doc.Benchmark
	fillStudy(in)
	if !in.Has("benchmark.datasets") {
		b.Datasets = []Dataset{{Name: "main", TurnDelayRatio: schema.Default[float64]("benchmark.datasets.0.turnDelayRatio")}}
		in.infer("benchmark.datasets.0.type", "synthetic", "no dataset is given")
	}
	for i := range b.Phases {
		fillName(in, &b.Phases[i], PhasePath(i))
	}
	for i := range b.Datasets {
		datasetDefaults(in, &b.Datasets[i], datasetPath(i))
	}
	followTrace(in)
	for i := range b.Phases {
		fillPhase(in, &b.Phases[i], PhasePath(i))
	}
	if b.Tokenizer.Name == "" && len(b.Models.Items) == 1 && b.Models.Items[0].Name != "" {
		b.Tokenizer.Name = b.Models.Items[0].Name
		in.infer("benchmark.tokenizer.name", b.Tokenizer.Name, "the name of the model")
	}
	if b.Runtime.UI == "" {
		b.Runtime.UI = "dashboard"
		if in.options.Untrusted {
			b.Runtime.UI = "none"
		}
		in.infer("benchmark.runtime.ui", b.Runtime.UI, "none is given; without a terminal it is none")
	}
	if b.Runtime.APIPort != nil && b.Runtime.APIHost == nil {
		host := "127.0.0.1"
		b.Runtime.APIHost = &host
	}
}

func datasetDefaults(in *input, d *Dataset, path string) {
	if d.Name == "" {
		d.Name = "main"
	}
	if d.Type == "" {
		d.Type = "synthetic"
		switch {
		case d.Dataset != "":
			d.Type = "public"
			in.infer(path+".type", d.Type, "a public dataset is given")
		case d.Path != "" || len(d.Records) > 0:
			d.Type = "file"
			in.infer(path+".type", d.Type, "a path or records are given")
		}
	}
	switch d.Type {
	case "file":
		fileDefaults(in, d, path)
	case "synthetic":
		syntheticDefaults(in, d, path)
	}
	if d.Sampling == "" {
		d.Sampling = schema.Default[string](path + ".sampling")
	}
}

// fileDefaults takes the format that the first record looks like, and the defaults of
// the format.
func fileDefaults(in *input, d *Dataset, path string) {
	detectFormat(in, d, path)
	if order := in.options.Choices.Orders[d.Format]; order != "" && d.Sampling == "" {
		d.Sampling = order
		in.infer(path+".sampling", order, "the format "+d.Format+" is read in this order")
	}
	if slices.Contains(in.options.Choices.Drawn, d.Format) {
		entriesDefault(in, d, path)
	}
}

func syntheticDefaults(in *input, d *Dataset, path string) {
	if len(d.Prompts.SequenceDistribution) == 0 {
		mean(&d.Prompts.ISL, path+".prompts.isl")
	}
	schema.Fill(&d.Prompts, path+".prompts")
	mean(&d.Turns, path+".turns")
	mean(&d.TurnDelay, path+".turnDelay")
	mediaDefaults(in, d, path)
	entriesDefault(in, d, path)
}
