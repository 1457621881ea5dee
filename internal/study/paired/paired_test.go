package paired

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/stat"
)

// newCourse returns an experiment over all metrics whose pairs went to A first if their number is even.
func newCourse(block time.Duration) *Course {
	c := New(Rules{
		Block: block, Margin: 0.03, Metrics: Tags(true),
		First: func(session int64) Side { return Side(session % 2) },
	})
	c.Begin(0)
	return c
}

// sample is a request that took some milliseconds, and half of that until its first token.
func sample(session int64, due time.Duration, ms float64) Sample {
	return Sample{
		Session: session, Name: "c", Due: due, Values: [latencies]float64{ms / 2, ms / 100, ms}, Input: 10, Output: 20,
	}
}

// Pairs are the requests with one number; blocks have at least 20 of them, and are complete when one of a later
// block has ended, in whatever order requests end.
func TestCourseBlocks(t *testing.T) {
	c := newCourse(time.Second)
	due := func(i int64) time.Duration { return time.Duration(i) * 100 * time.Millisecond }
	for i := range int64(41) {
		c.Add(B, sample(40-i, due(40-i), 110))
	}
	if c.Advance() || c.Pairs() != 0 {
		t.Fatal("a block is complete without requests of A")
	}
	for i := range int64(41) {
		if i == 3 {
			continue
		}
		c.Add(A, sample(i, due(i), 100))
	}
	if c.Advance() {
		t.Fatal("a block is complete although a request of it is not")
	}
	failed := sample(3, due(3), 1)
	failed.Failed = true
	c.Add(A, failed)
	if !c.Advance() {
		t.Fatal("no block is complete")
	}
	blocks := c.Blocks()
	if len(blocks) != 2 || c.Pairs() != 41 {
		t.Fatalf("%d blocks, %d pairs; want 2 and 41", len(blocks), c.Pairs())
	}
	for i, b := range blocks {
		if b.Pairs != 20 || b.From != time.Duration(i)*2*time.Second || b.To != b.From+2*time.Second {
			t.Errorf("block %d: %+v", i, b)
		}
		for of := range latencies {
			if got := b.Difference[of]; math.Abs(got-math.Log(1.1)) > 1e-12 {
				t.Errorf("block %d: ln(B/A) = %v, want ln 1.1", i, got)
			}
		}
	}
	if got := blocks[0].Difference[errorShare]; got != -0.05 {
		t.Errorf("difference of error shares = %v, want -1/20", got)
	}
	if got := blocks[1].SoFar; len(got) != 4 || got[2].Tag != "request_latency" || math.Abs(got[2].Change-10) > 1e-9 ||
		math.Abs(got[3].Change+2.5) > 1e-9 || got[2].Low != nil {
		t.Errorf("after 2 blocks: %+v, want a change of 10 %% and of -2.5 points without an interval", got)
	}
	a := c.Answer("")
	if a.Verdict != Inconclusive || a.Failed != [2]int64{1, 0} || a.Metrics[0].Low != nil {
		t.Errorf("answer after 2 blocks: %+v", a)
	}
	const want = "30 blocks, before which there is no interval; at this load they take about 1 minute (--budget)"
	if got := c.Decide(&a); got != want {
		t.Errorf("decide = %q, want %q", got, want)
	}
}

// run performs an experiment of blocks of 20 pairs until it is decided, at most some blocks.
func run(c *Course, most int, take func(i int64) (a, b float64)) {
	for i := int64(0); len(c.Blocks()) < most; i++ {
		x, y := take(i)
		due := time.Duration(i) * 50 * time.Millisecond
		c.Add(A, sample(i, due, x))
		c.Add(B, sample(i, due, y))
		if c.Advance() && len(c.Blocks()) >= stat.FirstLook && c.Decided() {
			return
		}
	}
}

