package flags

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// layPhases lays the options about load over the only profiling phase and the only warm-up phase of a
// draft, which are made if there is no file.
func layPhases(b *overlay) {
	profiling := typedBelow(b, "profiling.")
	warmup := typedBelow(b, "warmup.")
	if b.file && len(profiling)+len(warmup) == 0 && !b.flags.Given("--fixed-schedule") && !b.flags.Given("--no-fixed-schedule") &&
		!b.flags.Given("--timing") {
		return
	}
	all := b.benchmark.Get("phases")
	if all == nil || all.Shape != tree.List {
		all = tree.ListNode()
		all.Pointer = "#/benchmark/phases"
		b.benchmark.Set("phases", all)
	}
	main, ok := onlyPhase(b, all, "profiling", profiling)
	if !ok {
		return
	}
	if main == nil {
		main = newPhase("profiling")
		all.Items = append(all.Items, main)
	}
	if !layLanes(b, main) && !laySchedule(b, main) && !layUsers(b, main) {
		layArrivals(b, main, "profiling", "--request-rate")
	}
	layPhaseFields(b, main, profiling)
	if !b.file {
		layDefaultBound(b, main)
	}
	layWarmup(b, all, main, warmup)
	for i, item := range all.Items {
		if item.Line == 0 {
			item.Locate(config.CanonicalPointer(config.PhasePath(i)))
		}
	}
}

// laySchedule makes the profiling phase a replay and reports true, or keeps a trace from
// making it one.
func laySchedule(b *overlay, phase *tree.Node) bool {
	on, off := b.flags.get("--fixed-schedule"), b.flags.get("--no-fixed-schedule")
	if off != nil && off.on {
		if b.file {
			b.fail(off, problem.CodeConflict, "needs a command line without --config; give the phase of the file a type")
		}
		if on != nil && on.on {
			b.fail(off, problem.CodeConflict, "conflicts with "+on.spelling)
		}
		b.draft.NoSchedule = true
	}
	if on == nil || !on.on {
		return false
	}
	for _, field := range []string{"type", "rate", "sessionRate", "users", "smoothness", "rateSeries.path", "rateRamp.duration"} {
		name, _, _ := strings.Cut(field, ".")
		phase.Drop(name) // of the file
		if occ := typedAs(b, "profiling."+field); occ != nil {
			b.fail(occ, problem.CodeConflict, "conflicts with "+on.spelling+", which takes the times from the dataset")
			b.dropped[occ] = true
		}
	}
	setPhaseType(b, phase, config.FixedSchedule, on)
	return true
}

// layLanes makes the profiling phase one of recorded sessions and reports true.
func layLanes(b *overlay, phase *tree.Node) bool {
	on := b.flags.get("--timing")
	switch {
	case on == nil:
		return isType(phase, config.AgenticReplay)
	case on.values[0] != "agentic":
		b.fail(on, problem.CodeOutOfRange, "must be agentic, not "+on.values[0])
		return false
	}
	for _, field := range []string{"type", "rate", "sessionRate", "users", "smoothness", "rateSeries.path", "rateRamp.duration"} {
		name, _, _ := strings.Cut(field, ".")
		phase.Drop(name) // of the file
		if occ := typedAs(b, "profiling."+field); occ != nil {
			b.fail(occ, problem.CodeConflict, "conflicts with "+on.spelling+", whose sessions start when another one has ended")
			b.dropped[occ] = true
		}
	}
	if occ := b.flags.get("--fixed-schedule"); occ != nil && occ.on {
		b.fail(occ, problem.CodeConflict, "conflicts with "+on.spelling)
	}
	setPhaseType(b, phase, config.AgenticReplay, on)
	return true
}

// setPhaseType gives a phase the type that an option means.
func setPhaseType(b *overlay, phase *tree.Node, name string, occ *occurrence) {
	kind := tree.TextNode(name)
	kind.Place = b.place(occ, "")
	kind.Pointer = phase.Pointer + "/type"
	phase.Set("type", kind)
}

