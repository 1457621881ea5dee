package config

import (
	"fmt"
	"math"
	"slices"
)

// The defaults that do not depend on anything else.
const (
	defaultURL            = "http://localhost:8000"
	defaultTimeout        = Seconds(21600)
	defaultConnectTimeout = Seconds(10)
	defaultGrace          = Seconds(30)
	defaultISL            = 550
	defaultEntries        = 100
	defaultFlagRequests   = 10 // AIPerf's bound for a command line without one
	defaultDir            = "artifacts"
	defaultRevision       = "main"
	defaultLogLevel       = "INFO"
	defaultAffinity       = "X-Session-Affinity" // AIPerf's
	defaultWaitInterval   = Seconds(5)
)

// prefill sets the fixed defaults before a document is read over them.
func prefill(b *Benchmark) {
	b.Models.Strategy = "round_robin"
	b.Endpoint = Endpoint{
		URLs: []URL{NewURL(defaultURL)}, URLStrategy: "round_robin", Type: "chat",
		Timeout: defaultTimeout, ConnectTimeout: defaultConnectTimeout,
		ConnectionReuse: "pooled", Preconnect: true, StreamUsage: true, TLSVerify: true,
		URLAffinity: "session", AuthStyle: "type", HTTPVersion: "1.1", AffinityHeaders: []string{defaultAffinity},
		WaitForModelInterval: defaultWaitInterval, WaitForModelMode: "inference",
	}
	b.Artifacts = Artifacts{Dir: defaultDir, Level: "records"}
	b.Tokenizer.Revision = defaultRevision
	b.Logging.Level = defaultLogLevel
	b.Client.Certify = "none"
}

// infer sets a value that depends on others, and remembers why.
func (l *loader) infer(path string, value any, reason string) {
	l.doc.defaulted = append(l.doc.defaulted, Default{Pointer: canonicalPointer(path), Value: value, Reason: reason})
}

// inferred reports whether the value of a path was chosen and not given.
func (l *loader) inferred(path string) bool {
	at := canonicalPointer(path)
	return slices.ContainsFunc(l.doc.defaulted, func(d Default) bool { return d.Pointer == at })
}

