package frame

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// compressor is what the writers of compress/... have in common.
type compressor interface {
	io.WriteCloser
	Flush() error
}

func TestInflate(t *testing.T) {
	encoders := map[string]func(io.Writer) compressor{
		"gzip": func(w io.Writer) compressor {
			return gzip.NewWriter(w)
		},
		"deflate": func(w io.Writer) compressor {
			return zlib.NewWriter(w)
		},
		"DEFLATE": func(w io.Writer) compressor {
			z, _ := flate.NewWriter(w, 9) // bare, as some servers send it
			return z
		},
	}
	for encoding, open := range encoders {
		t.Run(encoding, func(t *testing.T) {
			var out bytes.Buffer
			z := open(&out)
			var reads []in
			var whole []byte
			for i, event := range []string{"data: one\n\n", "data: two\n\ndata: three\n\n", "data: [DONE]\n\n"} {
				io.WriteString(z, event)
				z.Flush()
				if i == 2 {
					z.Close()
				}
				reads = append(reads, in{time.Duration(i+1) * ms, out.String()})
				whole = append(whole, out.Bytes()...)
				out.Reset()
			}
			h := stream
			h.ContentEncoding = encoding
			want := "1ms #1 \"one\"\n2ms #2 \"two\"\n2ms #2 \"three\"\nframing 2 done"
			if diff := cmp.Diff(want, show(cut(h, bench.EndEOF, reads...))); diff != "" {
				t.Errorf("flushed reads (-want +got):\n%s", diff)
			}
			var single []in
			for i := range whole {
				single = append(single, in{1 * ms, string(whole[i : i+1])})
			}
			got := cut(h, bench.EndEOF, single...)
			if got.Events.Len() != 3 || !got.Done || got.Failure != nil {
				t.Errorf("byte by byte: %s", show(got))
			}
		})
	}
}

// What follows the last flush belongs to the body: a document that was compressed in one
// piece, an error's message, the last event of a stream. It is there with the read that
// brought it, whether the checksum behind it has come or not.
func TestInflateTheEnd(t *testing.T) {
	document := Head{Status: 200, ContentType: "application/json"}
	failure := Head{Status: 400, ContentType: "application/json"}
	pack := func(encoding, text string) string {
		var out bytes.Buffer
		var z io.WriteCloser = gzip.NewWriter(&out)
		if encoding == "deflate" {
			z = zlib.NewWriter(&out)
		}
		io.WriteString(z, text)
		z.Close()
		return out.String()
	}
	for _, encoding := range []string{"gzip", "deflate"} {
		trailer := map[string]int{"gzip": 8, "deflate": 4}[encoding]
		for _, tt := range []struct {
			name string
			head Head
			text string
			want string
		}{
			{"document", document, `{"a":1}`, "body 1ms \"{\\\"a\\\":1}\"\nframing 1"},
			{"error", failure, `{"error":"no"}`, "body 1ms \"{\\\"error\\\":\\\"no\\\"}\"\nframing 1"},
			{"stream", stream, "data: 1\n\ndata: [DONE]\n\n", "1ms #1 \"1\"\nframing 2 done"},
		} {
			tt.head.ContentEncoding = encoding
			whole := pack(encoding, tt.text)
			n := len(whole) - trailer
			for name, reads := range map[string][]in{
				"whole": {{1 * ms, whole}}, "the checksum is late": {{1 * ms, whole[:n]}, {2 * ms, whole[n:]}}, "no checksum": {{1 * ms, whole[:n]}},
				"more behind": {{1 * ms, whole + "more"}},
			} {
				if tt.name != "stream" && name == "the checksum is late" {
					continue // a document is there when the last byte is
				}
				if got := show(cut(tt.head, bench.EndEOF, reads...)); got != tt.want {
					t.Errorf("%s %s, %s: %s, want %s", encoding, tt.name, name, got, tt.want)
				}
			}
		}
	}
	document.ContentEncoding = "gzip"
	members := pack("gzip", `{"a"`) + pack("gzip", "") + pack("gzip", `:1}`)
	want := "body 1ms \"{\\\"a\\\":1}\"\nframing 1"
	var single []in
	for i := range len(members) {
		single = append(single, in{1 * ms, members[i : i+1]})
	}
	for _, reads := range [][]in{{{1 * ms, members}}, single} {
		if got := show(cut(document, bench.EndEOF, reads...)); got != want {
			t.Errorf("several members in %d reads: %s, want %s", len(reads), got, want)
		}
	}
	wrong := []byte(pack("gzip", `{"a":1}`))
	wrong[len(wrong)-8] ^= 1
	if got := cut(document, bench.EndEOF, in{1, string(wrong)}); got.Failure == nil || got.Failure.Code != "content_encoding" {
		t.Errorf("a wrong checksum: %s, want content_encoding", show(got))
	}
}

func TestInflateBroken(t *testing.T) {
	h := stream
	h.ContentEncoding = "gzip"
	got := show(cut(h, bench.EndEOF, in{1, "this is not gzip"}))
	if want := "framing 2 malformed_response/content_encoding"; got != want {
		t.Errorf("garbage: %s, want %s", got, want)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	io.WriteString(z, "data: 1\n\ndata: 2\n\n")
	z.Flush()
	if got, want := show(cut(h, bench.EndEOF, in{1, out.String()})), "1ns #1 \"1\"\n1ns #1 \"2\"\nframing 2"; got != want {
		t.Errorf("cut: %s, want %s", got, want)
	}
	bomb := gzipped(t, bytes.Repeat([]byte{'x'}, 2<<20))
	var f Framer
	f.Reset(Head{Status: 500, ContentEncoding: "gzip"})
	f.Feed(1, bomb)
	if !f.Done() || len(f.arena) != MaxErrorBody {
		t.Errorf("bomb: Done() = %v with %d bytes, want %d", f.Done(), len(f.arena), MaxErrorBody)
	}
	f.Finish(2, bench.EndAborted)
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
