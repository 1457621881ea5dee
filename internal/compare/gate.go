package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
)

// Gate asks whether a candidate may pass: rules, the runs that they are judged by, and how often.
type Gate struct {
	Rules []Rule // at least one, see [CheckRules]
	// Looks are the numbers of runs of the candidate after which the rules are judged, ascending, at most
	// [MaxLooks]. A rule keeps its first decision. None = one look at all runs.
	Looks          []int
	OnInconclusive OnInconclusive // empty = error
	Allow          []string       // JSON pointers of values of the load that may differ
	Baseline       *Reference     // nil = none: rules on changes are not decided
	// Stop is why no more runs were measured; without a reason, the rules or the looks say when it ends.
	Stop    results.AnswerStop
	Version string // of the program that judges
	Seed    *int64 // from which those of the runs follow; nil = the runs were given
}

// Reference is what a candidate is compared with.
type Reference struct {
	Name     string  // empty = the runs have no name
	Revision int     // 0 = the runs have no name
	Runs     []Input // at least one
	// First are the runs of the first revision of the baseline; none = this is the first one, or there
	// are no revisions.
	First []Input
	Host  string // class of the machines that measured the runs; empty = not known
	Moved bool   // the candidate was measured on a machine of another class
}

// MaxLooks is the largest number of looks of a gate.
const MaxLooks = 5

// DefaultLooks are the numbers of runs after which a gate looks unless it says otherwise.
func DefaultLooks() []int { return []int{3, 5, 8} }

// CheckLooks returns what is wrong with the looks of a gate.
func CheckLooks(looks []int) error {
	const most = 100
	if len(looks) == 0 || len(looks) > MaxLooks {
		return fmt.Errorf("looks: %d given, want 1 to %d numbers of runs", len(looks), MaxLooks)
	}
	for i, n := range looks {
		if n < minRuns || n > most || i > 0 && n <= looks[i-1] {
			return fmt.Errorf("looks: %v: numbers of runs from %d to %d, each larger than the one before",
				looks, minRuns, most)
		}
	}
	return nil
}

// pocock returns the two-sided error of each of so many looks for which that of all is 5 % (Pocock,
// Biometrika 64, 1977, table 1).
func pocock(looks int) float64 {
	return [MaxLooks]float64{0.05, 0.0294, 0.0221, 0.0182, 0.0158}[looks-1]
}

// GateAnswer says whether a candidate passes a gate, how sure that is, and what would decide it if it is open.
type GateAnswer struct {
	results.AnswerHead
	Rules    []RuleAnswer  `json:"rules"`
	Baseline *BaselineUsed `json:"baseline"`            // null = none
	Runs     []string      `json:"candidate"`           // ids, in the order of their measurement
	Looks    []int         `json:"looks"`               // planned; empty = the runs were given
	Load     []Difference  `json:"load_differences"`    // that make the runs incomparable
	Subject  []Difference  `json:"subject_differences"` // what is compared
}

// BaselineUsed is the baseline of an answer.
type BaselineUsed struct {
	Name     string   `json:"name,omitempty"`
	Revision int      `json:"revision,omitempty"`
	Runs     []string `json:"runs"`
}

// Judge judges the runs of a candidate, in the order of their measurement. The error is one of the rules
// or of a configuration that cannot be read.
func (g *Gate) Judge(candidate []Input) (*GateAnswer, error) {
	rules, err := resolveRules(g.Rules)
	if err != nil {
		return nil, err
	}
	out := &GateAnswer{
		AnswerHead: results.NewAnswerHead("gate", "May the candidate pass?", theseRuns),
		Rules:      make([]RuleAnswer, len(rules)), Runs: idsOf(candidate), Looks: append([]int{}, g.Looks...),
		Load: []Difference{}, Subject: []Difference{},
	}
	out.Stop, out.Provenance = g.Stop, results.AnswerOrigin{Seed: g.Seed, Version: g.Version}
	var base []Input
	if g.Baseline != nil {
		base = g.Baseline.Runs
		out.Baseline = &BaselineUsed{Name: g.Baseline.Name, Revision: g.Baseline.Revision, Runs: idsOf(base)}
	}
	if len(candidate) >= minRuns {
		out.SpeaksFor = theseConfigurations
	}
	for i, r := range rules {
		out.Rules[i] = RuleAnswer{
			Text: r.String(), Metric: r.Metric, Statistic: r.Stat, Header: r.def.Header, Unit: r.def.Unit,
			Points: r.points && r.MaxRegression != nil, Relative: r.MaxRegression != nil, Verdict: Inconclusive, rule: r,
			OnInconclusive: cmp.Or(r.OnInconclusive, g.OnInconclusive, CountsAsError),
		}
	}
	if err := out.compareLoads(base, candidate, g.Allow); err != nil {
		return nil, err
	}
	if len(out.Load) == 0 {
		for _, look := range g.looksAt(len(candidate)) {
			out.look(base, candidate[:look], pocock(max(1, len(g.Looks))))
		}
		out.addDoubts(g.Baseline, candidate)
	}
	out.conclude()
	out.Stop.Probes = len(candidate)
	switch {
	case g.Stop.Reason != "":
	case len(g.Looks) == 0:
		out.Stop.Reason = results.StopGiven
	case out.Decided() || out.Verdict != Inconclusive:
		out.Stop.Reason = results.StopDecided
	case len(candidate) >= slices.Max(g.Looks):
		out.Stop.Reason = results.StopComplete
	}
	if out.Final = out.Stop.Reason != ""; out.Final {
		out.Decide.Needs = out.decide(base)
	}
	out.Sentences = out.inWords()
	return out, nil
}

