package sketch

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// schema is that of the Prometheus native histograms that have the same buckets.
const schema = 7

// maxIndex is the index of the bucket of [MaxValue]; that of [MinValue] is -maxIndex.
const maxIndex = 60 * perOctave

// maxCount bounds each count that is read, so that no sum of them overflows.
const maxCount = math.MaxInt64 / 16

// document is a sketch as JSON. Buckets are pairs of an index and a count, in the order
// of the indices: bucket i holds the values in (2^((i-1)/128), 2^(i/128)].
type document struct {
	Schema   int        `json:"schema"`
	Zeros    uint64     `json:"zeros"`
	Infinite uint64     `json:"infinite"`
	Min      float64    `json:"min"`
	Max      float64    `json:"max"`
	Sum      float64    `json:"sum"`
	Mean     float64    `json:"mean"`
	M2       float64    `json:"m2"` // sum of the squared deviations from the mean
	Positive [][2]int64 `json:"positive"`
	Negative [][2]int64 `json:"negative,omitempty"` // of the absolute values
}

// MarshalJSON implements json.Marshaler. A sketch of values whose sum overflows cannot
// be encoded.
func (s *Sketch) MarshalJSON() ([]byte, error) {
	return json.Marshal(document{
		Schema: schema, Zeros: s.zeros, Infinite: s.infs, Min: s.min, Max: s.max, Sum: s.sum, Mean: s.mean, M2: s.m2,
		Positive: s.pos.pairs(), Negative: s.neg.pairs(),
	})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Sketch) UnmarshalJSON(data []byte) error {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return fmt.Errorf("decode sketch: %w", err)
	}
	if d.Schema != schema {
		return fmt.Errorf("decode sketch: schema is %d, not %d", d.Schema, schema)
	}
	out := Sketch{zeros: d.Zeros, infs: d.Infinite, finite: d.Zeros, min: d.Min, max: d.Max, sum: d.Sum, mean: d.Mean, m2: d.M2}
	for _, side := range []struct {
		to   *store
		from [][2]int64
	}{{&out.pos, d.Positive}, {&out.neg, d.Negative}} {
		n, err := side.to.read(side.from)
		if err != nil {
			return fmt.Errorf("decode sketch: %w", err)
		}
		out.finite += n
	}
	if max(d.Zeros, d.Infinite) > maxCount || out.min > out.max || out.m2 < 0 {
		return errors.New("decode sketch: the values contradict one another")
	}
	*s = out
	return nil
}

// pairs returns the buckets that are not empty, never nil.
func (s *store) pairs() [][2]int64 {
	out := [][2]int64{}
	for i, c := range s.counts {
		if c > 0 {
			out = append(out, [2]int64{int64(s.base + i), int64(c)})
		}
	}
	return out
}

// read fills an empty store and returns the number of values in it.
func (s *store) read(pairs [][2]int64) (n uint64, err error) {
	last := int64(-maxIndex - 1)
	for _, p := range pairs {
		if p[0] <= last || p[0] > maxIndex || p[1] <= 0 || p[1] > maxCount || n > maxCount {
			return 0, fmt.Errorf("bucket %d with count %d", p[0], p[1])
		}
		last = p[0]
		s.add(int(p[0]), uint64(p[1]))
		n += uint64(p[1])
	}
	return n, nil
}

// errBinary is the error of data that [Sketch.AppendBinary] did not make.
var errBinary = errors.New("decode sketch: the data is damaged")

// AppendBinary appends the sketch to b: 35 bytes and, for each bucket that is not empty,
// two or a few more. It implements encoding.BinaryAppender; the error is always nil.
func (s *Sketch) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, schema)
	b = binary.AppendUvarint(b, s.zeros)
	b = binary.AppendUvarint(b, s.infs)
	for _, v := range [...]float64{s.min, s.max, s.sum, s.m2} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return s.neg.append(s.pos.append(b)), nil
}

// MergeBinary adds the values of a sketch that AppendBinary has encoded, as [Sketch.Merge]
// does. After an error, what s contains is undefined.
func (s *Sketch) MergeBinary(data []byte) error {
	in := reader{rest: data}
	if in.byte() != schema {
		return fmt.Errorf("%w: unknown schema", errBinary)
	}
	zeros, infs := in.uvarint(), in.uvarint()
	var of [4]float64
	for i := range of {
		of[i] = in.float()
	}
	finite := zeros
	for _, side := range [...]*store{&s.pos, &s.neg} {
		finite += in.merge(side)
	}
	if in.failed || len(in.rest) > 0 || finite > maxCount {
		return errBinary
	}
	s.infs += infs
	if finite == 0 {
		return nil
	}
	least, most, sum, m2 := of[0], of[1], of[2], of[3]
	if s.finite == 0 {
		s.min, s.max = least, most
	} else {
		s.min, s.max = min(s.min, least), max(s.max, most)
	}
	s.join(finite, sum, sum/float64(finite), m2)
	s.zeros += zeros
	return nil
}

// Reset makes the sketch empty. It keeps its memory for further values.
func (s *Sketch) Reset() {
	clear(s.pos.counts)
	clear(s.neg.counts)
	*s = Sketch{pos: s.pos, neg: s.neg}
}

// append encodes the buckets that are not empty: how many there are, and of each the
// distance of its index from that of the one before and its count.
func (s *store) append(b []byte) []byte {
	n := uint64(0)
	for _, c := range s.counts {
		if c > 0 {
			n++
		}
	}
	b = binary.AppendUvarint(b, n)
	last := -maxIndex - 1
	for i, c := range s.counts {
		if c > 0 {
			b = binary.AppendUvarint(b, uint64(s.base+i-last))
			b = binary.AppendUvarint(b, c)
			last = s.base + i
		}
	}
	return b
}

// reader reads the parts of an encoded sketch. After a failure it returns zeros.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) fail() {
	r.rest, r.failed = nil, true
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > maxCount {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) float() float64 {
	if len(r.rest) < 8 {
		r.fail()
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.rest))
	r.rest = r.rest[8:]
	return v
}

// merge adds buckets to a store and returns the number of values in them.
func (r *reader) merge(to *store) (values uint64) {
	index := int64(-maxIndex - 1)
	for range r.uvarint() {
		step, count := r.uvarint(), r.uvarint()
		if r.failed || step == 0 || step > 2*maxIndex+1 || index+int64(step) > maxIndex || count == 0 || values > maxCount {
			r.fail()
			return 0
		}
		index += int64(step)
		to.add(int(index), count)
		values += count
	}
	return values
}
