package stat

import "math"

// mserBatch is the number of values of a batch of MSER-5.
const mserBatch = 5

// leastCut is the number of values from which on a beginning is cut.
const leastCut = 20

// Truncation returns how many of the first values MSER-5 would cut as the warm-up (White,
// Simulation 69, 1997): the number, a multiple of 5 within the first half, at which the marginal
// standard error of the rest is least. last reports whether it is the largest that is allowed,
// which means that nothing became steady.
func Truncation(values []float64) (cut int, last bool) {
	k := len(values) / mserBatch
	if k < 2 {
		return 0, false
	}
	batches := make([]float64, k)
	for i := range batches {
		for _, v := range values[i*mserBatch : (i+1)*mserBatch] {
			batches[i] += v / mserBatch
		}
	}
	errors := marginalErrors(batches)
	at := 0
	for d, e := range errors {
		if e < errors[at] {
			at = d
		}
	}
	return at * mserBatch, at == len(errors)-1
}

// marginalErrors returns the squares of the marginal standard errors of the batches from each of the first half on.
func marginalErrors(batches []float64) []float64 {
	k := len(batches)
	out := make([]float64, (k-1)/2+1)
	var mean, squares float64 // of the batches from d on
	for d := k - 1; d >= 0; d-- {
		n := float64(k - d)
		delta := batches[d] - mean
		mean += delta / n
		squares += delta * (batches[d] - mean)
		if d < len(out) {
			out[d] = squares / (n * n)
		}
	}
	return out
}

// SteadyFrom returns how many of the first values do not belong to the steady state: those of
// [Truncation] if their mean differs from that of the rest by more than blocks of the rest
// differ from each other. Plain MSER-5 cuts busy periods out of the results of a loaded queue,
// and makes its mean 6 to 14 % too low; this one cuts nothing there.
func SteadyFrom(values []float64) int {
	cut, last := Truncation(values)
	n := len(values)
	if cut < leastCut || last {
		return 0
	}
	k := min(max((n-cut)/cut, 4), Blocks)
	length := (n - cut) / k
	blocks := make([]float64, k)
	for i := range blocks {
		blocks[i] = meanOf(values[cut+i*length : cut+(i+1)*length])
	}
	rest, squares := meanOf(blocks), 0.0
	for _, b := range blocks {
		squares += (b - rest) * (b - rest)
	}
	deviation := math.Sqrt(squares / float64(k-1))
	limit := Student(0.999, float64(k-1)) * deviation *
		math.Sqrt(max(1, float64(length)/float64(cut))) * math.Sqrt(1+1/float64(k))
	if math.Abs(meanOf(values[:cut])-rest) <= limit {
		return 0
	}
	return cut
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