// layUsers makes the profiling phase one of users and reports true. A rate typed over a file
// that has users is theirs.
func layUsers(b *overlay, phase *tree.Node) bool {
	on := b.flags.get("--user-centric-rate")
	if on == nil && !isType(phase, config.UserCentric) {
		for _, field := range []string{"users", "userReplacement"} {
			if occ := typedAs(b, "profiling."+field); occ != nil {
				b.fail(occ, problem.CodeConflict, "needs --user-centric-rate")
				b.dropped[occ] = true
			}
		}
		return false
	}
	for _, name := range []string{"--request-rate", "--session-rate", "--request-rate-series", "--arrival-pattern", "--arrival-smoothness"} {
		if occ := b.flags.get(name); occ != nil && (on != nil || name != "--request-rate") {
			b.fail(occ, problem.CodeConflict, "a phase of users has --user-centric-rate, and no other arrivals")
			b.dropped[occ] = true
		}
	}
	if on != nil && !isType(phase, config.UserCentric) {
		dropClosedLoop(b, phase, "profiling", on)
		phase.Drop("smoothness")
		phase.Drop("sessionRate")
		phase.Drop("rateSeries")
		phase.Drop("rateRamp")
		setPhaseType(b, phase, config.UserCentric, on)
	}
	return true
}

// typedBelow returns the options whose path begins with a prefix.
func typedBelow(b *overlay, prefix string) []*occurrence {
	var out []*occurrence
	for _, occ := range b.flags.typed {
		if strings.HasPrefix(occ.option.path, prefix) {
			out = append(out, occ)
		}
	}
	return out
}

func newPhase(kind string) *tree.Node {
	return tree.ObjectNode(tree.Member{Name: "name", Value: tree.TextNode(kind)}, tree.Member{Name: "kind", Value: tree.TextNode(kind)})
}

// onlyPhase finds the only phase of a kind; nil = there is none. More than one is a
// problem if options are typed for it.
func onlyPhase(b *overlay, all *tree.Node, kind string, typed []*occurrence) (*tree.Node, bool) {
	var found *tree.Node
	for _, p := range all.Items {
		if p.Shape != tree.Object || tree.PhaseKind(p) != kind {
			continue
		}
		if found != nil && len(typed) > 0 {
			b.fail(typed[0], problem.CodeConflict, "the configuration file has several phases of kind "+kind)
			return nil, false
		}
		found = p
	}
	return found, true
}

// layPhaseFields sets the plain fields of a phase.
func layPhaseFields(b *overlay, phase *tree.Node, typed []*occurrence) {
	for _, occ := range typed {
		_, field, _ := strings.Cut(occ.option.path, ".")
		if b.dropped[occ] || !b.free(occ.option.path, occ) {
			continue
		}
		n := b.value(occ)
		if n == nil {
			continue
		}
		n.Place = b.place(occ, "")
		parent := phase
		if section, rest, nested := strings.Cut(field, "."); nested {
			if parent, field = phase.Get(section), rest; parent == nil || parent.Shape != tree.Object || rest == "path" { // which replaces points
				parent = tree.ObjectNode()
				parent.Place = b.place(occ, "")
				parent.Pointer = phase.Pointer + "/" + section
				phase.Set(section, parent)
			}
		}
		n.Pointer = parent.Pointer + "/" + field
		parent.Set(field, n)
	}
}

