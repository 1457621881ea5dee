package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/config/vary"
)

// consistentSeed is AIPerf's seed of studies whose document gives none.
const consistentSeed = 42

// Study is what a document asks for beyond one run.
type Study struct {
	Sweep    *sweep.Block // nil = repeats only
	MultiRun sweep.MultiRun
	// Variations are those of a sweep, none of a search; the document itself is the
	// only one of repeats.
	Variations []vary.Variation
	Sizing     sweep.Sizing // how long each variation is measured
	// Limits are the objectives of single requests, by metric, in the unit of the metric.
	Limits map[string]float64
	Seed   int64

	draft  *Draft          // as it was read
	loaded map[int]*Loaded // by the place of the variation among those that a check loads
}

// Loaded is the first trial of a variation, as the check of its study has loaded it.
type Loaded struct {
	Document *Document
	Warnings []problem.Problem
	Plan     any // that a check has compiled the document to; nil = none has
}

// SeedGiven reports whether the document names its seed. Another one follows from a default or is drawn.
func (s *Study) SeedGiven() bool {
	given := s.draft.Root.Get("randomSeed")
	return given != nil && given.Shape != tree.Null
}

// Adaptive reports whether the study is a search, whose variations follow from results.
func (s *Study) Adaptive() bool { return s.Sweep != nil && s.Sweep.Type == sweep.Adaptive }

// Paired reports whether the study compares two servers by pairs of requests.
func (s *Study) Paired() bool { return s.Sweep != nil && s.Sweep.Type == sweep.Paired }

// Checked returns the variations that a check of the document loads: all of them, or those of a
// search with the lowest and with the highest values.
func (s *Study) Checked() []vary.Variation {
	if s.Adaptive() {
		return s.Sweep.Corners(s.Sizing)
	}
	return s.Variations
}

// First returns the first trial of a variation, by its place among those of [Study.Checked]: the
// one that the study was checked with or, where that was not kept, a new one. The error is
// *problem.Invalid.
func (s *Study) First(place int) (*Loaded, error) {
	if kept := s.loaded[place]; kept != nil {
		return kept, nil
	}
	doc, warnings, err := s.Cell(&s.Checked()[place], 0)
	return &Loaded{Document: doc, Warnings: warnings}, err
}

// Take returns one trial of a variation, from 0. What the check of the study has loaded and
// compiled of it is the caller's from then on. The error is *problem.Invalid.
func (s *Study) Take(v *vary.Variation, trial int) (*Loaded, error) {
	if kept := s.loaded[v.Index]; kept != nil && trial == 0 && !s.Adaptive() {
		delete(s.loaded, v.Index)
		return kept, nil
	}
	doc, warnings, err := s.Cell(v, trial)
	return &Loaded{Document: doc, Warnings: warnings}, err
}

// Again returns one trial of a variation that earlier processes have begun: what was sent then is in the caches of the
// server. Its seed is a new one if the study asks a question; other studies have AIPerf's seeds. process is above 0
// and grows. The error is *problem.Invalid.
func (s *Study) Again(v *vary.Variation, trial, process int) (*Loaded, error) {
	seed := s.seed(v, trial)
	if s.Asks() {
		seed = hashed("%d:again:%d", seed, process)
	}
	doc, warnings, err := s.cell(v, trial, seed)
	return &Loaded{Document: doc, Warnings: warnings}, err
}

// Asks reports whether the study asks a question, and draws its seeds for that.
func (s *Study) Asks() bool {
	return asks(s.Sweep, s.MultiRun.Convergence) || s.Sweep != nil && s.Sweep.Planner == sweep.Capacity
}

// hashed returns a seed that follows from a text.
func hashed(format string, args ...any) int64 {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return int64(binary.BigEndian.Uint64(sum[:8]) & (1<<63 - 1))
}

// A study keeps what its check has loaded, so that nothing is loaded and compiled twice, up to
// keptText bytes of documents in all, each with what a small one takes as a plan: many studies
// may wait for a long time.
const (
	keptText = 4 << 20
	planText = 16 << 10
)

// Text returns the document as it was read, to be stored and read again, see
// [Draft.Text].
func (s *Study) Text() json.RawMessage { return s.draft.Text() }

// Cell returns the document of one trial of a variation, from 0. The error is
// *problem.Invalid.
func (s *Study) Cell(v *vary.Variation, trial int) (*Document, []problem.Problem, error) {
	return s.cell(v, trial, s.seed(v, trial))
}

