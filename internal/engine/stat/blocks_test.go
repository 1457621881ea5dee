package stat

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// closeTo reports whether two values agree to a relative tolerance of 1e-6.
func closeTo(got, want float64) bool { return math.Abs(got-want) <= 1e-6*math.Abs(want) }

// golden is the sequence of the golden values, which were computed with scipy 1.17.
func golden() []float64 {
	out := make([]float64, 1600)
	for i := range out {
		out[i] = 100 + 10*math.Sin(float64(i)/7) + float64(37*i%101)/10
	}
	return out
}

func TestBlocksOfAShare(t *testing.T) {
	n := [Blocks]float64{100, 98, 103, 97, 101, 99, 102, 100, 100, 95, 105, 98, 101, 99, 103, 99}
	g := [Blocks]float64{97, 96, 99, 95, 98, 90, 97, 98, 96, 92, 101, 95, 97, 96, 100, 94}
	share, e := RatioError(g, n)
	half := Student(0.975, intervalFreedom) * e
	if !closeTo(share, 0.963125) || !closeTo(e, 0.004224325) || !closeTo(math.Round(1e6*(share-half)), 954121) || !closeTo(math.Round(1e6*(share+half)), 972129) {
		t.Errorf("share %v, error %v, interval [%v, %v]", share, e, share-half, share+half)
	}
}

func TestSeries(t *testing.T) {
	x := golden()
	mean, e, rho, _ := SeriesMean(x, EqualCuts(len(x)))
	if !closeTo(mean, 105.071399) || !closeTo(e, 0.556172) {
		t.Errorf("mean %v, error %v", mean, e)
	}
	if !closeTo(rho, 0.788494) {
		t.Errorf("correlation %v", rho)
	}
	p95, ok := EstimatePercentile(x, EqualCuts(len(x)), 0.95)
	if !ok || !closeTo(p95.Value, 116.997394) || !closeTo(p95.Low, 116.580685) || !closeTo(p95.High, 117.517370) {
		t.Errorf("p95 = %+v, %v", p95, ok)
	}
	if _, ok := EstimatePercentile(x[:160], EqualCuts(160), 0.99); ok {
		t.Error("160 values have an interval of the p99")
	}
	constant := make([]float64, 160)
	if mean, e, rho, r := SeriesMean(constant, EqualCuts(160)); mean != 0 || e != 0 || rho != 0 || r != 0 {
		t.Errorf("constant values: %v, %v, %v, %v", mean, e, rho, r)
	}
}

func TestPermutation(t *testing.T) {
	var a, b []float64
	for _, v := range []float64{1052, 1047, 1061, 1039, 1055} {
		a = append(a, math.Log(v))
	}
	for _, v := range []float64{1018, 1026, 1009, 1031, 1022} {
		b = append(b, math.Log(v))
	}
	if p, ok := Permutation(a, b); !ok || p != 2.0/252 {
		t.Errorf("p = %v, %v, want 2/252", p, ok)
	}
	if _, ok := Permutation(make([]float64, 12), make([]float64, 12)); ok {
		t.Error("2.7 million ways are tried")
	}
}

func TestSessionCuts(t *testing.T) {
	var starts []int
	n := 0
	for i := range 40 { // sessions of 1 to 7 turns
		starts = append(starts, n)
		n += 1 + i%7
	}
	cuts, ok := SessionCuts(starts, n)
	if !ok || cuts[0] != 0 || cuts[Blocks] != n {
		t.Fatalf("cuts %v, %v", cuts, ok)
	}
	for k := range Blocks {
		size := cuts[k+1] - cuts[k]
		if size < 1 || size > 2*n/Blocks+7 {
			t.Errorf("block %d has %d values", k, size)
		}
		if k > 0 {
			found := false
			for _, s := range starts {
				found = found || s == cuts[k]
			}
			if !found {
				t.Errorf("border %d cuts a session", cuts[k])
			}
		}
	}
	if _, ok := SessionCuts(starts[:15], n); ok {
		t.Error("15 sessions make 16 blocks")
	}
	long := append([]int{0}, make([]int, 19)...) // one session has nearly all
	for i := range 19 {
		long[i+1] = 1000 + i
	}
	if cuts, ok := SessionCuts(long, 1019); !ok || cuts[1] != 1000 || cuts[15] >= 1019 {
		t.Errorf("cuts with one long session: %v, %v", cuts, ok)
	}
}

// process makes a run of a kind of server: latencies in sequence, with the random numbers of the
// arrivals and those of the requests apart, so that two runs can have the same schedule.
type process struct {
	name string
	make func(arrivals, service *rand.Rand, n int, factor float64) []float64
}

func regressive(rho float64) func(*rand.Rand, *rand.Rand, int, float64) []float64 {
	return func(_, r *rand.Rand, n int, factor float64) []float64 {
		out, z := make([]float64, n), r.NormFloat64()
		for i := range out {
			out[i] = factor * math.Exp(0.5*z)
			z = rho*z + math.Sqrt(1-rho*rho)*r.NormFloat64()
		}
		return out
	}
}

