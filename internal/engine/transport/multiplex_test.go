package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/transport/testcert"
)

// serverFrames are frames of a server for two of our streams and one that we do
// not know, and the data of ours.
func serverFrames(t *testing.T) (all []byte, data map[uint32]string) {
	t.Helper()
	var out bytes.Buffer
	w := http2.NewFramer(&out, nil)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(w.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 70000}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 7}))
	check(w.WriteSettingsAck())
	check(w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("first"), EndHeaders: false}))
	check(w.WriteContinuation(1, true, []byte("rest")))
	check(w.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte("other"), EndHeaders: true}))
	check(w.WriteData(1, false, []byte("one ")))
	check(w.WriteDataPadded(3, false, []byte("three "), make([]byte, 9)))
	check(w.WriteData(3, false, nil))
	check(w.WritePing(false, [8]byte{}))
	check(w.WriteDataPadded(1, false, []byte("more of one"), nil))
	check(w.WriteData(5, false, []byte("nobody's")))
	check(w.WriteData(3, true, []byte("is done")))
	check(w.WriteData(1, true, nil))
	return out.Bytes(), map[uint32]string{1: "one more of one", 3: "three is done"}
}

// replay is a connection whose reads return given pieces, with a tick before each.
type replay struct {
	net.Conn
	pieces [][]byte
	tick   func()
}

func (r *replay) Read(b []byte) (int, error) {
	if len(r.pieces) == 0 {
		return 0, io.EOF
	}
	r.tick()
	n := copy(b, r.pieces[0])
	r.pieces = r.pieces[1:]
	return n, nil
}

func (r *replay) Write(b []byte) (int, error) { return len(b), nil }

// open writes the frames that open streams, in odd pieces.
func open(t *testing.T, s *shared, ids ...uint32) {
	t.Helper()
	var out bytes.Buffer
	out.WriteString(http2.ClientPreface)
	w := http2.NewFramer(&out, nil)
	for _, id := range ids {
		if err := w.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte("x"), EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteData(id, true, []byte("body")); err != nil {
			t.Fatal(err)
		}
	}
	for piece := range slices.Chunk(out.Bytes(), 5) {
		if _, err := s.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever the reads, each stream gets its own bytes, each with the stamp of the
// read that brought it. Nothing is taken before everything was read, as if the
// requests' goroutines had slept.
func TestSharedStamps(t *testing.T) {
	all, data := serverFrames(t)
	cuts := [][]int{{len(all)}}
	every := make([]int, len(all))
	for i := range every {
		every[i] = i + 1
	}
	cuts = append(cuts, every)
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var random []int
		for at := 0; at < len(all); {
			at = min(len(all), at+1+r.IntN(40))
			random = append(random, at)
		}
		cuts = append(cuts, random)
	}
	for _, cut := range cuts {
		synctest.Test(t, func(t *testing.T) {
			began, from := time.Now(), 0
			conn := &replay{tick: func() { time.Sleep(time.Millisecond) }}
			readOf := make([]time.Duration, 0, len(all)) // of each byte
			for i, to := range cut {
				conn.pieces = append(conn.pieces, all[from:to])
				for range to - from {
					readOf = append(readOf, time.Duration(i+1)*time.Millisecond)
				}
				from = to
			}
			s := newShared(conn, nil)
			open(t, s, 1, 3)
			if newest := s.newest(); newest == nil || newest.id != 3 {
				t.Fatalf("newest stream %+v, want 3", newest)
			}
			buf := make([]byte, len(all))
			for range cut {
				if _, err := s.Read(buf); err != nil {
					t.Fatal(err)
				}
			}
			if s.streamLimit() != 7 {
				t.Errorf("limit %d, want 7", s.streamLimit())
			}
			for id, want := range data {
				st := s.streams[id]
				var got strings.Builder
				rest := []byte(want)
				for len(rest) > 0 { // in bites that fit nothing
					n := min(len(rest), 3)
					s.take(st, rest[:n], func(at time.Time, b []byte) {
						for i := range b {
							fmt.Fprintf(&got, "%c%v ", b[i], at.Sub(began))
						}
					})
					rest = rest[n:]
				}
				var expected strings.Builder
				for _, at := range placesOf(t, all, id) {
					fmt.Fprintf(&expected, "%c%v ", all[at], readOf[at])
				}
				if got.String() != expected.String() {
					t.Fatalf("stream %d with reads %v:\ngot  %s\nwant %s", id, cut, &got, &expected)
				}
				headEnd := bytes.Index(all, []byte(map[uint32]string{1: "rest", 3: "other"}[id])) + map[uint32]int{1: 3, 3: 4}[id]
				if times := s.times(st); times.head.Sub(began) != readOf[headEnd] {
					t.Errorf("stream %d: head at %v, want %v", id, times.head.Sub(began), readOf[headEnd])
				}
			}
		})
	}
}

// placesOf finds the data of a stream by the standard framer.
func placesOf(t *testing.T, all []byte, id uint32) (places []int) {
	t.Helper()
	in := bytes.NewReader(all)
	r := http2.NewFramer(nil, in)
	r.AllowIllegalReads = true
	for {
		f, err := r.ReadFrame()
		if err != nil {
			return places
		}
		d, ok := f.(*http2.DataFrame)
		if !ok || d.StreamID != id {
			continue
		}
		end := len(all) - in.Len()
		start := end - int(d.Length)
		if d.Flags.Has(http2.FlagDataPadded) {
			start++
		}
		for i := range len(d.Data()) {
			places = append(places, start+i)
		}
	}
}

// h2cServer serves HTTP/2 without TLS in memory.
func h2cServer(t *testing.T, limit int, h http.HandlerFunc) (dial func(context.Context, string, string) (net.Conn, error), stop func()) {
	t.Helper()
	ln := memnet.Listen()
	web := &http.Server{Handler: h, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: limit}, Protocols: new(http.Protocols)}
	web.Protocols.SetUnencryptedHTTP2(true)
	var group sync.WaitGroup
	group.Go(func() { web.Serve(ln) })
	return ln.DialContext, func() {
		web.Close()
		group.Wait()
	}
}

