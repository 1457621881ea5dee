package batch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// load drives an engine on a simulated clock: closed loop with clients, or
// Poisson with a rate.
type load struct {
	params           Params
	isl, osl, shared int
	clients, total   int
	rate             float64
}

// outcome are the figures of a simulated run after its first fifth.
type outcome struct {
	rps, ttft, itl float64 // requests/s, ms, ms
	preemptions    int64
	cached         float64
}

type request struct {
	seq                  *Sequence
	arrived, first, last time.Duration
}

func (l load) run(t *testing.T) outcome {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	e := New(l.params, random)
	var arrivals, done []*request
	flying := map[*Sequence]*request{}
	started := 0
	arrive := func(at time.Duration) {
		if started == l.total {
			return
		}
		started++
		arrivals = append(arrivals, &request{seq: l.sequence(started), arrived: at})
	}
	if l.rate > 0 {
		at := 0.0
		for range l.total {
			at += random.ExpFloat64() / l.rate
			arrive(time.Duration(at * float64(time.Second)))
		}
	} else {
		for range l.clients {
			arrive(0)
		}
	}
	now := time.Duration(0)
	for len(done) < l.total {
		for len(arrivals) > 0 && arrivals[0].arrived+l.params.Frontend <= now {
			if err := e.Submit(arrivals[0].seq); err != nil {
				t.Fatal(err)
			}
			flying[arrivals[0].seq] = arrivals[0]
			arrivals = arrivals[1:]
		}
		took, emitted, ok := e.Step()
		if !ok {
			now = arrivals[0].arrived + l.params.Frontend
			continue
		}
		now += took
		for _, s := range emitted {
			r := flying[s]
			if s.Generated == 1 {
				r.first = now
			}
			if s.Done() {
				r.last = now
				done = append(done, r)
				delete(flying, s)
				if l.rate == 0 {
					arrive(now)
				}
			}
		}
	}
	slices.SortStableFunc(done, func(a, b *request) int { return cmp.Compare(a.last, b.last) })
	out := outcome{preemptions: e.Stats().Preemptions}
	skipped := done[:len(done)/5]
	counted := done[len(done)/5:]
	begin := time.Duration(0)
	if len(skipped) > 0 {
		begin = skipped[len(skipped)-1].last
	}
	for _, r := range counted {
		out.ttft += float64(r.first-r.arrived) / 1e6
		out.itl += float64(r.last-r.first) / 1e6 / float64(l.osl-1)
		out.cached += float64(r.seq.Cached)
	}
	n := float64(len(counted))
	out.ttft, out.itl, out.cached = out.ttft/n, out.itl/n, out.cached/n
	out.rps = n / (counted[len(counted)-1].last - begin).Seconds()
	return out
}

// sequence number k shares its first tokens with all others.
func (l load) sequence(k int) *Sequence {
	s := &Sequence{Prompt: make([]uint32, l.isl), Answer: make([]uint32, l.osl)}
	for i := range s.Prompt {
		s.Prompt[i] = uint32(i)
		if i >= l.shared {
			s.Prompt[i] = uint32(k)<<12 | uint32(i)
		}
	}
	for i := range s.Answer {
		s.Answer[i] = uint32(k)<<12 | 1<<11 | uint32(i)
	}
	return s
}

func preset(t *testing.T, name string) Params {
	t.Helper()
	name, blocks, _ := strings.Cut(name, " blocks=")
	for _, p := range Presets() {
		if p.Name != name {
			continue
		}
		p.Params.Jitter = 0
		if blocks != "" {
			if _, err := fmt.Sscan(blocks, &p.Params.Blocks); err != nil {
				t.Fatal(err)
			}
		}
		return p.Params
	}
	t.Fatalf("no preset %q", name)
	return Params{}
}

type golden struct {
	Preset                      string
	ISL, OSL, C, N, Share       int
	RPS, TTFT, ITL, Pre, Cached float64
}

// TestGolden compares whole runs with the figures of a reference simulation.
func TestGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Closed, Prefix []golden }
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	near := func(t *testing.T, what string, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got-want) > tolerance*math.Abs(want) {
			t.Errorf("%s = %.4g, want %.4g", what, got, want)
		}
	}
	for _, g := range slices.Concat(want.Closed, want.Prefix) {
		t.Run(fmt.Sprintf("%s c=%d shared=%d", g.Preset, g.C, g.Share), func(t *testing.T) {
			if g.N == 0 { // the prefix runs
				g.ISL, g.OSL, g.N = 1024, 128, 256
			}
			l := load{params: preset(t, g.Preset), isl: g.ISL, osl: g.OSL, shared: g.Share, clients: g.C, total: g.N}
			got := l.run(t)
			near(t, "req/s", got.rps, g.RPS, 0.05)
			near(t, "TTFT", got.ttft, g.TTFT, 0.05)
			near(t, "ITL", got.itl, g.ITL, 0.05)
			near(t, "cached", got.cached, g.Cached, 0.05)
			if (g.Pre == 0) != (got.preemptions == 0) {
				t.Errorf("%d preemptions, want %g", got.preemptions, g.Pre)
			}
			near(t, "preemptions", float64(got.preemptions), g.Pre, 0.25)
		})
	}
}

