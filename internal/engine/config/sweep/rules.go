package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/plainjson"
)

// rules checks the blocks of a document that has been decoded.
type rules struct {
	*schema.Decoder
}

// place returns the place of a path, or of its nearest given parent.
func (r rules) place(path string) tree.Place {
	for ; path != "" && !r.Has(path); path = path[:max(0, strings.LastIndexByte(path, '.'))] {
	}
	return r.Given[path].Place
}

// require reports a missing value.
func (r rules) require(path, detail string) {
	r.Fail(r.place(path), problem.CodeRequired, "%s", detail)
}

// requireAll reports members that an object at a path must have and does not.
func (r rules) requireAll(path string, names ...string) {
	for _, name := range names {
		if at := path + "." + name; !r.Has(at) {
			r.require(at, name+" is required")
		}
	}
}

// fields names the members of a block that only some types have.
func fields() map[string][]string {
	return map[string][]string{
		"parameters": {Grid, Zip}, "runs": {Scenarios}, "samples": {Sobol, LatinHypercube}, "seed": {Sobol, LatinHypercube},
		"dimensions": {Sobol, LatinHypercube}, "labelFormat": {Sobol, LatinHypercube}, "scramble": {Sobol}, "optimization": {LatinHypercube},
		"planner": {Adaptive}, "searchSpace": {Adaptive}, "objectives": {Adaptive}, "outcomeConstraints": {Adaptive}, "slaTiers": {Adaptive},
		"maxIterations": {Adaptive}, "nInitialPoints": {Adaptive}, "improvementPatience": {Adaptive}, "plateauWindow": {Adaptive},
		"plateauThreshold": {Adaptive}, "randomSeed": {Adaptive}, "monotonicStabilityTrials": {Adaptive}, "slaReplicates": {Adaptive},
		"maxLoadSeconds": {Adaptive, Paired}, "design": {Paired}, "b": {Paired}, "blockSeconds": {Paired}, "margin": {Paired},
		"postProcess": {Grid, Zip, Scenarios}, "stopWhen": {Grid, Zip, Scenarios, Sobol, LatinHypercube},
		"iterationOrder": {Grid, Zip, Scenarios, Sobol, LatinHypercube}, "sameSeed": {Grid, Zip, Scenarios, Sobol, LatinHypercube},
	}
}

// Check reports what is wrong with a block that was decoded from the given member of
// the document.
func (b *Block) Check(d *schema.Decoder) {
	const path = "sweep"
	r := rules{d}
	if d.Failed[path+".type"] || !r.Has(path) {
		return
	}
	if !r.Has(path + ".type") {
		r.require(path+".type", "sweep: type is required: grid, zip, scenarios, sobol, latin_hypercube, adaptive_search or ab")
		return
	}
	for name, types := range fields() {
		if at := path + "." + name; r.Has(at) && !slices.Contains(types, b.Type) {
			r.Conflict(at, "a sweep of type "+b.Type+" has no "+name+"; it is for "+schema.ChoiceList(types))
		}
	}
	for i := range b.SLAFilters {
		b.SLAFilters[i].check(r, path+".slaFilters."+strconv.Itoa(i))
	}
	for i := range b.StopWhen {
		b.StopWhen[i].check(r, path+".stopWhen."+strconv.Itoa(i))
	}
	b.checkStop(r, path+".stopWhen")
	if r.Has(path+".maxFailures") && b.OnFailure == Abort {
		r.Conflict(path+".maxFailures", "onFailure: abort ends the sweep at the first failure")
	}
	switch b.Type {
	case Grid, Zip:
		b.checkParameters(r, path+".parameters")
	case Scenarios:
		b.checkScenarios(r, path+".runs")
	case Sobol, LatinHypercube:
		b.checkDesign(r, path)
	case Adaptive:
		b.checkSearch(r, path)
	case Paired:
		b.checkPaired(r, path)
	}
	if r.Has(path+".slaPrecision") && b.Type != Adaptive && !b.AutoRequests {
		r.Conflict(path+".slaPrecision", "needs autoRequests in a sweep that does not search")
	}
	if b.PostProcess != nil {
		b.PostProcess.check(r, path+".postProcess")
	}
}

