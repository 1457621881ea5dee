package sketch

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := New()
	for range 10_000 {
		s.Add(math.Exp(r.NormFloat64() * 3))
	}
	for _, v := range []float64{0, -1, -2.5, math.Inf(1), 1e100, 1e-300, MinValue, MaxValue} {
		s.Add(v)
	}
	for name, s := range map[string]*Sketch{"empty": New(), "values": s} {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got Sketch
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(&got)
		if err != nil || string(again) != string(data) {
			t.Errorf("%s: encoded again: %v\n%s\n%s", name, err, data, again)
		}
		for _, q := range []float64{0, 0.01, 0.5, 0.99, 1} {
			if a, b := s.Quantile(q), got.Quantile(q); a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
				t.Errorf("%s: quantile %v = %v, want %v", name, q, b, a)
			}
		}
		if diff := cmp.Diff([]any{s.Count(), s.Sum(), s.Min(), s.Max()}, []any{got.Count(), got.Sum(), got.Min(), got.Max()}, cmp.Comparer(func(a, b float64) bool {
			return a == b || math.IsNaN(a) && math.IsNaN(b)
		})); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"schema":7,"min":1,"max":2,"sum":3,"mean":1.5,"m2":0.5,"positive":[[0,1],[128,1]]}`))
	f.Add([]byte(`{"schema":7,"positive":[[7680,1],[7681,1]]}`))
	f.Add([]byte(`{"schema":7,"zeros":18446744073709551615,"positive":[[-7680,9223372036854775807]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Sketch
		if s.UnmarshalJSON(data) != nil {
			return
		}
		again, err := json.Marshal(&s)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		var b Sketch
		if err := b.UnmarshalJSON(again); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		s.Merge(&b)
	})
}

// encoded returns a sketch in its binary form.
func encoded(t testing.TB, s *Sketch) []byte {
	t.Helper()
	data, err := s.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A sketch that was merged from encoded parts has the buckets of one that has seen all
// values, and its sums up to rounding.
func TestMergeBinary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	whole, joined := New(), New()
	for part := range 5 {
		s := New()
		for range part * 1000 {
			v := math.Exp(r.NormFloat64() * 3)
			s.Add(v)
			whole.Add(v)
		}
		for _, v := range []float64{0, -1, -2.5 * float64(part), math.Inf(1), MinValue, MaxValue} {
			s.Add(v)
			whole.Add(v)
		}
		if err := joined.MergeBinary(encoded(t, s)); err != nil {
			t.Fatal(err)
		}
	}
	describe := func(s *Sketch) []float64 {
		var out []float64
		for b := range s.Buckets() {
			out = append(out, b.Lower, b.Upper, float64(b.Count))
		}
		return append(out, float64(s.Count()), s.min, s.max)
	}
	if diff := cmp.Diff(describe(whole), describe(joined)); diff != "" {
		t.Errorf("merged parts (-whole +merged):\n%s", diff)
	}
	for name, pair := range map[string][2]float64{"sum": {whole.sum, joined.sum}, "mean": {whole.mean, joined.mean}, "m2": {whole.m2, joined.m2}} {
		if math.Abs(pair[0]-pair[1]) > 1e-9*math.Abs(pair[0]) {
			t.Errorf("%s of merged parts = %v, want %v", name, pair[1], pair[0])
		}
	}
	joined.Reset()
	if err := joined.MergeBinary(encoded(t, New())); err != nil || joined.Count() != 0 || joined.Sum() != 0 || !math.IsNaN(joined.Min()) {
		t.Errorf("after Reset: count %d, sum %v, min %v, error %v", joined.Count(), joined.Sum(), joined.Min(), err)
	}
}

func FuzzMergeBinary(f *testing.F) {
	f.Add(encoded(f, fill([]float64{0, 1, 2, 2, -3, math.Inf(1)})))
	f.Add(encoded(f, New()))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New()
		if s.MergeBinary(data) != nil {
			return
		}
		again := encoded(t, s)
		two := New()
		if err := two.MergeBinary(again); err != nil {
			t.Fatalf("%x: %v", data, err)
		}
		if !bytes.Equal(encoded(t, two)[:2], again[:2]) || two.Count() != s.Count() {
			t.Errorf("%x: decoded again has %d values, not %d", data, two.Count(), s.Count())
		}
	})
}
