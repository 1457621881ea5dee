package flags

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/sweep"
)

// object is part of a document.
type object = map[string]any

// parseFilter reads a filter in the notation of the command line, tag:stat:op:threshold.
// Names and numbers of a document are checked when it is loaded.
func parseFilter(text string) (map[string]any, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 4 || slices.Contains(parts, "") {
		return nil, fmt.Errorf("must be metric:statistic:operator:threshold, for example time_to_first_token:p95:lt:200, not %q", text)
	}
	threshold, err := strconv.ParseFloat(parts[3], 64)
	if err != nil || math.IsNaN(threshold) || math.IsInf(threshold, 0) {
		return nil, fmt.Errorf("the threshold must be a number, not %q", parts[3])
	}
	return filter(parts[0], parts[1], parts[2], threshold), nil
}

// parseDimension reads a dimension in the notation of the command line, path:lo,hi[:int|real].
func parseDimension(text string) (map[string]any, error) {
	wrong := fmt.Errorf("must be path:low,high or path:low,high:int, for example phases.profiling.concurrency:1,256:int, not %q", text)
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return nil, wrong
	}
	low, high, _ := strings.Cut(parts[1], ",")
	lo, err := strconv.ParseFloat(strings.TrimSpace(low), 64)
	hi, err2 := strconv.ParseFloat(strings.TrimSpace(high), 64)
	if err != nil || err2 != nil || math.IsNaN(lo+hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return nil, wrong
	}
	out := object{"path": parts[0], "lo": lo, "hi": hi}
	if len(parts) == 3 {
		out["kind"] = parts[2]
	}
	return out, nil
}

func filter(metric, stat, op string, threshold float64) object {
	return object{"metricTag": metric, "stat": stat, "op": op, "threshold": threshold}
}

// axis is a kind of load that a recipe varies.
type axis struct {
	name   string // the beginning of its options
	path   string
	metric string // what a Bayesian search maximizes
}

func concurrencyAxis() axis { return axis{"concurrency", concurrencyPath, "output_token_throughput"} }

func rateAxis() axis { return axis{"rate", ratePath, "request_throughput"} }

// search makes the block a search over a load.
func (e *expansion) search(over axis, planner string, iterations int) {
	lo, hi := e.bounds(over.name, 1, 1000)
	e.sweep["type"] = sweep.Adaptive
	e.sweep["planner"] = planner
	e.sweep["searchSpace"] = []any{object{"path": over.path, "lo": lo, "hi": hi, "kind": "int", "prior": "log-uniform"}}
	e.sweep["objectives"] = []any{object{"metric": over.metric, "stat": "avg", "direction": "maximize"}}
	e.sweep["maxIterations"] = e.whole("search-max-iterations", iterations, 2)
	if e.has("search-random-seed") {
		e.sweep["randomSeed"] = e.whole("search-random-seed", 0, 0)
	}
	if planner == sweep.Bayesian || planner == sweep.Optuna {
		e.sweep["nInitialPoints"] = e.whole("search-initial-points", min(sweep.DefaultInitialPoints, e.sweep["maxIterations"].(int)-1), 1)
	} else if e.has("search-initial-points") {
		e.fail("search-initial-points", "the planner "+planner+" has no initial points")
	}
}

// grid makes the block a grid.
func (e *expansion) grid(parameters map[string][]int) {
	e.sweep["type"] = sweep.Grid
	e.sweep["parameters"] = parameters
}

// post adds a file that is derived from the results.
func (e *expansion) post(handler, file string, params object) {
	e.sweep["postProcess"] = object{"handler": handler, "outputFilename": file, "params": params}
}

// limit returns a limit of a recipe that cannot do without it.
func (e *expansion) limit(option string) float64 {
	if !e.has(option) {
		e.fail("", "the recipe "+e.sweep["recipeName"].(string)+" needs --"+option)
	}
	return e.number(option, 1, math.Inf(1))
}

func throughputUnderTTFT(e *expansion) {
	e.search(concurrencyAxis(), sweep.Bayesian, 30)
	e.limits(filter("time_to_first_token", "p95", "lt", e.limit("ttft-sla-ms")))
}

func throughputUnderITL(e *expansion) {
	e.search(concurrencyAxis(), sweep.Bayesian, 30)
	itl, ok := e.itl()
	if !ok {
		e.fail("", "the recipe max-throughput-itl-sla needs --itl-sla-ms")
	}
	e.limits(filter("inter_token_latency", "p95", "lt", itl))
}

func concurrencyUnderSLA(e *expansion) { e.underSLA(concurrencyAxis()) }

func rateUnderSLA(e *expansion) { e.underSLA(rateAxis()) }

