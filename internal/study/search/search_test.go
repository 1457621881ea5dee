package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/cell"
)

// server is a simulated server: statistics by concurrency, with multiplicative noise that
// is smaller in longer probes.
type server struct {
	noise float64 // of 1000 requests
	rng   *rand.Rand
	// ttft and throughput are the true values at a concurrency.
	ttft       func(c float64) float64
	throughput func(c float64) float64
}

// queueing is a server whose TTFT grows with its load and whose throughput saturates.
func queueing(seed uint64, noise float64) *server {
	return &server{
		noise: noise, rng: rand.New(rand.NewPCG(seed, 0)),
		ttft:       func(c float64) float64 { return 20 + 1.5*c + 0.04*c*c },
		throughput: func(c float64) float64 { return 12000 * c / (c + 60) },
	}
}

func (s *server) measure(v vary.Variation, path string) cell.Outcome {
	c, _ := v.Number(path)
	spread := s.noise * math.Sqrt(1000/v.Settings[0].Value.(float64))
	noisy := func(x float64) float64 { return x * math.Exp(spread*s.rng.NormFloat64()) }
	return cell.Outcome{Variation: v, Trials: []cell.Trial{{Label: "run_0001", Metrics: []cell.Metric{
		{Tag: "time_to_first_token", Unit: "ms", Stats: map[string]float64{"p95": noisy(s.ttft(c))}},
		{Tag: "output_token_throughput", Unit: "tokens/sec", Stats: map[string]float64{"avg": noisy(s.throughput(c))}},
	}}}}
}

// perform runs a search to its end.
func perform(t *testing.T, p Planner, measure func(vary.Variation, string) cell.Outcome) ([]cell.Outcome, Summary) {
	t.Helper()
	var done []cell.Outcome
	for {
		v, more := p.Next(done)
		if !more {
			return done, p.Summarize(done)
		}
		if len(done) >= p.Budget() {
			t.Fatalf("more than %d probes", p.Budget())
		}
		done = append(done, measure(v, v.Values[0].Path))
	}
}

// cost is the number of requests of probes.
func cost(done []cell.Outcome) float64 {
	sum := 0.0
	for _, o := range done {
		sum += o.Settings[0].Value.(float64)
	}
	return sum
}

// exhaustive is the number of requests of a sweep over all values.
func exhaustive(o Options) float64 {
	sum := 0.0
	for c := o.Space[0].Lo; c <= o.Space[0].Hi; c++ {
		sum += float64(o.Sizing.Requests([]vary.Assignment{{Path: o.Space[0].Path, Value: c}}))
	}
	return sum
}

const path = "phases.profiling.concurrency"

func boundaryOptions(a Algorithm, hi, limit float64) Options {
	return Options{
		Algorithm: a, Iterations: 30, Initial: 5, Patience: 10,
		Space:      []Dimension{{Path: path, Lo: 1, Hi: hi, Integer: true, Log: true}},
		Filters:    []Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: limit}},
		Objectives: []Objective{{"output_token_throughput", "avg", true}},
	}
}

// truth is the largest value whose true TTFT is below the limit.
func truth(s *server, hi, limit float64) float64 {
	best := 0.0
	for c := 1.0; c <= hi; c++ {
		if s.ttft(c) < limit {
			best = c
		}
	}
	return best
}

// chosen is the value that a search recommends.
func chosen(a Algorithm, s Summary) float64 {
	if a != Bayesian {
		return s.Boundary.Pass.Value
	}
	v, _ := s.Iterations[s.Best[0]].Outcome.Number(path)
	return v
}

// Without noise every planner finds exactly what a sweep over all values finds, with at
// most 40 % of its requests, for any limit.
func TestSameAsExhaustive(t *testing.T) {
	for _, a := range []Algorithm{Monotonic, Isotonic, Bayesian} {
		t.Run(string(a), func(t *testing.T) {
			worst := 0.0
			for limit := 30.0; limit < 240; limit += 10 {
				s, o := queueing(1, 0), boundaryOptions(a, 64, limit)
				done, summary := perform(t, New(o), s.measure)
				if got, want := chosen(a, summary), truth(s, 64, limit); got != want {
					t.Errorf("limit %v: %v, want %v (%s)", limit, got, want, summary.Reason)
				}
				worst = max(worst, cost(done)/exhaustive(o))
			}
			if worst > 0.40 {
				t.Errorf("takes up to %.0f %% of the requests of all values", 100*worst)
			}
			t.Logf("takes up to %.0f %%", 100*worst)
		})
	}
}

// With noise of 3 % the value that is found is within 5 % of the true one, in at least 95
// of 100 seeds, and the interval contains the true boundary as often as it says.
func TestNoise(t *testing.T) {
	for _, a := range []Algorithm{Monotonic, Isotonic, Bayesian} {
		t.Run(string(a), func(t *testing.T) {
			const limit = 150
			good, covered, probes, shares := 0, 0, 0, 0.0
			for seed := range uint64(100) {
				s, o := queueing(seed, 0.03), boundaryOptions(a, 200, limit)
				o.Seed = int64(seed)
				done, summary := perform(t, New(o), s.measure)
				probes += len(done)
				shares += cost(done) / exhaustive(o)
				want := truth(s, 200, limit)
				got := chosen(a, summary)
				if a == Bayesian && s.throughput(got) >= 0.95*s.throughput(want) && s.ttft(got) < 1.08*limit ||
					a != Bayesian && math.Abs(got-want) <= 0.05*want {
					good++
				}
				if a == Isotonic && summary.Boundary.Interval[0] <= want+1 && want <= summary.Boundary.Interval[1] {
					covered++
				}
			}
			t.Logf("%d good, %d covered, %.1f probes, %.0f %% of the requests", good, covered, float64(probes)/100, shares)
			if good < 95 {
				t.Errorf("%d of 100 searches are within 5 %%", good)
			}
		})
	}
}
