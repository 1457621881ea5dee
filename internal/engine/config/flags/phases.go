package flags

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/address"
	"aiperfd/internal/engine/config/decode"
	"aiperfd/internal/engine/config/problem"
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
	if !b.schedule(main) {
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
	for _, field := range []string{"type", "rate", "smoothness", "rateSeries.path", "rateRamp.duration"} {
		name, _, _ := strings.Cut(field, ".")
		phase.Drop(name) // of the file
		if occ := b.typedAs("profiling." + field); occ != nil {
			b.fail(occ, problem.CodeConflict, "conflicts with "+on.spelling+", which takes the times from the dataset")
			b.dropped[occ] = true
		}
	}
	kind := tree.TextNode(config.FixedSchedule)
	kind.Place = b.place(on, "")
	kind.Pointer = phase.Pointer + "/type"
	phase.Set("type", kind)
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
		if p.Shape != tree.Object || address.KindOf(p) != kind {
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
	rate, pattern, shape := b.typedAs(kind+".rate"), b.typedAs(kind+".type"), b.typedAs(kind+".smoothness")
	hadRate := phase.Get("rate") != nil || phase.Get("rateSeries") != nil
	if series := b.typedAs(kind + ".rateSeries.path"); series != nil {
		phase.Drop("rate")
		rate = cmp.Or(rate, series)
	} else if rate != nil {
		phase.Drop("rateSeries")
	}
	if b.burst(pattern, rate != nil || hadRate, rateFlag) {
		phase.Drop("type")
		pattern = nil
	}
	if rate == nil && !hadRate {
		for _, occ := range []*occurrence{pattern, shape} {
			if occ != nil {
				b.fail(occ, problem.CodeConflict, "needs "+rateFlag)
				b.dropped[occ] = true
			}
		}
		return
	}
	if rate != nil && !hadRate {
		if isSchedule(phase) {
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
	b.checkPattern(pattern)
	switch {
	case pattern != nil && shape == nil && !b.flags.Options.Choices.IsShaped(pattern.values[0]):
		phase.Drop("smoothness")
	case pattern == nil && shape != nil:
		phase.Drop("type")
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
	choices := decode.ChoiceNames(b.flags.Options.Choices.Arrivals)
	if pattern == nil || slices.ContainsFunc(choices, func(c string) bool { return suggest.Fold(c) == suggest.Fold(pattern.values[0]) }) {
		return
	}
	b.draft.Fail(b.place(pattern, ""), problem.CodeBadEnum, "%s %s: must be %s%s", pattern.spelling, problem.Clip(pattern.values[0]),
		decode.ChoiceList(choices), suggest.DidYouMean(pattern.values[0], choices))
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
	if isSchedule(phase) {
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
	phase.Set("requests", &tree.Node{Shape: tree.Number, Scalar: strconv.Itoa(config.DefaultFlagRequests)})
	path := config.PhasePath(0)
	if len(b.typed("warmup.")) > 0 {
		path = config.PhasePath(1)
	}
	b.draft.Infer(path+".requests", int64(config.DefaultFlagRequests), "no bound is given")
}

// isSchedule reports whether a phase is a replay.
func isSchedule(phase *tree.Node) bool {
	kind := phase.Get("type")
	return kind != nil && suggest.Fold(kind.Scalar) == suggest.Fold(config.FixedSchedule)
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
		for _, field := range []string{"type", "concurrency", "concurrencyRamp", "prefillConcurrency", "prefillRamp", "rate", "rateRamp", "rateSeries", "smoothness"} {
			if n := main.Get(field); n != nil && !(field == "type" && isSchedule(main)) {
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
