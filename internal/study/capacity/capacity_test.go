package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/stat"
)

// answers returns a probe in which a share of 10,240 requests is good in every block.
func answers(p Plan, share float64) Probe {
	var good, all [stat.Blocks]float64
	for k := range all {
		all[k] = 640
		good[k] = math.Round(640 * share)
	}
	return Probe{Level: p.Level, Window: p.Window, Load: p.Warmup + p.Window, Share: stat.BlockShare(good, all), FromStart: share}
}

func options() Options {
	return Options{Low: 1, High: 100, Target: 0.95, Precision: 0.05, Probes: 40, Warmup: time.Second, Window: 10 * time.Second}
}

// TestVerdicts: how searches end that find no capacity within their range.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Options)
		share   func(level float64, index int) float64
		verdict Verdict
		reason  Reason
	}{
		{"nothing is good", nil, func(float64, int) float64 { return 0 }, NotFound, NotMet},
		{"everything is good", nil, func(float64, int) float64 { return 1 }, LowerBound, InRange},
		{"more is better", nil, func(x float64, index int) float64 {
			switch {
			case index < 4: // a bracket from 2.8 to 4
				return map[bool]float64{true: 0.96, false: 0.3}[x < 4]
			case x < 3.4:
				return 0.4
			}
			return 0.99
		}, NonMonotone, NotMonotone},
		{"three probes", func(o *Options) { o.Probes = 3 }, func(x float64, _ int) float64 { return math.Exp(-math.Exp(-3 + 8*(x/20-1))) }, LowerBound, OutOfProbes},
		{"no time", func(o *Options) { o.Time = 5 * time.Minute }, func(x float64, _ int) float64 { return math.Exp(-math.Exp(-3 + 8*(x/20-1))) }, "", OutOfTime},
	} {
		o := options()
		if c.change != nil {
			c.change(&o)
		}
		s := New(o)
		for i := 0; ; i++ {
			p, more := s.Next()
			if !more || i > 50 {
				break
			}
			s.Observe(answers(p, c.share(p.Level, i)))
		}
		a := s.Answer()
		if a.Reason != c.reason || c.verdict != "" && a.Verdict != c.verdict {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, a.Verdict, a.Reason, c.verdict, c.reason)
		}
	}
}

// TestVerdicts_bounds: what few probes say. Without a bad one there is no largest capacity.
func TestVerdicts_bounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		shares []float64
		want   Verdict
		bounds bool
	}{
		{"one good probe", []float64{0.969}, Invalid, false},
		{"one barely good probe", []float64{0.953}, Invalid, false},
		{"two good probes", []float64{0.992, 0.969}, LowerBound, true},
		{"four good probes", []float64{0.992, 0.992, 0.969, 0.969}, LowerBound, true},
		{"good and bad ones", []float64{1, 0.992, 0.5, 0.98}, Estimated, true},
	} {
		s := New(options())
		for _, x := range c.shares {
			p, _ := s.Next()
			probe := answers(p, x)
			probe.Share.N, probe.Share.Good = probe.Share.N/20, probe.Share.Good/20
			s.Observe(probe)
		}
		if a := s.Answer(); a.Verdict != c.want || (a.Capacity != nil) != c.bounds {
			t.Errorf("%s: %s, capacity %+v; want %s, one: %v", c.name, a.Verdict, a.Capacity, c.want, c.bounds)
		}
	}
}

// TestVerdict_distorted: what the load generator may have caused is no verdict on the server, nor at
// the least load.
func TestVerdict_distorted(t *testing.T) {
	for _, share := range []float64{0.02, 0.3} {
		s := New(options())
		p, _ := s.Next()
		probe := answers(p, share)
		probe.Distorted = "time_to_first_token"
		s.Observe(probe)
		if a := s.Answer(); a.Verdict != Invalid || a.Reason != NotMet || a.Distorted != probe.Distorted {
			t.Errorf("%v good in a distorted baseline: %s (%s), distorted %q; want invalid (not_found)", share, a.Verdict, a.Reason, a.Distorted)
		}
	}
}

// TestGrowing: a good level at which the queue grows is probed again, with twice the window.
func TestGrowing(t *testing.T) {
	s := New(options())
	for range 2 {
		p, _ := s.Next()
		s.Observe(answers(p, 1))
	}
	before, _ := s.Next()
	grown := answers(before, 1)
	grown.Growing = true
	s.Observe(grown)
	again, _ := s.Next()
	if again.Level != before.Level || again.Window != 2*before.Window {
		t.Errorf("after %+v the next probe is %+v, want the same level with twice the window", before, again)
	}
}