// looksAt returns the numbers of runs at which n runs are judged: the planned ones and, once nothing follows,
// all of them, which takes the place of the next look.
func (g *Gate) looksAt(n int) []int {
	var out []int
	for _, look := range g.Looks {
		if look <= n {
			out = append(out, look)
		}
	}
	if n > 0 && (len(g.Looks) == 0 || g.Stop.Reason != "" && len(out) < len(g.Looks) && !slices.Contains(out, n)) {
		out = append(out, n)
	}
	return out
}

// compareLoads looks for differences between the documents of the runs, as [Judge] does.
func (a *GateAnswer) compareLoads(base, candidate []Input, allow []string) error {
	var found Answer
	if err := found.compareLoads(slices.Concat(base, candidate), allow); err != nil {
		return err
	}
	a.Load, a.Subject = append(a.Load, found.Load...), append(a.Subject, found.Subject...)
	a.Doubts = append(a.Doubts, found.Doubts...)
	return nil
}

// look judges the rules that are open by the runs of the candidate so far; alpha is the two-sided error that
// the look may make with any of the rules.
func (a *GateAnswer) look(base, candidate []Input, alpha float64) {
	var open []*RuleAnswer
	for i := range a.Rules {
		r := &a.Rules[i]
		if r.Verdict == Passes || r.Verdict == Fails {
			continue
		}
		r.estimate(base, candidate)
		if r.estimated() {
			open = append(open, r)
		}
	}
	fails, passes := make([]float64, len(open)), make([]float64, len(open))
	for i, r := range open {
		fails[i], passes[i] = r.beyond(), r.within()
	}
	// Each family has all rules of the gate, those that are decided or cannot be tested included.
	failed, failLevels := holm(fails, len(a.Rules), alpha)
	passed, passLevels := holm(passes, len(a.Rules), alpha)
	for i, r := range open {
		r.Look = len(candidate)
		switch {
		case passed[i]:
			r.conclude(Passes, passLevels[i])
		case failed[i] && r.worse.Estimate >= r.tolerance && !r.byInstrument():
			r.conclude(Fails, failLevels[i])
		default:
			r.conclude(Inconclusive, passLevels[i])
		}
	}
}

// holm rejects hypotheses of a family of size tests, of which p are those that are judged (Holm, Scand. J.
// Stat. 6, 1979). levels are the two-sided errors with which each was judged.
func holm(p []float64, size int, alpha float64) (rejected []bool, levels []float64) {
	rejected, levels = make([]bool, len(p)), make([]float64, len(p))
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	left := size
	for rank, i := range order {
		level := alpha / float64(left)
		if p[i] >= level {
			for _, rest := range order[rank:] {
				levels[rest] = level
			}
			break
		}
		rejected[i], levels[i] = true, level
		left--
	}
	return rejected, levels
}

// conclude sets what each rule counts as, and the verdict of the gate.
func (a *GateAnswer) conclude() {
	counted := map[results.Verdict]int{}
	for i := range a.Rules {
		r := &a.Rules[i]
		r.Counts = r.Verdict
		if r.Verdict == Inconclusive && r.Look > 0 { // without a run nothing is known
			r.Counts = map[OnInconclusive]results.Verdict{
				CountsAsPass: Passes, CountsAsFail: Fails, CountsAsError: Inconclusive,
			}[r.OnInconclusive]
		}
		counted[r.Counts]++
	}
	a.Verdict = Passes
	for _, v := range []results.Verdict{Fails, Invalid, Inconclusive} {
		if counted[v] > 0 {
			a.Verdict = v
			break
		}
	}
	if len(a.Load) > 0 {
		a.Verdict = NotComparable
	}
}

// Decided reports whether no further run of the candidate can change the answer: every rule is decided or
// cannot be, one has failed, or the measurement is not valid.
func (a *GateAnswer) Decided() bool {
	if a.Verdict == NotComparable {
		return true
	}
	for i := range a.Rules {
		if v := a.Rules[i].Verdict; v == Fails || v == Invalid {
			return true
		}
	}
	return !slices.ContainsFunc(a.Rules, func(r RuleAnswer) bool {
		return r.Verdict == Inconclusive && (r.estimated() || r.Look == 0)
	})
}

