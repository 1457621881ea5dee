package collect

import "math"

// distinctSlots is the size of the table of a [distinct]: 2^19 slots of 12 bytes take
// 6 MiB. Three quarters are used at most.
const (
	distinctSlots = 1 << 19
	distinctFirst = 1 << 10 // slots to begin with
)

// distinct counts the different values of a sequence of 64-bit hashes, and adds up a
// weight of each. It is exact up to 393,216 values. Beyond that it keeps a sample: those
// whose hash begins with a number of zero bits, each of which stands for 2 to the power of
// that number. The sample has at least 196,608 values on average, so that the standard
// error of the count is 0.23 % of it at most.
type distinct struct {
	hashes  []uint64 // open addressing; 0 = free
	weights []uint32
	used    int
	weight  float64 // of all in the table
	zeros   int     // leading zero bits of the hashes in the table
}

// add adds a hash, which must not be 0, with the weight of its first occurrence.
func (d *distinct) add(hash uint64, weight uint32) {
	if d.hashes == nil {
		d.resize(distinctFirst)
	}
	if !d.sampled(hash) || !d.insert(hash, weight) {
		return
	}
	if 4*d.used <= 3*len(d.hashes) {
		return
	}
	if len(d.hashes) < distinctSlots {
		d.resize(2 * len(d.hashes))
		return
	}
	d.halve()
}

// join adds the hashes of another table, without their weights.
func (d *distinct) join(other *distinct) {
	for d.zeros < other.zeros {
		d.halve()
	}
	// In the order of the other table, the hashes would fill the slots of this one from the first on, so that it would be
	// full there and empty behind. Any odd number leads to every slot once.
	const stride = 0x9E3779B1
	for i := range other.hashes {
		if hash := other.hashes[i*stride&(len(other.hashes)-1)]; hash != 0 {
			d.add(hash, 0)
		}
	}
}

// sampled reports whether the table has a hash if it occurred.
func (d *distinct) sampled(hash uint64) bool { return d.zeros == 0 || hash>>(64-d.zeros) == 0 }

// has reports whether the table has a hash.
func (d *distinct) has(hash uint64) bool {
	if d.used == 0 {
		return false
	}
	mask := uint64(len(d.hashes) - 1)
	at := hash & mask
	for d.hashes[at] != 0 && d.hashes[at] != hash {
		at = (at + 1) & mask
	}
	return d.hashes[at] == hash
}

// insert adds a hash to the table unless it is there.
func (d *distinct) insert(hash uint64, weight uint32) (added bool) {
	mask := uint64(len(d.hashes) - 1)
	at := hash & mask
	for d.hashes[at] != 0 {
		if d.hashes[at] == hash {
			return false
		}
		at = (at + 1) & mask
	}
	d.hashes[at], d.weights[at] = hash, weight
	d.used++
	d.weight += float64(weight)
	return true
}

// resize moves the hashes to a new table.
func (d *distinct) resize(slots int) {
	old := *d
	*d = distinct{hashes: make([]uint64, slots), weights: make([]uint32, slots), zeros: old.zeros}
	for i, hash := range old.hashes {
		if hash != 0 {
			d.insert(hash, old.weights[i])
		}
	}
}

// halve keeps every second hash.
func (d *distinct) halve() {
	d.zeros++
	var kept distinct // as lists, which take less memory than a second table
	for i, hash := range d.hashes {
		if hash != 0 && d.sampled(hash) {
			kept.hashes, kept.weights = append(kept.hashes, hash), append(kept.weights, d.weights[i])
		}
	}
	clear(d.hashes)
	d.used, d.weight = 0, 0
	for i, hash := range kept.hashes {
		d.insert(hash, kept.weights[i])
	}
}

// count returns the number of different hashes, and sum the sum of their weights.
func (d *distinct) count() float64 { return math.Ldexp(float64(d.used), d.zeros) }
func (d *distinct) sum() float64   { return math.Ldexp(d.weight, d.zeros) }
