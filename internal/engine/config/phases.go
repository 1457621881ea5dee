package config

import (
	"math"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/tree"
)

// phaseType is a row of the table of types of phases: who starts the sessions, and what the fields of
// such a phase must be.
type phaseType struct {
	name  string
	own   []string                               // the fields that no other type has
	rated bool                                   // it needs a rate
	check func(in *input, p *Phase, path string) // the rules of the type; nil = none
	fill  func(in *input, p *Phase, path string) // the defaults of the type
}

// phaseTypes lists the types of phases in the order of their documentation.
func phaseTypes(known *Choices) []phaseType {
	types := []phaseType{{name: Concurrency, fill: fillConcurrency}}
	for _, a := range known.Arrivals {
		types = append(types, phaseType{name: a.Name, rated: true, fill: fillArrivals})
	}
	return append(types,
		phaseType{
			name: UserCentric, own: []string{"users", "userReplacement"},
			rated: true, check: checkUsers, fill: fillUsers,
		},
		phaseType{
			name: FixedSchedule, own: []string{"autoOffset", "startOffset", "endOffset"},
			check: checkSchedule, fill: fillSchedule,
		},
		phaseType{
			name: AgenticReplay, own: laneFields(),
			check: checkLanes, fill: fillLanes,
		},
	)
}

// typeOf returns the row of the type of a phase; the zero row has no rules and no defaults.
func typeOf(in *input, p *Phase) phaseType {
	types := phaseTypes(&in.options.Choices)
	if i := slices.IndexFunc(types, func(t phaseType) bool { return t.name == p.Type }); i >= 0 {
		return types[i]
	}
	return phaseType{name: p.Type}
}

// checkPhases checks what does not depend on defaults.
func checkPhases(in *input) {
	const path = "benchmark.phases"
	if !in.Has(path) {
		in.require(path, "phases: at least one profiling phase is required")
		return
	}
	if in.At(path).Shape != tree.List {
		return
	}
	names := make(map[string]bool)
	profiling := false
	for i := range in.doc.Benchmark.Phases {
		p, at := &in.doc.Benchmark.Phases[i], PhasePath(i)
		if in.At(at).Shape != tree.Object {
			profiling = true // it may have been meant as one
			continue
		}
		checkPhaseName(in, p, at, names)
		checkKind(in, p, at)
		checkSeamless(in, i)
		checkRate(in, p, at)
		checkSeries(in, p, at)
		checkCancellation(in, p, at)
		profiling = profiling || phaseKind(p) != "warmup"
	}
	if !profiling && len(in.doc.Benchmark.Phases) > 0 {
		in.require(path, "phases: at least one profiling phase is required")
	}
}

// checkTypedPhases checks the phases once their types are known.
func checkTypedPhases(in *input) {
	if n := in.At("benchmark.phases"); n == nil || n.Shape != tree.List {
		return
	}
	for i := range in.doc.Benchmark.Phases {
		p, path := &in.doc.Benchmark.Phases[i], PhasePath(i)
		if in.At(path).Shape != tree.Object {
			continue
		}
		checkBounds(in, p, path)
		if p.Type == "" {
			continue // it is reported
		}
		for _, t := range phaseTypes(&in.options.Choices) {
			if t.name == p.Type {
				if t.check != nil {
					t.check(in, p, path)
				}
				continue
			}
			for _, field := range t.own {
				if in.Has(path + "." + field) {
					in.Conflict(path+"."+field, "only valid for the type "+t.name)
				}
			}
		}
		if p.BurstPhaseStarts && p.Type != AgenticReplay {
			in.Conflict(path+".burstPhaseStarts", "only valid for the type "+AgenticReplay)
		}
		checkSaturation(in, p, path)
		checkSessionRate(in, p, path)
		checkRamps(in, p, path)
	}
}

// checkPhaseName checks that the name can be that of a directory and that no phase
// before has it.
func checkPhaseName(in *input, p *Phase, path string, taken map[string]bool) {
	if !in.Has(path+".name") || in.Failed[path+".name"] {
		return
	}
	n := in.At(path + ".name")
	if !schema.IsPhaseName(p.Name) {
		in.FailValue(n, problem.CodeOutOfRange,
			"must consist of letters, digits, _ and -, start with a letter or _, and not be a Windows device name")
	}
	lower := strings.ToLower(p.Name)
	if taken[lower] {
		in.FailValue(n, problem.CodeConflict, "another phase has this name")
	}
	taken[lower] = true
}

func checkKind(in *input, p *Phase, path string) {
	standard := p.Name == "warmup" || p.Name == "profiling"
	switch {
	case in.Has(path+".kind") && standard && p.Kind != "" && p.Kind != p.Name && !in.Failed[path+".kind"]:
		in.Conflict(path+".kind", "a phase named "+p.Name+" must be of that kind")
	case !in.Has(path+".kind") && p.Name != "" && !standard:
		in.require(path+".kind", "kind: must be warmup or profiling unless the phase is named so")
	}
	if in.Has(path+".excludeFromResults") && !in.Failed[path+".excludeFromResults"] &&
		p.ExcludeFromResults != (phaseKind(p) == "warmup") {
		in.Conflict(path+".excludeFromResults",
			"warm-up phases are always excluded from the results, profiling phases never")
	}
	if in.Has(path+".failedRequestThreshold") && phaseKind(p) == "warmup" {
		in.Conflict(path+".failedRequestThreshold", "only valid for profiling phases")
	}
}

