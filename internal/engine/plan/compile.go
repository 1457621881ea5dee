package plan

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/dataset/agentic"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
)

// userAgent identifies aiperfd to servers. It has no version, so that the requests of
// two releases are equal.
const userAgent = "aiperfd"

// Compile resolves a document to a plan. The document must come from
// config.Load or config flags, which apply defaults and check everything that
// can be checked without a plan; the other problems are returned together as
// *config.Invalid.
func Compile(d *config.Document) (*Plan, error) {
	c := newCompiler(d)
	p := &Plan{}
	compileMeasure(c, p)
	p.Models = newModels(c.b.Models)
	compileTransport(c, p)
	compileTargets(c, p)
	compileHeaders(c, p)
	compileServerCalls(c, p)
	compileServerMetrics(c, p)
	compileGPUTelemetry(c, p)
	compileDataset(c, p)
	compileSessions(c, p)
	sizePool(p)
	p.Certify = c.b.Client.Certify
	if err := c.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// CompileMeasure resolves the part of a document that determines what is measured.
func CompileMeasure(d *config.Document) (*Measure, error) {
	c := newCompiler(d)
	p := &Plan{}
	compileMeasure(c, p)
	if err := c.err(); err != nil {
		return nil, err
	}
	return &p.Measure, nil
}

// compiler collects problems while it fills a plan.
type compiler struct {
	doc      *config.Document
	b        *config.Benchmark
	problems []problem.Problem
}

func newCompiler(d *config.Document) *compiler { return &compiler{doc: d, b: &d.Benchmark} }

// err returns all problems as one error; nil = there are none.
func (c *compiler) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	return &problem.Invalid{Problems: c.problems}
}

// compileMeasure fills the part of a plan that needs only the document.
func compileMeasure(c *compiler, p *Plan) {
	if c.doc.RandomSeed == nil {
		seed := drawSeed()
		c.doc.RandomSeed = &seed // recorded, so that every run can be repeated
	}
	p.Seed = bench.Seed(*c.doc.RandomSeed)
	p.Document = c.doc
	compileEndpoint(c, p)
	compilePhases(c, p)
	compileMetrics(c, p)
	p.Files = Files{
		Records: c.b.Artifacts.Level != "summary" && c.b.Artifacts.RecordFormat != "parquet",
		Tables:  c.b.Artifacts.Level != "summary" && c.b.Artifacts.RecordFormat != "jsonl",
		Raw:     c.b.Artifacts.Level == "raw",
		Inputs:  c.b.Artifacts.Level == "raw" || c.b.Artifacts.ExportInputs,
		Outputs: c.b.Artifacts.ExportOutputs,
		Trace:   c.b.Artifacts.Trace && c.b.Artifacts.Level != "summary",
	}
	p.Files.Keep = export.RecordKeep{Mode: export.KeepMode(c.b.Artifacts.KeepRecords)}
	if p.Files.Keep.Mode == export.KeepSample {
		p.Files.Keep.Rate = *cmp.Or(c.b.Artifacts.RecordSampleRate, new(0.01))
	}
	p.Files.PartSize = given(c.b.Artifacts.RecordFileSize)
	p.Files.Layout = export.Layout{
		Prefix: given(c.b.Artifacts.Prefix), CSVDigits: c.b.Artifacts.CSVPrecision, NoSummary: !c.b.Artifacts.Summary,
	}
}

// given returns an optional value; the zero value stands for one that is not given.
func given[T any](value *T) (v T) {
	if value != nil {
		v = *value
	}
	return v
}

func (c *compiler) problem(pointer, code, format string, args ...any) {
	c.problems = append(c.problems, problem.Problem{
		Pointer: "#/benchmark/" + pointer, Code: code, Detail: fmt.Sprintf(format, args...),
	})
}

// choice returns the position of a name; an empty one is the first.
func (c *compiler) choice(pointer, name string, names []string) int {
	i := slices.Index(names, cmp.Or(name, names[0]))
	if i < 0 {
		c.problem(pointer, "bad-enum", "must be one of %s, not %q", strings.Join(names, ", "), name)
	}
	return max(0, i)
}

