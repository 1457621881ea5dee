// Package capacity plans the search for the largest load at which enough of the requests meet
// their objectives, and says what was found. It is pure: what is probed next follows from the
// probes that are done, so that a search that was interrupted goes on where it was.
package capacity

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"aiperfd/internal/engine/stat"
)

// Options define a search.
type Options struct {
	Low, High float64       // levels of load, 0 < Low < High
	Start     float64       // where the bracket begins; 0 = twice Low
	Integer   bool          // levels are whole numbers
	Closed    bool          // levels are numbers of requests at a time; false = requests per second
	Target    float64       // share of requests that must be good; between 0 and 1
	Precision float64       // half the width of the interval, relative to the capacity
	Probes    int           // at most, ≥ 2
	Time      time.Duration // of load, at most; 0 = without limit
	Warmup    time.Duration // of a probe, at least
	Window    time.Duration // of a probe, at least
}

// The defaults.
const (
	DefaultTarget    = 0.95
	DefaultPrecision = 0.05
	DefaultProbes    = 40
	DefaultTime      = time.Hour
	DefaultWarmup    = 10 * time.Second
	DefaultWindow    = 120 * time.Second
)

// Probe is what was measured at one level of load.
type Probe struct {
	Level   float64
	Window  time.Duration // that was planned
	Lasted  time.Duration // of the window, if the probe was ended before its time
	Load    time.Duration // for which the server was under load: warm-up and window
	Failure string        // why there is no measurement; empty = there is one

	Share     stat.Share    // of good requests among those due in the window, on the clock of due times
	FromStart float64       // the same share on the clock of starts
	Growing   bool          // the number of requests in flight grew over the window
	Ended     string        // why the probe was ended before its time: Overload or Hopeless; empty = it was not
	Median    time.Duration // of the request latency; 0 = no request succeeded
	P95       time.Duration // of the request latency; 0 = no request succeeded
	InFlight  float64       // mean in the window
	Distorted string        // the objective that the load generator may have decided; empty = none
	Suspect   bool          // the load generator may have distorted an objective
	Busy      bool          // the server was not idle when the probe began
	// Missed counts the requests of the window that missed an objective, by objective; a request may
	// miss several.
	Missed map[string]int
}

// Why a probe was ended before its time.
const (
	Overload = "overload" // more requests were in flight than a server that keeps up could leave
	Hopeless = "hopeless" // so many requests were bad that the rest could not make up for them
)

// pass reports whether enough requests were good.
func (p *Probe) pass(target float64) bool { return p.Share.X >= target }

// Role is why a level is probed.
type Role string

// The roles, in the order in which a search has them.
const (
	Baseline    Role = "baseline"     // the least load: does the server meet the objectives at all?
	Bracket     Role = "bracket"      // roughly, where it ceases to
	Refine      Role = "refine"       // around the estimate
	ConfirmHigh Role = "confirm_high" // the upper end of the interval
	ConfirmLow  Role = "confirm_low"  // the lower end, coming down from more load
)

// Plan is the next probe.
type Plan struct {
	Role   Role
	Level  float64
	Warmup time.Duration
	Window time.Duration
	// Curtail permits ending the probe once it has certainly failed.
	Curtail bool
	// MaxInFlight ends the probe when more requests are in flight; 0 = never.
	MaxInFlight int
}

// Reason is why a search ended.
type Reason string

// The reasons.
const (
	Precise     Reason = "precision"     // the interval is as narrow as asked, and both ends are confirmed
	Settled     Reason = "settled"       // levels are whole numbers, and two neighbours are confirmed as good and bad
	NotMet      Reason = "not_found"     // the least load misses the objectives
	InRange     Reason = "range"         // the largest load of the range meets them
	NotMonotone Reason = "non_monotone"  // in two pairs of probes, more load met the objectives better than less
	OutOfProbes Reason = "budget_probes" // as many probes as permitted
	OutOfTime   Reason = "budget_time"   // as much time of load as permitted
	Broken      Reason = "probes_failed" // probes without a measurement, one after another
)

// The reasons that only the study knows: it ended before the search did.
const (
	Cancelled Reason = "cancelled" // by a user, or by its deadline
	Failed    Reason = "failed"    // it permits no more failures, or could not go on
)