// phaseKind is the kind that a phase has or will get.
func phaseKind(p *Phase) string {
	if p.Kind == "" && p.Name == "warmup" {
		return "warmup"
	}
	return p.Kind
}

// checkRate checks the rate of a phase by the type that the document gives.
func checkRate(in *input, p *Phase, path string) {
	if in.Failed[path+".type"] {
		return
	}
	hasRate := in.Has(path+".rate") || in.Has(path+".sessionRate") || in.Has(path+".rateSeries")
	hasShape := in.Has(path + ".smoothness")
	t := typeOf(in, p)
	switch {
	case p.Type == "" && hasShape && !hasRate:
		in.Conflict(path+".smoothness", "needs a rate")
	case p.Type == Concurrency && in.Has(path+".rate"):
		in.Conflict(path+".rate", noRate(in, p))
	case t.rated && !hasRate:
		in.require(path+".rate", "rate: a phase of type "+p.Type+" needs a rate")
	}
	if p.Type != "" && !in.options.Choices.IsShaped(p.Type) && hasShape {
		in.Conflict(path+".smoothness", "only valid for the type "+schema.ChoiceList(in.options.Choices.Shaped))
	}
}

// checkSeamless checks that a phase may start before the one before it has ended. A
// warm-up ends before anything is measured.
func checkSeamless(in *input, i int) {
	p, at := &in.doc.Benchmark.Phases[i], PhasePath(i)+".seamless"
	if !p.Seamless || in.Failed[at] {
		return
	}
	switch {
	case i == 0:
		in.Conflict(at, "the first phase follows no other one")
	case phaseKind(p) == "warmup":
		in.Conflict(at, "only valid for profiling phases")
	case phaseKind(&in.doc.Benchmark.Phases[i-1]) == "warmup":
		in.Conflict(at, "the phase before is a warm-up, which ends before the next phase starts")
	}
}

func checkBounds(in *input, p *Phase, path string) {
	bounded := p.Type == FixedSchedule || isLaneWarmup(p) || p.Kind == "profiling" && p.Type != AgenticReplay && isOnce(in) // by the data
	if s := in.doc.Sweep; s != nil && s.Type == sweep.Paired && phaseKind(p) != "warmup" {
		bounded = true // by the budget
	}
	if !bounded && !in.Has(path+".requests") && !in.Has(path+".sessions") && !in.Has(path+".duration") {
		in.require(path+".requests", "needs a limit: requests, sessions or duration")
	}
	if in.Has(path+".gracePeriod") && !in.Has(path+".duration") &&
		!(p.GracePeriod != nil && math.IsInf(float64(*p.GracePeriod), 1)) {
		in.Conflict(path+".gracePeriod", "needs a duration")
	}
}

// checkCancellation checks that a cancellation has a rate, and that the phase is not a
// warm-up.
func checkCancellation(in *input, p *Phase, path string) {
	path += ".cancellation"
	switch x := p.Cancellation; {
	case x == nil:
	case phaseKind(p) == "warmup":
		in.Conflict(path, "only valid for profiling phases")
	case in.Has(path+".delay") && !in.Has(path+".rate"):
		in.Conflict(path+".delay", "needs a cancellation rate")
	case !in.Has(path + ".rate"):
		in.require(path+".rate", "rate: a cancellation needs a rate, in percent")
	case x.Rate == 0 && x.Delay != 0 && !in.Failed[path+".rate"]:
		in.Conflict(path+".delay", "needs a cancellation rate above 0")
	}
}

// fillName settles name and kind, which other defaults need.
func fillName(in *input, p *Phase, path string) {
	if p.Kind == "" {
		p.Kind = "profiling"
		if p.Name == "warmup" {
			p.Kind = "warmup"
		}
	}
	if p.Name == "" {
		p.Name = p.Kind
		in.infer(path+".name", p.Name, "the kind of the phase")
	}
	p.ExcludeFromResults = p.Kind == "warmup"
}

// fillPhase sets the type of a phase that gives none, and the defaults of the type.
func fillPhase(in *input, p *Phase, path string) {
	if p.Type == "" && !in.Failed[path+".type"] {
		reason := "no rate is given"
		p.Type = Concurrency
		switch {
		case p.Users != nil:
			p.Type, reason = UserCentric, "a number of users is given"
		case p.Rate != nil || p.SessionRate != nil || p.RateSeries != nil:
			p.Type, reason = "poisson", "a rate is given"
			if p.Smoothness != nil {
				p.Type, reason = "gamma", "a rate and a smoothness are given"
			}
		}
		in.infer(path+".type", p.Type, reason)
	}
	if t := typeOf(in, p); t.fill != nil {
		t.fill(in, p, path)
	}
	if p.GracePeriod != nil {
		return
	}
	grace, reason := Seconds(math.Inf(1)), "the phase has no duration: it waits for all responses"
	switch {
	case p.Duration != nil && p.Kind == "profiling":
		grace, reason = Seconds(30), "the phase has a duration"
	case p.Duration != nil:
		reason = "a warm-up waits for all responses"
	}
	p.GracePeriod = &grace
	in.infer(path+".gracePeriod", grace, reason)
}