func compileEndpoint(c *compiler, p *Plan) {
	e := &c.b.Endpoint
	kind, _ := endpoint.Lookup(e.Type) // one of [Choices]
	if e.Template != nil {
		var err error
		if kind, err = endpoint.Templated(e.Template.Body, e.Template.ResponseField); err != nil {
			c.problem("endpoint/template", "out-of-range", "%v", err)
		}
	}
	p.Kind = kind
	p.Settings = endpoint.Settings{
		Streaming: e.Streaming && kind.Caps.Streams,
		// An API that sends usage by default gets the option only if only usage counts.
		StreamUsage:   e.StreamUsage && (!kind.Caps.UsageUnasked || e.UseServerTokenCount),
		PerChunkUsage: e.PerChunkUsage, LegacyMaxTokens: e.UseLegacyMaxTokens,
		OwnPath: e.Path != nil, LengthHint: e.DynamoOSLHint,
	}
	if e.Streaming && !kind.Caps.Streams {
		p.Warnings = append(p.Warnings, bench.Warning{Code: "not-streaming", Detail: fmt.Sprintf(
			"--streaming ignored: %s cannot stream", kind.Name)})
	}
	if e.DynamoOSLHint && !kind.Caps.Hints {
		c.problem("endpoint/dynamoOslHint", "conflict", "the endpoint type %s takes no hints", kind.Name)
	}
	compileDialect(c, p)
	compilePathModel(c, p)
	compileJobs(c, p)
	for _, m := range e.Extra {
		p.Settings.Extra = append(p.Settings.Extra, endpoint.Field{Name: m.Name, Value: m.Value})
	}
}

// compileDialect checks that the endpoint type has the dialect, if one is given.
func compileDialect(c *compiler, p *Plan) {
	name := c.b.Endpoint.Dialect
	switch {
	case name == nil:
	case len(p.Kind.Dialects) == 0:
		c.problem("endpoint/dialect", "conflict", "dialect %q: the endpoint type %s has no dialects", *name, p.Kind.Name)
	case !slices.Contains(p.Kind.Dialects, *name):
		c.problem("endpoint/dialect", "bad-enum", "dialect %q: the endpoint type %s has %s",
			*name, p.Kind.Name, strings.Join(p.Kind.Dialects, ", "))
	default:
		p.Settings.Dialect = *name
	}
}

// compilePathModel sets the model that the path names. There can be only one, since all
// requests have the same path.
func compilePathModel(c *compiler, p *Plan) {
	path, items := p.Kind.DefaultPath(p.Settings.Streaming), c.b.Models.Items
	if own := c.b.Endpoint.Path; own != nil {
		path = *own
	}
	switch {
	case !strings.Contains(path, "{model}") || len(items) == 0:
	case len(items) > 1:
		c.problem("models/items", "conflict", "%d models: the path %s names the model, so that there can be only one",
			len(items), path)
	default:
		p.Settings.PathModel = items[0].Name
	}
}

// compileJobs compiles how jobs are submitted and polled, and adapts the endpoint type to
// that.
func compileJobs(c *compiler, p *Plan) {
	e := &c.b.Endpoint
	j := &p.Settings.Job
	j.Timeout = cmp.Or(e.Jobs.Timeout, &e.Timeout).Duration()
	j.Interval = given(e.Jobs.PollInterval).Duration()
	j.Mode, j.Input, j.Download = e.Jobs.RunpodMode, e.Jobs.RunpodInput, e.DownloadVideoContent
	if p.Settings.Streaming {
		j.Mode = cmp.Or(j.Mode, endpoint.RunpodStream)
	}
	j.JSON = given(e.RequestContentType) == "application/json"
	if p.Kind.Adapt != nil {
		p.Kind.Adapt(&p.Kind, &p.Settings)
	}
}

// compileTokens compiles who counts tokens. Without a tokenizer in the document, each model
// has its own.
func compileTokens(c *compiler, p *Plan) {
	t := &c.b.Tokenizer
	p.Tokens = Tokens{
		Names: []string{t.Name}, Revision: t.Revision, Fetch: t.AllowDownload, Template: t.ApplyChatTemplate, Open: tokenizerFiles(c),
		Server: c.b.Endpoint.UseServerTokenCount, Client: c.b.Endpoint.UseClientTokenCount,
		Explicit: !slices.ContainsFunc(c.doc.Defaulted(),
			func(d config.Default) bool { return d.Pointer == "#/benchmark/tokenizer/name" }),
	}
	if t.Name == "" {
		p.Tokens.Names, p.Tokens.Explicit = slices.Clone(p.Models.Names), false
	}
	if !hub.IsRevision(t.Revision) {
		c.problem("tokenizer/revision", "out-of-range", "revision %q: must be a branch, a tag or a commit", t.Revision)
	}
}

