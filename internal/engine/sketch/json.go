package sketch

import (
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
