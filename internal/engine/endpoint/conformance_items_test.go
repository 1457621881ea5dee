package endpoint_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// checkItem compares an event that carries vectors, scores or bytes; false = it
// carries text, which is compared elsewhere.
func checkItem(t *testing.T, want []any, got bench.Chunk, a bench.Answer, rows []int) bool {
	t.Helper()
	kind, _ := want[1].(string)
	switch kind {
	case "embedding":
		dims := []any{}
		for i, v := range a.Vectors {
			dims = append(dims, float64(v.Dim))
			wantRows := 1
			if rows != nil {
				wantRows = rows[i]
			}
			if v.Rows != wantRows {
				t.Errorf("vector %d has %d rows, want %d", i, v.Rows, wantRows)
			}
		}
		if diff := cmp.Diff(want[2], any(dims)); diff != "" {
			t.Errorf("dimensions (-want +got):\n%s", diff)
		}
	case "ranking":
		pairs := []any{}
		for _, r := range a.Ranks {
			pair := []any{float64(r.Index), nil}
			if !math.IsNaN(r.Score) {
				pair[1] = r.Score
			}
			pairs = append(pairs, pair)
		}
		if diff := cmp.Diff(want[2], any(pairs)); diff != "" {
			t.Errorf("scores (-want +got):\n%s", diff)
		}
	case "binary":
		if size, _ := want[2].(float64); got.Bytes != int32(size) {
			t.Errorf("%d bytes, want %v", got.Bytes, size)
		}
	default:
		return false
	}
	at, _ := want[0].(float64)
	if got.Kind.String() != kind || got.Choice != 0 || got.Bytes <= 0 || got.At < millis(at) && got.At != 0 {
		t.Errorf("event %+v, want %v", got, want)
	}
	return true
}
