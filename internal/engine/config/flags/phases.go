package flags

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// phaseOptions lays the options about load over the only profiling phase and the
// only warm-up phase of a draft, which are made if there is no file.
type phaseOptions struct {
	*overlay
	dropped map[*occurrence]bool // reported, not applied
}

func (b phaseOptions) lay() {
	profiling := b.typed("profiling.")
	warmup := b.typed("warmup.")
	if b.file && len(profiling)+len(warmup) == 0 && !b.flags.Given("--fixed-schedule") && !b.flags.Given("--no-fixed-schedule") {
		return
	}
	all := b.benchmark.Get("phases")
	if all == nil || all.Shape != tree.List {
		all = tree.ListNode()
		all.Pointer = "#/benchmark/phases"
		b.benchmark.Set("phases", all)
	}
	main, ok := b.phase(all, "profiling", profiling)
	if !ok {
		return
	}
	if main == nil {
		main = newPhase("profiling")
		all.Items = append(all.Items, main)
	}
	if !b.schedule(main) && !b.users(main) {
		b.arrivals(main, "profiling", "--request-rate")
	}
	b.fields(main, profiling)
	if !b.file {
		b.defaultBound(main)
	}
	b.warmup(all, main, warmup)
	for i, item := range all.Items {
		if item.Line == 0 {
			renumber(item, config.CanonicalPointer(config.PhasePath(i)))
		}
	}
}

// schedule makes the profiling phase a replay and reports true, or keeps a trace from
// making it one.
func (b phaseOptions) schedule(phase *tree.Node) bool {
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
		if occ := b.typedAs("profiling." + field); occ != nil {
			b.fail(occ, problem.CodeConflict, "conflicts with "+on.spelling+", which takes the times from the dataset")
			b.dropped[occ] = true
		}
	}
	b.setType(phase, config.FixedSchedule, on)
	return true
}

// setType gives a phase the type that an option means.
func (b phaseOptions) setType(phase *tree.Node, name string, occ *occurrence) {
	kind := tree.TextNode(name)
	kind.Place = b.place(occ, "")
	kind.Pointer = phase.Pointer + "/type"
	phase.Set("type", kind)
}