// layArrivals settles the type of a phase before its fields are set. A rate turns
// a closed loop of the file into a rate phase, and its concurrency, which drove
// the load, is dropped rather than kept as a cap. Without a file the loader
// infers the type from rate and smoothness.
func layArrivals(b *overlay, phase *tree.Node, kind, rateFlag string) {
	if r, ok := presetOf(b.flags.get("--search-recipe")); ok && r.rate && !b.file && kind == "profiling" && phase.Get("rate") == nil {
		phase.Set("rate", numberNode("1")) // makes the phase an open loop; every variation has a rate of its own
	}
	hadRate := phase.Get("rate") != nil || phase.Get("sessionRate") != nil || phase.Get("rateSeries") != nil
	rate, pattern, shape := rateOption(b, phase, kind), typedAs(b, kind+".type"), typedAs(b, kind+".smoothness")
	if isBurst(b, pattern, rate != nil || hadRate, rateFlag) {
		phase.Drop("type")
		pattern = nil
	}
	checkPattern(b, pattern)
	if rate == nil && !hadRate {
		for _, occ := range []*occurrence{pattern, shape} {
			if occ != nil && !b.dropped[occ] {
				b.fail(occ, problem.CodeConflict, "needs "+rateFlag)
				b.dropped[occ] = true
			}
		}
		return
	}
	if rate != nil && !hadRate {
		dropClosedLoop(b, phase, kind, rate)
	}
	refuseEndless(b, rate)
	switch {
	case pattern != nil && shape == nil && !b.flags.Options.Choices.IsShaped(pattern.values[0]):
		phase.Drop("smoothness")
	case pattern == nil && shape != nil:
		phase.Drop("type")
	}
}

// refuseEndless rejects an infinite rate, with which other tools send everything at once.
func refuseEndless(b *overlay, rate *occurrence) {
	if rate == nil || !slices.Contains([]string{"inf", "infinity", "+inf"}, strings.ToLower(rate.values[0])) {
		return
	}
	b.draft.Fail(b.place(rate, ""), problem.CodeOutOfRange, "%s %s: leave it out; without a rate, --concurrency requests are in flight at all times",
		rate.spelling, rate.values[0])
	b.dropped[rate] = true
}

// rateOption returns the option for the rate of a phase: of requests, of sessions, or a series.
// It takes the place of the others in a file.
func rateOption(b *overlay, phase *tree.Node, kind string) (first *occurrence) {
	fields := []string{"rate", "sessionRate", "rateSeries"}
	typed := make([]*occurrence, len(fields))
	for i, path := range []string{"rate", "sessionRate", "rateSeries.path"} {
		typed[i] = typedAs(b, kind+"."+path)
		first = cmp.Or(first, typed[i])
	}
	for i, field := range fields {
		if first != nil && typed[i] == nil {
			phase.Drop(field)
		}
	}
	return first
}

// dropClosedLoop drops what a phase of a file without a rate has and a phase with one has not:
// its type, the offsets of a schedule, and the concurrency that drove the load.
func dropClosedLoop(b *overlay, phase *tree.Node, kind string, rate *occurrence) {
	if isType(phase, config.FixedSchedule) {
		for _, field := range []string{"autoOffset", "startOffset", "endOffset"} {
			phase.Drop(field)
		}
	}
	phase.Drop("type")
	if c := phase.Get("concurrency"); c != nil && c.Flag == "" && typedAs(b, kind+".concurrency") == nil {
		phase.Drop("concurrency")
		b.draft.Warn(b.place(rate, ""), problem.CodeNoEffect,
			"%s: the phase is now driven by a rate; the concurrency %s of the configuration file no longer applies", rate.spelling, c.Scalar)
	}
}

// isBurst reports whether a pattern is AIPerf's name for a closed loop, which goes
// without a rate and without an option for it.
func isBurst(b *overlay, pattern *occurrence, rate bool, rateFlag string) bool {
	if pattern == nil || suggest.Fold(pattern.values[0]) != suggest.Fold("concurrency_burst") {
		return false
	}
	b.dropped[pattern] = true
	if rate {
		b.fail(pattern, problem.CodeConflict, "concurrency_burst sends as fast as the concurrency allows; remove it or "+rateFlag)
	}
	return true
}