// TestPoisson shows the knee: latency is flat far below the capacity of about 21
// requests per second and grows without bound above it.
func TestPoisson(t *testing.T) {
	ttft := map[float64]float64{}
	for _, rate := range []float64{2, 8, 14, 24} {
		ttft[rate] = load{params: preset(t, "h100-8b"), isl: 1024, osl: 128, total: 600, rate: rate}.run(t).ttft
	}
	if ttft[2] < 50 || ttft[2] > 62 || ttft[8] < ttft[2] || ttft[8] > 100 || ttft[14] < ttft[8] || ttft[14] > 220 {
		t.Errorf("mean TTFT below capacity: %v ms", ttft)
	}
	if ttft[24] < 1500 {
		t.Errorf("mean TTFT above capacity: %v ms", ttft)
	}
}

// drain steps until nothing is left and returns the order in which sequences end.
func drain(t *testing.T, e *Engine) []*Sequence {
	t.Helper()
	var ended []*Sequence
	for range 100_000 {
		_, emitted, ok := e.Step()
		if !ok {
			return ended
		}
		for _, s := range emitted {
			if s.Done() {
				ended = append(ended, s)
			}
		}
	}
	t.Fatal("the engine does not come to an end")
	return nil
}

func TestPriority(t *testing.T) {
	p := preset(t, "tiny")
	p.MaxSequences = 1
	e := New(p, nil)
	l := load{isl: 40, osl: 4}
	a, b, c := l.sequence(1), l.sequence(2), l.sequence(3)
	c.Priority = -1
	for _, s := range []*Sequence{a, b, c} {
		if err := e.Submit(s); err != nil {
			t.Fatal(err)
		}
	}
	if got := drain(t, e); !slices.Equal(got, []*Sequence{c, a, b}) {
		t.Errorf("ended in another order")
	}
}

func TestLimits(t *testing.T) {
	p := preset(t, "tiny")
	p.MaxWaiting, p.Blocks = 1, 4
	e := New(p, nil)
	l := load{isl: 40, osl: 4}
	if err := e.Submit(load{isl: 61, osl: 4}.sequence(1)); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a sequence that cannot fit: %v", err)
	}
	if err := e.Submit(l.sequence(1)); err != nil {
		t.Fatal(err)
	}
	if err := e.Submit(l.sequence(2)); !errors.Is(err, ErrFull) {
		t.Errorf("a full queue: %v", err)
	}
	if err := e.Submit(&Sequence{}); err == nil {
		t.Error("an empty sequence is accepted")
	}
}

// TestBlocksAreConserved removes sequences at random and counts the blocks.
func TestBlocksAreConserved(t *testing.T) {
	p := preset(t, "tiny")
	p.Blocks = 64
	random := rand.New(rand.NewPCG(3, 4))
	e := New(p, random)
	var alive []*Sequence
	for k := range 3000 {
		if random.IntN(3) == 0 {
			s := load{isl: 1 + random.IntN(300), osl: 1 + random.IntN(60), shared: random.IntN(200)}.sequence(k)
			s.Salt = uint64(random.IntN(2))
			if err := e.Submit(s); err != nil {
				t.Fatal(err)
			}
			alive = append(alive, s)
		}
		_, _, _ = e.Step()
		alive = slices.DeleteFunc(alive, (*Sequence).Done)
		if len(alive) > 0 && random.IntN(20) == 0 {
			i := random.IntN(len(alive))
			e.Remove(alive[i])
			alive = slices.Delete(alive, i, i+1)
		}
		held := map[*block]int{}
		for _, s := range e.running {
			for _, b := range s.blocks {
				held[b]++
			}
		}
		for b, n := range held {
			if b.refs != n {
				t.Fatalf("step %d: a block has %d references and %d holders", k, b.refs, n)
			}
		}
		if got := len(held) + e.pool.idle.Len() + e.pool.free; got != p.Blocks {
			t.Fatalf("step %d: %d blocks, want %d", k, got, p.Blocks)
		}
	}
	drain(t, e)
	if s := e.Stats(); s.BlocksUsed != 0 || s.Running != 0 || s.Waiting != 0 || s.Preemptions == 0 || s.PrefixHits == 0 {
		t.Errorf("in the end: %+v", s)
	}
	e.ResetPrefixCache()
	if e.pool.free != p.Blocks || len(e.pool.known) != 0 {
		t.Errorf("%d blocks free after the reset, %d known", e.pool.free, len(e.pool.known))
	}
}

// TestSaltSeparates keeps tenants from seeing each other's prefixes.
func TestSaltSeparates(t *testing.T) {
	e := New(preset(t, "tiny"), nil)
	l := load{isl: 100, osl: 2, shared: 100}
	for i, test := range []struct {
		salt uint64
		want int
	}{{1, 0}, {1, 96}, {2, 0}, {2, 96}} {
		s := l.sequence(i)
		s.Salt = test.salt
		if err := e.Submit(s); err != nil {
			t.Fatal(err)
		}
		drain(t, e)
		if s.Cached != test.want {
			t.Errorf("sequence %d: %d prompt tokens cached, want %d", i, s.Cached, test.want)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	p := Presets()[0].Params
	e := New(p, rand.New(rand.NewPCG(1, 2)))
	l := load{isl: 1024, osl: 1 << 10}
	k := 0
	for b.Loop() {
		for len(e.waiting)+len(e.running) < 128 {
			k++
			if err := e.Submit(l.sequence(k)); err != nil {
				b.Fatal(err)
			}
		}
		e.Step()
	}
}