// users makes the profiling phase one of users and reports true. A rate typed over a file
// that has users is theirs.
func (b phaseOptions) users(phase *tree.Node) bool {
	on := b.flags.get("--user-centric-rate")
	if on == nil && !isType(phase, config.UserCentric) {
		for _, field := range []string{"users", "userReplacement"} {
			if occ := b.typedAs("profiling." + field); occ != nil {
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
		b.driven(phase, "profiling", on)
		phase.Drop("smoothness")
		phase.Drop("sessionRate")
		phase.Drop("rateSeries")
		phase.Drop("rateRamp")
		b.setType(phase, config.UserCentric, on)
	}
	return true
}

// typed returns the options whose path begins with a prefix.
func (b phaseOptions) typed(prefix string) []*occurrence {
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

// renumber gives a phase and what is in it the pointers of its place in the list.
func renumber(n *tree.Node, ptr string) {
	n.Pointer = ptr
	for i := range n.Members {
		m := &n.Members[i]
		m.Pointer = ptr + "/" + m.Name
		renumber(m.Value, m.Pointer)
	}
	for i, item := range n.Items {
		renumber(item, ptr+"/"+strconv.Itoa(i))
	}
}

// phase finds the only phase of a kind; nil = there is none. More than one is a
// problem if options are typed for it.
func (b phaseOptions) phase(all *tree.Node, kind string, typed []*occurrence) (*tree.Node, bool) {
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

// fields sets the plain fields of a phase.
func (b phaseOptions) fields(phase *tree.Node, typed []*occurrence) {
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

// arrivals settles the type of a phase before its fields are set. A rate turns
// a closed loop of the file into a rate phase, and its concurrency, which drove
// the load, is dropped rather than kept as a cap. Without a file the loader
// infers the type from rate and smoothness.
func (b phaseOptions) arrivals(phase *tree.Node, kind, rateFlag string) {
	if r, ok := presetOf(b.flags.get("--search-recipe")); ok && r.rate && !b.file && kind == "profiling" && phase.Get("rate") == nil {
		phase.Set("rate", numberNode("1")) // makes the phase an open loop; every variation has a rate of its own
	}
	hadRate := phase.Get("rate") != nil || phase.Get("sessionRate") != nil || phase.Get("rateSeries") != nil
	rate, pattern, shape := b.rate(phase, kind), b.typedAs(kind+".type"), b.typedAs(kind+".smoothness")
	if b.burst(pattern, rate != nil || hadRate, rateFlag) {
		phase.Drop("type")
		pattern = nil
	}
	b.checkPattern(pattern)
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
		b.driven(phase, kind, rate)
	}
	b.endless(rate)
	switch {
	case pattern != nil && shape == nil && !b.flags.Options.Choices.IsShaped(pattern.values[0]):
		phase.Drop("smoothness")
	case pattern == nil && shape != nil:
		phase.Drop("type")
	}
}

// endless rejects an infinite rate, with which other tools send everything at once.
func (b phaseOptions) endless(rate *occurrence) {
	if rate == nil || !slices.Contains([]string{"inf", "infinity", "+inf"}, strings.ToLower(rate.values[0])) {
		return
	}
	b.draft.Fail(b.place(rate, ""), problem.CodeOutOfRange, "%s %s: leave it out; without a rate, --concurrency requests are in flight at all times",
		rate.spelling, rate.values[0])
	b.dropped[rate] = true
}

// rate returns the option for the rate of a phase: of requests, of sessions, or a series.
// It takes the place of the others in a file.
func (b phaseOptions) rate(phase *tree.Node, kind string) (first *occurrence) {
	fields := []string{"rate", "sessionRate", "rateSeries"}
	typed := make([]*occurrence, len(fields))
	for i, path := range []string{"rate", "sessionRate", "rateSeries.path"} {
		typed[i] = b.typedAs(kind + "." + path)
		first = cmp.Or(first, typed[i])
	}
	for i, field := range fields {
		if first != nil && typed[i] == nil {
			phase.Drop(field)
		}
	}
	return first
}

// driven drops what a phase of a file without a rate has and a phase with one has not:
// its type, the offsets of a schedule, and the concurrency that drove the load.
func (b phaseOptions) driven(phase *tree.Node, kind string, rate *occurrence) {
	if isType(phase, config.FixedSchedule) {
		for _, field := range []string{"autoOffset", "startOffset", "endOffset"} {
			phase.Drop(field)
		}
	}
	phase.Drop("type")
	if c := phase.Get("concurrency"); c != nil && c.Flag == "" && b.typedAs(kind+".concurrency") == nil {
		phase.Drop("concurrency")
		b.draft.Warn(b.place(rate, ""), problem.CodeNoEffect,
			"%s: the phase is now driven by a rate; the concurrency %s of the configuration file no longer applies", rate.spelling, c.Scalar)
	}
}

// burst reports whether a pattern is AIPerf's name for a closed loop, which goes
// without a rate and without an option for it.
func (b phaseOptions) burst(pattern *occurrence, rate bool, rateFlag string) bool {
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
func (b phaseOptions) checkPattern(pattern *occurrence) {
	choices := schema.ChoiceNames(b.flags.Options.Choices.Arrivals)
	if pattern == nil || slices.ContainsFunc(choices, func(c string) bool { return suggest.Fold(c) == suggest.Fold(pattern.values[0]) }) {
		return
	}
	b.draft.Fail(b.place(pattern, ""), problem.CodeBadEnum, "%s %s: must be %s%s", pattern.spelling, problem.Clip(pattern.values[0]),
		schema.ChoiceList(choices), suggest.DidYouMean(pattern.values[0], choices))
	b.dropped[pattern] = true
}

// typedAs returns the option for a path, if it was typed.
func (b phaseOptions) typedAs(path string) *occurrence {
	for _, occ := range b.flags.typed {
		if occ.option.path == path {
			return occ
		}
	}
	return nil
}

// defaultBound gives a command line without a bound AIPerf's ten requests.
func (b phaseOptions) defaultBound(phase *tree.Node) {
	if isType(phase, config.FixedSchedule) {
		return // the dataset bounds it
	}
	for _, field := range []string{"requests", "sessions", "duration"} {
		if phase.Get(field) != nil {
			return
		}
	}
	for _, path := range []string{"profiling.requests", "profiling.sessions", "profiling.duration"} {
		if b.typedAs(path) != nil {
			return // it was refused; that is reported
		}
	}
	phase.Set("requests", &tree.Node{
		Place: tree.Place{Flag: "--request-count"}, Shape: tree.Number, Scalar: strconv.Itoa(config.DefaultFlagRequests),
	})
	path := config.PhasePath(0)
	if len(b.typed("warmup.")) > 0 {
		path = config.PhasePath(1)
	}
	b.draft.Infer(path+".requests", int64(config.DefaultFlagRequests), "no bound is given")
}

// isType reports whether a phase has a type.
func isType(phase *tree.Node, name string) bool {
	kind := phase.Get("type")
	return kind != nil && suggest.Fold(kind.Scalar) == suggest.Fold(name)
}

// warmup merges onto the warm-up phase, or makes one in front if an option that
// bounds it is typed. A new one takes over the load of the profiling phase.
func (b phaseOptions) warmup(all, main *tree.Node, typed []*occurrence) {
	if len(typed) == 0 {
		return
	}
	phase, ok := b.phase(all, "warmup", typed)
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
				phase.Set(field, copied(n))
			}
		}
		all.Items = append([]*tree.Node{phase}, all.Items...)
	}
	b.arrivals(phase, "warmup", "--warmup-request-rate")
	b.fields(phase, typed)
}

// copied returns a copy of a node and of what is in it.
func copied(n *tree.Node) *tree.Node {
	out := *n
	out.Members, out.Items = slices.Clone(n.Members), slices.Clone(n.Items)
	for i := range out.Members {
		out.Members[i].Value = copied(out.Members[i].Value)
	}
	for i := range out.Items {
		out.Items[i] = copied(out.Items[i])
	}
	return &out
}
