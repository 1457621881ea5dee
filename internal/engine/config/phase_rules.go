package config

import (
	"math"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
)

// phaseRules checks that the fields of a phase agree with each other.
type phaseRules struct {
	*loader
	phase *Phase
	path  string
}

// checkName checks that the name can be that of a directory and that no phase
// before has it.
func (c phaseRules) checkName(taken map[string]bool) {
	p, path := c.phase, c.path
	if !c.has(path+".name") || c.failed[path+".name"] {
		return
	}
	n := c.at(path + ".name")
	if !schema.IsPhaseName(p.Name) {
		c.FailValue(n, problem.CodeOutOfRange, "must consist of letters, digits, _ and -, start with a letter or _, and not be a Windows device name")
	}
	lower := strings.ToLower(p.Name)
	if taken[lower] {
		c.FailValue(n, problem.CodeConflict, "another phase has this name")
	}
	taken[lower] = true
}

func (c phaseRules) checkKind() {
	p, path := c.phase, c.path
	standard := p.Name == "warmup" || p.Name == "profiling"
	switch {
	case c.has(path+".kind") && standard && p.Kind != "" && p.Kind != p.Name && !c.failed[path+".kind"]:
		c.conflict(path+".kind", "a phase named "+p.Name+" must be of that kind")
	case !c.has(path+".kind") && p.Name != "" && !standard:
		c.require(path+".kind", "kind: must be warmup or profiling unless the phase is named so")
	}
	if c.has(path+".excludeFromResults") && !c.failed[path+".excludeFromResults"] &&
		p.ExcludeFromResults != (phaseKind(p) == "warmup") {
		c.conflict(path+".excludeFromResults", "warm-up phases are always excluded from the results, profiling phases never")
	}
	if c.has(path+".failedRequestThreshold") && phaseKind(p) == "warmup" {
		c.conflict(path+".failedRequestThreshold", "only valid for profiling phases")
	}
}

// phaseKind is the kind that a phase has or will get.
func phaseKind(p *Phase) string {
	if p.Kind == "" && p.Name == "warmup" {
		return "warmup"
	}
	return p.Kind
}

// checkSeamless checks that a phase may start before the one before it has ended. A
// warm-up ends before anything is measured.
func (c phaseRules) checkSeamless(i int) {
	if !c.phase.Seamless || c.failed[c.path+".seamless"] {
		return
	}
	at := c.path + ".seamless"
	switch {
	case i == 0:
		c.conflict(at, "the first phase follows no other one")
	case phaseKind(c.phase) == "warmup":
		c.conflict(at, "only valid for profiling phases")
	case phaseKind(&c.doc.Benchmark.Phases[i-1]) == "warmup":
		c.conflict(at, "the phase before is a warm-up, which ends before the next phase starts")
	}
}

func (c phaseRules) checkBounds() {
	p, path := c.phase, c.path
	bounded := p.Type == FixedSchedule || p.Kind == "profiling" && c.isOnce() // by the data
	if !bounded && !c.has(path+".requests") && !c.has(path+".sessions") && !c.has(path+".duration") {
		c.require(path+".requests", "needs a limit: requests, sessions or duration")
	}
	if c.has(path+".gracePeriod") && !c.has(path+".duration") &&
		!(p.GracePeriod != nil && math.IsInf(float64(*p.GracePeriod), 1)) {
		c.conflict(path+".gracePeriod", "needs a duration")
	}
}

// checkArrival checks the fields that only some types have.
func (c phaseRules) checkArrival() {
	p, path := c.phase, c.path
	if c.failed[path+".type"] {
		return
	}
	hasRate, hasShape := c.has(path+".rate") || c.has(path+".sessionRate") || c.has(path+".rateSeries"), c.has(path+".smoothness")
	switch {
	case p.Type == "" && hasShape && !hasRate:
		c.conflict(path+".smoothness", "needs a rate")
	case p.Type == "":
	case p.Type == "concurrency" && c.has(path+".rate"):
		c.conflict(path+".rate", "a phase of type concurrency has no rate; use the type "+schema.ChoiceList(schema.ChoiceNames(c.options.Choices.Arrivals)))
	case p.Type == FixedSchedule: // checkSchedule
	case p.Type != "concurrency" && !hasRate:
		c.require(path+".rate", "rate: a phase of type "+p.Type+" needs a rate")
	}
	if p.Type != "" && !c.options.Choices.IsShaped(p.Type) && hasShape {
		c.conflict(path+".smoothness", "only valid for the type "+schema.ChoiceList(c.options.Choices.Shaped))
	}
}