// check checks one filter, and gives it the usual statistic if it has none.
func (f *Filter) check(r rules, path string) {
	r.requireAll(path, "metricTag", "op", "threshold")
	f.Stat = cmp.Or(f.Stat, DefaultStat)
}

func (b *Block) checkParameters(r rules, path string) {
	if r.Failed[path] {
		return
	}
	if len(b.Parameters) == 0 {
		r.require(path, "parameters: a sweep of type "+b.Type+" needs at least one path with values")
		return
	}
	total := 1
	for _, p := range b.Parameters {
		total = min(total*len(p.Values), MaxVariations+1)
		if b.Type == Grid {
			p.distinct(r)
		}
		if first := b.Parameters[0]; b.Type == Zip && len(p.Values) != len(first.Values) {
			r.Fail(p.Place, problem.CodeConflict,
				"%s: zip takes lists of equal length; this one has %d values and that of %s has %d",
				p.Path, len(p.Values), first.Path, len(first.Values))
		}
	}
	if b.Type == Zip {
		total = len(b.Parameters[0].Values)
	}
	if total > MaxVariations {
		r.Fail(r.place(path), problem.CodeOutOfRange, "parameters: a sweep can have at most %d variations", MaxVariations)
	}
	longest := 0
	for _, p := range b.Parameters {
		most := 0
		for _, v := range p.Values {
			most = max(most, len(Text(v)))
		}
		longest += len(p.Path) + most
	}
	if longest*total > schema.MaxSweepLabels {
		r.Fail(r.place(path), problem.CodeOutOfRange,
			"parameters: the labels of the variations have up to %d bytes each, at most %d KiB are accepted together; use runs, which have names", longest, schema.MaxSweepLabels>>10)
	}
	if b.Type == Zip {
		b.distinctRows(r, path)
	}
}

// distinct reports values that are given twice.
func (p *Parameter) distinct(r rules) {
	seen := make(map[string]bool)
	for _, v := range p.Values {
		if text := Text(v); seen[text] {
			r.Fail(p.Place, problem.CodeConflict, "%s: the value %s is given twice", p.Path, problem.Clip(text))
		} else {
			seen[text] = true
		}
	}
}

// distinctRows reports rows of a zip that are equal.
func (b *Block) distinctRows(r rules, path string) {
	seen := make(map[string]bool)
	for i := range b.Parameters[0].Values {
		var row []any
		for _, p := range b.Parameters {
			if i < len(p.Values) {
				row = append(row, p.Values[i])
			}
		}
		text, err := plainjson.Marshal(row)
		if err == nil && seen[string(text)] {
			r.Fail(r.place(path), problem.CodeConflict, "parameters: the variation %s is given twice",
				problem.Clip(string(text)))
		}
		seen[string(text)] = true
	}
}

func (b *Block) checkScenarios(r rules, path string) {
	if r.Failed[path] {
		return
	}
	if len(b.Runs) == 0 || len(b.Runs) > MaxVariations {
		r.Fail(r.place(path), problem.CodeRequired, "runs: a sweep of type scenarios needs 1 to %d runs", MaxVariations)
		return
	}
	seen := make(map[string]bool)
	for i, s := range b.Runs {
		if s.Name != "" && seen[s.Name] {
			r.Fail(r.place(path+"."+strconv.Itoa(i)), problem.CodeConflict, "the name %q is given twice", problem.Clip(s.Name))
		}
		seen[s.Name] = true
	}
}

func (b *Block) checkDesign(r rules, path string) {
	if !r.Has(path + ".samples") {
		r.require(path+".samples", "samples is required: the number of variations")
	}
	r.requireAll(path, "dimensions")
	seen := make(map[string]bool)
	for i := range b.Dimensions {
		d, at := &b.Dimensions[i], path+".dimensions."+strconv.Itoa(i)
		if d.Path != "" && seen[d.Path] {
			r.Conflict(at+".path", "the path "+d.Path+" is given twice")
		}
		seen[d.Path] = true
		d.check(r, at)
	}
}

