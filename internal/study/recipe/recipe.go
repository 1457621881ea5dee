// Package recipe has AIPerf's presets of sweeps and searches: each turns a few limits and
// ranges into the sweep block of a document.
package recipe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Paths that recipes vary.
const (
	concurrencyPath = "phases.profiling.concurrency"
	ratePath        = "phases.profiling.rate"
	islPath         = "datasets.main.prompts.isl.mean"
	oslPath         = "datasets.main.prompts.osl.mean"
)

// The options of recipes, by their names on the command line without dashes, besides those of the
// ends and the number of steps of an axis. Needs and problems name them.
const (
	optTTFT              = "ttft-sla-ms"
	optITL               = "itl-sla-ms"
	optTPOT              = "tpot-sla-ms"
	optE2E               = "e2e-sla-ms"
	optErrors            = "error-rate-sla"
	optAttainment        = "slo-attainment-fraction"
	optStyle             = "search-style"
	optDegradation       = "degradation-threshold"
	optDegradationMetric = "degradation-metric-tag"
	optDegradationStat   = "degradation-stat"
	optPairs             = "isl-osl-pairs"
	optConcurrency       = "concurrency"
	optIterations        = "search-max-iterations"
	optInitial           = "search-initial-points"
	optSeed              = "search-random-seed"
	optFilters           = "search-sla"
)

// Recipe is a preset.
type Recipe struct {
	Name string
	Help string
	// Streaming means that the recipe measures what only streams have. Some recipes
	// need it for some limits only.
	Streaming bool
	// Rate means that the recipe varies the rate of an open loop.
	Rate bool
	// Uses are the options that change the recipe; the others are refused with it.
	Uses   []string
	expand func(*expansion)
}

// Recipes returns all recipes, in the order of their documentation.
func Recipes() []Recipe {
	limits := []string{optTTFT, optITL, optTPOT, optE2E, optErrors}
	concurrency := []string{"concurrency-min", "concurrency-max"}
	adaptive := []string{optIterations, optInitial, optSeed, optFilters}
	return []Recipe{
		{"max-throughput-ttft-sla", "the highest output throughput at which the 95th percentile of the TTFT is below --ttft-sla-ms", true, false,
			slices.Concat([]string{optTTFT}, concurrency, adaptive), throughputUnderTTFT},
		{"max-throughput-itl-sla", "the highest output throughput at which the 95th percentile of the inter-token latency is below --itl-sla-ms", true, false,
			slices.Concat([]string{optITL, optTPOT}, concurrency, adaptive), throughputUnderITL},
		{"max-concurrency-under-sla", "the highest concurrency that keeps all given limits", false, false,
			slices.Concat(limits, concurrency, []string{optStyle, "concurrency-steps"}, adaptive), concurrencyUnderSLA},
		{"max-rate-under-sla", "the highest rate of requests, in an open loop, that keeps all given limits", false, true,
			slices.Concat(limits, []string{"rate-min", "rate-max", optStyle, "rate-steps"}, adaptive), rateUnderSLA},
		{"max-goodput-under-slo", "the highest goodput at which enough requests keep all of --ttft-sla-ms, --itl-sla-ms and --e2e-sla-ms", true, false,
			slices.Concat([]string{optTTFT, optITL, optTPOT, optE2E, optAttainment}, concurrency, adaptive), goodputUnderSLO},
		{"concurrency-ramp", "the concurrency from which the latency is worse than that of the lowest ones by --degradation-threshold", false, false,
			slices.Concat(concurrency, []string{"concurrency-steps", optDegradation, optDegradationMetric, optDegradationStat, optFilters}), concurrencyRamp},
		{"prefill-ttft-curve", "the TTFT by prompt length at concurrency 1", true, false,
			[]string{"isl-min", "isl-max", "isl-steps", optFilters}, prefillCurve},
		{"decode-itl-curve", "the inter-token latency by concurrency and output length", true, false,
			slices.Concat(concurrency, []string{"concurrency-steps", "osl-min", "osl-max", "osl-steps", optFilters}), decodeSurface},
		{"pareto-sweep", "TTFT against output throughput for several pairs of lengths and concurrencies", true, false,
			[]string{optPairs, optConcurrency, optFilters}, paretoSweep},
	}
}

// Names returns the names of all recipes.
func Names() []string {
	var out []string
	for _, r := range Recipes() {
		out = append(out, r.Name)
	}
	return out
}

// Problem is what is wrong with an option, or with the recipe as a whole.
type Problem struct {
	Option string // without dashes; empty = the recipe
	Text   string
}

// Expansion is what a recipe becomes.
type Expansion struct {
	Sweep map[string]any     // the block, as documents have it
	SLOs  map[string]float64 // objectives of single requests, by metric; nil = none
}

