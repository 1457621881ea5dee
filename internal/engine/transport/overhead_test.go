package transport

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"aiperfd/internal/engine/bench"
)

// http2Frame returns one frame.
func http2Frame(t *testing.T, write func(w *http2.Framer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write(http2.NewFramer(&out, nil)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// responseHead is the head of a response with status 200, which HPACK has in its table.
func responseHead(stream uint32) func(w *http2.Framer) error {
	return func(w *http2.Framer) error {
		return w.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{0x88}, EndHeaders: true})
	}
}

// frameServer answers the first request on a connection with bytes, and then repeats a block
// until it has sent most bytes or the client hangs up. It returns how many bytes it sent.
func frameServer(t *testing.T, c net.Conn, start, block []byte, most int) (sent int) {
	t.Helper()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		t.Error(err)
		return 0
	}
	w := http2.NewFramer(c, c)
	if err := w.WriteSettings(); err != nil {
		t.Error(err)
		return 0
	}
	for {
		f, err := w.ReadFrame()
		if err != nil {
			t.Error(err)
			return 0
		}
		if f.Header().Type == http2.FrameHeaders {
			break
		}
	}
	var group sync.WaitGroup
	group.Go(func() { io.Copy(io.Discard, c) })
	defer group.Wait()
	defer c.Close()
	for next := start; sent < most; next = block {
		n, err := c.Write(next)
		if sent += n; err != nil {
			break
		}
	}
	return sent
}

// A server that sends frames which advance no response ends its connection, and the
// request says why.
func TestOverhead(t *testing.T) {
	const most = maxOverhead + inKernels
	want := "event_too_large/empty_frames %s: more than 4194304 bytes of HTTP/2 frames in a row that advance no request"
	log.SetOutput(io.Discard) // net/http logs each frame that it does not know
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	setting := http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 7}
	for _, tt := range []struct {
		name  string
		head  bool // a response begins before the flood
		frame func(w *http2.Framer) error
	}{
		{"pings", false, func(w *http2.Framer) error { return w.WritePing(false, [8]byte{}) }},
		{"acknowledged pings during a response", true, func(w *http2.Framer) error { return w.WritePing(true, [8]byte{}) }},
		{"settings", true, func(w *http2.Framer) error { return w.WriteSettings(setting) }},
		{"priorities", true, func(w *http2.Framer) error { return w.WritePriority(1, http2.PriorityParam{StreamDep: 3}) }},
		{"windows", true, func(w *http2.Framer) error { return w.WriteWindowUpdate(1, 1) }},
		{"empty data", true, func(w *http2.Framer) error { return w.WriteData(1, false, nil) }},
		{"padding", true, func(w *http2.Framer) error { return w.WriteDataPadded(1, false, nil, make([]byte, 255)) }},
		{"frames of an unknown type", true, func(w *http2.Framer) error { return w.WriteRawFrame(0xbe, 0, 0, make([]byte, 4000)) }},
		{"resets of no stream", false, func(w *http2.Framer) error { return w.WriteRSTStream(3, http2.ErrCodeCancel) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			start, step := []byte{}, "headers"
			if tt.head {
				start, step = http2Frame(t, responseHead(1)), "body"
			}
			block := bytes.Repeat(http2Frame(t, tt.frame), 1000)
			sent := 0
			var group sync.WaitGroup
			group.Go(func() {
				c, err := ln.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				sent = frameServer(t, c, start, block, most)
			})
			client := New(Options{Clock: bench.NewClock(), Version: H2C, TotalTimeout: time.Minute})
			x := client.Do(t.Context(), &Request{
				URL: &url.URL{Scheme: "http", Host: ln.Addr().String(), Path: "/"}, Header: http.Header{}, Body: []byte("{}"), Streaming: true,
			})
			got := ""
			if f := x.Response.Failure; f != nil {
				got = fmt.Sprintf("%s/%s %s: %s", f.Class, f.Code, f.Step, f.Message)
			}
			x.Release()
			client.Close()
			group.Wait()
			if want := fmt.Sprintf(want, step); got != want {
				t.Errorf("failure = %q, want %q", got, want)
			}
			t.Logf("%.1f MiB sent: %s", float64(sent)/mib, got)
		})
	}
}

// Frames without data are no flood if a response advances between them, nor are the data of
// responses that were cancelled.
func TestOverheadBetweenData(t *testing.T) {
	ping := http2Frame(t, func(w *http2.Framer) error { return w.WritePing(false, [8]byte{}) })
	data := func(stream uint32, n int) []byte {
		return http2Frame(t, func(w *http2.Framer) error { return w.WriteData(stream, false, make([]byte, n)) })
	}
	for _, tt := range []struct {
		name   string
		frames [][]byte
		want   int // excess after each
	}{
		{"pings", [][]byte{ping, ping}, 34},
		{"pings, then data", [][]byte{ping, ping, data(1, 1)}, 0},
		{"pings, then a head", [][]byte{ping, ping, http2Frame(t, responseHead(1))}, 0},
		{"data, then a ping", [][]byte{data(1, 100), ping}, 17},
		{"empty data", [][]byte{ping, data(1, 0)}, 26},
		{"padding", [][]byte{http2Frame(t, func(w *http2.Framer) error { return w.WriteDataPadded(1, false, nil, make([]byte, 20)) })}, 30},
		{"data of a cancelled response", [][]byte{ping, data(3, 10_000)}, 26},
		{"head of a cancelled response", [][]byte{ping, http2Frame(t, responseHead(3))}, 27},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			t.Run(fmt.Sprint(tt.name, "/", size), func(t *testing.T) {
				all := bytes.Join(tt.frames, nil)
				s := newShared(&chunks{data: all, size: size}, nil)
				s.streams[1] = &stream{id: 1}
				if _, err := io.Copy(io.Discard, s); err != nil {
					t.Fatal(err)
				}
				if s.excess != tt.want {
					t.Errorf("excess %d, want %d", s.excess, tt.want)
				}
				if open(t, s, 5); s.excess != 0 {
					t.Errorf("excess %d after a request, want 0", s.excess)
				}
			})
		}
	}
}
