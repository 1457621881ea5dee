package measure

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// window returns a window by name.
func window(t *testing.T, all []Window, name string) Window {
	t.Helper()
	for _, w := range all {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("no window %s in %v", name, all)
	return Window{}
}

// stream returns a success of five tokens: the first after wait, then one per step.
func stream(start, wait, step time.Duration) *bench.Record {
	r := &bench.Record{
		Stamps:      bench.Stamps{Due: start, Permit: start, Start: start, Wrote: start + 1, Headers: start + wait, FirstBody: start + wait},
		InputTokens: new(bench.Tokens(10)), OutputTokens: new(bench.Tokens(5)), TokenSource: bench.TokensServer,
		Answer: bench.Answer{Streamed: true},
	}
	for i := range 5 {
		r.Answer.Chunks = append(r.Answer.Chunks, bench.Chunk{At: start + wait + time.Duration(i)*step, Read: int32(i)})
	}
	r.Stamps.End = start + wait + 4*step
	return r
}

// TestWindows: two slots, of which the second opens at 3 s; each request takes 1 s and
// brings its five tokens 0.2, 0.4, 0.6, 0.8 and 1 s after its start. The first slot ends
// after 9 requests at 10 s, the second after 7 at 10.5 s.
func TestWindows(t *testing.T) {
	for name, budget := range map[string]int64{"exact": DefaultBudget, "binned": -1} {
		t.Run(name, func(t *testing.T) {
			o := everything()
			o.Budget, o.OpenLoop = budget, false
			set := newSet(t, o)
			for i := range 9 {
				set.Observe(stream(time.Duration(1+i)*time.Second, 200*ms, 200*ms))
			}
			for i := range 7 {
				set.Observe(stream(3500*ms+time.Duration(i)*time.Second, 200*ms, 200*ms))
			}
			part := Part{Set: set, Window: 10 * time.Second, Phase: bench.PhaseStats{Start: 900 * ms}, Slots: 2}
			all := part.Finish().Windows
			tolerance := 0.0
			if budget < 0 {
				tolerance = 0.08 // flows have a resolution of eight bins: one request more or less at an end
			}
			for _, want := range []struct {
				name                         string
				from, to                     time.Duration
				requests, tokens, concurrent float64
			}{
				{PhaseWindow, 900 * ms, 10900 * ms, 1.6, 8, 1.6},
				{ActivityWindow, time.Second, 10500 * ms, 16 / 9.5, 80 / 9.5, 16 / 9.5},
				// in flight at 3.5 s: the third request; from then to 10 s, 7 and 6 end, and
				// 33 and 32 tokens arrive
				{SteadyWindow, 3500 * ms, 10 * time.Second, 13 / 6.5, 65 / 6.5, 2},
			} {
				w := window(t, all, want.name)
				if bin := 2 * ms; w.Absent || (w.From-want.from).Abs() > bin || (w.To-want.to).Abs() > bin || tolerance == 0 && (w.From != want.from || w.To != want.to) {
					t.Errorf("%s is from %v to %v, want %v to %v", w.Name, w.From, w.To, want.from, want.to)
					continue
				}
				for tag, v := range map[string]float64{
					"request_throughput": want.requests, "output_token_throughput": want.tokens,
					"input_token_throughput": 10 * want.requests, "total_token_throughput": want.tokens + 10*want.requests,
					"effective_concurrency": want.concurrent,
				} {
					if got, _ := w.Results.Find(tag).Get(metric.Avg); math.Abs(got-v) > tolerance*v+1e-9 {
						t.Errorf("%s: %s = %v, want %v", w.Name, tag, got, v)
					}
				}
			}
		})
	}
}

// TestNoSteadyWindow: a phase that never fills its slots has none, nor one that does for
// too short a time, and they say why.
func TestNoSteadyWindow(t *testing.T) {
	set := newSet(t, everything())
	for i := range 10 {
		set.Observe(stream(time.Duration(1+i)*time.Second, 200*ms, 190*ms))
	}
	set.Observe(stream(5*time.Second, 200*ms, 190*ms))
	for slots, want := range map[int]string{
		3: "there were never 3 requests in flight",
		2: "first to last instant with 2 requests in flight: 0.96 s, less than 30 % of the phase",
		0: "fewer than 50 requests were successful",
	} {
		part := Part{Set: set, Window: 10 * time.Second, Phase: bench.PhaseStats{Start: time.Second}, Slots: slots}
		if w := window(t, part.Finish().Windows, SteadyWindow); !w.Absent || w.Method != want || w.Results != nil {
			t.Errorf("%d slots: %+v", slots, w)
		}
	}
	part := Part{Set: newSet(t, everything()), Window: time.Second}
	if got := part.Finish().Windows; got != nil {
		t.Errorf("windows without a request: %v", got)
	}
}

// TestSteadyUnbiased: c slots whose requests take 0.5 s to 1.5 s make c requests per second,
// however few there are. Their ends alone would be (c-1)/n too few.
func TestSteadyUnbiased(t *testing.T) {
	const repeats = 40
	for _, slots := range []int{1, 8, 32} {
		for name, budget := range map[string]int64{"exact": DefaultBudget, "binned": -1} {
			for _, streaming := range []bool{true, false} {
				sum := map[string]float64{}
				for seed := range repeats {
					o := everything()
					o.Budget, o.Streaming = budget, streaming
					w := steadyOf(t, o, slots, 5*slots, rand.New(rand.NewPCG(1, uint64(seed))))
					for _, tag := range []string{"request_throughput", "input_token_throughput", "output_token_throughput"} {
						got, _ := w.Results.Find(tag).Get(metric.Avg)
						sum[tag] += got / repeats
					}
				}
				c := float64(slots)
				for tag, want := range map[string]float64{"request_throughput": c, "input_token_throughput": 10 * c, "output_token_throughput": 5 * c} {
					tolerance := 0.03
					if streaming && tag == "output_token_throughput" {
						tolerance = 0.1 // what arrived: the first requests all begin without tokens
					}
					if got := sum[tag]; math.Abs(got/want-1) > tolerance {
						t.Errorf("%d slots, %s, streaming %v: %s = %.4g on average, want %.4g", slots, name, streaming, tag, got, want)
					}
				}
			}
		}
	}
}

// steadyOf returns the steady window of a closed loop of n requests.
func steadyOf(t *testing.T, o Options, slots, n int, rnd *rand.Rand) Window {
	t.Helper()
	set, free := newSet(t, o), make([]time.Duration, slots)
	var end time.Duration
	for i := range slots {
		free[i] = time.Second + time.Duration(i)*time.Microsecond
	}
	for range n {
		slot := 0
		for i := range free {
			if free[i] < free[slot] {
				slot = i
			}
		}
		took := 500*ms + time.Duration(rnd.Int64N(int64(time.Second)))
		r := stream(free[slot], took/5, took/5)
		if !o.Streaming {
			r.Answer.Streamed, r.Answer.Chunks = false, r.Answer.Chunks[4:]
		}
		set.Observe(r)
		free[slot] = r.Stamps.End
		end = max(end, r.Stamps.End)
	}
	part := Part{Set: set, Window: end - time.Second, Phase: bench.PhaseStats{Start: time.Second}, Slots: slots}
	return window(t, part.Finish().Windows, SteadyWindow)
}

// TestSettled: an open loop whose waiting times rise for its first fifth.
func TestSettled(t *testing.T) {
	for name, budget := range map[string]int64{"exact": DefaultBudget, "binned": -1} {
		o := everything()
		o.Budget = budget
		set, rnd := newSet(t, o), rand.New(rand.NewPCG(1, 2))
		for i := range 1000 {
			wait := 500*ms*time.Duration(min(i, 200))/200 + time.Duration(rnd.Int64N(int64(50*ms)))
			set.Observe(stream(time.Second+time.Duration(i)*100*ms, wait+ms, ms))
		}
		part := Part{Set: set, Window: 101 * time.Second, Phase: bench.PhaseStats{Start: time.Second, SentEnd: 100 * time.Second}}
		w := window(t, part.Finish().Windows, SteadyWindow)
		if w.Absent || w.From < 19*time.Second || w.From > 25*time.Second || w.To != 100*time.Second {
			t.Errorf("%s: steady from %v to %v (%s), want from about 21 s to 100 s", name, w.From, w.To, w.Method)
		}
	}
}

// TestSteadyTrend: what changes with time within the steady window is said of it, and a slow
// beginning is left out of it.
func TestSteadyTrend(t *testing.T) {
	const n = 1000
	noise := rand.New(rand.NewPCG(3, 4))
	wave := func(from, to float64) func(int) float64 {
		return func(i int) float64 { return (from + (to-from)*float64(i)/n) * (0.9 + 0.2*noise.Float64()) }
	}
	for _, c := range []struct {
		name      string
		slots     int
		seconds   func(i int) float64 // latency of the request, which starts 0.1 s after the one before
		from      [2]time.Duration    // bounds of the start of the window
		doubt     string
		cut, most int
	}{
		{"level", 0, wave(0.5, 0.5), [2]time.Duration{time.Second, time.Second}, "", 0, 0},
		{"rises by half", 0, wave(0.4, 0.6), [2]time.Duration{time.Second, time.Second}, "not steady: waiting times rose by 40 %", 0, 0},
		{"falls by half", 0, wave(0.6, 0.4), [2]time.Duration{time.Second, time.Second}, "not steady: waiting times fell by 40 %", 0, 0},
		{"queue grows", 0, wave(0.5, 30), [2]time.Duration{time.Second, time.Second}, "not steady: requests in flight grew by", 0, 0},
		{"cold start in a closed loop", 3, func(i int) float64 {
			return (0.4 + 0.4*math.Exp(-float64(i)/60)) * (0.9 + 0.2*noise.Float64())
		}, [2]time.Duration{8 * time.Second, 50 * time.Second}, "", 60, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := everything()
			o.OpenLoop = c.slots == 0
			set := newSet(t, o)
			last := time.Duration(0)
			for i := range n {
				wait := time.Duration(c.seconds(i) * float64(time.Second))
				set.Observe(stream(time.Second+time.Duration(i)*100*ms, wait, time.Microsecond))
				last = max(last, time.Duration(i)*100*ms+wait)
			}
			part := Part{Set: set, Window: last, Phase: bench.PhaseStats{Start: time.Second, SentEnd: 101 * time.Second}, Slots: c.slots}
			w := window(t, part.Finish().Windows, SteadyWindow)
			if w.Absent || w.From < c.from[0] || w.From > c.from[1] || w.Trend.Cut < c.cut || w.Trend.Cut > c.most {
				t.Errorf("steady from %v to %v (%s), %+v", w.From, w.To, w.Method, w.Trend)
			}
			if got := w.Trend.Doubt(); c.doubt == "" && got != "" || !strings.HasPrefix(got, c.doubt) {
				t.Errorf("doubt %q, want %q", got, c.doubt)
			}
		})
	}
}