// Reasons are the reasons in words.
func Reasons() map[Reason]string {
	return map[Reason]string{
		Precise:     "the interval is as narrow as asked, and probes at both ends confirm it",
		Settled:     "a load is confirmed as good, and the next whole number as bad",
		NotMet:      "the least load of the range misses the objectives",
		InRange:     "the largest load of the range meets the objectives",
		NotMonotone: "more load met the objectives better than less load",
		OutOfProbes: "the budget of probes is spent",
		OutOfTime:   "the budget of time is spent",
		Broken:      "several probes in a row have no result",
		Cancelled:   "it was cancelled, or its deadline passed",
		Failed:      "it failed before it was complete",
	}
}

// The rules of the search.
const (
	bracketed     = 1.5 // ratio of a bad level to a good one from which on the model takes over
	leastLocal    = 8   // probes near the capacity before the interval is believed
	perProbe      = 500 // requests of a window, at least
	mostFailures  = 3   // probes without a measurement, one after another
	mostDoublings = 4   // longest window, as a multiple
	farApart      = 4   // deviations by which more load may be better than less
	mostContrary  = 2   // pairs of probes in which it was; with as many, the search ends
	settling      = 2   // deviations from the target by which a level is good or bad for certain
	surprising    = 3   // deviations by which the lower end may be worse than expected
	nearEstimate  = 0.8 // of the estimate: from here on, latencies say how long a window must be
)

// spread returns the places that are probed around the estimate, in multiples of 1/slope: those
// where 95, 92, 97, 87 and 98.5 % are expected to be good. They do not shrink, so that a first
// bad draw is corrected.
func spread() []float64 { return []float64{0, 0.5, -0.6, 1.0, -1.2} }

// Search is the state of a search: a function of its options and the probes that it was told.
type Search struct {
	options  Options
	probes   []Probe
	roles    []Role
	role     Role // of the next probe
	again    bool // the last level is repeated, with twice the window
	good     float64
	bad      float64       // largest and smallest levels of the bracket; 0 and infinite at first
	top      int           // passes at the largest level
	refined  int           // probes around the estimate
	longer   time.Duration // factor of the window
	warmup   time.Duration
	window   time.Duration
	fit      *stat.Capacity // nil = there is no measurement
	ended    Reason
	failures int
	load     time.Duration
	surprise bool // the lower end was worse after overload than the curve expects
}

// New returns the search before its first probe.
func New(o Options) *Search {
	if o.Start <= o.Low || o.Start > o.High {
		o.Start = min(2*o.Low, o.High)
	}
	return &Search{
		options: o, role: Baseline, bad: math.Inf(1), longer: 1, warmup: o.Warmup, window: o.Window,
	}
}

// After returns the search after probes, in their order.
func After(o Options, done []Probe) *Search {
	s := New(o)
	for _, p := range done {
		s.Observe(p)
	}
	return s
}

// With returns the search after one more probe; s does not change.
func (s *Search) With(p Probe) *Search {
	next := *s
	next.probes, next.roles = slices.Clip(s.probes), slices.Clip(s.roles)
	next.Observe(p)
	return &next
}

// Probes returns what the search was told. The slice must not be changed.
func (s *Search) Probes() []Probe { return s.probes }

// Next returns the next probe; false = the search is over.
func (s *Search) Next() (Plan, bool) {
	if s.Reason() != "" {
		return Plan{}, false
	}
	p := Plan{Role: s.role, Level: s.level(), Warmup: s.warmup, Curtail: s.role == Bracket}
	p.Window = s.window * s.longer
	if !s.options.Closed {
		p.Window = max(p.Window, time.Duration(perProbe/p.Level*float64(time.Second)))
		p.MaxInFlight = s.mostInFlight()
	}
	if s.again {
		p.Window *= 2
	}
	return p, true
}

// Reason returns why the search is over; empty = it is not.
func (s *Search) Reason() Reason {
	switch {
	case s.ended != "":
		return s.ended
	case len(s.probes) >= s.options.Probes:
		return OutOfProbes
	case s.options.Time > 0 && s.load >= s.options.Time:
		return OutOfTime
	}
	return ""
}

// level returns the level of the next probe.
func (s *Search) level() float64 {
	if s.again {
		return s.probes[len(s.probes)-1].Level
	}
	switch s.role {
	case Baseline:
		return s.round(s.options.Low)
	case Bracket:
		switch {
		case math.IsInf(s.bad, 1) && s.good < s.options.Start:
			return s.round(s.options.Start)
		case math.IsInf(s.bad, 1):
			return s.round(min(2*s.good, s.options.High))
		}
		return s.round(math.Sqrt(s.good * s.bad))
	case ConfirmHigh:
		_, high := s.ends()
		return high
	case ConfirmLow:
		low, _ := s.ends()
		return low
	case Refine:
	}
	steepest := 40.0
	if s.options.Closed {
		steepest = 60
	}
	slope := min(max(s.fit.Slope, 5), steepest)
	places := spread()
	return s.round(s.fit.Value * (1 + places[s.refined%len(places)]/slope))
}

