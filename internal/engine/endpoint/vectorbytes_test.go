package endpoint

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// Of an answer of numbers in bytes, no more is believed than the bytes can hold.
func TestVectorsInBytes(t *testing.T) {
	for _, tt := range []struct {
		name, metadata string
		want           []bench.Vector
		malformed      int
	}{
		{"a vector", `{"data":[{"index":0,"shape":[30],"end":120}]}`, []bench.Vector{{Dim: 30, Rows: 1}}, 0},
		{"two", `{"data":[{"index":1,"shape":[15],"end":120},{"index":0,"shape":[15],"end":60}]}`, []bench.Vector{{Dim: 15, Rows: 1}, {Index: 1, Dim: 15, Rows: 1}}, 0},
		{"rows", `{"data":[{"index":0,"shape":[2,3,5],"end":120}]}`, []bench.Vector{{Dim: 5, Rows: 6}}, 0},
		{"bits", `{"data":[{"index":0,"shape":[960],"end":120}]}`, []bench.Vector{{Dim: 960, Rows: 1}}, 0},
		{"no shape", `{"data":[{"index":0,"end":120}]}`, []bench.Vector{{Rows: 1}}, 0},
		{"too many numbers", `{"data":[{"index":0,"shape":[961],"end":120}]}`, nil, 1},
		{"too many rows", `{"data":[{"index":0,"shape":[32,31],"end":120}]}`, nil, 1},
		{"an overflow", `{"data":[{"index":0,"shape":[4294967296,4294967296,4],"end":9223372036854775807}]}`, nil, 1},
		{"negative", `{"data":[{"index":0,"shape":[-1,-30],"end":120}]}`, nil, 1},
		{"zero", `{"data":[{"index":0,"shape":[0,30],"end":120}]}`, nil, 1},
		{"one of two", `{"data":[{"index":0,"shape":[1000000000],"end":60},{"index":1,"shape":[15],"end":120}]}`, []bench.Vector{{Index: 1, Dim: 15, Rows: 1}}, 1},
		{"an end beyond the bytes", `{"data":[{"index":0,"shape":[30],"end":9000000000}]}`, []bench.Vector{{Dim: 30, Rows: 1}}, 0},
	} {
		a := lookup(t, "embeddings").Decode(&bench.Response{
			Status: 200, Framing: bench.FramingBinary, Header: http.Header{"Metadata": {tt.metadata}}, BodyAt: time.Second, EndAt: time.Second,
			Pieces: []bench.Piece{{At: 1, Size: 100}, {At: 2, Size: 20}},
		}, false)
		if diff := cmp.Diff(tt.want, a.Vectors); diff != "" {
			t.Errorf("%s: vectors (-want +got):\n%s", tt.name, diff)
		}
		if got := a.Warnings["malformed_event"]; got != tt.malformed {
			t.Errorf("%s: %d malformed, want %d: %v", tt.name, got, tt.malformed, a.Warnings)
		}
		if len(tt.want) > 0 && (len(a.Chunks) != 1 || a.Chunks[0].Bytes != 120) {
			t.Errorf("%s: chunks %+v, want one of 120 bytes", tt.name, a.Chunks)
		}
		if len(tt.want) == 0 && a.Failure == nil {
			t.Errorf("%s: no failure", tt.name)
		}
	}
}
