package http1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outcome is what tests compare of one response.
type outcome struct {
	Status   int
	Header   http.Header
	Body     string
	Done     bool
	Reusable bool
	Err      string // of Feed, or of End where Feed had none and the peer closed
}

// parse feeds pieces to p and then, if the response is not complete, the end of
// the connection.
func parse(p *Parser, pieces ...string) outcome {
	var o outcome
	var err error
	for _, piece := range pieces {
		var body []byte
		body, err = p.Feed([]byte(piece))
		o.Body += string(body)
		if err != nil {
			break
		}
	}
	if !p.Done() && err == nil {
		err = p.End()
	}
	if err != nil {
		o.Err = err.Error()
	}
	if p.HasHead() {
		o.Status, o.Header = p.Status(), p.Header()
	}
	o.Done, o.Reusable = p.Done(), p.Reusable()
	return o
}

func responses() []struct {
	name, in string
	want     outcome
} {
	h := func(kv ...string) http.Header {
		out := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i]] = append(out[kv[i]], kv[i+1])
		}
		return out
	}
	chunked := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	te := h("Transfer-Encoding", "chunked")
	const malformed = "malformed HTTP response: "
	return []struct {
		name, in string
		want     outcome
	}{
		{"content length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello",
			outcome{200, h("Content-Length", "5", "Content-Type", "text/plain"), "hello", true, true, ""}},
		{"content length 0", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", outcome{500, h("Content-Length", "0"), "", true, true, ""}},
		{"no reason", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", outcome{200, h("Content-Length", "1"), "x", true, true, ""}},
		{"lines without CR", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx", outcome{200, h("Content-Length", "1"), "x", true, true, ""}},
		{"lower case, no space, repeated, folded, empty", "HTTP/1.1 200 OK\r\ncontent-length:1\r\nx-a: 1\r\nX-A:2\r\nX-B: one\r\n\ttwo \r\nX-C:\r\n\r\nx",
			outcome{200, h("Content-Length", "1", "X-A", "1", "X-A", "2", "X-B", "one two", "X-C", ""), "x", true, true, ""}},
		{"until close", "HTTP/1.1 200 OK\r\n\r\nabc", outcome{200, h(), "abc", true, false, ""}},
		{"until close, nothing", "HTTP/1.1 200 OK\r\n\r\n", outcome{200, h(), "", true, false, ""}},
		{"204", "HTTP/1.1 204 No Content\r\n\r\n", outcome{204, h(), "", true, true, ""}},
		{"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", outcome{304, h("Content-Length", "9"), "", true, true, ""}},
		{"101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", outcome{101, h("Upgrade", "x"), "", true, false, ""}},
		{"interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
			outcome{200, h("Content-Length", "2"), "ok", true, true, ""}},
		{"close asked", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\nx", outcome{200, h("Connection", "x, Close", "Content-Length", "1"), "x", true, false, ""}},
		{"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", outcome{200, h("Content-Length", "1"), "x", true, false, ""}},
		{"1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", outcome{200, h("Connection", "keep-alive", "Content-Length", "1"), "x", true, true, ""}},
		{"1.0 has no chunks", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx", outcome{200, te, "1\r\nx", true, false, ""}},
		{"bytes after the end", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy", outcome{200, h("Content-Length", "1"), "x", true, false, ""}},
		{"same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", outcome{200, h("Content-Length", "1", "Content-Length", "1"), "x", true, true, ""}},

		{"chunks", chunked + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", outcome{200, te, "hello world", true, true, ""}},
		{"no chunk", chunked + "0\r\n\r\n", outcome{200, te, "", true, true, ""}},
		{"extensions, white space, leading zeros, hex", chunked + "0a;x=\"y z\"\r\n0123456789\r\n01 \t\r\n!\r\nB ; q\r\n0123456789a\r\n000;last\r\n\r\n", outcome{200, te, "0123456789!0123456789a", true, true, ""}},
		{"trailers", chunked + "1\r\nx\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n", outcome{200, te, "x", true, true, ""}},
		{"bytes after the chunks", chunked + "0\r\n\r\nz", outcome{200, te, "", true, false, ""}},
		{"chunks and a length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
			outcome{200, h("Content-Length", "3", "Transfer-Encoding", "Chunked"), "x", true, false, ""}},

		{"nothing", "", outcome{Err: "EOF"}},
		{"cut head", "HTTP/1.1 200 OK\r\nContent-Le", outcome{Err: "connection closed within the response head: unexpected EOF"}},
		{"only interim", "HTTP/1.1 100 Continue\r\n\r\n", outcome{Err: "connection closed within the response head: unexpected EOF"}},
		{"cut body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", outcome{200, h("Content-Length", "5"), "hel", false, false, "connection closed within the response body: unexpected EOF"}},
		{"cut chunk", chunked + "5\r\nhel", outcome{200, te, "hel", false, false, "connection closed within the response body: unexpected EOF"}},
		{"cut after a chunk", chunked + "3\r\nhel\r\n", outcome{200, te, "hel", false, false, "connection closed within the response body: unexpected EOF"}},
		{"cut last line", chunked + "3\r\nhel\r\n0\r\n", outcome{200, te, "hel", false, false, "connection closed within the response body: unexpected EOF"}},

		{"no HTTP", "SSH-2.0-x\r\n\r\n", outcome{Err: malformed + `status line "SSH-2.0-x"`}},
		{"HTTP/2", "HTTP/2 200\r\n\r\n", outcome{Err: malformed + `status line "HTTP/2 200"`}},
		{"status of two digits", "HTTP/1.1 20 OK\r\n\r\n", outcome{Err: malformed + `status line "HTTP/1.1 20 OK"`}},
		{"status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", outcome{Err: malformed + `status line "HTTP/1.1 2000 OK"`}},
		{"status below 100", "HTTP/1.1 099 OK\r\n\r\n", outcome{Err: malformed + `status line "HTTP/1.1 099 OK"`}},
		{"empty status line", "\r\n", outcome{Err: malformed + `status line ""`}},
		{"no colon", "HTTP/1.1 200 OK\r\nabc\r\n\r\n", outcome{Err: malformed + `field "abc"`}},
		{"space before the colon", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", outcome{Err: malformed + `field "A : b"`}},
		{"folded first line", "HTTP/1.1 200 OK\r\n a: b\r\n\r\n", outcome{Err: malformed + `field " a: b"`}},
		{"control character", "HTTP/1.1 200 OK\r\na: b\x00\r\n\r\n", outcome{Err: malformed + `field "a: b\x00"`}},
		{"bad length", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", outcome{Err: malformed + `content length "+5"`}},
		{"huge length", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", outcome{Err: malformed + `content length "9223372036854775808"`}},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", outcome{Err: malformed + "several content lengths"}},
		{"unknown coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", outcome{Err: malformed + `transfer coding "gzip, chunked"`}},
		{"no size", chunked + "\r\n", outcome{200, te, "", false, false, malformed + `unexpected byte '\r' between chunks`}},
		{"bad size", chunked + "1\r\na\r\nxyz\r\n", outcome{200, te, "a", false, false, malformed + `unexpected byte 'x' between chunks`}},
		{"size without CR", chunked + "1\na", outcome{200, te, "", false, false, malformed + `unexpected byte '\n' between chunks`}},
		{"CR in an extension", chunked + "1;a\rb", outcome{200, te, "", false, false, malformed + `unexpected byte 'b' between chunks`}},
		{"garbage after the size", chunked + "1 x\r\n", outcome{200, te, "", false, false, malformed + `unexpected byte 'x' between chunks`}},
		{"chunk longer than said", chunked + "1\r\nab", outcome{200, te, "a", false, false, malformed + `unexpected byte 'b' between chunks`}},
		{"chunk ends in CR alone", chunked + "1\r\na\rb", outcome{200, te, "a", false, false, malformed + `unexpected byte 'b' between chunks`}},
		{"size too large", chunked + "1234567890123456\r\n", outcome{200, te, "", false, false, malformed + "size of a chunk has more than 15 digits"}},
		{"end line with garbage", chunked + "0\r\n\rx", outcome{200, te, "", false, false, malformed + `unexpected byte 'x' between chunks`}},
	}
}

// TestResponses gives every response whole, cut in two at every byte, and byte by
// byte, each time to a parser that has read another response before.
func TestResponses(t *testing.T) {
	for _, tt := range responses() {
		t.Run(tt.name, func(t *testing.T) {
			cuts := [][]string{{tt.in}, strings.Split(tt.in, "")}
			for i := 1; i < len(tt.in); i++ {
				cuts = append(cuts, []string{tt.in[:i], tt.in[i:]})
			}
			var p Parser
			for _, pieces := range cuts {
				got := parse(&p, pieces...)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Fatalf("pieces %q (-want +got):\n%s", pieces, diff)
				}
				p.Reset(false)
			}
		})
	}
}

func TestErrorsAreSentinels(t *testing.T) {
	for _, tt := range responses() {
		var p Parser
		_, err := p.Feed([]byte(tt.in))
		if strings.HasPrefix(tt.want.Err, "malformed") != errors.Is(err, ErrMalformed) {
			t.Errorf("%s: Feed = %v", tt.name, err)
		}
		if strings.HasSuffix(tt.want.Err, "unexpected EOF") != errors.Is(p.End(), io.ErrUnexpectedEOF) {
			t.Errorf("%s: End = %v", tt.name, p.End())
		}
		if _, again := p.Feed(nil); !errors.Is(again, err) {
			t.Errorf("%s: second Feed = %v, want %v", tt.name, again, err)
		}
	}
}

func TestHeadRequestsHaveNoBody(t *testing.T) {
	var p Parser
	p.Reset(true)
	got := parse(&p, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
	if !got.Done || !got.Reusable || got.Body != "" {
		t.Errorf("%+v, want a complete response without a body", got)
	}
}

func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	tests := []struct{ name, start, more, want string }{
		{"fields", "HTTP/1.1 200 OK\r\n", "X: " + long + "\r\n", "malformed HTTP response: head is larger than 1048576 bytes"},
		{"one line", "HTTP/1.1 200 OK\r\nX: ", long, "malformed HTTP response: head is larger than 1048576 bytes"},
		{"interim responses", "", "HTTP/1.1 100 Continue\r\nX: " + long + "\r\n\r\n", "malformed HTTP response: head is larger than 1048576 bytes"},
		{"extensions", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "xxxxx", "malformed HTTP response: size line of a chunk is larger than 4096 bytes"},
		{"trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X: " + long + "\r\n", "malformed HTTP response: trailers are larger than 1048576 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Parser
			_, err := p.Feed([]byte(tt.start))
			fed := 0
			for err == nil && fed < 3*MaxHead {
				fed += len(tt.more)
				_, err = p.Feed([]byte(tt.more))
			}
			if err == nil || err.Error() != tt.want {
				t.Errorf("after %d bytes: %v, want %s", fed, err, tt.want)
			}
		})
	}
}

// The body bytes of one read stay in one piece of its memory, in order.
func TestChunksOfOneReadAreOnePiece(t *testing.T) {
	var p Parser
	in := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n10\r\n0123456789abcdef\r\n")
	body, err := p.Feed(in)
	if err != nil || string(body) != "abcdefg0123456789abcdef" {
		t.Fatalf("Feed = %q, %v", body, err)
	}
	if at := bytes.Index(in, body); at < 0 || &in[at] != &body[0] {
		t.Error("the body does not lie in the memory of the read")
	}
}

func TestSameHeadIsParsedOnce(t *testing.T) {
	const text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\n\r\n"
	in := text + "5\r\nhello\r\n0\r\n\r\n"
	var p Parser
	buf := make([]byte, len(in))
	n := testing.AllocsPerRun(100, func() {
		p.Reset(false)
		copy(buf, in)
		if body, err := p.Feed(buf); err != nil || string(body) != "hello" || !p.Reusable() {
			t.Fatalf("Feed = %q, %v", body, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for a response with a known head, want none", n)
	}
	p.Reset(false)
	if _, err := p.Feed([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")); err != nil || p.Status() != 404 || p.Header().Get("Date") != "" {
		t.Errorf("another head gave %d %v, %v", p.Status(), p.Header(), err)
	}
}

// FuzzParser: what is fed, and how it is cut, decides nothing but how the body is
// cut; and what net/http takes as a response we take too, with the same body.
func FuzzParser(f *testing.F) {
	for _, tt := range responses() {
		f.Add([]byte(tt.in), uint8(7))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint8) {
		var whole, pieces Parser
		a := parse(&whole, string(in))
		var parts []string
		for rest := string(in); len(rest) > 0; {
			n := min(len(rest), 1+int(cut))
			parts, rest = append(parts, rest[:n]), rest[n:]
			cut = cut*5 + 3
		}
		b := parse(&pieces, parts...)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("the cuts matter (-whole +pieces):\n%s", diff)
		}
		if !a.Done || a.Status < 200 {
			return
		}
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(skipInterim(in))), &http.Request{Method: http.MethodPost})
		if err != nil {
			return // stricter than we are
		}
		body, err := io.ReadAll(r.Body)
		if err == nil && (r.StatusCode != a.Status || string(body) != a.Body) {
			t.Fatalf("net/http reads %d %q, we %d %q", r.StatusCode, body, a.Status, a.Body)
		}
	})
}

// skipInterim drops the heads of interim responses, which http.ReadResponse
// would return.
func skipInterim(in []byte) []byte {
	for bytes.HasPrefix(in, []byte("HTTP/1.")) && len(in) > 12 && in[9] == '1' && !bytes.Equal(in[9:12], []byte("101")) {
		end, _ := headEnd(in, 0)
		if end < 0 {
			return in
		}
		in = in[end:]
	}
	return in
}

func BenchmarkFeedChunks(b *testing.B) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	event := "data: " + strings.Repeat("x", 290) + "\n\n"
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(event), event)
	for _, n := range []int{1, 200} {
		b.Run(fmt.Sprintf("%d a read", n), func(b *testing.B) {
			var p Parser
			if _, err := p.Feed([]byte(head)); err != nil {
				b.Fatal(err)
			}
			in := strings.Repeat(chunk, n)
			buf := make([]byte, len(in))
			b.ReportAllocs()
			for b.Loop() {
				copy(buf, in)
				if body, err := p.Feed(buf); err != nil || len(body) != n*len(event) {
					b.Fatal(len(body), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
		})
	}
}

// TestHeads: parsers of the same Heads share what the same head says, and only that.
func TestHeads(t *testing.T) {
	var heads Heads
	read := func(p *Parser, text string) http.Header {
		t.Helper()
		p.Reset(false)
		if _, err := p.Feed([]byte(text)); err != nil || !p.Done() {
			t.Fatalf("%q: %v, done %v", text, err, p.Done())
		}
		return p.Header()
	}
	same := func(a, b http.Header) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }
	const text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-N: %d\r\n\r\n"
	one, other := heads.Parser(), heads.Parser()
	first := read(&one, fmt.Sprintf(text, 1))
	if !same(first, read(&other, fmt.Sprintf(text, 1))) {
		t.Error("the same head on another connection has a header of its own")
	}
	for n := 2; n < 3+recentHeads; n++ {
		if got := read(&other, fmt.Sprintf(text, n)).Get("X-N"); got != strconv.Itoa(n) {
			t.Errorf("head %d has X-N %s", n, got)
		}
	}
	if again := read(&other, fmt.Sprintf(text, 1)); same(first, again) || again.Get("X-N") != "1" {
		t.Error("a head that was replaced is shared, or wrong")
	}
	if first.Get("X-N") != "1" {
		t.Error("a header has changed")
	}
}