// check checks one dimension.
func (d *Dimension) check(r rules, path string) {
	r.requireAll(path, "path")
	if r.Has(path + ".choices") {
		for _, name := range []string{"lo", "hi", "scale", "kind"} {
			if r.Has(path + "." + name) {
				r.Conflict(path+"."+name, "choices replace lo, hi, scale and kind")
			}
		}
		if len(d.Choices) == 0 && !r.Failed[path+".choices"] {
			r.require(path+".choices", "choices: needs at least one value")
		}
		return
	}
	if d.Lo == nil || d.Hi == nil {
		if !r.Failed[path+".lo"] && !r.Failed[path+".hi"] {
			r.require(path+".lo", "lo and hi are required, or choices")
		}
		return
	}
	switch {
	case !(*d.Lo < *d.Hi):
		r.Conflict(path+".lo", fmt.Sprintf("the lower end %v must be less than the upper end %v", *d.Lo, *d.Hi))
	case d.Scale == "log" && *d.Lo <= 0:
		r.Conflict(path+".lo", "must be greater than 0 with scale log")
	case d.Kind == "int" && math.Ceil(*d.Lo) > math.Floor(*d.Hi):
		r.Conflict(path+".lo", "there is no whole number between lo and hi")
	}
}

// Check reports what is wrong with the repeats of a document. sweep is whether the
// document has a sweep, adaptive whether that is a search.
func (m *MultiRun) Check(d *schema.Decoder, sweep, adaptive bool) {
	const path = "multiRun"
	r := rules{d}
	if m.NumRuns == 1 && !d.Failed[path+".numRuns"] {
		if m.CooldownSeconds > 0 {
			r.Conflict(path+".cooldownSeconds", "needs more than one run")
		}
		if !m.SetConsistentSeed && !sweep {
			r.Conflict(path+".setConsistentSeed", "needs more than one run or a sweep")
		}
		if !m.DisableWarmupAfterFirst {
			r.Conflict(path+".disableWarmupAfterFirst", "needs more than one run")
		}
		if m.VarySeedPerTrial {
			r.Conflict(path+".varySeedPerTrial", "needs more than one run")
		}
	}
	if m.ConfidenceLevel >= 1 {
		r.Conflict(path+".confidenceLevel", fmt.Sprintf("must be less than 1, not %v", m.ConfidenceLevel))
	}
	c := m.Convergence
	if c == nil {
		return
	}
	if c.Threshold != nil && *c.Threshold >= 1 {
		r.Conflict(path+".convergence.threshold", fmt.Sprintf("must be less than 1, not %v", *c.Threshold))
	}
	switch {
	case c.Mode == Precise && c.Metric != "" && !r.Has(path+".convergence"): // it came from repeats
	case !r.Has(path + ".convergence.metric"):
		r.require(path+".convergence.metric", "metric is required")
	case m.NumRuns == 1 && !d.Failed[path+".numRuns"]:
		r.Conflict(path+".convergence.metric", "needs more than one run")
	case adaptive:
		r.Conflict(path+".convergence.metric",
			"does not go with an adaptive search, which decides itself how often it repeats")
	}
	if c.Mode == Precise {
		c.MinRuns = cmp.Or(c.MinRuns, defaultPreciseRuns)
	}
	c.Mode, c.Stat, c.MinRuns = cmp.Or(c.Mode, CIWidth), cmp.Or(c.Stat, "avg"), max(c.MinRuns, DefaultMinRuns)
}

// loads are the short names of the fields whose larger values are more load.
func loads() []string {
	return []string{"concurrency", "prefill_concurrency", "rate", "session_rate", "users"}
}

// IsLoad reports whether a larger value of a path is more load.
func IsLoad(path string) bool { return slices.Contains(loads(), tree.SnakeCase(Name(path))) }

// varies returns the paths that a sweep gives values.
func (b *Block) varies() []string {
	var paths []string
	for _, p := range b.Parameters {
		paths = append(paths, p.Path)
	}
	for _, d := range b.Dimensions {
		paths = append(paths, d.Path)
	}
	for _, r := range b.Runs {
		for _, a := range r.Values {
			paths = append(paths, a.Path)
		}
	}
	return paths
}

// checkStop reports conditions that can never end a sweep.
func (b *Block) checkStop(r rules, path string) {
	if len(b.StopWhen) > 0 && b.Type != Adaptive && !slices.ContainsFunc(b.varies(), IsLoad) {
		r.Conflict(path, "needs a sweep over the load: "+schema.ChoiceList(loads()))
	}
}