// queue is an M/M/1 queue: exponential work and gaps; factor makes the work longer. The work of a
// request comes from its prompt, so it is that of the schedule.
func queue(load float64) func(*rand.Rand, *rand.Rand, int, float64) []float64 {
	return func(arrivals, service *rand.Rand, n int, factor float64) []float64 {
		out, wait := make([]float64, n), 0.0
		for i := -n / 4; i < n; i++ { // warm-up
			work := factor * arrivals.ExpFloat64() * (1 + 0.05*service.NormFloat64())
			if i >= 0 {
				out[i] = wait + work
			}
			wait = max(0, wait+work-arrivals.ExpFloat64()/load)
		}
		return out
	}
}

func processes() []process {
	return []process{
		{"independent", regressive(0)}, {"AR 0.5", regressive(0.5)}, {"AR 0.8", regressive(0.8)},
		{"AR 0.95", regressive(0.95)}, {"queue 0.7", queue(0.7)}, {"queue 0.85", queue(0.85)},
	}
}

// full is whether simulations have as many draws as their published shares (make simulate).
func full() bool { return os.Getenv("AIPERFD_SIMULATE") == "full" }

// singleAlarms are the shares of A/A pairs in which single runs are called different: mean, p50, p95.
func singleAlarms(p process, pairs, n int, inPairs bool) (out [3]float64) {
	cuts := EqualCuts(n)
	for i := range pairs {
		seed := func(which uint64) *rand.Rand { return rand.New(rand.NewPCG(uint64(i), which)) }
		second := uint64(2)
		if inPairs {
			second = 1
		}
		a := p.make(seed(1), seed(3), n, 1)
		b := p.make(seed(second), seed(4), n, 1)
		for k, share := range []float64{0, 0.5, 0.95} {
			d, r, ok := singleDifference(a, b, cuts, share, inPairs)
			if ok && r <= LongestDependence && d.P() < 0.05 {
				out[k] += 1 / float64(pairs)
			}
		}
	}
	return out
}

// singleDifference compares two runs; the share 0 is the mean.
func singleDifference(a, b []float64, cuts *Cuts, share float64, inPairs bool) (d Difference, r float64, ok bool) {
	switch {
	case inPairs && share == 0:
		d, r = PairedMean(a, b, cuts)
		return d, r, true
	case inPairs:
		return PairedPercentile(a, b, cuts, share)
	}
	left, right := EstimateMean(a, cuts), EstimateMean(b, cuts)
	if share > 0 {
		var okLeft, okRight bool
		left, okLeft = EstimatePercentile(a, cuts, share)
		right, okRight = EstimatePercentile(b, cuts, share)
		if !okLeft || !okRight {
			return d, 0, false
		}
	}
	if left.Low <= 0 || right.Low <= 0 {
		return d, 0, false
	}
	return Mover(left.Logarithm(), right.Logarithm()), (left.BlockCorrelation + right.BlockCorrelation) / 2, true
}

// Single runs of one configuration are called different in at most 7 % of pairs, however long the
// memory of the server is; the bootstrap of independent values, which tools use, alarms in more
// than 30 %, so the test can see.
func TestSimulateSingleRuns(t *testing.T) {
	bound := 9.0 / 60              // with 7 % of alarms, 1 % of samples exceed 9 of 60
	sizes := map[int]int{1000: 60} // pairs by requests
	if full() {
		bound, sizes = 0.07, map[int]int{1000: 2000, 5000: 300}
	}
	for _, p := range processes() {
		for n, pairs := range sizes {
			for _, inPairs := range []bool{false, true} {
				got := singleAlarms(p, pairs, n, inPairs)
				t.Logf("%s, %d requests, paired %v: mean %.1f %%, p50 %.1f %%, p95 %.1f %%", p.name, n, inPairs, 100*got[0], 100*got[1], 100*got[2])
				if max(got[0], got[1], got[2]) > bound {
					t.Errorf("%s, %d requests, paired %v: false alarms %.3f, want at most %.3f", p.name, n, inPairs, got, bound)
				}
			}
		}
	}
	const pairs = 60
	naive := 0
	for i := range pairs {
		a := regressive(0.8)(nil, rand.New(rand.NewPCG(uint64(i), 3)), 1000, 1)
		b := regressive(0.8)(nil, rand.New(rand.NewPCG(uint64(i), 4)), 1000, 1)
		if d, _ := Welch(a, b); d.P() < 0.05 {
			naive++
		}
	}
	if 10*naive < 3*pairs {
		t.Errorf("the test of independent values alarms in %d of %d pairs, want more than 30 %%", naive, pairs)
	}
}

// Requests of one schedule show a difference of 3 % that two runs of different schedules hide.
func TestSimulatePairedPower(t *testing.T) {
	const pairs, n = 40, 5000
	cuts := EqualCuts(n)
	found, alone := 0, 0
	for i := range pairs {
		seed := func(which uint64) *rand.Rand { return rand.New(rand.NewPCG(uint64(i), which)) }
		a, b := queue(0.7)(seed(1), seed(3), n, 1), queue(0.7)(seed(1), seed(4), n, 1.03)
		if d, r, _ := singleDifference(a, b, cuts, 0, true); r <= LongestDependence && d.P() < 0.05 && d.Estimate > 0 {
			found++
		}
		other := queue(0.7)(seed(2), seed(4), n, 1.03)
		if d, r, ok := singleDifference(a, other, cuts, 0, false); ok && r <= LongestDependence && d.P() < 0.05 {
			alone++
		}
	}
	if found < pairs*3/4 || alone > pairs/4 {
		t.Errorf("%d of %d found in pairs, %d without; want at least 3/4 and at most 1/4", found, pairs, alone)
	}
}
