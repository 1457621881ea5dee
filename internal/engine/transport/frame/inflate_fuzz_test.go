package frame

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// FuzzInflate: no compressed bytes crash, and the place of a cut changes nothing.
func FuzzInflate(f *testing.F) {
	for _, open := range []func(io.Writer) io.WriteCloser{
		func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		func(w io.Writer) io.WriteCloser {
			z, _ := flate.NewWriter(w, flate.BestSpeed) // the level is a good one
			return z
		},
	} {
		for _, text := range []string{"", "data: {\"a\":1}\n\ndata: [DONE]\n\n", "{\"a\":\"" + string(make([]byte, 4096)) + "\"}"} {
			var out bytes.Buffer
			w := open(&out)
			io.WriteString(w, text)
			w.Close()
			for kind := range uint8(4) {
				f.Add(out.Bytes(), uint16(7), kind)
				f.Add(append(out.Bytes(), "more"...), uint16(100), kind)
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, at uint16, kind uint8) {
		h := Head{Status: 200, ContentType: "text/event-stream", ContentEncoding: "gzip", Streaming: true, Limit: 1 << 20}
		if kind&1 != 0 {
			h.ContentType = "application/json"
		}
		if kind&2 != 0 {
			h.ContentEncoding = "deflate"
		}
		i := int(at) % (len(body) + 1)
		render := func(reads ...in) string {
			r := cut(h, bench.EndEOF, reads...)
			if len(r.Body) > h.Limit {
				t.Errorf("%d bytes kept, want %d at most", len(r.Body), h.Limit)
			}
			return readNumber.ReplaceAllString(show(r), "$1")
		}
		whole := render(in{1, string(body)})
		if diff := cmp.Diff(whole, render(in{1, string(body[:i])}, in{1, string(body[i:])})); diff != "" {
			t.Errorf("cut at %d (-whole +cut):\n%s", i, diff)
		}
	})
}
