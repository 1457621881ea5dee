package config

import (
	"fmt"
	"math"
	"slices"

	"aiperfd/internal/engine/config/schema"
)

// The numbers of rules that choose a value; fixed defaults are in [schema.Field].
const (
	defaultGrace        = Seconds(30)
	DefaultFlagRequests = 10 // AIPerf's bound for a command line without one
	// DefaultSaturationLimit is how many arrivals may wait at least before the saturation
	// abort ends a run: a burst is not a rate.
	DefaultSaturationLimit = 100
)

// CanonicalPointer is the pointer of a canonical path.
func CanonicalPointer(path string) string {
	out := []byte("#/")
	for i := range len(path) {
		if path[i] == '.' {
			out = append(out, '/')
			continue
		}
		out = append(out, path[i])
	}
	return string(out)
}

// mean gives a distribution without a value the default of its path as its only value.
func mean(d *Distribution, path string) {
	if !d.Given() {
		*d = Distribution{Mean: new(schema.Default[float64](path))}
	}
}

// PhasePath returns the canonical path of a phase.
func PhasePath(i int) string { return fmt.Sprintf("benchmark.phases.%d", i) }

// filler sets the values that a document does not give.
type filler struct{ *loader }

// fill fills the whole document, in document order.
func (f filler) fill() {
	b := &f.doc.Benchmark
	f.fillStudy()
	if !f.has("benchmark.datasets") {
		b.Datasets = []Dataset{{Name: "main", TurnDelayRatio: schema.Default[float64]("benchmark.datasets.0.turnDelayRatio")}}
		f.infer("benchmark.datasets.0.type", "synthetic", "no dataset is given")
	}
	for i := range b.Phases {
		f.phaseNames(&b.Phases[i], PhasePath(i))
	}
	for i := range b.Datasets {
		f.datasetDefaults(&b.Datasets[i], fmt.Sprintf("benchmark.datasets.%d", i))
	}
	f.followTrace()
	for i := range b.Phases {
		f.phaseType(&b.Phases[i], PhasePath(i))
		f.phaseDefaults(&b.Phases[i], PhasePath(i))
	}
	if b.Tokenizer.Name == "" && len(b.Models.Items) == 1 && b.Models.Items[0].Name != "" {
		b.Tokenizer.Name = b.Models.Items[0].Name
		f.infer("benchmark.tokenizer.name", b.Tokenizer.Name, "the name of the model")
	}
	if b.Runtime.UI == "" {
		b.Runtime.UI = "dashboard"
		if f.options.Untrusted {
			b.Runtime.UI = "none"
		}
		f.infer("benchmark.runtime.ui", b.Runtime.UI, "none is given; without a terminal it is none")
	}
	if b.Runtime.APIPort != nil && b.Runtime.APIHost == nil {
		host := "127.0.0.1"
		b.Runtime.APIHost = &host
	}
}

func (f filler) datasetDefaults(d *Dataset, path string) {
	if d.Name == "" {
		d.Name = "main"
	}
	if d.Type == "" {
		d.Type = "synthetic"
		switch {
		case d.Dataset != "":
			d.Type = "public"
			f.infer(path+".type", d.Type, "a public dataset is given")
		case d.Path != "" || len(d.Records) > 0:
			d.Type = "file"
			f.infer(path+".type", d.Type, "a path or records are given")
		}
	}
	switch d.Type {
	case "file":
		f.fileDefaults(d, path)
	case "synthetic":
		f.syntheticDefaults(d, path)
	}
	if d.Sampling == "" {
		d.Sampling = schema.Default[string](path + ".sampling")
	}
}

// fileDefaults takes the format that the first record looks like, and the defaults of
// the format.
func (f filler) fileDefaults(d *Dataset, path string) {
	f.detect(d, path)
	if order := f.options.Choices.Orders[d.Format]; order != "" && d.Sampling == "" {
		d.Sampling = order
		f.infer(path+".sampling", order, "the format "+d.Format+" is read in this order")
	}
	if slices.Contains(f.options.Choices.Drawn, d.Format) {
		f.entriesDefault(d, path)
	}
}

func (f filler) syntheticDefaults(d *Dataset, path string) {
	if len(d.Prompts.SequenceDistribution) == 0 {
		mean(&d.Prompts.ISL, path+".prompts.isl")
	}
	schema.Fill(&d.Prompts, path+".prompts")
	mean(&d.Turns, path+".turns")
	mean(&d.TurnDelay, path+".turnDelay")
	f.mediaDefaults(d, path)
	f.entriesDefault(d, path)
}

// phaseNames settles name and kind, which other defaults need.
func (f filler) phaseNames(p *Phase, path string) {
	if p.Kind == "" {
		p.Kind = "profiling"
		if p.Name == "warmup" {
			p.Kind = "warmup"
		}
	}
	if p.Name == "" {
		p.Name = p.Kind
		f.infer(path+".name", p.Name, "the kind of the phase")
	}
	p.ExcludeFromResults = p.Kind == "warmup"
}

// phaseType settles the type of a phase.
func (f filler) phaseType(p *Phase, path string) {
	if p.Type == "" && !f.failed[path+".type"] {
		p.Type = "concurrency"
		reason := "no rate is given"
		switch {
		case p.Users != nil:
			p.Type, reason = UserCentric, "a number of users is given"
		case p.Rate != nil || p.SessionRate != nil || p.RateSeries != nil:
			p.Type, reason = "poisson", "a rate is given"
			if p.Smoothness != nil {
				p.Type, reason = "gamma", "a rate and a smoothness are given"
			}
		}
		f.infer(path+".type", p.Type, reason)
	}
}

func (f filler) phaseDefaults(p *Phase, path string) {
	if p.Type == "concurrency" && p.Concurrency == nil {
		one := 1
		p.Concurrency = &one
		f.infer(path+".concurrency", 1, "a phase without a rate is driven by its concurrency")
	}
	if p.Smoothness == nil && f.options.Choices.IsShaped(p.Type) {
		one := 1.0
		p.Smoothness = &one
		f.infer(path+".smoothness", 1.0, "a "+p.Type+" process needs a shape; 1 is Poisson")
	}
	if p.Type == UserCentric && p.UserReplacement == "" {
		p.UserReplacement = "scheduled"
		f.infer(path+".userReplacement", p.UserReplacement, "as in AIPerf")
	}
	if p.Saturation == "abort" && p.SaturationLimit == nil && p.Concurrency != nil {
		limit := max(DefaultSaturationLimit, *p.Concurrency)
		p.SaturationLimit = &limit
		f.infer(path+".saturationLimit", limit, "the saturation is abort")
	}
	if p.Type == FixedSchedule && p.AutoOffset == nil {
		auto := p.StartOffset == nil
		p.AutoOffset = &auto
		reason := "no start offset is given"
		if !auto {
			reason = "a start offset is given"
		}
		f.infer(path+".autoOffset", auto, reason)
	}
	if p.GracePeriod == nil {
		grace, reason := Seconds(math.Inf(1)), "the phase has no duration: it waits for all responses"
		switch {
		case p.Duration != nil && p.Kind == "profiling":
			grace, reason = defaultGrace, "the phase has a duration"
		case p.Duration != nil:
			reason = "a warm-up waits for all responses"
		}
		p.GracePeriod = &grace
		f.infer(path+".gracePeriod", grace, reason)
	}
}