// checkPattern rejects types of phases that are no pattern of arrivals.
func checkPattern(b *overlay, pattern *occurrence) {
	choices := schema.ChoiceNames(b.flags.Options.Choices.Arrivals)
	if pattern == nil || slices.ContainsFunc(choices, func(c string) bool { return suggest.Fold(c) == suggest.Fold(pattern.values[0]) }) {
		return
	}
	b.draft.Fail(b.place(pattern, ""), problem.CodeBadEnum, "%s %s: must be %s%s", pattern.spelling, problem.Clip(pattern.values[0]),
		schema.ChoiceList(choices), suggest.DidYouMean(pattern.values[0], choices))
	b.dropped[pattern] = true
}

// typedAs returns the option for a path, if it was typed.
func typedAs(b *overlay, path string) *occurrence {
	for _, occ := range b.flags.typed {
		if occ.option.path == path {
			return occ
		}
	}
	return nil
}

// layDefaultBound gives a command line without a bound AIPerf's ten requests, except where something else ends it.
func layDefaultBound(b *overlay, phase *tree.Node) {
	if isType(phase, config.FixedSchedule) || isType(phase, config.AgenticReplay) || b.flags.Other != nil || b.flags.Given("--scenario") {
		return // the dataset or the answer bounds it, or ten requests are no session
	}
	for _, field := range []string{"requests", "sessions", "duration"} {
		if phase.Get(field) != nil {
			return
		}
	}
	for _, path := range []string{"profiling.requests", "profiling.sessions", "profiling.duration"} {
		if typedAs(b, path) != nil {
			return // it was refused; that is reported
		}
	}
	if style := b.flags.get("--search-style"); style != nil && style.values[0] == sweep.Capacity {
		phase.Set("duration", &tree.Node{
			Place: tree.Place{Flag: "--benchmark-duration"}, Shape: tree.Number, Scalar: strconv.Itoa(sweep.DefaultProbeSeconds),
		})
		return
	}
	phase.Set("requests", &tree.Node{
		Place: tree.Place{Flag: "--request-count"}, Shape: tree.Number, Scalar: strconv.Itoa(config.DefaultFlagRequests),
	})
	path := config.PhasePath(0)
	if len(typedBelow(b, "warmup.")) > 0 {
		path = config.PhasePath(1)
	}
	b.draft.Infer(path+".requests", int64(config.DefaultFlagRequests), "no bound is given")
}

// isType reports whether a phase has a type.
func isType(phase *tree.Node, name string) bool {
	kind := phase.Get("type")
	return kind != nil && suggest.Fold(kind.Scalar) == suggest.Fold(name)
}

// layWarmup merges onto the warm-up phase, or makes one in front if an option that
// bounds it is typed. A new one takes over the load of the profiling phase.
func layWarmup(b *overlay, all, main *tree.Node, typed []*occurrence) {
	if len(typed) == 0 {
		return
	}
	phase, ok := onlyPhase(b, all, "warmup", typed)
	if !ok {
		return
	}
	if phase == nil {
		if !b.flags.Given("--warmup-request-count") && !b.flags.Given("--warmup-duration") && !b.flags.Given("--num-warmup-sessions") {
			for _, occ := range typed {
				b.fail(occ, problem.CodeConflict, "needs --warmup-request-count, --warmup-duration or --num-warmup-sessions")
			}
			return
		}
		phase = newPhase("warmup")
		inherited := []string{"type", "concurrency", "concurrencyRamp", "prefillConcurrency", "prefillRamp", "rate", "sessionRate", "rateRamp", "rateSeries", "smoothness"}
		switch {
		case isType(main, config.FixedSchedule):
			inherited = inherited[1:]
		case isType(main, config.UserCentric):
			inherited = []string{"concurrency", "concurrencyRamp", "prefillConcurrency", "prefillRamp"} // as in AIPerf: users need sessions of their own
		}
		for _, field := range inherited {
			if n := main.Get(field); n != nil {
				phase.Set(field, n.Clone())
			}
		}
		all.Items = append([]*tree.Node{phase}, all.Items...)
	}
	layArrivals(b, phase, "warmup", "--warmup-request-rate")
	layPhaseFields(b, phase, typed)
}