// TestSimulateCourse: prompts whose lengths differ, servers with noise of their own that drift by 10 %. Equal servers
// are called better or worse in at most 5 % of experiments, 3 % more are found, and swapping the sides swaps the
// verdicts.
func TestSimulateCourse(t *testing.T) {
	const blocks = 200
	draws := 150
	if os.Getenv("AIPERFD_SIMULATE") == "full" {
		draws = 1000
	}
	experiment := func(seed uint64, effect float64, swap bool) Answer {
		random := rand.New(rand.NewPCG(seed, 1))
		c := newCourse(time.Second)
		run(c, blocks, func(i int64) (float64, float64) {
			drift := 1 + 0.1*float64(i)/(20*blocks)
			prompt := 100 * math.Exp(0.5*random.NormFloat64()) * drift
			a := prompt * math.Exp(0.2*random.NormFloat64())
			b := prompt * math.Exp(0.2*random.NormFloat64()) * (1 + effect)
			if swap {
				return b, a
			}
			return a, b
		})
		return c.Answer("")
	}
	alarms, found, equal := 0, 0, 0
	for seed := range uint64(draws) {
		switch experiment(seed, 0, false).Verdict {
		case Better, Worse:
			alarms++
		case Equivalent:
			equal++
		case Inconclusive, Invalid:
		}
		a := experiment(seed, 0.03, false)
		if a.Verdict == Worse {
			found++
		}
		if swapped := experiment(seed, 0.03, true); (swapped.Verdict == Better) != (a.Verdict == Worse) && a.Verdict == Worse {
			t.Errorf("seed %d: %s, and %s with sides swapped", seed, a.Verdict, swapped.Verdict)
		}
	}
	t.Logf("of %d experiments: equal servers: %d alarms, %d equivalent; 3 %% slower: %d found", draws, alarms, equal, found)
	if alarms > draws*5/100 || equal < draws*80/100 || found < draws*90/100 {
		t.Errorf("%d alarms, %d equivalent, %d found", alarms, equal, found)
	}
}

// TestDoubts: what may make pairs unlike is named.
func TestDoubts(t *testing.T) {
	for _, tt := range []struct {
		code   string
		change func(i int64, a, b *Sample)
	}{
		{"unlike-pairs", func(i int64, a, _ *Sample) {
			if i == 7 {
				a.Name = "other"
			}
		}},
		{"order", func(i int64, a, _ *Sample) { a.Values[FirstToken] *= 1 + 0.1*float64(i%2) }},
		{"send-lag", func(_ int64, _, b *Sample) { b.Lag = 5 * time.Millisecond }},
		{"input-differs", func(_ int64, a, _ *Sample) { a.Input = 11 }},
		{"output-differs", func(_ int64, a, _ *Sample) { a.Output = 21 }},
		{"short-block", func(_ int64, a, _ *Sample) { a.Values[Whole] = 3000 }},
	} {
		c := newCourse(time.Second)
		random := rand.New(rand.NewPCG(2, 3))
		for i := range int64(1000) {
			due := time.Duration(i) * 50 * time.Millisecond
			a, b := sample(i, due, 100+random.Float64()), sample(i, due, 100+random.Float64())
			tt.change(i, &a, &b)
			c.Add(A, a)
			c.Add(B, b)
		}
		c.Advance()
		a := c.Answer("")
		if len(a.Doubts) != 1 || a.Doubts[0].Code != tt.code {
			t.Errorf("doubts = %v, want %s", a.Doubts, tt.code)
		}
		if (a.Verdict == Invalid) != (tt.code == "unlike-pairs") {
			t.Errorf("%s: verdict %s", tt.code, a.Verdict)
		}
	}
	c := newCourse(time.Second)
	if a := c.Answer("short of CPU"); a.Verdict != Invalid || len(a.Doubts) != 1 || c.Decide(&a) != "give the load generator a machine or cores of its own" {
		t.Errorf("distorted: %+v", a)
	}
}