// ends returns the levels at which the interval is confirmed: its ends or, if they are no levels, the
// next ones outside. The nearest ones may lie beyond the capacity, and would be refused for ever.
func (s *Search) ends() (low, high float64) {
	if good, bad, ok := s.neighbours(); ok {
		return good, bad
	}
	if s.options.Integer {
		return s.round(math.Floor(s.fit.Low)), s.round(math.Ceil(s.fit.High))
	}
	return s.round(s.fit.Low), s.round(s.fit.High)
}

// neighbours returns two levels with no level between them such that the probes at the first were good
// together and those at the second bad, by more than chance; ok = false if there are none.
func (s *Search) neighbours() (good, bad float64, ok bool) {
	if !s.options.Integer || s.fit == nil {
		return 0, 0, false
	}
	levels := make(map[float64]stat.Attained)
	for _, m := range s.attained() {
		sum := levels[m.Level]
		levels[m.Level] = stat.Attained{Level: m.Level, N: sum.N + m.N, Good: sum.Good + m.Good}
	}
	// The blocks of one window say too little of how windows differ.
	beyond := func(m stat.Attained) float64 {
		return (m.Good/m.N - s.options.Target) / math.Sqrt(stat.LeastDispersion(s.fit.Within)*variance(&m))
	}
	for _, x := range slices.Sorted(maps.Keys(levels)) {
		if next, probed := levels[x+1]; probed && beyond(levels[x]) > settling && beyond(next) < -settling {
			return x, x + 1, true
		}
	}
	return 0, 0, false
}

// round returns a level that can be probed.
func (s *Search) round(x float64) float64 {
	if s.options.Integer {
		x = math.Round(x)
	} else { // four digits can be read, and are finer than any interval
		x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	}
	return min(max(x, s.options.Low), s.options.High)
}

// mostInFlight returns how many requests may be in flight: four times as many as at the last
// good level, and some.
func (s *Search) mostInFlight() int {
	for i := len(s.probes) - 1; i >= 0; i-- {
		if p := &s.probes[i]; p.Failure == "" && p.pass(s.options.Target) {
			return int(4*p.InFlight) + 100
		}
	}
	return 0
}

// Observe tells the search what was measured at the level of its plan.
func (s *Search) Observe(p Probe) {
	s.probes, s.roles = append(s.probes, p), append(s.roles, s.role)
	s.load += p.Load
	if p.Failure != "" {
		if s.failures++; s.failures >= mostFailures {
			s.ended = Broken
		}
		return
	}
	s.failures = 0
	repeated := s.again
	s.again = false
	expected := s.expected(&p)
	s.fit = new(stat.FitCapacity(s.attained(), s.options.Target))
	s.lengthen()
	if s.role != Baseline && s.contrary() {
		s.ended = NotMonotone
		return
	}
	pass := p.pass(s.options.Target)
	if pass && p.Growing && !repeated && (s.role == Bracket || s.role == ConfirmLow) {
		s.again = true
		return
	}
	switch s.role {
	case Baseline:
		if p.Share.X+p.Share.Margin() < s.options.Target {
			s.ended = NotMet
			return
		}
		s.role, s.good = Bracket, p.Level
	case Bracket:
		s.bracket(&p, pass)
	case Refine:
		s.refined++
		if s.refined%3 == 0 && s.fit.Local >= 6 && s.fit.Between > 2*s.fit.Within {
			s.longer = min(2*s.longer, mostDoublings)
		}
		if _, _, settled := s.neighbours(); settled || s.enough() {
			s.role = ConfirmHigh
		}
	case ConfirmHigh:
		s.role = ConfirmLow
		if p.Share.X-p.Share.Margin() > s.options.Target {
			s.role = Refine
		}
	case ConfirmLow:
		s.surprise = p.Share.X < expected
		s.role = Refine
		_, _, settled := s.neighbours()
		switch held := p.Share.X+p.Share.Margin() >= s.options.Target; {
		case held && s.enough():
			s.ended = Precise
		case held && settled:
			s.ended = Settled
		}
	}
}

// expected returns the least share that the curve so far expects at the level of a probe.
func (s *Search) expected(p *Probe) float64 {
	if s.fit == nil {
		return 0
	}
	return s.fit.At(p.Level) - surprising*math.Sqrt(s.fit.Variance(p.Level, p.Share.N))
}

