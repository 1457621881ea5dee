package stat

import (
	"cmp"
	"math"
	"slices"
)

// RandomEffects is what several runs say together, each of which has an error of its own.
type RandomEffects struct {
	Mean    float64
	Error   float64 // standard error of the mean
	Between float64 // standard deviation between runs, beyond their own errors
	Within  float64 // root mean square of the runs' own standard errors
	// Q is the mean weighted square of the distances from the mean. Below 1 the runs differ by less
	// than their errors, and the error of the mean does not count that.
	Q       float64
	Freedom float64
}

// Combine returns the mean over at least two runs, with their standard errors, all above 0: the
// variance between runs by Paule and Mandel (J. Res. NBS 87, 1982), the error of the mean by Hartung
// and Knapp (Stat. Med. 20, 2001).
func Combine(values, errors []float64) RandomEffects {
	k := float64(len(values))
	weighted := func(between float64) (mean, weights, square float64) {
		for i, s := range errors {
			w := 1 / (s*s + between)
			weights += w
			mean += w * values[i]
		}
		mean /= weights
		for i, s := range errors {
			square += (values[i] - mean) * (values[i] - mean) / (s*s + between)
		}
		return mean, weights, square
	}
	between := 0.0
	if _, _, square := weighted(0); square > k-1 {
		lo, hi := 0.0, 0.0
		for _, v := range values {
			hi += (v - values[0]) * (v - values[0])
		}
		for range 200 {
			between = (lo + hi) / 2
			if _, _, square := weighted(between); square > k-1 {
				lo = between
			} else {
				hi = between
			}
		}
	}
	mean, weights, square := weighted(between)
	r := RandomEffects{Mean: mean, Between: math.Sqrt(between), Q: square / (k - 1), Freedom: k - 1}
	for _, s := range errors {
		r.Within += s * s / k
	}
	r.Within = math.Sqrt(r.Within)
	r.Error = math.Sqrt(max(1, r.Q) / weights)
	return r
}

// Interval returns the confidence interval of the mean at a level between 0 and 1.
func (r *RandomEffects) Interval(level float64) (low, high float64) {
	half := Student((1+level)/2, r.Freedom) * r.Error
	return r.Mean - half, r.Mean + half
}

// WatchedLevel returns the level of an interval whose width decided after how many runs the repeats
// ended, such that it covers the true value in 95 % of cases: looking after each run makes repeats end
// when the runs happen to agree. least is the number of runs before the first look.
func WatchedLevel(least int) float64 {
	if least < 3 {
		return 0.985
	}
	return 0.98
}

// Trend returns the rank correlation of values with their order (Spearman), and the p-value of the
// two-sided test against none: exact for up to 8 values, by Student's distribution for more. ok is
// false for fewer than four values and for equal ones.
func Trend(values []float64) (correlation, p float64, ok bool) {
	n := len(values)
	if n < 4 || slices.Min(values) == slices.Max(values) {
		return 0, 1, false
	}
	ranked := ranks(values)
	correlation = orderCorrelation(ranked)
	const mostExact = 8
	if n > mostExact {
		if math.Abs(correlation) >= 1 {
			return correlation, 0, true
		}
		t := math.Abs(correlation) * math.Sqrt(float64(n-2)/(1-correlation*correlation))
		return correlation, StudentTail(t, float64(n-2)), true
	}
	ways, extreme := 0, 0
	var arrange func(k int)
	order := slices.Clone(ranked)
	arrange = func(k int) {
		if k == n {
			ways++
			if math.Abs(orderCorrelation(order)) >= math.Abs(correlation)-1e-9 {
				extreme++
			}
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			arrange(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	arrange(0)
	return correlation, float64(extreme) / float64(ways), true
}

// ranks returns the ranks of values, from 1; equal ones share the mean of theirs.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to+1) / 2
		}
		from = to
	}
	return out
}

// orderCorrelation returns the correlation of ranks with their positions.
func orderCorrelation(ranked []float64) float64 {
	mean := float64(len(ranked)+1) / 2
	var product, square, places float64
	for i, r := range ranked {
		place := float64(i+1) - mean
		product += (r - mean) * place
		square += (r - mean) * (r - mean)
		places += place * place
	}
	return product / math.Sqrt(square*places)
}
