package config

import (
	"math"
	"strconv"
	"strings"

	"aiperfd/internal/engine/suggest"
)

func (l *loader) checkPhases() {
	const path = "benchmark.phases"
	if !l.has(path) {
		l.require(path, "phases: at least one profiling phase is required")
		return
	}
	if l.at(path).shape != list {
		return
	}
	names := make(map[string]bool)
	profiling := false
	for i := range l.doc.Benchmark.Phases {
		p, at := &l.doc.Benchmark.Phases[i], phasePath(i)
		if l.at(at).shape != object {
			profiling = true // it may have been meant as one
			continue
		}
		l.checkPhaseName(p, at, names)
		l.checkPhaseKind(p, at)
		l.checkBounds(p, at)
		l.checkArrival(p, at)
		profiling = profiling || phaseKind(p) != "warmup"
	}
	if !profiling && len(l.doc.Benchmark.Phases) > 0 {
		l.require(path, "phases: at least one profiling phase is required")
	}
}

// phaseKind is the kind that a phase has or will get.
func phaseKind(p *Phase) string {
	if p.Kind == "" && p.Name == "warmup" {
		return "warmup"
	}
	return p.Kind
}

// checkPhaseName: names become directories.
func (l *loader) checkPhaseName(p *Phase, path string, taken map[string]bool) {
	if !l.has(path+".name") || l.failed[path+".name"] {
		return
	}
	n := l.at(path + ".name")
	if !phaseName(p.Name) {
		l.failValue(n, CodeOutOfRange, "must consist of letters, digits, _ and -, start with a letter or _, and not be a Windows device name")
	}
	lower := strings.ToLower(p.Name)
	if taken[lower] {
		l.failValue(n, CodeConflict, "another phase has this name")
	}
	taken[lower] = true
}

func phaseName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !isAlnum(c) && c != '_' && (i == 0 || c != '-') || i == 0 && '0' <= c && c <= '9' {
			return false
		}
	}
	upper := strings.ToUpper(name)
	device := upper == "CON" || upper == "PRN" || upper == "AUX" || upper == "NUL"
	if rest, ok := strings.CutPrefix(upper, "COM"); ok || strings.HasPrefix(upper, "LPT") {
		if !ok {
			rest = upper[3:]
		}
		port, err := strconv.Atoi(rest)
		device = device || err == nil && port >= 1 && port <= 9
	}
	return name != "" && len(name) <= 64 && !device
}

func (l *loader) checkPhaseKind(p *Phase, path string) {
	standard := p.Name == "warmup" || p.Name == "profiling"
	switch {
	case l.has(path+".kind") && standard && p.Kind != "" && p.Kind != p.Name && !l.failed[path+".kind"]:
		l.conflict(path+".kind", "a phase named "+p.Name+" must be of that kind")
	case !l.has(path+".kind") && p.Name != "" && !standard:
		l.require(path+".kind", "kind: must be warmup or profiling unless the phase is named so")
	}
	if l.has(path+".excludeFromResults") && !l.failed[path+".excludeFromResults"] &&
		p.ExcludeFromResults != (phaseKind(p) == "warmup") {
		l.conflict(path+".excludeFromResults", "warm-up phases are always excluded from the results, profiling phases never")
	}
	if l.has(path+".failedRequestThreshold") && phaseKind(p) == "warmup" {
		l.conflict(path+".failedRequestThreshold", "only valid for profiling phases")
	}
}

func (l *loader) checkBounds(p *Phase, path string) {
	kind := l.at(path + ".type")
	scheduled := kind != nil && suggest.Fold(kind.scalar) == suggest.Fold("fixed_schedule") // which the data bounds
	if !scheduled && !l.has(path+".requests") && !l.has(path+".sessions") && !l.has(path+".duration") {
		l.require(path+".requests", "needs a limit: requests, sessions or duration")
	}
	if l.has(path+".gracePeriod") && !l.has(path+".duration") &&
		!(p.GracePeriod != nil && math.IsInf(float64(*p.GracePeriod), 1)) {
		l.conflict(path+".gracePeriod", "needs a duration")
	}
}

// checkArrival checks the fields that only some types have.
func (l *loader) checkArrival(p *Phase, path string) {
	if l.failed[path+".type"] {
		return
	}
	hasRate, hasShape := l.has(path+".rate"), l.has(path+".smoothness")
	switch {
	case p.Type == "" && hasShape && !hasRate:
		l.conflict(path+".smoothness", "needs a rate")
	case p.Type == "":
	case p.Type == "concurrency" && hasRate:
		l.conflict(path+".rate", "a phase of type concurrency has no rate; use the type constant, poisson or gamma")
	case p.Type != "concurrency" && !hasRate:
		l.require(path+".rate", "rate: a phase of type "+p.Type+" needs a rate")
	}
	if p.Type != "" && p.Type != "gamma" && hasShape {
		l.conflict(path+".smoothness", "only valid for the type gamma")
	}
}
