package sketch

// MaxSchema is the schema of the buckets of a sketch.
const MaxSchema = schema

// Exponential is a sketch as a Prometheus native histogram. Bucket i of Positive counts
// the values in (2^((i-1)/2^Schema), 2^(i/2^Schema)], bucket i of Negative those whose
// absolute value lies there. Buckets without values are absent.
type Exponential struct {
	Schema             int32
	Zeros              uint64 // values of a magnitude below MinValue
	Positive, Negative map[int]int64
}

// NewExponential merges the buckets of a sketch to those of a schema from 0 to 7, or, as
// long as more than limit buckets hold values, to those of the next lower one, but not
// below 0. Infinite values are in the bucket above that of the largest number.
func NewExponential(s *Sketch, schema, limit int) Exponential {
	for ; ; schema-- {
		e := Exponential{Schema: int32(schema), Zeros: s.zeros, Positive: s.pos.merged(schema), Negative: s.neg.merged(schema)}
		if s.infs > 0 {
			const octaves = 1024 // of the numbers above 1
			e.Positive[octaves<<schema+1] = int64(s.infs)
		}
		if schema == 0 || len(e.Positive)+len(e.Negative) <= limit {
			return e
		}
	}
}

// merged returns the buckets of a store in a schema that is not above its own.
func (s *store) merged(to int) map[int]int64 {
	out := map[int]int64{}
	for i, c := range s.counts {
		if c > 0 {
			// The upper bound of a bucket belongs to it, hence the shift by one.
			out[(s.base+i-1)>>(schema-to)+1] += int64(c)
		}
	}
	return out
}
