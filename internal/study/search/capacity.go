package search

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/results"
	"aiperfd/internal/study/capacity"
	"aiperfd/internal/study/cell"
)

// Capacity finds the load at which a share of the requests meets all objectives; one dimension.
const Capacity Algorithm = sweep.Capacity

// Load is the planner of a search for a capacity. Its probes have one trial each.
type Load struct {
	Options
	Rules capacity.Options
	// Limits are the objectives of single requests, by metric, in the unit of the metric.
	Limits map[string]float64

	states *states
}

// states are the states of a search after 0, 1, … probes, as far as they have been computed: every
// state takes a fit, and everything that shows the search asks for it.
type states struct {
	mu  sync.Mutex
	all []*capacity.Search // guarded by mu; the elements do not change
}

// after returns the state after probes.
func (s *states) after(rules capacity.Options, probes []capacity.Probe) *capacity.Search {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		s.all = append(s.all, capacity.New(rules))
	}
	for i, p := range probes {
		if i+1 < len(s.all) && reflect.DeepEqual(s.all[i+1].Probes()[i], p) {
			continue
		}
		s.all = append(s.all[:i+1], s.all[i].With(p))
	}
	return s.all[len(probes)]
}

var _ Planner = Load{}

// loadOf returns the search for a capacity that a study asks for.
func loadOf(s *config.Study, o Options) Load {
	d, b := o.Space[0], s.Sweep
	seconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
	return Load{Options: o, Limits: s.Limits, states: new(states), Rules: capacity.Options{
		Low: d.Lo, High: d.Hi, Start: b.SearchStart, Integer: d.Integer, Target: b.AttainmentFraction,
		Precision: b.RelativePrecision, Probes: o.Iterations, Time: seconds(b.MaxLoadSeconds),
		Warmup: seconds(s.Sizing.Warmup), Window: seconds(s.Sizing.Window), Closed: sweep.Name(d.Path) == "concurrency",
	}}
}

// Budget implements [cell.Planner].
func (l Load) Budget() int { return l.Iterations }

// after returns the search after outcomes.
func (l Load) after(done []cell.Outcome) *capacity.Search {
	var probes []capacity.Probe
	for i := range done {
		if probe, ok := l.probe(&done[i]); ok {
			probes = append(probes, probe)
		}
	}
	return l.states.after(l.Rules, probes)
}

// probe returns what an outcome says; false = it has not ended.
func (l Load) probe(o *cell.Outcome) (capacity.Probe, bool) {
	if len(o.Trials) == 0 {
		return capacity.Probe{}, false
	}
	t := &o.Trials[0]
	if t.Probe != nil {
		return *t.Probe, true
	}
	x, _ := o.Number(l.Space[0].Path)
	return capacity.Probe{Level: x, Failure: cmp.Or(t.Failure, "the records of its requests cannot be read")}, true
}

// Plan returns how the next probe is performed; false = the search is over.
func (l Load) Plan(done []cell.Outcome) (capacity.Plan, bool) { return l.after(done).Next() }

// Next implements [cell.Planner].
func (l Load) Next(done []cell.Outcome) (vary.Variation, bool) {
	plan, more := l.Plan(done)
	if !more {
		return vary.Variation{}, false
	}
	v, _ := l.variation(done, []float64{plan.Level})
	v.Settings = l.Sizing.Probe(plan.Warmup.Seconds(), plan.Window.Seconds())
	return v, true
}

// Answer returns what the outcomes so far say.
func (l Load) Answer(done []cell.Outcome) capacity.Answer { return l.after(done).Answer() }

// Summarize implements [Planner].
func (l Load) Summarize(done []cell.Outcome) Summary {
	a := l.Answer(done)
	s := l.summary(done, string(a.Reason))
	if a.Good == nil && a.Bad == nil {
		return s
	}
	s.Boundary = &Boundary{
		Path: l.Space[0].Path, Pass: l.edge(done, a.Good), Fail: l.edge(done, a.Bad), Advised: l.Advised(&a),
	}
	if c := a.Capacity; c != nil {
		s.Boundary.Interval = []float64{c.Low, c.High}
	}
	return s
}

// edge returns a confirmed level as a side of the boundary, with all of its probes; nil for nil.
func (l Load) edge(done []cell.Outcome, e *capacity.Evidence) *Edge {
	if e == nil {
		return nil
	}
	for _, o := range l.observations(done) {
		if o.x == e.Level {
			v := Judge(l.Filters, o.outcomes...)
			return &Edge{
				Value: o.x, Iteration: o.outcomes[len(o.outcomes)-1].Index, Breach: v.breach(), Readings: v.Readings,
				Unsure: unsure(l.Filters, together(o.outcomes)),
			}
		}
	}
	return nil
}

// Unit is that of the levels.
func (l Load) Unit() string {
	if l.Rules.Closed {
		return results.ConcurrentRequests
	}
	return results.RequestsPerSecond
}

// Question is what the search answers.
func (l Load) Question() string {
	return fmt.Sprintf("How many %s can the server bear while %s of the requests meet %s?", l.Unit(), percent(l.Rules.Target), l.objectives())
}