// Streams on one connection have stamps of their own, exact in virtual time, and
// more streams than the server allows get connections of their own at once.
func TestMultiplex(t *testing.T) {
	for _, tt := range []struct{ limit, requests, connections int }{{0, 5, 1}, {250, 20, 1}, {3, 10, 4}, {1, 3, 3}} {
		t.Run(fmt.Sprint(tt.limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial, stop := h2cServer(t, tt.limit, func(w http.ResponseWriter, r *http.Request) {
					n := time.Duration(len(r.URL.Query().Get("n")))
					w.Header().Set("Content-Type", "text/event-stream")
					for i := range 5 {
						time.Sleep(100*time.Millisecond + n*time.Millisecond)
						fmt.Fprintf(w, "data: {\"n\":%d}\n\n", i)
						w.(http.Flusher).Flush()
					}
					fmt.Fprint(w, "data: [DONE]\n\n")
				})
				c := New(Options{Clock: bench.NewClock(), Version: H2C, Dial: dial, Streaming: true})
				for round := range 2 {
					var group sync.WaitGroup
					for n := range tt.requests {
						group.Go(func() {
							start := c.opts.Clock.Now()
							x := c.Do(t.Context(), &Request{
								URL:    &url.URL{Scheme: "http", Host: "mem", Path: "/v1", RawQuery: "n=" + strings.Repeat("x", n)},
								Header: http.Header{}, Body: []byte("{}"), Streaming: true,
							})
							if f := x.Response.Failure; f != nil {
								t.Errorf("request %d: %v", n, f)
							}
							step := time.Duration(100+n) * time.Millisecond
							var got, want []time.Duration
							for e := range x.Response.Events.All() {
								got = append(got, e.At-start)
							}
							for i := range 5 {
								want = append(want, time.Duration(i+1)*step)
							}
							if len(got) == 6 {
								want = append(want, 5*step) // the marker
							}
							if diff := cmp.Diff(want, got); diff != "" {
								t.Errorf("stamps of request %d (-want +got):\n%s", n, diff)
							}
							if x.Stamps.FirstByte-start != step || x.Stamps.Headers-start != step || x.Stamps.FirstBody-start != step || x.Stamps.End-start != 5*step || x.Conn.Blocked != 0 {
								t.Errorf("request %d: %+v, %+v", n, x.Stamps, x.Conn)
							}
							if round > 0 && !x.Conn.Reused || x.Conn.Kernel || x.Conn.Reads < 5 {
								t.Errorf("request %d in round %d: %+v", n, round, x.Conn)
							}
							x.Release()
						})
					}
					group.Wait()
				}
				limit := tt.limit
				if limit == 0 {
					limit = 250 // net/http's own
				}
				if got, want := c.Shared(), (SharedCount{Connections: tt.connections, Limit: limit}); got != want {
					t.Errorf("shared %+v, want %+v", got, want)
				}
				c.Close()
				stop()
			})
		})
	}
}

// A cancelled request ends its stream and disturbs no other on the connection; a
// timeout of ours is classified as over HTTP/1.1.
func TestMultiplexCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := h2cServer(t, 0, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if r.URL.Path == "/never" {
				<-r.Context().Done()
				return
			}
			time.Sleep(2 * time.Second)
			fmt.Fprint(w, `{"ok":1}`)
		})
		c := New(Options{Clock: bench.NewClock(), Version: H2C, Dial: dial, HeadersTimeout: 3 * time.Second})
		do := func(ctx context.Context, path string) *bench.Failure {
			x := c.Do(ctx, &Request{URL: &url.URL{Scheme: "http", Host: "mem", Path: path}, Header: http.Header{}, Body: []byte("{}")})
			return x.Response.Failure
		}
		var group sync.WaitGroup
		group.Go(func() {
			if f := do(t.Context(), "/ok"); f != nil {
				t.Errorf("the other request: %v", f)
			}
		})
		group.Go(func() {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, CancelWith(&bench.Failure{Class: bench.Cancelled, Code: "x"}))
			defer cancel()
			if f := do(ctx, "/never"); f == nil || f.Class != bench.Cancelled || f.Code != "x" {
				t.Errorf("cancelled: %v", f)
			}
		})
		group.Go(func() {
			if f := do(t.Context(), "/never"); f == nil || f.Class != bench.TimeoutHeaders {
				t.Errorf("no head: %v", f)
			}
		})
		group.Wait()
		if f := do(t.Context(), "/ok"); f != nil {
			t.Errorf("afterwards: %v", f)
		}
		if got := c.Shared().Connections; got != 1 {
			t.Errorf("%d connections, want 1", got)
		}
		c.Close()
		stop()
	})
}

