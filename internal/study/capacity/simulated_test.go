package capacity

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"aiperfd/internal/engine/stat"
	"aiperfd/internal/mock/batch"
)

// request is one simulated request; times in seconds.
type request struct {
	due, end float64
	good     bool
}

// server simulates an open loop at a level for some seconds, from empty, until everything is
// answered. The requests are in the order of their due times.
type server func(level, seconds float64, r *rand.Rand) []request

// queue is M/M/1 with a service rate: good requests have a sojourn within the limit.
func queue(rate, limit float64) server {
	return func(level, seconds float64, r *rand.Rand) []request {
		var out []request
		free := 0.0
		for due := r.ExpFloat64() / level; due < seconds; due += r.ExpFloat64() / level {
			free = max(free, due) + r.ExpFloat64()/rate
			out = append(out, request{due, free, free-due <= limit})
		}
		return out
	}
}

// lengths are log-normal numbers of tokens.
type lengths struct{ mean, variation float64 }

// accelerator is a preset of the simulator without a limit of the key-value cache. Limits are in seconds; 0 = none.
func accelerator(preset string, prompt, answer lengths, firstToken, perToken float64) server {
	i := slices.IndexFunc(batch.Presets(), func(p batch.Preset) bool { return p.Name == preset })
	params := batch.Presets()[i].Params
	params.Blocks, params.PrefixCache = 1<<20, false
	ids := make([]uint32, 1<<17)
	draw := func(l lengths, r *rand.Rand) int {
		sigma := math.Sqrt(math.Log1p(l.variation * l.variation))
		return min(max(1, int(math.Round(l.mean*math.Exp(sigma*r.NormFloat64()-sigma*sigma/2)))), len(ids))
	}
	return func(level, seconds float64, r *rand.Rand) []request {
		var out []request
		var sequences []batch.Sequence
		for due := r.ExpFloat64() / level; due < seconds; due += r.ExpFloat64() / level {
			out = append(out, request{due: due})
			sequences = append(sequences, batch.Sequence{
				Prompt: ids[:draw(prompt, r)], Answer: ids[:draw(answer, r)],
			})
		}
		place := make(map[*batch.Sequence]int, len(sequences))
		for i := range sequences {
			place[&sequences[i]] = i
		}
		engine := batch.New(params, r)
		first := make([]float64, len(out))
		now, next := 0.0, 0
		for {
			for next < len(out) && out[next].due+params.Frontend.Seconds() <= now {
				if err := engine.Submit(&sequences[next]); err != nil {
					panic(err)
				}
				next++
			}
			took, emitted, ok := engine.Step()
			if !ok && next == len(out) {
				return out
			}
			if !ok {
				now = out[next].due + params.Frontend.Seconds()
				continue
			}
			now += took.Seconds()
			for _, s := range emitted {
				i := place[s]
				if s.Generated == 1 {
					first[i] = now
				}
				if !s.Done() {
					continue
				}
				out[i].end = now
				interval := (now - first[i]) / max(1, float64(len(s.Answer)-1))
				out[i].good = first[i]-out[i].due <= firstToken && (perToken == 0 || interval <= perToken)
			}
		}
	}
}

// probe performs a plan against the server.
func (s server) probe(p Plan, r *rand.Rand) Probe {
	warmup, window := p.Warmup.Seconds(), p.Window.Seconds()
	all := s(p.Level, warmup+window, r)
	var good, due, levels [stat.Blocks]float64
	var latencies []float64
	for _, q := range all {
		if q.due < warmup {
			continue
		}
		k := min(int((q.due-warmup)/window*stat.Blocks), stat.Blocks-1)
		due[k]++
		if q.good {
			good[k]++
		}
		latencies = append(latencies, q.end-q.due)
	}
	for _, q := range all {
		from, to := (q.due-warmup)/window*stat.Blocks, (q.end-warmup)/window*stat.Blocks
		for k := max(0, int(from)); k < stat.Blocks && float64(k) < to; k++ {
			levels[k] += max(0, min(to, float64(k+1))-max(from, float64(k)))
		}
	}
	slices.Sort(latencies)
	trend := stat.BlockLine(levels)
	out := Probe{
		Level: p.Level, Window: p.Window, Load: p.Warmup + p.Window, Share: stat.BlockShare(good, due),
		Growing: trend.Growing(), InFlight: trend.Mean,
		Median: time.Duration(stat.Quantile(latencies, 0.5) * float64(time.Second)),
		P95:    time.Duration(stat.Quantile(latencies, 0.95) * float64(time.Second)),
	}
	out.FromStart = out.Share.X
	bad := out.Share.N - out.Share.Good
	if p.Curtail && bad > (1-0.95)*out.Share.N && bad > out.Share.N/2 {
		out.Ended = Hopeless
	}
	return out
}

// run searches the capacity of a server.
func (s server) run(o Options, seed uint64) Answer {
	search := New(o)
	for index := uint64(0); ; index++ {
		plan, more := search.Next()
		if !more {
			return search.Answer()
		}
		search.Observe(s.probe(plan, rand.New(rand.NewPCG(seed, index))))
	}
}

