package stat

// Thresholds is the number of thresholds that a [Sequence] follows.
const Thresholds = 4

// SequenceSize is the memory of a [Sequence] in bytes, rounded up.
const SequenceSize = 3 << 10

// Sequence summarizes a sample in its order, in constant memory: how alike
// consecutive values are. It holds the sums of batches of consecutive values and
// the sum of the products of neighbours, for the values themselves and for the
// indicators "greater than a threshold". Values that are like their neighbours
// make a sample worth less than its size, see [Sequence.Effective]. Make one with
// [NewSequence]. It is not safe for concurrent use.
type Sequence struct {
	n      int64
	origin float64 // the first value; others are relative to it
	last   float64 // relative to origin
	sum    float64 // of the relative values
	square float64
	lagged float64 // sum of the products of neighbours

	at      [Thresholds]float64 // ascending
	beyond  [Thresholds]crossing
	batches batches
}

// crossing counts the values above one threshold.
type crossing struct {
	count       int64 // values above
	pairs       int64 // neighbours that are both above
	first, last int64 // 1 = above
}

// NewSequence returns a sequence without values. The thresholds are in ascending
// order.
func NewSequence(thresholds [Thresholds]float64) *Sequence {
	return &Sequence{at: thresholds, batches: batches{size: 1}}
}

// Count returns the number of values.
func (o *Sequence) Count() int64 { return o.n }

// Add adds the next value.
func (o *Sequence) Add(x float64) {
	if o.n == 0 {
		o.begin(x)
	}
	values := [1]float64{x}
	o.take(values[:])
	o.n++
	if o.batches.fill++; o.batches.fill == o.batches.size {
		o.batches.close()
	}
}

// AddAll adds the next values.
func (o *Sequence) AddAll(xs []float64) {
	if o.n == 0 && len(xs) > 0 {
		o.begin(xs[0])
	}
	for len(xs) > 0 {
		n := min(int64(len(xs)), o.batches.size-o.batches.fill)
		o.take(xs[:n])
		o.n += n
		if o.batches.fill += n; o.batches.fill == o.batches.size {
			o.batches.close()
		}
		xs = xs[n:]
	}
}

// begin records the first value.
func (o *Sequence) begin(x float64) {
	o.origin = x
	for i := range o.beyond {
		o.beyond[i].first = above(x, o.at[i])
	}
}

// take adds values, all of one batch, to everything but the number of values.
// Each loop keeps what it changes in registers.
func (o *Sequence) take(xs []float64) {
	origin, last := o.origin, o.last
	var sum, square, lagged float64
	for _, x := range xs {
		y := x - origin
		lagged += y * last // 0 for the first
		last = y
		sum += y
		square += y * y
	}
	o.last = last
	o.lagged += lagged
	o.square += square
	o.sum += sum
	o.batches.open[0] += sum
	for i := range o.beyond {
		c := &o.beyond[i]
		at, last := o.at[i], c.last
		var count, pairs int64
		for _, x := range xs {
			a := above(x, at)
			count += a
			pairs += a & last
			last = a
		}
		c.last = last
		c.count += count
		c.pairs += pairs
		o.batches.open[i+1] += float64(count)
	}
}

// above is 1 for a value above a threshold.
func above(x, threshold float64) int64 {
	if x > threshold {
		return 1
	}
	return 0
}

// Merge adds the values of p as if they had come after those of o. p stays as it
// is. The thresholds of both are estimates of the same quantiles, so that their
// crossings can be added.
func (o *Sequence) Merge(p *Sequence) {
	if p.n == 0 {
		return
	}
	if o.n == 0 {
		*o = *p
		return
	}
	shift, n := p.origin-o.origin, float64(p.n)
	// The sum of (y+shift)(y'+shift) over neighbours, the first y of p being 0, and
	// the pair at the seam.
	o.lagged += p.lagged + shift*(2*p.sum-p.last) + (n-1)*shift*shift + o.last*shift
	o.square += p.square + 2*shift*p.sum + n*shift*shift
	o.sum += p.sum + n*shift
	o.last = p.last + shift
	for i := range o.beyond {
		c, d := &o.beyond[i], &p.beyond[i]
		c.count += d.count
		c.pairs += d.pairs + c.last&d.first
		c.last = d.last
	}
	o.batches.merge(&p.batches, shift)
	o.n += p.n
}

// Effective returns the number of independent values that would give the mean of
// these with the same certainty, from 1 to n, and the degrees of freedom of that
// estimate. It takes the smaller of two estimates: by batch means, which see
// every kind of dependence once batches are longer than it lasts (Schmeiser
// 1982), and by the correlation of neighbours, n·(1-ρ)/(1+ρ), which needs no
// long batches but sees only what a first-order autoregression has (Bartlett
// 1935). Values that alternate are not counted as more than they are.
func (o *Sequence) Effective() (n float64, freedom int) {
	count := float64(o.n)
	mean := o.sum / count
	variance := o.square/count - mean*mean
	products := o.lagged - mean*(2*o.sum-o.last) + (count-1)*mean*mean
	return o.shrink(0, variance, products)
}

// EffectiveAbove is Effective for the share of values above the i-th threshold.
// False if all values are on one side of it.
func (o *Sequence) EffectiveAbove(i int) (n float64, ok bool) {
	c := &o.beyond[i]
	if c.count == 0 || c.count == o.n {
		return 0, false
	}
	count := float64(o.n)
	share := float64(c.count) / count
	products := float64(c.pairs) - share*float64(2*c.count-c.first-c.last) + (count-1)*share*share
	n, _ = o.shrink(i+1, share*(1-share), products)
	return n, true
}

// shrink is the estimate that Effective describes, for one of the sequences of
// batches, from the variance of single values and the sum of the products of
// neighbouring differences from the mean.
func (o *Sequence) shrink(sequence int, variance, products float64) (n float64, freedom int) {
	n = float64(o.n)
	if !(variance > 0) || o.n < 3 {
		return n, max(1, int(o.n)-1)
	}
	rho := min(max(0, products/(n*variance)), 1)
	least := n * (1 - rho) / (1 + rho)
	spread, k := o.batches.spread(sequence)
	if spread > 0 {
		least = min(least, n*variance*n/(n-1)/spread)
	}
	return min(max(1, least), n), max(1, k-1)
}
