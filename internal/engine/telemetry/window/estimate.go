package window

import "math"

// mass is the observations of one bucket.
type mass struct {
	low, high float64 // of the bucket; high may be infinite
	n         float64 // how many
	from, to  float64 // over which they are taken to be spread evenly
}

// spread places the observations of a histogram within their buckets. The mean of a bucket is known if
// scrapes saw it grow alone; the others are moved so that the total is the observed sum, by 40 % of their
// width at most.
func spread(buckets []mass, learned []float64, sum float64) {
	rest, loose := sum, 0.0
	for i := range buckets {
		b := &buckets[i]
		if b.n <= 0 {
			continue
		}
		mean := learned[i]
		switch {
		case !math.IsNaN(mean):
			half := min(mean-b.low, b.high-mean)
			if math.IsInf(b.high, 1) {
				half = mean - b.low
			}
			b.from, b.to = mean-max(0, half), mean+max(0, half)
			rest -= b.n * mean
		case math.IsInf(b.high, 1):
			b.from, b.to = b.low, b.low // its mean is what the others leave
		default:
			b.from, b.to = b.low, b.high
			rest -= b.n * (b.low + b.high) / 2
			loose += b.n * (b.high - b.low)
		}
	}
	last := len(buckets) - 1
	if last >= 0 && buckets[last].n > 0 && math.IsInf(buckets[last].high, 1) && math.IsNaN(learned[last]) {
		b := &buckets[last]
		mean := rest / b.n
		if mean <= b.low {
			mean = 1.5 * b.low
		}
		b.from, b.to = b.low, 2*mean-b.low
		return
	}
	if loose <= 0 {
		return
	}
	const most = 0.4
	shift := max(-most, min(most, rest/loose)) // of the width of each bucket
	for i := range buckets {
		b := &buckets[i]
		if b.n <= 0 || !math.IsNaN(learned[i]) || math.IsInf(b.high, 1) {
			continue
		}
		mean := (b.low+b.high)/2 + shift*(b.high-b.low)
		half := min(mean-b.low, b.high-mean)
		b.from, b.to = mean-half, mean+half
	}
}

// quantile returns the estimate of a quantile, 0 to 1, with the edges of the bucket that holds it.
func quantile(buckets []mass, q float64) (estimate, lower, upper float64) {
	total := 0.0
	for _, b := range buckets {
		total += max(0, b.n)
	}
	left := q * total
	last := mass{}
	for _, b := range buckets {
		if b.n <= 0 {
			continue
		}
		last = b
		if left <= b.n {
			return b.from + (b.to-b.from)*left/b.n, b.low, b.high
		}
		left -= b.n
	}
	return last.to, last.low, last.high
}

// learn returns the mean of the observations of each bucket, from the scrapes between which only one bucket
// grew; NaN = unknown. grown has count, sum and the cumulative buckets.
func learn(grown []curve) []float64 {
	buckets := grown[2:]
	sums, counts := make([]float64, len(buckets)), make([]float64, len(buckets))
	for i := 1; i < len(grown[0].value); i++ {
		n := grown[0].value[i] - grown[0].value[i-1]
		if n <= 0 {
			continue
		}
		below := 0.0
		for j := range buckets {
			if len(buckets[j].value) != len(grown[0].value) || len(grown[1].value) != len(grown[0].value) {
				break
			}
			upTo := buckets[j].value[i] - buckets[j].value[i-1]
			if upTo-below == n {
				sums[j] += grown[1].value[i] - grown[1].value[i-1]
				counts[j] += n
			}
			below = upTo
		}
	}
	out := make([]float64, len(buckets))
	for j := range out {
		out[j] = math.NaN()
		if counts[j] > 0 {
			out[j] = sums[j] / counts[j]
		}
	}
	return out
}