// cell returns the document of one trial of a variation with a seed.
func (s *Study) cell(v *vary.Variation, trial int, seed int64) (*Document, []problem.Problem, error) {
	draft, err := s.draft.Vary(slices.Concat(v.Values, v.Settings))
	if err != nil {
		return nil, nil, err
	}
	if s.Paired() && v.Index == 1 { // it is no value of the variation, which is shown: it may have secrets
		if err := draft.assign("benchmark", s.draft.Root.Get("sweep").Get("b").Clone()); err != nil {
			return nil, nil, err
		}
	}
	follow(s.draft.Root, draft.Root)
	if trial > 0 && s.MultiRun.DisableWarmupAfterFirst {
		if list := draft.Root.Get("benchmark").Get("phases"); list != nil {
			list.Items = slices.DeleteFunc(list.Items, isWarmup)
		}
	}
	draft.Root.Set("randomSeed", &tree.Node{Shape: tree.Number, Scalar: strconv.FormatInt(seed, 10)})
	return draft.Load()
}

// seed returns the seed of a trial, by AIPerf's rules: that of the study plus the index of
// the variation, or a hash of the label for variations that follow from results and for
// trials of different seeds.
func (s *Study) seed(v *vary.Variation, trial int) int64 {
	label := v.Label
	switch {
	case s.Paired():
		return s.Seed
	case s.MultiRun.VarySeedPerTrial:
		label += ":trial:" + strconv.Itoa(trial)
	case s.Sweep == nil, s.Sweep.SameSeed:
		return s.Seed
	case !s.Adaptive():
		return s.Seed + int64(v.Index)
	}
	return hashed("%d:variation:%s", s.Seed, label)
}

// follow gives the warm-up the varied load of the profiling phase, if one flag gave both
// their load.
func follow(before, after *tree.Node) {
	main := mainPhase(before)
	if main == nil {
		return
	}
	varied := mainPhase(after)
	for _, phase := range phasesOf(after) {
		if !isWarmup(phase) || varied == nil {
			continue
		}
		for _, field := range []string{"concurrency", "prefillConcurrency", "rate"} {
			own, base, now := phase.Get(field), main.Get(field), varied.Get(field)
			if own != nil && base != nil && now != nil && base.Flag != "" && own.Flag == base.Flag {
				phase.Set(field, now.Clone())
			}
		}
	}
}

// phasesOf returns the phases of a document in the long form.
func phasesOf(root *tree.Node) []*tree.Node {
	if list := root.Get("benchmark").Get("phases"); list != nil {
		return list.Items
	}
	return nil
}

// mainPhase returns the first phase that is not a warm-up, or nil.
func mainPhase(root *tree.Node) *tree.Node {
	for _, p := range phasesOf(root) {
		if p.Shape == tree.Object && !isWarmup(p) {
			return p
		}
	}
	return nil
}

func isWarmup(phase *tree.Node) bool { return tree.PhaseKind(phase) == "warmup" }

// checkStudy checks the blocks of studies.
func checkStudy(in *input) {
	d := in.doc
	if d.Sweep != nil {
		d.Sweep.Check(in.Decoder)
	}
	if d.Repeats != nil {
		d.Repeats.Apply(in.Decoder, &d.MultiRun, d.Sweep != nil && d.Sweep.Type == sweep.Adaptive)
		d.Repeats = nil
	}
	d.MultiRun.Check(in.Decoder, d.Sweep != nil, d.Sweep != nil && d.Sweep.Type == sweep.Adaptive)
	checkCapacity(in)
	checkPaired(in)
	if conv := d.MultiRun.Convergence; conv != nil && conv.Mode == sweep.Distribution && d.Benchmark.Artifacts.Level == "summary" {
		in.Conflict("multiRun.convergence.mode", "needs the records of the runs; the export level is summary")
	} else if conv != nil && conv.Mode == sweep.Distribution && d.Benchmark.Artifacts.KeepRecords != "all" {
		in.Conflict("multiRun.convergence.mode",
			"needs the records of all requests; artifacts.keepRecords is "+d.Benchmark.Artifacts.KeepRecords)
	}
}

// checkCapacity checks what the planner capacity needs: objectives, requests that can be looked
// at one by one, and a phase that it can lengthen.
func checkCapacity(in *input) {
	b := &in.doc.Benchmark
	if s := in.doc.Sweep; s == nil || s.Planner != sweep.Capacity {
		return
	}
	if len(b.SLOs) == 0 && !in.Failed["benchmark.slos"] {
		in.require("benchmark.slos", "slos: the planner capacity needs objectives of requests, for example time_to_first_token: 500")
	}
	if b.Artifacts.Level == "summary" || b.Artifacts.KeepRecords != "all" {
		in.Conflict("benchmark.artifacts", "the planner capacity reads the records of all requests; export level and keepRecords leave some out")
	}
	if in.doc.MultiRun.NumRuns > 1 {
		in.Conflict("multiRun.numRuns", "the planner capacity repeats loads itself")
	}
	if of, own := in.doc.RandomSeed, in.doc.Sweep.RandomSeed; of != nil && own != nil && *of != *own {
		in.Conflict("sweep.randomSeed", fmt.Sprintf("the planner capacity has one seed, from which those of its probes "+
			"follow; randomSeed is %d", *of))
	}
	profiling := 0
	for i := range b.Phases {
		p, path := &b.Phases[i], PhasePath(i)
		if phaseKind(p) == "warmup" {
			continue
		}
		profiling++
		for _, name := range []string{"requests", "sessions", "cancellation", "rateSeries", "rateRamp", "concurrencyRamp"} {
			if in.Has(path + "." + name) {
				in.Conflict(path+"."+name, "the planner capacity measures for a time (duration), at a constant load")
			}
		}
	}
	if profiling > 1 {
		in.Conflict("benchmark.phases", "the planner capacity takes one profiling phase")
	}
}

