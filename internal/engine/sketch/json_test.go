package sketch

import (
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