// level returns a level with its unit.
func (l Load) level(x float64) string { return l.figure(x) + " " + l.Unit() }

// figure returns a level with three or four digits.
func (l Load) figure(x float64) string {
	if l.Rules.Integer && x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return short(x)
}

// objectives names what a good request meets: TTFT <= 500 ms and ITL <= 40 ms.
func (l Load) objectives() string {
	var out []string
	for _, tag := range slices.Sorted(maps.Keys(l.Limits)) {
		name, op, unit := tag, "<=", ""
		if def, ok := catalogue.Lookup(tag); ok {
			if name, unit = cmp.Or(def.Short, tag), " "+def.Unit; def.Flags&catalogue.LargerIsBetter != 0 {
				op = ">="
			}
		}
		out = append(out, fmt.Sprintf("%s %s %v%s", name, op, l.Limits[tag], unit))
	}
	return strings.Join(out, " and ")
}

// percent returns a share with three digits.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// headline is the answer in one sentence.
func (l Load) headline(a *capacity.Answer) string {
	good := fmt.Sprintf("%s of the requests meet %s", percent(l.Rules.Target), l.objectives())
	last := func() *capacity.Evidence { return &a.Evidence[len(a.Evidence)-1] }
	switch a.Verdict {
	case capacity.Estimated:
		c := a.Capacity
		value := l.figure(c.Value)
		if l.Rules.Integer {
			value = l.figure(math.Floor(c.Value))
		}
		return fmt.Sprintf("Plan for at most %s. The capacity, up to which %s, is %s (95 %% interval %s to %s).",
			l.level(*l.Advised(a)), good, value, short(c.Low), short(c.High))
	case capacity.LowerBound:
		return fmt.Sprintf("Plan for at most %s: up to there, %s. The capacity may be larger: more load was not probed, or too "+
			"briefly to say.", l.level(*l.Advised(a)), good)
	case capacity.UpperBound:
		return fmt.Sprintf("Capacity: at most %s: beyond, fewer than %s. Less load was not probed, or too briefly to say.",
			l.level(a.Capacity.High), good)
	case capacity.NotFound:
		return fmt.Sprintf("No capacity: already at the least load, %s, fewer than %s: %s.",
			l.level(last().Level), good, percent(last().Share.X))
	case capacity.NonMonotone:
		return fmt.Sprintf("No capacity can be named: some load met the objectives better than less load did, by more "+
			"than chance, so that there is no largest load at which %s.", good)
	case capacity.Invalid:
		switch {
		case !slices.ContainsFunc(a.Evidence, func(e capacity.Evidence) bool { return e.Failure == "" }):
			return "No capacity: no probe has a result."
		case a.Distorted == "":
			return "No capacity: the probes are too few to say what the server bears, or what it does not."
		}
		out := "No answer: the load generator itself may have made requests miss the objectives, not the server."
		if c := a.Capacity; c != nil && !c.OpenBelow && !c.OpenAbove {
			out += fmt.Sprintf(" The probes say %s (%s to %s).", l.level(c.Value), short(c.Low), short(c.High))
		}
		return out
	}
	return ""
}

// Advised returns the load to plan for at most, which the server surely bears; nil if there is none.
func (l Load) Advised(a *capacity.Answer) *float64 {
	var least float64
	switch {
	case a.Verdict != capacity.Estimated && a.Verdict != capacity.LowerBound:
		return nil
	case a.Good != nil && a.Reason == capacity.InRange:
		least = a.Good.Level
	default:
		least = a.Capacity.Low
	}
	if l.Rules.Integer {
		least = math.Floor(least)
	}
	return &least
}

// sentences returns the answer, then what it rests on, then what speaks against it.
func (l Load) sentences(done []cell.Outcome) []string {
	a := l.Answer(done)
	out := []string{l.headline(&a)}
	if a.Good != nil && a.Bad != nil {
		out = append(out, fmt.Sprintf("Measured: at %s, %s of %.0f requests were good; at %s, %s of %.0f.",
			l.level(a.Good.Level), percent(a.Good.Share.X), a.Good.Share.N, l.figure(a.Bad.Level), percent(a.Bad.Share.X),
			a.Bad.Share.N))
	}
	if a.Verdict == capacity.Estimated {
		out = append(out, fmt.Sprintf("With 5 %% more than the capacity, %.1f of 100 requests more miss the objectives.", a.Costs))
	}
	if a.Binding != "" {
		out = append(out, "Missed most often: "+a.Binding+".")
	}
	spent := fmt.Sprintf("%d probes, %v of load", len(a.Evidence), a.Load.Round(time.Second))
	if a.Halving > 0 && a.Verdict == capacity.Estimated {
		spent += fmt.Sprintf("; half the width would take about %v more", a.Halving.Round(time.Second))
	}
	out = append(out, spent+".")
	for _, d := range a.Doubts {
		out = append(out, "Doubt: "+d.Message+".")
	}
	return out
}