// checkPaired checks what pairs of requests need: arrivals that do not depend on a server, and the same requests in the
// same order on both sides.
func checkPaired(in *input) {
	b := &in.doc.Benchmark
	if s := in.doc.Sweep; s == nil || s.Type != sweep.Paired {
		return
	}
	if in.doc.MultiRun.NumRuns > 1 {
		in.Conflict("multiRun.numRuns", "a sweep of type ab measures both servers once")
	}
	profiling := 0
	for i := range b.Phases {
		p, path := &b.Phases[i], PhasePath(i)
		if p.Seamless {
			in.Conflict(path+".seamless", "both servers begin a phase at the same time in a sweep of type ab")
		}
		if phaseKind(p) == "warmup" {
			if p.Requests == nil && p.Sessions == nil {
				in.Conflict(path, "a sweep of type ab warms both servers up with the same requests: give requests in place of a duration")
			}
			continue
		}
		profiling++
		inferred := p.Type == "" && p.Users == nil && (p.Rate != nil || p.SessionRate != nil) // poisson or gamma
		if !inferred && !typeOf(in, p).rated || p.Type == UserCentric {
			in.Conflict(path, "a sweep of type ab sends the same requests to both servers: give a rate, "+
				"because with a concurrency the faster server would get more of them")
		}
		checkTurns(in, p, path)
		if p.Saturation == "drop" {
			in.Conflict(path+".saturation", "a sweep of type ab sends the same requests to both servers, and each would leave out others")
		}
		if in.Has(path + ".duration") {
			in.Conflict(path+".duration", "a sweep of type ab ends when the answer is known, or after sweep.maxLoadSeconds")
		}
		for _, name := range []string{"cancellation", "rateSeries"} {
			if in.Has(path + "." + name) {
				in.Conflict(path+"."+name, "a sweep of type ab compares complete requests at a constant load")
			}
		}
	}
	if profiling > 1 {
		in.Conflict("benchmark.phases", "a sweep of type ab takes one profiling phase")
	}
}

// leastTurn is the number of arrivals that a turn of a crossover has on average, at least: about twice as many as a
// block has, so that each block is one turn of both servers.
const leastTurn = 40

// checkTurns checks a phase of two servers that do not get a request at the same time.
func checkTurns(in *input, p *Phase, path string) {
	s := in.doc.Sweep
	if s.Design != sweep.Mirror && in.Has(path+".rateRamp") {
		in.Conflict(path+".rateRamp", "the design "+s.Design+" compares servers at a constant load")
	}
	rate := cmp.Or(p.Rate, p.SessionRate)
	if s.Design != sweep.Crossover || rate == nil || *rate*s.BlockSeconds >= leastTurn {
		return
	}
	at := "sweep.blockSeconds"
	if !in.Has(at) {
		at = path + ".rate"
	}
	in.Conflict(at, fmt.Sprintf(
		"a turn of the design crossover has %d arrivals or more on average; %v per second for %v s are %v",
		leastTurn, *rate, s.BlockSeconds, *rate*s.BlockSeconds))
}

// fillStudy sets the seed of a study. One that answers a question has it drawn unless one is given: the prompts of a
// fixed seed would be in the prefix cache of a server that was asked before.
func fillStudy(in *input) {
	d := in.doc
	if asks(d.Sweep, d.MultiRun.Convergence) && !in.Has("multiRun.setConsistentSeed") {
		return
	}
	if d.Sweep != nil && d.Sweep.Planner == sweep.Capacity {
		if d.RandomSeed == nil && d.Sweep.RandomSeed != nil {
			d.RandomSeed = d.Sweep.RandomSeed
			in.infer("randomSeed", *d.RandomSeed, "a search for a capacity has one seed, and sweep.randomSeed gives it")
		}
		return
	}
	if d.RandomSeed == nil && (d.Sweep != nil || d.MultiRun.NumRuns > 1) && d.MultiRun.SetConsistentSeed {
		d.RandomSeed = new(int64(consistentSeed))
		in.infer("randomSeed", consistentSeed,
			"the runs of a study are to be comparable; multiRun.setConsistentSeed: false draws one")
	}
}