// underSLA makes the block look for the highest load that keeps the limits, by one of
// several algorithms.
func (e *expansion) underSLA(over axis) {
	if e.options["search-style"] == sweep.Capacity {
		e.capacity(over)
		return
	}
	for _, name := range capacityOptions() {
		if e.has(name) {
			e.fail(name, "is for --search-style capacity")
		}
	}
	e.limits(e.filters()...)
	style := e.choice("search-style", "smooth_isotonic", "monotonic", "bo", "optuna", "grid", sweep.Capacity)
	if steps := over.name + "-steps"; style != "grid" && e.has(steps) {
		e.fail(steps, "is for --search-style grid")
	}
	switch style {
	case "smooth_isotonic":
		e.search(over, sweep.SmoothIsotonic, 30)
	case "monotonic":
		e.search(over, sweep.MonotonicSLA, 20)
	case "bo":
		e.search(over, sweep.Bayesian, 30)
	case "optuna":
		e.search(over, sweep.Optuna, 30)
	case "grid":
		for _, name := range []string{"search-max-iterations", "search-initial-points", "search-random-seed"} {
			if e.has(name) {
				e.fail(name, "a grid has nothing to search for")
			}
		}
		e.grid(map[string][]int{over.path: e.steps(over.name, 1, 1000, 8)})
		e.post(sweep.SLABreach, "sla_breach.json", object{"sweptParam": over.path, "slaFilters": e.sweep["slaFilters"]})
	}
}

// capacityOptions are the options of recipes that only a search for a capacity uses.
func capacityOptions() []string {
	return []string{"slo-attainment-fraction", "search-precision", "search-start", "search-max-load-seconds", "search-warmup-seconds"}
}

// capacity makes the block a search for the load at which a share of the requests meets limits:
// those of the recipe, or else the objectives that the document has.
func (e *expansion) capacity(over axis) {
	inf := math.Inf(1)
	for _, unused := range [][2]string{
		{"search-sla", "the search for a capacity is judged request by request; give objectives with --goodput"},
		{"error-rate-sla", "errors miss the objectives of a search for a capacity; give --slo-attainment-fraction"},
		{"search-initial-points", "the planner capacity has no initial points"},
		{over.name + "-steps", "is for --search-style grid"},
	} {
		if e.has(unused[0]) {
			e.fail(unused[0], unused[1])
		}
	}
	slos := make(map[string]float64)
	if e.has("ttft-sla-ms") {
		slos["time_to_first_token"] = e.number("ttft-sla-ms", 1, inf)
	}
	if itl, ok := e.itl(); ok {
		slos["inter_token_latency"] = itl
	}
	if len(slos) > 0 && !e.streaming {
		e.fail("", "the limits of TTFT and of inter-token latency need --streaming")
	}
	share := sweep.DefaultAttainment
	if e.has("e2e-sla-ms") {
		if len(slos) > 0 && !e.has("slo-attainment-fraction") {
			e.fail("e2e-sla-ms", "is met by 99 % of requests, other limits by 95 %; give --slo-attainment-fraction, which holds for all")
		}
		slos["request_latency"], share = e.number("e2e-sla-ms", 1, inf), 0.99
	}
	if len(slos) > 0 {
		e.slos = slos
	}
	lo, hi, kind := e.number("rate-min", 1, inf), e.number("rate-max", 1000, inf), "real"
	if over.name == "concurrency" {
		a, b := e.bounds(over.name, 1, 1000)
		lo, hi, kind = float64(a), float64(b), "int"
	} else if lo >= hi {
		e.fail("rate-min", fmt.Sprintf("--rate-min must be less than --rate-max: %v to %v", lo, hi))
	}
	e.sweep["type"], e.sweep["planner"] = sweep.Adaptive, sweep.Capacity
	e.sweep["searchSpace"] = []any{object{"path": over.path, "lo": lo, "hi": hi, "kind": kind}}
	e.sweep["maxIterations"] = e.whole("search-max-iterations", sweep.DefaultCapacityProbes, 2)
	e.sweep["sloAttainmentFraction"] = e.number("slo-attainment-fraction", share, 1)
	e.sweep["relativePrecision"] = e.number("search-precision", sweep.DefaultRelativePrecision, 1)
	e.sweep["maxLoadSeconds"] = e.number("search-max-load-seconds", sweep.DefaultMaxLoadSeconds, inf)
	if e.has("search-start") {
		e.sweep["searchStart"] = e.number("search-start", 1, inf)
	}
	if e.has("search-warmup-seconds") {
		e.sweep["slaWarmupSeconds"] = e.number("search-warmup-seconds", sweep.DefaultProbeWarmupSeconds, inf)
	}
	if e.has("search-random-seed") {
		e.sweep["randomSeed"] = e.whole("search-random-seed", 0, 0)
	}
}

// filters returns the given limits, of which there must be one.
func (e *expansion) filters() []any {
	inf := math.Inf(1)
	var out []any
	if e.has("ttft-sla-ms") {
		out = append(out, filter("time_to_first_token", "p95", "lt", e.number("ttft-sla-ms", 1, inf)))
	}
	itl, ok := e.itl()
	if ok {
		out = append(out, filter("inter_token_latency", "p95", "lt", itl))
	}
	if (ok || e.has("ttft-sla-ms")) && !e.streaming {
		e.fail("", "the limits of TTFT and of inter-token latency need --streaming")
	}
	if e.has("e2e-sla-ms") {
		out = append(out, filter("request_latency", "p99", "lt", e.number("e2e-sla-ms", 1, inf)))
	}
	if e.has("error-rate-sla") {
		out = append(out, filter("request_error_rate", "avg", "lt", 100*e.number("error-rate-sla", 0.5, 1)))
	}
	if len(out) == 0 && !e.has("search-sla") {
		e.fail("", "the recipe "+e.sweep["recipeName"].(string)+" needs a limit: --ttft-sla-ms, --itl-sla-ms, --e2e-sla-ms, --error-rate-sla or --search-sla")
	}
	return out
}