// canonicalPointer is the pointer of a canonical path.
func canonicalPointer(path string) string {
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

// applyDefaults fills what the document left open, in document order.
func (l *loader) applyDefaults() {
	b := &l.doc.Benchmark
	if !l.has("benchmark.datasets") {
		b.Datasets = []Dataset{{Name: "main", TurnDelayRatio: 1}}
		l.infer("benchmark.datasets.0.type", "synthetic", "no dataset is given")
	}
	for i := range b.Phases {
		l.phaseNames(&b.Phases[i], phasePath(i))
	}
	for i := range b.Datasets {
		l.datasetDefaults(&b.Datasets[i], fmt.Sprintf("benchmark.datasets.%d", i))
	}
	for i := range b.Phases {
		l.phaseDefaults(&b.Phases[i], phasePath(i))
	}
	if b.Tokenizer.Name == "" && len(b.Models.Items) == 1 && b.Models.Items[0].Name != "" {
		b.Tokenizer.Name = b.Models.Items[0].Name
		l.infer("benchmark.tokenizer.name", b.Tokenizer.Name, "the name of the model")
	}
	if b.Runtime.UI == "" {
		b.Runtime.UI = "dashboard"
		if l.options.Untrusted {
			b.Runtime.UI = "none"
		}
		l.infer("benchmark.runtime.ui", b.Runtime.UI, "none is given; without a terminal it is none")
	}
	if b.Runtime.APIPort != nil && b.Runtime.APIHost == nil {
		host := "127.0.0.1"
		b.Runtime.APIHost = &host
	}
}

func (l *loader) datasetDefaults(d *Dataset, path string) {
	if d.Name == "" {
		d.Name = "main"
	}
	if d.Type == "" {
		d.Type = "synthetic"
		if d.Path != "" || len(d.Records) > 0 {
			d.Type = "file"
			l.infer(path+".type", d.Type, "a path or records are given")
		}
	}
	if d.Sampling == "" {
		d.Sampling = "sequential"
	}
	switch d.Type {
	case "file":
		if d.Format == "" {
			l.formatDefault(d, path)
		}
	case "synthetic":
		l.syntheticDefaults(d, path)
	}
}

// formatDefault takes the format that the first record looks like.
func (l *loader) formatDefault(d *Dataset, path string) {
	format := l.detectFormat(d)
	if isLackingValue(path+".format", format) {
		at := l.where(path + ".path")
		l.fail(at, CodeUnsupported, "%s: the first record looks like the format %s, which is not supported by aiperfd yet; "+
			"if it is another one, set the format", label(at), format)
		return
	}
	d.Format = format
	l.infer(path+".format", format, "the first record looks like it")
}

func (l *loader) syntheticDefaults(d *Dataset, path string) {
	if !d.Prompts.ISL.Given() {
		d.Prompts.ISL = constant(defaultISL)
	}
	if d.Prompts.BatchSize == 0 {
		d.Prompts.BatchSize = 1
	}
	if d.Prompts.Corpus == "" {
		d.Prompts.Corpus = "sonnet"
	}
	if !d.Turns.Given() {
		d.Turns = constant(1)
	}
	if !d.TurnDelay.Given() {
		d.TurnDelay = constant(0)
	}
	l.mediaDefaults(d, path)
	if l.has(path + ".entries") {
		return
	}
	reason := "no number of sessions or requests is given"
	d.Entries = defaultEntries
	for i, p := range l.doc.Benchmark.Phases {
		if p.Kind != "profiling" || l.inferred(phasePath(i)+".requests") {
			continue
		}
		if n, why := poolSize(p); n > 0 {
			d.Entries, reason = n, why
			break
		}
	}
	l.infer(path+".entries", d.Entries, reason)
}

// poolSize is the number of conversations that a profiling phase suggests.
func poolSize(p Phase) (int, string) {
	switch {
	case p.Sessions != nil && *p.Sessions < math.MaxInt32:
		return int(*p.Sessions), "the number of sessions"
	case p.Requests != nil && *p.Requests < math.MaxInt32:
		return int(*p.Requests), "the number of requests"
	}
	return 0, ""
}

func constant(mean float64) Distribution { return Distribution{Mean: &mean} }

// phaseNames settles name, kind and type, which other defaults need.
func (l *loader) phaseNames(p *Phase, path string) {
	if p.Kind == "" {
		p.Kind = "profiling"
		if p.Name == "warmup" {
			p.Kind = "warmup"
		}
	}
	if p.Name == "" {
		p.Name = p.Kind
		l.infer(path+".name", p.Name, "the kind of the phase")
	}
	p.ExcludeFromResults = p.Kind == "warmup"
	if p.Type == "" && !l.failed[path+".type"] {
		p.Type = "concurrency"
		reason := "no rate is given"
		if p.Rate != nil {
			p.Type, reason = "poisson", "a rate is given"
			if p.Smoothness != nil {
				p.Type, reason = "gamma", "a rate and a smoothness are given"
			}
		}
		l.infer(path+".type", p.Type, reason)
	}
}

func (l *loader) phaseDefaults(p *Phase, path string) {
	if p.Type == "concurrency" && p.Concurrency == nil {
		one := 1
		p.Concurrency = &one
		l.infer(path+".concurrency", 1, "a phase without a rate is driven by its concurrency")
	}
	if p.Type == "gamma" && p.Smoothness == nil {
		one := 1.0
		p.Smoothness = &one
		l.infer(path+".smoothness", 1.0, "a gamma process needs a shape; 1 is Poisson")
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
		l.infer(path+".gracePeriod", grace, reason)
	}
}

func phasePath(i int) string { return fmt.Sprintf("benchmark.phases.%d", i) }