// asks reports whether a document asks for a number that is known well enough, or which of two servers is better:
// repeats until the mean is precise, and pairs. Searches for a capacity are the third kind.
func asks(b *sweep.Block, c *sweep.Convergence) bool {
	return b != nil && b.Type == sweep.Paired || c != nil && c.Mode == sweep.Precise
}

// settings returns how a variation is measured.
func (s *Study) settings(v *vary.Variation) []vary.Assignment {
	if s.Paired() {
		return sweep.PairedSettings(s.Sweep.MaxLoadSeconds)
	}
	return s.Sizing.Settings(v.Values)
}

// showsSecret reports whether the values of a variation contain a secret of its document.
func showsSecret(d *Document, v *vary.Variation) bool {
	for _, a := range v.Values {
		text := sweep.Text(a.Value)
		if slices.ContainsFunc(d.Secrets(), func(s string) bool { return s != "" && strings.Contains(text, s) }) {
			return true
		}
	}
	return false
}

// unrendered returns the scenarios of a sweep with their templates, which are evaluated
// for each variation. Their names are those of the document.
func unrendered(in *input, draft *Draft, rendered []sweep.Scenario) []sweep.Scenario {
	var raw struct {
		Sweep sweep.Block `json:"sweep"`
	}
	block := draft.Root.Get("sweep")
	if block == nil || block.Get("runs") == nil {
		return rendered
	}
	only := tree.ObjectNode(tree.Member{Name: "sweep", Value: tree.ObjectNode(tree.Member{Name: "runs", Value: block.Get("runs")})})
	newDecoder(new(problem.Report), in.options, false).Document(only, &raw)
	if len(raw.Sweep.Runs) != len(rendered) {
		return rendered // a template makes the list
	}
	for i := range raw.Sweep.Runs {
		raw.Sweep.Runs[i].Name = rendered[i].Name
	}
	return raw.Sweep.Runs
}

// stopped reports whether nobody waits for the document any more.
func isStopped(in *input) bool {
	select {
	case <-in.options.Done:
		return true
	default:
		return false
	}
}

// makeStudy expands a valid document that asks for several runs, and checks each.
func makeStudy(in *input, draft *Draft) {
	d := in.doc
	if d.Sweep == nil && d.MultiRun.NumRuns < 2 {
		return
	}
	s := &Study{Sweep: d.Sweep, MultiRun: d.MultiRun, Limits: d.Benchmark.SLOs, draft: draft}
	if d.RandomSeed != nil {
		s.Seed = *d.RandomSeed
	}
	d.study = s
	if s.Sweep == nil {
		s.Variations = []vary.Variation{{Label: "base"}}
		return
	}
	s.Sweep.Runs = unrendered(in, draft, s.Sweep.Runs)
	s.Sizing = sweep.SizingOf(s.Sweep, draft.Root)
	s.Variations = s.Sweep.Expand(s.Seed)
	for i := range s.Variations {
		s.Variations[i].Settings = s.settings(&s.Variations[i])
	}
	checked, kept := s.Checked(), 0
	if d.RandomSeed != nil { // else the compiler draws one, and the trials follow it
		s.loaded, kept = make(map[int]*Loaded), keptText/(len(s.Text())+planText)
	}
	at := in.Where("sweep")
	if len(s.Sweep.Parameters) == 1 {
		at = s.Sweep.Parameters[0].Place
	}
	seen := make(map[string]bool)
	for i := range checked {
		if isStopped(in) {
			in.Fail(at, problem.CodeOutOfRange, "the check of the variations was ended after %d of %d", i, len(checked))
			return
		}
		doc, warnings, err := s.Cell(&checked[i], 0)
		if err == nil && showsSecret(doc, &checked[i]) {
			in.Fail(at, problem.CodeNotAllowed, "a secret cannot vary: the values of variations are stored and shown")
			return
		}
		if err == nil && i < kept {
			s.loaded[i] = &Loaded{Document: doc, Warnings: warnings}
		}
		var invalid *problem.Invalid
		if !errors.As(err, &invalid) {
			continue
		}
		label := checked[i].Label
		if label == sweep.Label(checked[i].Values) {
			label = sweep.Short(checked[i].Values)
		}
		for _, p := range invalid.Problems {
			if text := p.Detail; !seen[text] {
				seen[text] = true
				in.Fail(at, p.Code, "%s: %s", problem.Clip(label), strings.TrimPrefix(text, label+": "))
			}
		}
	}
}
