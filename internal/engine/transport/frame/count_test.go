package frame

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

var sound = Head{Status: 200, ContentType: "audio/wav"}

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		name  string
		head  Head
		reads []in
		want  []bench.Piece
		start string
	}{
		{
			"each read is a piece", sound, []in{{1, "RIFF"}, {2, ""}, {3, "ab"}, {3, "c"}},
			[]bench.Piece{{At: 1, Size: 4, Read: 1}, {At: 3, Size: 2, Read: 2}, {At: 3, Size: 1, Read: 3}}, "RIFFabc",
		},
		{
			"a type that says nothing is looked at first", Head{Status: 200, ContentType: "application/pdf"},
			[]in{{1, "d"}, {2, "at"}, {3, "x"}}, []bench.Piece{{At: 3, Size: 4, Read: 3}}, "datx",
		},
		{
			"the body ends while it is looked at", Head{Status: 200, ContentType: "application/pdf"},
			[]in{{1, "dat"}}, []bench.Piece{{At: 1, Size: 3, Read: 1}}, "dat",
		},
		{
			"only the beginning is kept", sound, []in{{1, strings.Repeat("a", MaxStart-1)}, {2, "bc"}, {3, "d"}},
			[]bench.Piece{{At: 1, Size: MaxStart - 1, Read: 1}, {At: 2, Size: 2, Read: 2}, {At: 3, Size: 1, Read: 3}},
			strings.Repeat("a", MaxStart-1) + "b",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := cut(tt.head, bench.EndEOF, tt.reads...)
			if diff := cmp.Diff(tt.want, r.Pieces); diff != "" {
				t.Errorf("pieces (-want +got):\n%s", diff)
			}
			if string(r.Start) != tt.start || r.Framing != bench.FramingBinary || r.Failure != nil {
				t.Errorf("start = %q, framing %d, failure %v", r.Start, r.Framing, r.Failure)
			}
		})
	}
}

// TestCountCompressed: what one compressed read releases is one piece, in however
// many blocks it comes out.
func TestCountCompressed(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(make([]byte, 3*inflateBlock)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	h := sound
	h.ContentEncoding = "gzip"
	r := cut(h, bench.EndEOF, in{5, packed.String()})
	if diff := cmp.Diff([]bench.Piece{{At: 5, Size: 3 * inflateBlock, Read: 1}}, r.Pieces); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
}

// TestCountIsBounded: an endless body keeps a bounded number of pieces, whose
// last one has the stamp of the last read.
func TestCountIsBounded(t *testing.T) {
	var f Framer
	f.Reset(sound)
	f.counter.maxPieces = 3
	for i := range 10 {
		f.Feed(time.Duration(i+1), []byte("ab"))
	}
	f.Finish(11, bench.EndEOF)
	r := f.Response()
	want := []bench.Piece{{At: 1, Size: 2, Read: 1}, {At: 2, Size: 2, Read: 2}, {At: 10, Size: 16, Read: 10}}
	if diff := cmp.Diff(want, r.Pieces); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
	if got := r.Warnings[WarnMergedReads]; got != 7 {
		t.Errorf("%d reads merged, want 7", got)
	}

	f.Reset(sound)
	f.limit = 5
	f.Feed(1, []byte("abc"))
	f.Feed(2, []byte("def"))
	f.Finish(3, bench.EndAborted)
	if got := f.Err(); got == nil || got.Class != bench.EventTooLarge || got.Code != "body_size" {
		t.Errorf("a body over the limit gives %v", got)
	}
}