// known is a server whose capacity is known, with what the published table says of searches for it.
type known struct {
	name           string
	server         server
	capacity       float64
	start          float64
	warmup, window time.Duration
	held           float64         // least share of searches whose interval holds the capacity
	width          map[int]float64 // half the width of the interval, by the number of probes
}

// servers returns the servers of the table. The capacities of M/M/1 follow from its formula. The others
// are those of windows of 3,000 s and longer, from at least 12 seeds.
func servers() []known {
	const ms = 1e-3
	usual, short := lengths{512, 0.5}, lengths{128, 0.5}
	return []known{
		{"mm1-500ms", queue(20, 0.5), 14.008535, 2, 20 * time.Second, 120 * time.Second, 0.95, map[int]float64{16: 0.10, 40: 0.046}},
		{"mm1-2s", queue(20, 2), 18.502134, 2, 20 * time.Second, 120 * time.Second, 0.93, map[int]float64{16: 0.14, 40: 0.031}},
		{"tiny", accelerator("tiny", short, lengths{32, 0.8}, 50*ms, 0), 315.1, 20, 5 * time.Second, 20 * time.Second, 0.95,
			map[int]float64{16: 0.072, 40: 0.030}},
		{"h100-8b", accelerator("h100-8b", usual, lengths{128, 0.8}, 500*ms, 40*ms), 27.39, 2, 20 * time.Second, 120 * time.Second, 0.95,
			map[int]float64{16: 0.031, 40: 0.027}},
		{"l4-8b", accelerator("l4-8b", usual, lengths{128, 0.8}, 3, 150*ms), 2.617, 0.5, 40 * time.Second, 240 * time.Second, 0.93,
			map[int]float64{16: 0.081, 40: 0.041}},
		{"h100-8b-long", accelerator("h100-8b", lengths{1024, 1.0}, lengths{256, 1.5}, 1, 60*ms), 12.23, 2, 60 * time.Second, 360 * time.Second,
			0.93, map[int]float64{16: 0.025, 40: 0.023}},
	}
}

// TestSimulateCapacity searches capacities that are known with two budgets of probes, from 100 seeds each: intervals
// must hold the capacity as often as the table says, and be at most 1.2 times as wide in the median. Its short form
// has one seed for the servers that are simulated quickly.
func TestSimulateCapacity(t *testing.T) {
	full := os.Getenv("AIPERFD_SIMULATE") == "full"
	for _, k := range servers() {
		t.Run(k.name, func(t *testing.T) {
			for _, probes := range []int{16, 40} {
				t.Run(strconv.Itoa(probes), func(t *testing.T) {
					switch {
					case full:
						k.check(t, probes, 100)
					case probes == 16 && (k.name == "mm1-500ms" || k.name == "tiny"):
						k.check(t, probes, 1)
					default:
						t.Skip("takes long; make simulate has it")
					}
				})
			}
		})
	}
}

// check searches the capacity from several seeds.
func (k *known) check(t *testing.T, probes, seeds int) {
	t.Helper()
	answers := k.search(probes, seeds)
	held, performed := 0, 0
	var widths, values []float64
	for i := range answers {
		a := &answers[i]
		performed += len(a.Evidence)
		if a.Verdict != Estimated {
			t.Logf("seed %d: %s (%s)", i, a.Verdict, a.Reason)
			continue
		}
		if f := a.Capacity; f.Low <= k.capacity && k.capacity <= f.High {
			held++
		} else {
			t.Logf("seed %d: %.4g [%.4g, %.4g] after %d probes", i, f.Value, f.Low, f.High, len(a.Evidence))
		}
		widths, values = append(widths, a.Capacity.HalfWidth()), append(values, a.Capacity.Value/k.capacity)
	}
	if len(values) == 0 {
		t.Fatalf("none of %d searches has an estimate", seeds)
	}
	slices.Sort(widths)
	slices.Sort(values)
	median := stat.Quantile(widths, 0.5)
	t.Logf("held in %d of %d, half the width %.1f %%, %.1f probes, estimates %.3f to %.3f of the capacity",
		held, seeds, 100*median, float64(performed)/float64(seeds), values[0], values[len(values)-1])
	if float64(held) < k.held*float64(seeds) {
		t.Errorf("the interval held the capacity in %d of %d searches, want %.0f %%", held, seeds, 100*k.held)
	}
	if limit := 1.2 * k.width[probes]; seeds >= 10 && median > limit {
		t.Errorf("half the width of the interval is %.1f %% in the median, want at most %.1f %%", 100*median, 100*limit)
	}
}

// search returns the answers of searches from several seeds.
func (k *known) search(probes, seeds int) []Answer {
	o := Options{
		Low: k.start / 2, High: 1000, Start: k.start, Target: 0.95, Precision: 0.05, Probes: probes,
		Warmup: k.warmup, Window: k.window,
	}
	answers := make([]Answer, seeds)
	var group sync.WaitGroup
	places := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range places {
				answers[i] = k.server.run(o, uint64(i))
			}
		})
	}
	for i := range seeds {
		places <- i
	}
	close(places)
	group.Wait()
	return answers
}