// TestBadBelow: an estimate above a level that was measured as bad says so, and only such a one.
func TestBadBelow(t *testing.T) {
	for _, c := range []struct {
		name string
		last float64 // share of good requests at the largest levels
		want bool
	}{{"one bad draw", 0.94, true}, {"as it should be", 0.85, false}} {
		var done []Probe
		for _, p := range []struct{ level, share float64 }{
			{1, 1}, {2, 1}, {4, 1}, {8, 0.995}, {12, 0.965}, {13, 0.949}, {13.5, c.last}, {20, 0.8},
		} {
			probe := answers(Plan{Level: p.level, Window: 10 * time.Second, Warmup: time.Second}, p.share)
			probe.Share.Error = 0.01
			done = append(done, probe)
		}
		a := After(options(), done).Answer()
		found := slices.ContainsFunc(a.Doubts, func(d Doubt) bool { return d.Code == "bad-below" })
		if a.Verdict != Estimated || found != c.want {
			t.Errorf("%s: %s, capacity %v, bad %v, doubts %v", c.name, a.Verdict, a.Capacity.Value, a.Bad.Level, a.Doubts)
		}
	}
}

// TestFailures: a probe without a result is repeated; three in a row end the search.
func TestFailures(t *testing.T) {
	s := New(options())
	for range 3 {
		p, more := s.Next()
		if !more || p.Level != 1 {
			t.Fatalf("next is %+v, %v", p, more)
		}
		s.Observe(Probe{Level: p.Level, Failure: "refused"})
	}
	if a := s.Answer(); a.Verdict != Invalid || a.Reason != Broken {
		t.Errorf("answer is %s (%s), want invalid (probes_failed)", a.Verdict, a.Reason)
	}
}

// history returns the probes of a search.
func history(seed uint64, probes int) (Options, []Probe) {
	o := options()
	o.Probes = probes
	s, mm1 := New(o), queue(20, 0.5)
	for i := uint64(0); ; i++ {
		p, more := s.Next()
		if !more {
			return o, s.probes
		}
		s.Observe(mm1.probe(p, rand.New(rand.NewPCG(seed, i))))
	}
}

// TestProperties: what must hold for every search.
func TestProperties(t *testing.T) {
	for seed := range uint64(3) {
		o, done := history(seed, 12)
		a := After(o, done).Answer()
		if diff := cmp.Diff(a, After(o, done).Answer(), cmpopts.IgnoreUnexported(stat.Capacity{}), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("seed %d: the same probes give another answer:\n%s", seed, diff)
		}
		for n := range done { // the plan after a replay is the one that was performed
			if p, more := After(o, done[:n]).Next(); !more || p.Level != done[n].Level || p.Window != done[n].Window {
				t.Errorf("seed %d: replayed probe %d is %+v, not %v for %v", seed, n, p, done[n].Level, done[n].Window)
			}
		}
		better := append([]Probe(nil), done...)
		last := &better[len(better)-1]
		last.Share.Good = min(last.Share.N, last.Share.Good+0.02*last.Share.N)
		last.Share.X = last.Share.Good / last.Share.N
		if b := After(o, better).Answer(); b.Capacity.Value < a.Capacity.Value*(1-1e-3) {
			t.Errorf("seed %d: a better probe lowers the capacity from %v to %v", seed, a.Capacity.Value, b.Capacity.Value)
		}
		scaled := o
		scaled.Low, scaled.High = 10*o.Low, 10*o.High
		ten := append([]Probe(nil), done...)
		for i := range ten {
			ten[i].Level *= 10
		}
		b := After(scaled, ten).Answer()
		if b.Verdict != a.Verdict || math.Abs(b.Capacity.Value/a.Capacity.Value-10) > 1e-6 {
			t.Errorf("seed %d: ten times the levels give %s %v, want %s %v", seed, b.Verdict, b.Capacity.Value, a.Verdict, 10*a.Capacity.Value)
		}
	}
}

// TestAnswer_order: the fit does not depend on the order of the evidence.
func TestAnswer_order(t *testing.T) {
	_, done := history(1, 12)
	s := Search{probes: done}
	forward := s.attained()
	backward := make([]stat.Attained, len(forward))
	for i, m := range forward {
		backward[len(forward)-1-i] = m
	}
	x, y := stat.FitCapacity(forward, 0.95), stat.FitCapacity(backward, 0.95)
	if math.Abs(x.Value/y.Value-1) > 1e-9 || math.Abs(x.Low/y.Low-1) > 1e-9 {
		t.Errorf("fits are %v and %v", x.Value, y.Value)
	}
}
