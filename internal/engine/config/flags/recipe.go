// This file has AIPerf's presets of sweeps and searches: each turns a few limits and ranges into the
// sweep block of a document.

package flags

import (
	"cmp"
	"fmt"
	"maps"
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

// recipe is a preset.
type recipe struct {
	name string
	// streaming means that the recipe measures what only streams have. Some recipes
	// need it for some limits only.
	streaming bool
	// rate means that the recipe varies the rate of an open loop.
	rate bool
	// uses are the options that change the recipe, by their names on the command line without
	// dashes; the others are refused with it. Needs and problems name them.
	uses   string
	expand func(*expansion)
}

// recipes returns all recipes, in the order of their documentation.
func recipes() []recipe {
	const (
		limits      = " ttft-sla-ms itl-sla-ms tpot-sla-ms e2e-sla-ms error-rate-sla"
		concurrency = " concurrency-min concurrency-max"
		adaptive    = " search-max-iterations search-initial-points search-random-seed search-sla"
		capacity    = " slo-attainment-fraction search-precision search-start search-max-load-seconds search-warmup-seconds"
	)
	return []recipe{
		{"max-throughput-ttft-sla", true, false, "ttft-sla-ms" + concurrency + adaptive, throughputUnderTTFT},
		{"max-throughput-itl-sla", true, false, "itl-sla-ms tpot-sla-ms" + concurrency + adaptive, throughputUnderITL},
		{
			"max-concurrency-under-sla", false, false,
			"search-style concurrency-steps" + limits + concurrency + adaptive + capacity, concurrencyUnderSLA,
		},
		{
			"max-rate-under-sla", false, true,
			"rate-min rate-max search-style rate-steps" + limits + adaptive + capacity, rateUnderSLA,
		},
		{
			"max-goodput-under-slo", true, false,
			"ttft-sla-ms itl-sla-ms tpot-sla-ms e2e-sla-ms slo-attainment-fraction" + concurrency + adaptive,
			goodputUnderSLO,
		},
		{
			"concurrency-ramp", false, false, "concurrency-steps degradation-threshold degradation-metric-tag " +
				"degradation-stat search-sla" + concurrency, concurrencyRamp,
		},
		{"prefill-ttft-curve", true, false, "isl-min isl-max isl-steps search-sla", prefillCurve},
		{
			"decode-itl-curve", true, false,
			"concurrency-steps osl-min osl-max osl-steps search-sla" + concurrency, decodeSurface,
		},
		{"pareto-sweep", true, false, "isl-osl-pairs concurrency search-sla", paretoSweep},
	}
}

// has reports whether an option changes the recipe.
func (r recipe) has(option string) bool { return slices.Contains(strings.Fields(r.uses), option) }

// recipeNames returns the names of all recipes.
func recipeNames() []string {
	var out []string
	for _, r := range recipes() {
		out = append(out, r.name)
	}
	return out
}

// expansion is what a recipe becomes, and the state of becoming it.
type expansion struct {
	options   map[string]string
	streaming bool
	extra     []any              // filters of --search-sla
	sweep     map[string]any     // the block, as documents have it
	slos      map[string]float64 // objectives of single requests, by metric; nil = none
	problems  []recipeProblem
}

// recipeProblem is what is wrong with an option, or with the recipe as a whole.
type recipeProblem struct {
	option string // without dashes; empty = the recipe
	text   string
}

// expanded makes the block of a recipe out of options, whose names have no dashes in front.
// streaming is whether the endpoint streams. All problems are reported at once.
func (r recipe) expanded(options map[string]string, streaming bool) *expansion {
	e := &expansion{options: options, streaming: streaming, sweep: map[string]any{"recipeName": r.name}}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if !r.has(name) {
			e.fail(name, "the recipe "+r.name+" does not use it")
		}
	}
	if r.streaming && !streaming {
		e.fail("", "the recipe "+r.name+" measures tokens as they arrive and needs --streaming")
	}
	if e.has("search-sla") {
		e.extra = e.parse("search-sla")
	}
	e.limits()
	r.expand(e)
	return e
}

func (e *expansion) fail(option, text string) {
	e.problems = append(e.problems, recipeProblem{option, text})
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
		f, err := parseFilter(strings.TrimSpace(text))
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
	if !e.has("itl-sla-ms") && !e.has("tpot-sla-ms") {
		return 0, false
	}
	inf := math.Inf(1)
	a, b := e.number("itl-sla-ms", 0, inf), e.number("tpot-sla-ms", 0, inf)
	if a > 0 && b > 0 && a != b {
		e.fail("tpot-sla-ms", "is another name of --itl-sla-ms; the two have different values")
	}
	return cmp.Or(a, b), true
}
