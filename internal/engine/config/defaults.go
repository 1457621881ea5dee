package config

import "aiperfd/internal/engine/config/schema"

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
	if b.Cluster != nil {
		schema.Fill(b.Cluster, "benchmark.cluster")
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
