package stat

import "math"

// maxPermutations bounds the ways to assign values to two samples that are tried.
const maxPermutations = 200_000

// Permutation returns the exact p-value of the two-sided permutation test of the difference of
// means: the share of all ways to assign the values to two samples of these sizes whose difference
// is at least as large. ok is false if there are more than 200,000 ways.
func Permutation(a, b []float64) (p float64, ok bool) {
	if len(a) == 0 || len(b) == 0 || math.Exp(logBinomial(len(a)+len(b), len(a))) > maxPermutations+0.5 {
		return 0, false
	}
	all := append(append([]float64{}, a...), b...)
	total := 0.0
	for _, v := range all {
		total += v
	}
	n, m := float64(len(a)), float64(len(b))
	distance := func(sum float64) float64 { return math.Abs(sum/n - (total-sum)/m) }
	observed := 0.0
	for _, v := range a {
		observed += v
	}
	limit := distance(observed) * (1 - 1e-9) // equal up to rounding
	ways, extreme := 0, 0
	var choose func(from, left int, sum float64)
	choose = func(from, left int, sum float64) {
		if left == 0 {
			ways++
			if distance(sum) >= limit {
				extreme++
			}
			return
		}
		for i := from; i <= len(all)-left; i++ {
			choose(i+1, left-1, sum+all[i])
		}
	}
	choose(0, len(a), 0)
	return float64(extreme) / float64(ways), true
}