// expansion is the state of an expansion.
type expansion struct {
	options   map[string]string
	streaming bool
	problems  []Problem
	extra     []any // filters of --search-sla
	sweep     map[string]any
	slos      map[string]float64
}

// Expand makes the block of a recipe out of options, whose names have no dashes in front.
// streaming is whether the endpoint streams. All problems are returned at once.
func (r Recipe) Expand(options map[string]string, streaming bool) (Expansion, []Problem) {
	e := &expansion{options: options, streaming: streaming, sweep: map[string]any{"recipeName": r.Name}}
	names := make([]string, 0, len(options))
	for name := range options {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(r.Uses, name) {
			e.fail(name, "the recipe "+r.Name+" does not use it")
		}
	}
	if r.Streaming && !streaming {
		e.fail("", "the recipe "+r.Name+" measures tokens as they arrive and needs --streaming")
	}
	if e.has(optFilters) {
		e.extra = e.parse(optFilters)
	}
	e.limits()
	r.expand(e)
	return Expansion{e.sweep, e.slos}, e.problems
}

func (e *expansion) fail(option, text string) {
	e.problems = append(e.problems, Problem{option, text})
}

func (e *expansion) has(name string) bool { _, ok := e.options[name]; return ok }

// number returns an option that must lie between 0 and a bound, both excluded, or a default.
func (e *expansion) number(name string, otherwise, below float64) float64 {
	text, ok := e.options[name]
	if !ok {
		return otherwise
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < below) {
		requirement := "must be a number greater than 0"
		if !math.IsInf(below, 1) {
			requirement += fmt.Sprintf(" and less than %v", below)
		}
		e.fail(name, requirement+", not "+strconv.Quote(text))
		return otherwise
	}
	return v
}

// whole returns an option that must be a whole number of at least some value, or a default.
func (e *expansion) whole(name string, otherwise, least int) int {
	text, ok := e.options[name]
	if !ok {
		return otherwise
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < least {
		e.fail(name, fmt.Sprintf("must be a whole number of at least %d, not %s", least, strconv.Quote(text)))
		return otherwise
	}
	return v
}

// choice returns an option that must be one of a list; the first is the default.
func (e *expansion) choice(name string, accepted ...string) string {
	text, ok := e.options[name]
	if !ok {
		return accepted[0]
	}
	if !slices.Contains(accepted, text) {
		e.fail(name, "must be one of "+strings.Join(accepted, ", ")+", not "+strconv.Quote(text))
		return accepted[0]
	}
	return text
}

// steps returns whole numbers from lo to hi with equal ratios, without duplicates; both
// ends are exact.
func (e *expansion) steps(axis string, lo, hi, n int) []int {
	lo, hi = e.bounds(axis, lo, hi)
	n = e.whole(axis+"-steps", n, 2)
	if n > 100 {
		e.fail(axis+"-steps", "must be at most 100")
		n = 100
	}
	out := make([]int, n)
	for i := range out {
		out[i] = int(math.Round(float64(lo) * math.Pow(float64(hi)/float64(lo), float64(i)/float64(n-1))))
	}
	out[0], out[n-1] = lo, hi
	return slices.Compact(out)
}

// bounds returns the ends of an axis.
func (e *expansion) bounds(axis string, lo, hi int) (int, int) {
	from, to := e.whole(axis+"-min", lo, 1), e.whole(axis+"-max", hi, 1)
	if from < to {
		return from, to
	}
	at := axis + "-min"
	if !e.has(at) {
		at = axis + "-max"
	}
	e.fail(at, fmt.Sprintf("--%s-min must be less than --%s-max: %d to %d", axis, axis, from, to))
	return lo, max(hi, lo+1)
}

// limits sets the filters of the block: the given ones and those of --search-sla.
func (e *expansion) limits(filters ...any) {
	if all := slices.Concat(filters, e.extra); len(all) > 0 {
		e.sweep["slaFilters"] = all
	}
}

// parse reads the filters of an option.
func (e *expansion) parse(option string) []any {
	var out []any
	for text := range strings.SplitSeq(e.options[option], ",") {
		f, err := ParseFilter(strings.TrimSpace(text))
		if err != nil {
			e.fail(option, err.Error())
			continue
		}
		out = append(out, f)
	}
	return out
}

// itl returns the limit of the inter-token latency, which has two names.
func (e *expansion) itl() (float64, bool) {
	if !e.has(optITL) && !e.has(optTPOT) {
		return 0, false
	}
	inf := math.Inf(1)
	a, b := e.number(optITL, 0, inf), e.number(optTPOT, 0, inf)
	if a > 0 && b > 0 && a != b {
		e.fail(optTPOT, "is another name of --itl-sla-ms; the two have different values")
	}
	return cmp.Or(a, b), true
}