// TestRestore: what another process makes of the pairs of closed blocks is what the first one said behind the last of
// them, and what follows is later.
func TestRestore(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	first := newCourse(time.Second)
	add := func(c *Course, sessions int64) {
		for i := range sessions {
			a := sample(i, time.Duration(i)*40*time.Millisecond, 100*math.Exp(0.2*random.NormFloat64()))
			b := sample(i, time.Duration(i)*40*time.Millisecond, 97*math.Exp(0.2*random.NormFloat64()))
			a.Failed = i%50 == 7
			b.Output = math.NaN()
			c.Add(A, a)
			c.Add(B, b)
		}
		c.Advance()
	}
	add(first, 1001)
	rows := first.Rows()
	if len(first.Blocks()) != 40 || len(rows) != 1000 || len(first.Rows()) != 0 || len(first.Rest()) != 1 {
		t.Fatalf("%d blocks, %d rows, %d other pairs", len(first.Blocks()), len(rows), len(first.Rest()))
	}
	var spans []Span
	for _, b := range first.Blocks() {
		spans = append(spans, Span{b.From, b.To})
	}
	second := newCourse(time.Second)
	second.Restore(spans, rows, 42*time.Second)
	before, after := first.Answer(""), second.Answer("")
	before.Pairs = 1000 // the last one is in no block
	for side := range before.Lag {
		before.Lag[side] = after.Lag[side]
	}
	if text := cmp.Diff(before.Blocks, after.Blocks, cmpopts.EquateNaNs()); text != "" {
		t.Errorf("blocks:\n%s", text)
	}
	if before.Verdict != after.Verdict || before.Headline() != after.Headline() || after.Pairs != 1000 || after.Failed != [2]int64{20, 0} {
		t.Errorf("restored: %s, %d pairs, %v failed; want %s", after.Headline(), after.Pairs, after.Failed, before.Headline())
	}
	second.Begin(0)
	add(second, 51)
	if blocks := second.Blocks(); len(blocks) != 42 || blocks[40].From != 42*time.Second || blocks[41].To != 44*time.Second {
		t.Errorf("%d blocks, the last one %+v", len(blocks), blocks[len(blocks)-1])
	}
	for _, r := range second.Rows() {
		if r.Block < 40 || r.Sides[A].Due < 42*time.Second {
			t.Fatalf("a pair after the restart: block %d, due %v", r.Block, r.Sides[A].Due)
		}
	}
}

func TestInterval(t *testing.T) {
	of := func(change, low, high float64) *Metric { return &Metric{Change: &change, Low: &low, High: &high} }
	for want, m := range map[string]*Metric{
		"-4.1 % (-5.0 to -3.2 %)":    of(-4.1, -5, -3.2),
		"+50 % (+48 to +52 %)":       of(49.9, 48.1, 52.2),
		"+49.9 % (+49.8 to +50.0 %)": of(49.9, 49.81, 50),
		"+0.01 % (-0.02 to +0.05 %)": of(0.01, -0.02, 0.05),
	} {
		if got := m.Interval(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Without failures, the share of errors is not known exactly: its interval is what so many pairs leave possible. One
// pair that failed on a side alone makes it that of the blocks, and as many on both sides of a block have none.
func TestErrorsThatWereNeverSeen(t *testing.T) {
	errorsOf := func(failed ...[2]int64) Metric {
		c := newCourse(time.Second)
		for i := range int64(601) {
			for _, side := range []Side{A, B} {
				s := sample(i, time.Duration(i)*50*time.Millisecond, 100+float64(i%7))
				s.Failed = slices.Contains(failed, [2]int64{int64(side), i})
				c.Add(side, s)
			}
		}
		c.Advance()
		if len(c.Blocks()) != stat.FirstLook {
			t.Fatalf("%d blocks", len(c.Blocks()))
		}
		m := c.Answer("").Metrics[3]
		last := c.Blocks()[stat.FirstLook-1].SoFar[3]
		if (m.Low == nil) != (last.Low == nil) || m.Low != nil && (*m.Low != *last.Low || *m.High != *last.High) {
			t.Errorf("%v: the last block does not have the interval of the answer", failed)
		}
		return m
	}
	m := errorsOf()
	// A chance of 5 % for four metrics, of which the bound has half, for two sides.
	want := 100 * (1 - math.Pow(0.05/4/4, 1.0/600))
	if *m.Change != 0 || math.Abs(*m.High-want) > 1e-9 || *m.Low != -*m.High || m.Detectable != nil || m.Verdict != Equivalent {
		t.Errorf("no failures: %+v, high %v; want %v", m, *m.High, want)
	}
	if m = errorsOf([2]int64{0, 7}, [2]int64{1, 7}); math.Abs(*m.High-want) > 1e-9 {
		t.Errorf("a pair that failed on both sides: high %v, want %v", *m.High, want)
	}
	if m = errorsOf([2]int64{0, 7}); *m.Low == -*m.High || m.Detectable == nil {
		t.Errorf("a pair that failed on one side: %v to %v", *m.Low, *m.High)
	}
	if m = errorsOf([2]int64{0, 7}, [2]int64{1, 8}); m.Low != nil || m.Verdict != Inconclusive {
		t.Errorf("as many on both sides of a block: %+v", m)
	}
}