// TestSteadyRamp: the rise of the load does not belong to the steady window.
func TestSteadyRamp(t *testing.T) {
	set := newSet(t, everything())
	for i := range 1000 {
		set.Observe(stream(time.Second+time.Duration(i)*100*ms, 200*ms, ms))
	}
	for ramp, want := range map[time.Duration]time.Duration{0: time.Second, 40 * time.Second: 41 * time.Second, 80 * time.Second: 0} {
		part := Part{Set: set, Window: 101 * time.Second, Phase: bench.PhaseStats{Start: time.Second, SentEnd: 101 * time.Second}, Ramp: ramp}
		w := window(t, part.Finish().Windows, SteadyWindow)
		if w.From != want || w.Absent != (want == 0) || ramp > 0 && !strings.Contains(w.Method, "after the ramp") {
			t.Errorf("ramp of %v: steady from %v (%s, absent %v), want %v", ramp, w.From, w.Method, w.Absent, want)
		}
	}
}

// TestPeak: max_100ms is the largest mean over 100 ms, however large a value is for an
// instant.
func TestPeak(t *testing.T) {
	set := newSet(t, everything())
	set.Observe(stream(time.Second, 200*ms, 200*ms))
	set.Observe(stream(1150*ms, 10*ms, 10*ms)) // 50 ms within the second interval
	res := set.Final(1100*ms, bench.PhaseStats{Start: time.Second}).Find("effective_concurrency")
	most, _ := res.Get(metric.Max)
	peak, _ := res.Get(metric.Max100)
	if most != 2 || !near(peak, 1.5, 1e-9) {
		t.Errorf("max %v, max_100ms %v, want 2 and 1.5", most, peak)
	}
}
