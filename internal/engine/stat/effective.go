package stat

import "cmp"

// chi2Limit is the 95 % quantile of chi-square with 19 degrees of freedom, divided
// by 19: batches of independent values exceed this ratio of variances in one of
// twenty cases.
const chi2Limit = 1.587

// EffectiveAtLeast returns the number of independent values that a sequence is worth
// for the share of its values that are at least limit, from 1 to n. If such values
// come in bursts, their share varies more from one stretch of the sequence to the
// next than it would by chance; the ratio of the variances is the loss (batch
// means). A ratio that chance explains counts as none.
func EffectiveAtLeast[T cmp.Ordered](values []T, limit T) int {
	const batches = 20
	n := len(values)
	size := n / batches
	if size < 2 {
		return n
	}
	var above [batches]float64
	total := 0.0
	for b := range batches {
		for _, v := range values[b*size : (b+1)*size] {
			if v >= limit {
				above[b]++
			}
		}
		total += above[b]
	}
	mean, square := total/batches, 0.0
	for _, k := range above {
		square += (k - mean) * (k - mean)
	}
	share := mean / float64(size)
	chance := float64(size) * share * (1 - share)
	if chance <= 0 {
		return n
	}
	loss := square / (batches - 1) / chance
	if loss < chi2Limit {
		return n
	}
	return max(1, int(float64(n)/loss))
}
