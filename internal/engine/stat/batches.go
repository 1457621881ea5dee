package stat

// maxBatches is the largest number of batches. Once there have been as many
// values, there are always more than half as many batches.
const maxBatches = 64

// sequences is the number of sequences that are cut into batches together: the
// values, and whether they are above each threshold.
const sequences = 1 + Thresholds

// batches are sums of equally many consecutive values each, for several
// sequences of the same length. When there are too many, neighbours are joined.
// A new one has size 1.
type batches struct {
	size int64 // values in a batch
	n    int   // full batches
	fill int64 // values in the batch that is being filled, fewer than size
	open [sequences]float64
	sums [sequences][maxBatches]float64
}

// close ends the open batch, whose fill has reached size.
func (b *batches) close() {
	if b.n == maxBatches {
		b.join()
		return // the open batch goes on; it may now be twice as long
	}
	for q := range b.sums {
		b.sums[q][b.n] = b.open[q]
	}
	b.n++
	b.open, b.fill = [sequences]float64{}, 0
}

// join doubles the size of the batches. An odd one is opened again.
func (b *batches) join() {
	for q := range b.sums {
		sums := &b.sums[q]
		for i := range b.n / 2 {
			sums[i] = sums[2*i] + sums[2*i+1]
		}
		if b.n%2 == 1 {
			b.open[q] += sums[b.n-1]
		}
	}
	if b.n%2 == 1 {
		b.fill += b.size
	}
	b.n /= 2
	b.size *= 2
}

// merge appends the batches of o, to each of whose values shift is added. What is
// open in both becomes one batch, which mixes the order of fewer than two
// batches.
func (b *batches) merge(o *batches, shift float64) {
	p := *o
	for i := range p.n {
		p.sums[0][i] += shift * float64(p.size)
	}
	p.open[0] += shift * float64(p.fill)
	for b.size < p.size || b.n+p.n > maxBatches {
		b.join()
		for p.size < b.size {
			p.join()
		}
	}
	for p.size < b.size {
		p.join()
	}
	for q := range b.sums {
		copy(b.sums[q][b.n:], p.sums[q][:p.n])
		b.open[q] += p.open[q]
	}
	b.n += p.n
	b.fill += p.fill
	if b.fill >= b.size {
		b.closeLong()
	}
}

// closeLong ends an open batch that is at least as long as the others, but not
// twice; it counts as if it had their length.
func (b *batches) closeLong() {
	if b.n == maxBatches {
		b.join()
	}
	if b.fill < b.size {
		return
	}
	for q := range b.sums {
		b.sums[q][b.n] = b.open[q] * float64(b.size) / float64(b.fill)
	}
	b.n++
	b.open, b.fill = [sequences]float64{}, 0
}

// spread returns the variance of the mean of a batch, times its size: what the
// variance of a single value would have to be to give the same, if values were
// independent. It also returns the number of batches; there must be two.
func (b *batches) spread(sequence int) (variance float64, k int) {
	sums := b.sums[sequence][:b.n]
	var sum float64
	for _, s := range sums {
		sum += s
	}
	mean := sum / float64(b.n)
	var squares float64
	for _, s := range sums {
		squares += (s - mean) * (s - mean)
	}
	return squares / float64(b.n-1) / float64(b.size), b.n
}