func goodputUnderSLO(e *expansion) {
	e.search(concurrencyAxis(), sweep.Bayesian, 30)
	itl, ok := e.itl()
	if !ok {
		e.fail("", "the recipe max-goodput-under-slo needs --itl-sla-ms")
	}
	e.slos = map[string]float64{
		"time_to_first_token": e.limit("ttft-sla-ms"), "inter_token_latency": itl, "request_latency": e.limit("e2e-sla-ms"),
	}
	e.sweep["objectives"] = []any{object{"metric": "goodput", "stat": "avg", "direction": "maximize"}}
	e.limits(filter("good_request_fraction", "avg", "ge", e.number("slo-attainment-fraction", 0.95, math.Nextafter(1, 2))))
}

func concurrencyRamp(e *expansion) {
	e.grid(map[string][]int{concurrencyPath: e.steps("concurrency", 1, 1000, 8)})
	metric := "request_latency"
	if e.has("degradation-metric-tag") {
		metric = e.options["degradation-metric-tag"]
	}
	e.post(sweep.DegradationKnee, "degradation_knee.json", object{
		"sweptParam": concurrencyPath, "metricTag": metric, "stat": e.choice("degradation-stat", "p99", "avg", "p50", "p90", "p95"),
		"thresholdPct": e.number("degradation-threshold", 0.2, 1),
	})
}

func prefillCurve(e *expansion) {
	e.grid(map[string][]int{islPath: e.steps("isl", 256, 32768, 8), concurrencyPath: {1}})
	e.post(sweep.TTFTCurve, "prefill_curve.json", object{"sweptParam": islPath, "metricTag": "time_to_first_token", "stat": "avg"})
}

func decodeSurface(e *expansion) {
	e.grid(map[string][]int{concurrencyPath: e.steps("concurrency", 1, 200, 6), oslPath: e.steps("osl", 64, 1024, 4)})
	e.post(sweep.ITLSurface, "decode_itl_surface.json", object{
		"concurrencyParam": concurrencyPath, "oslParam": oslPath, "metricTag": "inter_token_latency", "stat": "avg",
	})
}

// paretoSweep crosses pairs of lengths with concurrencies.
func paretoSweep(e *expansion) {
	var runs []any
	for _, pair := range e.pairs() {
		for _, c := range e.concurrencies() {
			runs = append(runs, object{
				"name":   fmt.Sprintf("shape_%d_%d_c%d", pair[0], pair[1], c),
				"values": object{islPath: pair[0], oslPath: pair[1], concurrencyPath: c},
			})
		}
	}
	if len(runs) == 1 {
		e.fail("", "the recipe pareto-sweep needs at least two points: several pairs in --isl-osl-pairs, or several values of --concurrency")
	}
	e.sweep["type"], e.sweep["runs"] = sweep.Scenarios, runs
	e.post(sweep.ParetoSweep, "pareto_sweep.json", object{
		"xMetric": "time_to_first_token", "xStat": "p95", "yMetric": "output_token_throughput", "yStat": "avg",
	})
}

// pairs returns the pairs of prompt and output length.
func (e *expansion) pairs() [][2]int {
	if !e.has("isl-osl-pairs") {
		e.fail("", "the recipe pareto-sweep needs --isl-osl-pairs, for example 128/128,2048/512")
		return nil
	}
	var out [][2]int
	for text := range strings.SplitSeq(e.options["isl-osl-pairs"], ",") {
		first, second, _ := strings.Cut(strings.TrimSpace(text), "/")
		isl, err := strconv.Atoi(first)
		osl, err2 := strconv.Atoi(second)
		pair := [2]int{isl, osl}
		switch {
		case err != nil || err2 != nil || isl < 1 || osl < 1:
			e.fail("isl-osl-pairs", "must be pairs of whole numbers greater than 0 such as 128/128,2048/512, not "+strconv.Quote(text))
		case slices.Contains(out, pair):
			e.fail("isl-osl-pairs", "the pair "+strings.TrimSpace(text)+" is given twice")
		default:
			out = append(out, pair)
		}
	}
	return out
}

// concurrencies returns the values of --concurrency.
func (e *expansion) concurrencies() []int {
	if !e.has("concurrency") {
		return []int{1, 4, 16, 64, 256}
	}
	var out []int
	for text := range strings.SplitSeq(e.options["concurrency"], ",") {
		c, err := strconv.Atoi(strings.TrimSpace(text))
		switch {
		case err != nil || c < 1:
			e.fail("concurrency", "must be whole numbers greater than 0, not "+strconv.Quote(text))
		case slices.Contains(out, c):
			e.fail("concurrency", fmt.Sprintf("the value %d is given twice", c))
		default:
			out = append(out, c)
		}
	}
	return out
}