// decide says what would decide the open rules.
func (a *GateAnswer) decide(base []Input) string {
	runs, few, relative := 0.0, false, false
	for i := range a.Rules {
		r := &a.Rules[i]
		switch {
		case r.Verdict != Inconclusive:
			continue
		case !r.estimated():
			few = few || r.Relative && len(base) < minRuns
			continue
		}
		if r.byInstrument() {
			continue // more runs do not change that
		}
		relative = relative || r.Relative
		distance := math.Abs(r.worse.Estimate - r.tolerance)
		if distance == 0 {
			distance = max(r.tolerance, math.SmallestNonzeroFloat64)
		}
		ratio := r.worse.Detectable() / distance
		runs = max(runs, float64(r.Look+1), float64(r.Look)*ratio*ratio)
	}
	const most = 1000
	switch {
	case few:
		return fmt.Sprintf("a baseline of %d runs or more decides rules on changes", minRuns)
	case runs == 0:
		return ""
	case runs > most:
		return "the candidate is so near the limit that no sensible number of runs decides it"
	}
	of := "of the candidate"
	if relative {
		of += " and as many of the baseline"
	}
	return fmt.Sprintf("about %.0f runs %s decide the open rules", max(minRuns, math.Ceil(runs)), of)
}

// addDoubts adds the reasons to trust the answer less.
func (a *GateAnswer) addDoubts(reference *Reference, candidate []Input) {
	add := a.AddDoubt
	var base []Input
	if reference != nil {
		base = reference.Runs
	}
	both := slices.Concat(base, candidate)
	for i := range both {
		r := both[i].Run
		if r.Version != both[0].Run.Version {
			add("version-differs", "the runs were measured by different versions of aiperfd")
		}
		if r.Summary != nil && r.ObjectivesVerdict() != nil && *r.ObjectivesVerdict() == "fail" && i >= len(base) {
			add("objective-missed", "a run of the candidate missed an objective of the document (runSlos, gates.failOnFinding), "+
				"which is not a rule of the gate")
		}
		for j := range a.Rules {
			if r.Client != nil && verdict.Of(r.Client.Reasons, a.Rules[j].Metric) == verdict.Suspect {
				add("client-suspect", "the load generator may have changed "+a.Rules[j].Metric+" in some of the runs")
			}
		}
	}
	for _, tag := range []string{"input_sequence_length", "output_sequence_length"} {
		if len(base) > 0 && lengthsDiffer(base, candidate, tag) {
			add("lengths-differ", fmt.Sprintf("mean %s is %.4g in the baseline and %.4g in the candidate", tag,
				*meanLength(base, tag), *meanLength(candidate, tag)))
		}
	}
	if len(base) > 0 {
		doubtCaches(add, compared{"the baseline", base}, compared{"the candidate", candidate})
	}
	relative := slices.ContainsFunc(a.Rules, func(r RuleAnswer) bool { return r.estimated() && r.Relative })
	if relative && (isBefore(base, candidate) || isBefore(candidate, base)) {
		add("not-interleaved", "the baseline and the candidate were measured at different times, so a change of the "+
			"machine in between looks like one of the candidate; if the answer is a surprise, measure the baseline again")
	}
	if reference != nil && reference.Moved {
		add("host-differs", "the baseline was measured on another class of machine ("+reference.Host+")")
	}
	if reference != nil && len(reference.First) > 0 {
		a.addCreep(reference.First, candidate, add)
	}
}

// addCreep adds a doubt if the candidate has lost more than twice what a rule allows since the first revision
// of the baseline, by losses each of which passed.
func (a *GateAnswer) addCreep(first, candidate []Input, add func(code, message string)) {
	for i := range a.Rules {
		r := &a.Rules[i]
		if !r.Relative {
			continue
		}
		q := asked{tag: r.Metric, stat: r.rule.stat, points: r.rule.points}
		before, now := r.centre(valuesOf(first, q), r.rule.points), r.centre(valuesOf(candidate, q), r.rule.points)
		if before == nil || now == nil || !r.rule.points && *before <= 0 {
			continue
		}
		loss := (*now - *before) * r.rule.scale / 100
		if !r.rule.points {
			loss = *now / *before - 1
		}
		if r.rule.better == Higher {
			loss = -loss
		}
		if loss > 2**r.rule.MaxRegression {
			unit := " %"
			if r.rule.points {
				unit = " points"
			}
			add("creep", fmt.Sprintf("%s is worse by %.1f%s than in the first revision of the baseline, "+
				"more than twice what the rule allows for one change", r.rule.name(), 100*loss, unit))
		}
	}
}