// tokenizerFiles returns the function that opens the tokenizer files of an untrusted
// document; nil = every file may be read.
func tokenizerFiles(c *compiler) func(string) (io.ReadCloser, error) {
	if c.doc.Trusted() {
		return nil
	}
	doc := c.doc
	return func(name string) (io.ReadCloser, error) { return doc.Open(name) }
}

// The limits of files in bytes.
const (
	maxPrompt    = 16 << 20 // a system prompt
	maxSmallFile = 1 << 20  // a certificate, a key, a list
)

// readFile reads a file of a document, which may have so many bytes at most.
func readFile(doc *config.Document, name string, most int64) ([]byte, error) {
	f, err := doc.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("the file is longer than %d bytes", most)
	}
	return data, err
}

func compilePhases(c *compiler, p *Plan) {
	profiling := 0
	for i := range c.b.Phases {
		ph := compilePhase(c, i, p.Seed)
		if ph.Prefill > 0 && !p.Settings.Streaming {
			c.problem(fmt.Sprintf("phases/%d/prefillConcurrency", i), "conflict",
				"needs streams, which the endpoint type %s does not have", p.Kind.Name)
		}
		if ph.Kind == bench.Profiling {
			ph.ProfilingIndex = profiling
			profiling++
		}
		p.Phases = append(p.Phases, ph)
	}
	limited := false
	for i := len(p.Phases) - 1; i >= 0; i-- {
		ph := &p.Phases[i]
		ph.Shape.CountFills = limited
		limited = ph.Seamless && (limited || ph.Prefill > 0)
	}
}

func compilePhase(c *compiler, i int, seed bench.Seed) spec.Phase {
	d := &c.b.Phases[i]
	ph := spec.Phase{
		Index: i, ProfilingIndex: -1, Name: d.Name, Kind: bench.PhaseKind(d.Kind), Grace: -1,
		Excluded: d.ExcludeFromResults, FailThreshold: d.FailedRequestThreshold,
		Requests: given(d.Requests), Sessions: given(d.Sessions), Duration: given(d.Duration).Duration(),
		Concurrency: given(d.Concurrency),
	}
	if x := d.Cancellation; x != nil && x.Rate > 0 {
		ph.Cancellation = &spec.Cancellation{
			Seed: seed.Child("phase." + d.Name).Child(bench.StreamCancellation), Share: x.Rate / 100, After: x.Delay.Duration(),
		}
	}
	if d.GracePeriod != nil && d.GracePeriod.Duration() != forever {
		ph.Grace = d.GracePeriod.Duration()
	}
	ph.Once = ph.Requests == 0 && ph.Sessions == 0 && ph.Duration == 0
	ph.Seamless = d.Seamless
	ph.Backlog.Saturation = spec.Saturation(c.choice(fmt.Sprintf("phases/%d/saturation", i), d.Saturation,
		spec.Saturations()))
	ph.Backlog.Limit = given(d.SaturationLimit)
	seed = seed.Child("phase." + d.Name)
	shape(d, seed, &ph)
	switch d.Type {
	case config.FixedSchedule:
		compileReplay(c, d, &ph)
	case config.UserCentric:
		compileUsers(c, i, d, &ph)
	case config.AgenticReplay:
		compileLanes(c, i, &ph)
	case "concurrency":
		ph.Concurrency = max(1, ph.Concurrency)
		ph.Load = fmt.Sprintf("concurrency %d", ph.Concurrency) + describeRamp(d.ConcurrencyRamp)
	default:
		compileArrivals(c, i, d, seed, &ph)
	}
	ph.Load += describeLimits(d, &ph)
	return ph
}

// compileReplay makes a phase that sends the dataset at its own times.
func compileReplay(c *compiler, d *config.Phase, ph *spec.Phase) {
	ph.Once, ph.Load = true, "fixed schedule"
	ph.Replay = &spec.Replay{Auto: d.AutoOffset == nil || *d.AutoOffset, End: -1}
	ph.Replay.Start = milliseconds(given(d.StartOffset))
	if d.EndOffset != nil {
		ph.Replay.End = milliseconds(*d.EndOffset)
	}
	if len(c.b.Datasets) == 1 && c.b.Datasets[0].Speedup() != 1 {
		ph.Load += fmt.Sprintf(", %v times as fast", c.b.Datasets[0].Speedup())
	}
}

