package transport

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/frame"
)

const (
	mib = 1 << 20
	// inKernels bounds what the send and receive buffers of a connection hold when
	// the client hangs up: Linux lets them grow to 4 and 32 MiB (tcp_wmem, tcp_rmem).
	inKernels = 40 * mib
)

// flood is a response without an end: a start, and then the same block again and
// again, until the client hangs up.
type flood struct {
	name  string
	head  string // without the empty line
	start string
	block string
	limit int // Request.MaxBody

	want   string // part of class/code step: message; empty = the transport has no complaint
	kept   int    // bytes of the body; -1 = any
	sends  int    // bytes at most, without those in the kernels
	growth int    // of the heap, bytes at most
	dials  int    // connections at most; 0 = 1
	once   bool   // dear, and the same code in both ways: over the loop only
}

const (
	sseHead    = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	jsonHead   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	linesHead  = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
	errorHead  = "HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\n"
	amazonHead = "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\n"
	chunked    = "Transfer-Encoding: chunked\r\n"
	gzipped    = "Content-Encoding: gzip\r\n"
)

// zeros returns the start of compressed data, and a block of 16 MiB of zeros that
// may follow it any number of times.
func zeros(t *testing.T, open func(io.Writer) flusher) (start, block string) {
	t.Helper()
	var out bytes.Buffer
	w, some := open(&out), make([]byte, mib)
	write := func() string {
		out.Reset()
		for range 16 {
			if _, err := w.Write(some); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	start = write()
	return start, write()
}

type flusher interface {
	io.Writer
	Flush() error
}

// hugeMessage is the prelude of an AWS message of 4 GiB.
func hugeMessage() string {
	b := binary.BigEndian.AppendUint32(nil, 0xffffffff)
	b = binary.BigEndian.AppendUint32(b, 0)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func floods(t *testing.T) []flood {
	gzipStart, gzipBlock := zeros(t, func(w io.Writer) flusher { return gzip.NewWriter(w) })
	zlibStart, zlibBlock := zeros(t, func(w io.Writer) flusher { return zlib.NewWriter(w) })
	x := strings.Repeat("x", 64<<10)
	many := func(s string) string { return strings.Repeat(s, (64<<10)/len(s)) }
	const (
		eventSize = "event_too_large/event_size body: one event is larger than 67108864 bytes"
		httpSize  = "event_too_large/http_size "
		inflated  = "event_too_large/body_size body: decompressed body is larger than 67108864 bytes"
		small     = 16 * mib // of the heap
	)
	var ended bytes.Buffer
	w := zlib.NewWriter(&ended)
	io.WriteString(w, "{}")
	w.Close()
	return []flood{
		{name: "an event without an end", head: sseHead, start: "data: ", block: x, want: eventSize, sends: 64 * mib, growth: 256 * mib},
		{name: "a line without an end that is no field", head: sseHead, block: x, want: eventSize, sends: 64 * mib, growth: 256 * mib, once: true},
		{name: "an event of endless lines", head: sseHead, block: many("data: 0123456789\n"), want: eventSize, sends: 96 * mib, growth: 384 * mib, once: true},
		{name: "events without an end", head: sseHead, block: many("data: {\"a\":12345}\n\n"), want: "event_too_large/event_count body: more than 1048576 events in one response", sends: 32 * mib, growth: 64 * mib},
		{name: "comments without an end", head: sseHead, block: many(": still here\n\n"), limit: 8 * mib, want: "event_too_large/body_size body: body is larger than 8388608 bytes", sends: 8 * mib, growth: small},
		{name: "white space without an end", head: "HTTP/1.1 200 OK\r\n", block: many("\n"), limit: 8 * mib, want: "event_too_large/body_size body: body is larger than 8388608 bytes", sends: 8 * mib, growth: small},
		{name: "events after the last", head: sseHead, start: "data: {}\n\ndata: [DONE]\n\n", block: many("data: {}\n\n"), sends: mib, growth: small},
		{name: "a JSON line without an end", head: linesHead, start: "{", block: x, want: "event_too_large/event_size body: one line is larger than 67108864 bytes", sends: 64 * mib, growth: 256 * mib},
		{name: "an AWS message of 4 GiB", head: amazonHead, start: hugeMessage(), block: x, want: "event_too_large/event_size body: one message is larger than 67108864 bytes", sends: mib, growth: small},
		{name: "a document that says it has 10 GiB", head: jsonHead + "Content-Length: 10737418240\r\n", start: "[", block: many("1,"), want: "event_too_large/body_size body: body is larger than 268435456 bytes", sends: mib, growth: small},
		{name: "a document without an end", head: jsonHead, start: "[", block: many("1,"), want: "event_too_large/body_size body: body is larger than 268435456 bytes", sends: 256 * mib, growth: 640 * mib, once: true},
		{name: "a document over the limit of its request", head: jsonHead + chunked, start: "fffffff\r\n[", block: many("1,"), limit: mib, want: "event_too_large/body_size body: body is larger than 1048576 bytes", sends: mib, growth: small},
		{name: "bytes that are only counted", head: "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n", block: x, limit: 16 * mib, want: "event_too_large/body_size body: body is larger than 16777216 bytes", sends: 16 * mib, growth: small},
		{name: "an error body without an end", head: errorHead, start: `{"error":"`, block: x, kept: mib, sends: mib, growth: small},
		{name: "a redirect to itself with a body without an end", head: "HTTP/1.1 308 There\r\nLocation: /v1?a=b\r\n", block: x, kept: mib, sends: 4 * mib, growth: small, dials: 4},

		{name: "gzip bomb, a document", head: jsonHead + gzipped, start: gzipStart, block: gzipBlock, want: inflated, sends: mib, growth: 192 * mib},
		{name: "gzip bomb, a stream", head: sseHead + gzipped, start: gzipStart, block: gzipBlock, want: eventSize, sends: mib, growth: 192 * mib},
		{name: "gzip bomb, an error body", head: errorHead + gzipped, start: gzipStart, block: gzipBlock, kept: mib, sends: mib, growth: small},
		{name: "deflate bomb", head: jsonHead + "Content-Encoding: deflate\r\n", start: zlibStart, block: zlibBlock, want: inflated, sends: mib, growth: 192 * mib},
		{name: "bytes after the end of deflate", head: jsonHead + "Content-Encoding: deflate\r\n", start: ended.String(), block: x, kept: 2, sends: mib, growth: small},
		{name: "an unknown encoding", head: jsonHead + "Content-Encoding: br\r\n", block: x, want: `unexpected_content/content_encoding body: content encoding "br" is not supported`, sends: mib, growth: small},
		{name: "an unknown encoding of an error body", head: errorHead + "Content-Encoding: br\r\n", block: x, sends: mib, growth: small},

		{name: "header lines without an end", head: "HTTP/1.1 200 OK\r\n", block: many("A: b\r\n"), want: httpSize + "headers: ", sends: 2 * mib, growth: small},
		{name: "a header line without an end", head: "HTTP/1.1 200 OK\r\nA: ", block: x, want: httpSize + "headers: ", sends: 2 * mib, growth: small},
		{name: "interim responses without an end", block: many("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), want: httpSize + "headers: ", sends: 2 * mib, growth: small},
		{name: "trailers without an end", head: jsonHead + chunked, start: "2\r\n{}\r\n0\r\n", block: many("A: b\r\n"), want: httpSize + "body: ", kept: 2, sends: 2 * mib, growth: small},
		{name: "a trailer without an end", head: jsonHead + chunked, start: "2\r\n{}\r\n0\r\nA: ", block: x, want: httpSize + "body: ", kept: 2, sends: 2 * mib, growth: small},
		{name: "a chunk size without an end", head: jsonHead + chunked, start: "2\r\n{}\r\n", block: many("0"), want: " body: ", kept: 2, sends: mib, growth: small},
		{name: "a chunk extension without an end", head: jsonHead + chunked, start: "2\r\n{}\r\n1;", block: x, want: httpSize + "body: ", kept: 2, sends: mib, growth: small},
		{name: "chunks that are all extension", head: jsonHead + chunked, block: many("1;" + x[:2000] + "\r\n1\r\n"), want: httpSize + "body: ", kept: -1, sends: 2 * mib, growth: small},
	}
}

// torrent is a server that performs a flood on every connection.
type torrent struct {
	flood
	sent atomic.Int64
	most int64
	hung atomic.Int32 // connections that the client has closed
}

func (s *torrent) perform(_ int, c peer, r *bufio.Reader) {
	if req, _ := take(r); req == nil {
		return
	}
	start := s.start
	if s.head != "" {
		start = s.head + "\r\n" + start
		if strings.HasSuffix(s.head, ": ") || s.head == "HTTP/1.1 200 OK\r\n" && s.block[:2] == "A:" {
			start = s.head + s.start // the head itself has no end
		}
	}
	for block := start; s.sent.Load() <= s.most; block = s.block {
		n, err := io.WriteString(c, block)
		s.sent.Add(int64(n))
		if err != nil {
			s.hung.Add(1)
			return
		}
	}
}

// gauge measures how much the heap grows while do runs, garbage included.
func gauge(do func()) int {
	read := func() int {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return int(s[0].Value.Uint64())
	}
	runtime.GC()
	base, peak := read(), 0
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			peak = max(peak, read())
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	do()
	close(done)
	group.Wait()
	return max(peak, read()) - base
}

// settled waits until no more goroutines run than before.
func settled(t *testing.T, before int) {
	t.Helper()
	for by := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(by) {
			stacks := make([]byte, mib)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// A server that never stops costs a bounded number of bytes, bounded memory and
// its connection, and the record says which limit it was.
func TestFlood(t *testing.T) {
	for _, way := range ways() {
		for _, fl := range floods(t) {
			for _, streaming := range []bool{true, false} {
				if !streaming && fl.growth > 16*mib || fl.once && way.dial != nil { // these are dear, and the framing is the same
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/streaming %v", way.name, fl.name, streaming), func(t *testing.T) {
					fl.against(t, way.dial, streaming)
				})
			}
		}
	}
}

func (fl flood) against(t *testing.T, dial func(context.Context, string, string) (net.Conn, error), streaming bool) {
	before := runtime.NumGoroutine()
	s := &torrent{flood: fl, most: int64(fl.sends + inKernels*max(1, fl.dials))}
	t.Run("", func(t *testing.T) {
		st := perform(t, s.perform, Options{Dial: dial, TotalTimeout: time.Minute, Streaming: streaming})
		r := st.request()
		r.Streaming, r.MaxBody = streaming, fl.limit
		var x Exchange
		grown := gauge(func() { x = st.client.Do(t.Context(), r) })
		got := ""
		if f := x.Response.Failure; f != nil {
			got = fmt.Sprintf("%s/%s %s: %s", f.Class, f.Code, f.Step, f.Message)
		}
		if !strings.Contains(got, fl.want) || fl.want == "" && got != "" {
			t.Errorf("failure = %q, want %q", got, fl.want)
		}
		if n := len(x.Response.Body); fl.kept >= 0 && fl.want == "" && x.Response.Framing != bench.FramingSSE && n != fl.kept {
			t.Errorf("%d bytes of the body kept, want %d", n, fl.kept)
		}
		if grown > fl.growth {
			t.Errorf("the heap grew by %d MiB, want %d at most", grown/mib, fl.growth/mib)
		}
		t.Logf("%.1f MiB sent, heap +%.1f MiB: %s", float64(s.sent.Load())/mib, float64(grown)/mib, got)
		x.Release()
	})
	if n := s.sent.Load(); n > s.most {
		t.Errorf("the server could send %d MiB, want %d at most", n/mib, s.most/mib)
	}
	if n := s.hung.Load(); int(n) != max(1, fl.dials) {
		t.Errorf("%d connections were closed by the client, want %d", n, max(1, fl.dials))
	}
	settled(t, before)
}

// What several connections keep together is bounded too, and given back.
func TestFloodsShareMemory(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			memory := frame.NewMemory(16 * mib)
			s := &torrent{flood: flood{head: jsonHead, start: "[", block: strings.Repeat("1,", 32<<10)}, most: 4 * (20*mib + inKernels)}
			st := perform(t, s.perform, Options{Dial: way.dial, TLS: way.tls, TotalTimeout: time.Minute, Memory: memory})
			var group sync.WaitGroup
			var failed [4]Exchange
			grown := gauge(func() {
				for i := range failed {
					group.Go(func() { failed[i] = st.client.Do(t.Context(), st.request()) })
				}
				group.Wait()
			})
			if used := memory.Used(); used < mib || used > 16*mib {
				t.Errorf("%d bytes are taken, want 1 to 16 MiB", used)
			}
			for i := range failed {
				f := failed[i].Response.Failure
				if f == nil || f.Class != bench.ClientError || f.Code != "memory" || !strings.Contains(f.Message, "16777216 bytes of memory together") {
					t.Errorf("failure = %v, want our own limit", f)
				}
				failed[i].Release()
			}
			if used := memory.Used(); used != 0 {
				t.Errorf("%d bytes are taken after all, want 0", used)
			}
			if grown > 40*mib {
				t.Errorf("the heap grew by %d MiB, want 40 at most", grown/mib)
			}
		})
	}
}

// Over HTTP/2 the same limits hold.
func TestFloodHTTP2(t *testing.T) {
	x := bytes.Repeat([]byte("x"), 64<<10)
	endless := func(sent *atomic.Int64, w http.ResponseWriter) {
		for sent.Load() < 320*mib {
			n, err := w.Write(x)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}
	for _, tt := range []struct {
		name string
		do   func(w http.ResponseWriter, sent *atomic.Int64)
		want string
	}{
		{"an event without an end", func(w http.ResponseWriter, sent *atomic.Int64) {
			w.Header().Set("Content-Type", "text/event-stream")
			endless(sent, w)
		}, "event_too_large/event_size body: one event is larger"},
		{"an error body without an end", func(w http.ResponseWriter, sent *atomic.Int64) {
			w.WriteHeader(500)
			endless(sent, w)
		}, ""},
		{"header lines of 4 MiB", func(w http.ResponseWriter, _ *atomic.Int64) {
			for i := range 64 {
				w.Header().Set(fmt.Sprintf("A%d", i), string(x))
			}
		}, "connection_reset/ headers: connection error: PROTOCOL_ERROR"}, // net/http says no more
		{"a header line of 4 MiB", func(w http.ResponseWriter, _ *atomic.Int64) {
			w.Header().Set("A", strings.Repeat("x", 4*mib))
		}, "connection_reset/ headers: connection error: COMPRESSION_ERROR"},
		{"interim responses without an end", func(w http.ResponseWriter, sent *atomic.Int64) {
			w.Header().Set("Link", string(x[:1000]))
			for sent.Load() < 64*mib {
				w.WriteHeader(http.StatusEarlyHints)
				sent.Add(1000)
			}
		}, "event_too_large/http_size headers: "},
		{"trailers of 4 MiB", func(w http.ResponseWriter, _ *atomic.Int64) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "{}")
			w.(http.Flusher).Flush()
			for i := range 64 {
				w.Header().Set(fmt.Sprintf("%sA%d", http.TrailerPrefix, i), string(x))
			}
		}, "connection_reset/ body: connection error: PROTOCOL_ERROR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			var sent atomic.Int64
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := http.Server{
				Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { tt.do(w, &sent) }),
				Protocols: new(http.Protocols),
			}
			server.Protocols.SetUnencryptedHTTP2(true)
			var group sync.WaitGroup
			group.Go(func() { server.Serve(ln) })
			client := New(Options{Clock: bench.NewClock(), Version: H2C, TotalTimeout: time.Minute})
			var ex Exchange
			grown := gauge(func() {
				ex = client.Do(t.Context(), &Request{URL: &url.URL{Scheme: "http", Host: ln.Addr().String(), Path: "/"}, Header: http.Header{}, Body: []byte("{}"), Streaming: true})
			})
			got := ""
			if f := ex.Response.Failure; f != nil {
				got = fmt.Sprintf("%s/%s %s: %s", f.Class, f.Code, f.Step, f.Message)
			}
			if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("failure = %q, want %q", got, tt.want)
			}
			if n := len(ex.Response.Body); n > mib {
				t.Errorf("%d bytes kept", n)
			}
			if grown > 256*mib {
				t.Errorf("the heap grew by %d MiB", grown/mib)
			}
			t.Logf("%.1f MiB sent, heap +%.1f MiB: %s", float64(sent.Load())/mib, float64(grown)/mib, got)
			ex.Release()
			client.Close()
			server.Close()
			group.Wait()
			if n := sent.Load(); n > 128*mib {
				t.Errorf("the server could send %d MiB", n/mib)
			}
			settled(t, before)
		})
	}
}