// Many requests wait for one attempt to connect, not for one after the other.
func TestMultiplexUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		c := New(Options{Clock: bench.NewClock(), Version: H2C, ConnectTimeout: 10 * time.Second,
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				dials++
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		began := time.Now()
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				x := c.Do(t.Context(), &Request{URL: &url.URL{Scheme: "http", Host: "mem"}, Header: http.Header{}})
				if f := x.Response.Failure; f == nil || f.Class != bench.TimeoutConnect {
					t.Errorf("failure %v, want %s", f, bench.TimeoutConnect)
				}
			})
		}
		group.Wait()
		if took := time.Since(began); took != 10*time.Second || dials != 1 {
			t.Errorf("%d attempts in %v, want one in 10s", dials, took)
		}
		c.Close()
	})
}

// Over TLS the version is negotiated: 2 insists, auto falls back.
func TestVersions(t *testing.T) {
	made := testcert.New(t, "127.0.0.1")
	start := func(two bool) *url.URL {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"proto":%q}`, r.Proto)
		}))
		s.EnableHTTP2 = two
		s.TLS = &tls.Config{Certificates: []tls.Certificate{made.Pair}}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	old, modern := start(false), start(true)
	for _, tt := range []struct {
		name    string
		version Version
		server  *url.URL
		want    string // body; empty = it fails
		shared  SharedCount
	}{
		{"1.1 with a server of 2", HTTP1, modern, `{"proto":"HTTP/1.1"}`, SharedCount{}},
		{"2", HTTP2, modern, `{"proto":"HTTP/2.0"}`, SharedCount{Connections: 1, Limit: 250}},
		{"2 with an old server", HTTP2, old, "", SharedCount{}},
		{"auto", HTTPAuto, modern, `{"proto":"HTTP/2.0"}`, SharedCount{Connections: 1, Limit: 250}},
		{"auto with an old server", HTTPAuto, old, `{"proto":"HTTP/1.1"}`, SharedCount{Fallbacks: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Options{Clock: bench.NewClock(), Version: tt.version, TLS: &tls.Config{RootCAs: made.Pool}, ConnectTimeout: 5 * time.Second})
			defer c.Close()
			for range 2 {
				x := c.Do(t.Context(), &Request{URL: tt.server, Header: http.Header{}, Body: []byte("{}")})
				f := x.Response.Failure
				switch {
				case tt.want == "" && (f == nil || f.Class != bench.ConnectError || f.Code != "tls" || !strings.Contains(f.Message, "HTTP/2")):
					t.Errorf("failure %v, want one of TLS that names HTTP/2", f)
				case tt.want != "" && string(x.Response.Body) != tt.want:
					t.Errorf("body %q, failure %v; want %s", x.Response.Body, f, tt.want)
				case tt.want != "" && x.Conn.Received != bench.Bytes(len(tt.want)):
					t.Errorf("received %d bytes, want %d", x.Conn.Received, len(tt.want))
				}
				x.Release()
			}
			got := c.Shared()
			got.Fallbacks = min(got.Fallbacks, 1)
			if got != tt.shared {
				t.Errorf("shared %+v, want %+v", got, tt.shared)
			}
		})
	}
}

// Whatever a server sends, no more data is noted than it sent, and nothing breaks.
func FuzzShared(f *testing.F) {
	f.Add([]byte{0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 2, 0, 8, 0, 0, 0, 1, 1, 7}, uint8(3))
	f.Add([]byte{0, 0, 1, 0, 8, 0, 0, 0, 1, 255, 0, 0, 0, 0, 8, 0, 0, 0, 1}, uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		s := newShared(&chunks{data: data, size: int(size%16) + 1}, nil)
		s.streams[1] = &stream{id: 1}
		buf := make([]byte, 16)
		for {
			if _, err := s.Read(buf); err != nil {
				break
			}
		}
		noted := 0
		for _, p := range s.streams[1].pieces {
			if p.n <= 0 {
				t.Fatalf("a piece of %d bytes", p.n)
			}
			noted += p.n
		}
		if noted > len(data) || len(s.setting) > 6 || s.limit < 0 || s.limit > unlimited {
			t.Errorf("%d bytes of %d, %d of settings, limit %d", noted, len(data), len(s.setting), s.limit)
		}
	})
}

// chunks is a connection with given bytes, some a read.
type chunks struct {
	net.Conn
	data []byte
	size int
}

func (c *chunks) Read(b []byte) (int, error) {
	n := copy(b[:min(c.size, len(b))], c.data)
	if c.data = c.data[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (c *chunks) Write(b []byte) (int, error) { return len(b), nil }