// bracket narrows the levels between which the capacity lies. These verdicts only locate it.
func (s *Search) bracket(p *Probe, pass bool) {
	switch {
	case pass && p.Level >= s.round(s.options.High):
		s.good = p.Level
		if s.top++; s.top >= 2 && p.Share.X-p.Share.Margin() >= s.options.Target {
			s.ended = InRange
		} else if s.top >= 2 {
			s.role = Refine
		}
		return
	case pass:
		s.good = max(s.good, p.Level)
	default:
		s.bad = min(s.bad, p.Level)
	}
	if s.bad <= s.good*bracketed || s.options.Integer && s.bad-s.good <= 1 {
		s.role = Refine
	}
}

// enough reports whether the interval is as narrow as asked, and rests on enough independent
// requests.
func (s *Search) enough() bool {
	return s.fit.Local >= leastLocal && s.fit.Worth >= 10/(1-s.options.Target) && s.fit.HalfWidth() <= s.options.Precision
}

// lengthen makes warm-up and window as long as the latencies near the capacity ask for.
func (s *Search) lengthen() {
	for i := len(s.probes) - 1; i >= 0; i-- {
		p := &s.probes[i]
		near := p.pass(s.options.Target)
		if s.role != Baseline && s.role != Bracket {
			near = p.Level >= nearEstimate*s.fit.Value && s.fit.At(p.Level) > 0.5
		}
		if p.Failure != "" || p.Ended != "" || !near {
			continue
		}
		s.warmup = max(s.warmup, 2*p.P95)
		s.window = max(s.window, 10*p.P95)
		if s.options.Closed {
			s.window = max(s.window, time.Duration(perProbe/p.Level*float64(p.Median)))
		}
		return
	}
}

// attained returns the measurements for the fit. A probe that was ended by overload stands for all requests of its
// window: those that were not sent any more would have waited behind more requests than the server can work off. What
// was sent before, while the queue grew, is mostly good, and would make the curve too flat.
func (s *Search) attained() []stat.Attained {
	var out []stat.Attained
	for i := range s.probes {
		if p := &s.probes[i]; p.Failure == "" {
			n := p.Share.N
			if p.Ended == Overload && p.Lasted > 0 && p.Lasted < p.Window {
				n *= float64(p.Window) / float64(p.Lasted)
			}
			out = append(out, stat.Attained{
				Level: p.Level, N: n, Good: p.Share.Good, Error: p.Share.Error, Light: p.Ended != "",
			})
		}
	}
	return out
}

// contrary reports whether levels have more good requests than lower ones by more than chance, and did so in two
// pairs of probes: where a busy period is as long as a window, one pair happens. Levels of overload say nothing: there
// the share depends on when the queue began to grow.
func (s *Search) contrary() bool {
	all := s.attained()
	used := make([]bool, len(all))
	pairs := 0
	for i := range all {
		for j := range all {
			if !used[i] && !used[j] && s.contradict(all, i, j) {
				used[i], used[j] = true, true
				pairs++
			}
		}
	}
	return pairs >= mostContrary
}

// contradict reports whether the second of two probes had more load, and more good requests.
func (s *Search) contradict(all []stat.Attained, lower, higher int) bool {
	a, b := &all[lower], &all[higher]
	if a.Level >= b.Level || a.Light || b.Light || b.Good < b.N/2 {
		return false
	}
	variances := variance(a) + variance(b)
	beyond := func(dispersion float64) bool {
		return b.Good/b.N-a.Good/a.N > farApart*math.Sqrt(dispersion*variances)
	}
	// How much windows differ is what the others say: the two themselves would count their contradiction as chance. The
	// blocks within windows say too little.
	return beyond(stat.LeastDispersion(s.fit.Within)) && beyond(s.dispersionWithout(all, lower, higher))
}

// dispersionWithout returns the dispersion of the measurements but two.
func (s *Search) dispersionWithout(all []stat.Attained, i, j int) float64 {
	others := make([]stat.Attained, 0, len(all))
	for k, m := range all {
		if k != i && k != j {
			others = append(others, m)
		}
	}
	if len(others) == 0 {
		return s.fit.Dispersion
	}
	f := stat.FitCapacity(others, s.options.Target)
	return f.Dispersion
}

// variance returns that of a share of independent requests, at least that of half a request.
func variance(a *stat.Attained) float64 {
	x := min(max(a.Good/a.N, 0.5/a.N), 1-0.5/a.N)
	return x * (1 - x) / a.N
}