// compileUsers makes a phase of users.
func compileUsers(c *compiler, i int, d *config.Phase, ph *spec.Phase) {
	if d.Users == nil || d.Rate == nil {
		return // it is reported
	}
	gap := float64(*d.Users) / *d.Rate
	if !(gap < maxGap) {
		c.problem(fmt.Sprintf("phases/%d/rate", i), "out-of-range",
			"rate %v: a user would send a turn every %.3g s, at most every %g s", *d.Rate, gap, maxGap)
		return
	}
	ph.Users = &spec.Users{
		Count: *d.Users, Rate: *d.Rate, Gap: time.Duration(math.RoundToEven(gap * float64(time.Second))),
		OnCompletion: d.UserReplacement == "on-completion",
	}
	ph.Rate, ph.Smoothness = *d.Rate, 1
	ph.Load = fmt.Sprintf("%d users, %v/s", *d.Users, *d.Rate)
}

// maxGap is the longest gap between the turns of a user, in seconds: a year.
const maxGap = 365 * 24 * 3600.0

// milliseconds returns a time of a document; one beyond 292 years is the longest there
// is.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// recordedSessions reports whether a dataset holds recorded sessions of agents.
func recordedSessions(d *config.Dataset) bool {
	return d.Format == agentic.FormatWeka || d.Type == "public" && dataset.IsCorpus(d.Dataset)
}

// compileSessions compiles how conversations are carried out.
func compileSessions(c *compiler, p *Plan) {
	if len(c.b.Datasets) != 1 {
		return // it is reported
	}
	d := &c.b.Datasets[0]
	onError := d.OnTurnError
	if onError == "" && recordedSessions(d) {
		onError = spec.TurnErrors()[spec.Continue] // what is sent does not depend on answers
	}
	p.Sessions = spec.Sessions{
		OnTurnError: spec.TurnError(c.choice("datasets/0/onTurnError", onError, spec.TurnErrors())),
		FailFast:    d.DAGFailFast,
		JoinAtOnce:  d.GapRule == "aiperf",
	}
	if speedup := d.Speedup(); speedup != 1 {
		p.Sessions.Speedup = speedup
	}
}

func compileArrivals(c *compiler, i int, d *config.Phase, seed bench.Seed, ph *spec.Phase) {
	o := arrival.Options{Smoothness: 1, Seed: seed}
	switch {
	case d.SessionRate != nil:
		o.Rate, ph.PerSession = *d.SessionRate, true
	case d.Rate != nil:
		o.Rate = *d.Rate
	}
	if d.Smoothness != nil {
		o.Smoothness = *d.Smoothness
	}
	varied(d, &o, ph)
	ph.Smoothness = o.Smoothness
	ph.Load = describeRate(d)
	if o.Smoothness != 1 {
		ph.Load += fmt.Sprintf(", smoothness %v", o.Smoothness)
	}
	for _, kind := range arrival.Kinds() {
		if kind.Name != d.Type {
			continue
		}
		var err error
		if ph.Arrivals, err = kind.New(o); err != nil {
			c.problem(fmt.Sprintf("phases/%d", i), "out-of-range", "%v", err)
		}
		return
	}
}

func compileMetrics(c *compiler, p *Plan) {
	p.Metrics = measure.Options{
		Streaming: p.Settings.Streaming,
		Caps:      p.Kind.Caps,
		Targets:   len(c.b.Endpoint.URLs),
		SLOs:      c.b.SLOs, ServerTokens: c.b.Endpoint.UseServerTokenCount,
		Budget: measure.DefaultBudget / int64(max(1, len(p.Phases))), // each phase has a set until the run ends
	}
	for _, m := range c.b.Models.Items {
		p.Metrics.Models = append(p.Metrics.Models, m.Name)
	}
	p.Metrics.Slice = given(c.b.Artifacts.SliceDuration).Duration()
	for _, ph := range p.Phases {
		p.Metrics.Prefill = p.Metrics.Prefill || (ph.Kind == bench.Profiling && ph.Prefill > 0)
		p.Metrics.Replay = p.Metrics.Replay || (ph.Kind == bench.Profiling && ph.Replay != nil)
		p.Metrics.OpenLoop = p.Metrics.OpenLoop || (ph.Kind == bench.Profiling && ph.Open())
	}
	if _, err := measure.NewSet(p.Metrics); err != nil {
		c.problem("slos", "bad-enum", "%v", errors.Unwrap(err))
	}
	tokenDeadline(c, p)
	runSLOs(c, p)
	unwantedFindings(c, p)
}

// drawSeed returns a random seed for a run without one: 53 bits, so that a JSON number
// represents it exactly.
func drawSeed() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return int64(binary.LittleEndian.Uint64(b[:]) >> 11)
}
