package transport

import (
	"bufio"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// A watch sees every event as soon as it was read, until it wants no more. The server
// sends an event only when the one before was seen.
func TestWatch(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			seen := make(chan string, 9)
			st := perform(t, func(_ int, c peer, r *bufio.Reader) {
				take(r)
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
				for i := range 6 {
					fmt.Fprintf(c, "b\r\ndata: %3d\n\n\r\n", i)
					if i > 3 {
						continue
					}
					select {
					case <-seen:
					case <-time.After(time.Minute):
						t.Errorf("event %d was not seen", i)
						return
					}
				}
				io.WriteString(c, "0\r\n\r\n")
				lingers(c)
			}, Options{Dial: way.dial, TLS: way.tls})
			var got []string
			r := st.request()
			r.Watch = func(r *bench.Response) bool {
				text := fmt.Sprint(r.Status)
				for e := range r.Events.All() {
					text += " " + string(e.Data)
				}
				got = append(got, text)
				seen <- text
				return r.Events.Len() == 4
			}
			x := st.client.Do(t.Context(), r)
			defer x.Release()
			want := []string{"200   0", "200   0   1", "200   0   1   2", "200   0   1   2   3"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := x.Response.Events.Len(); n != 6 || x.Response.Failure != nil {
				t.Errorf("%d events, failure %v; want 6 and none", n, x.Response.Failure)
			}
		})
	}
}

// A panic while a response is read ends its request with a named error, and the next request
// on the client works.
func TestReadPanics(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			st := perform(t, func(_ int, c peer, r *bufio.Reader) {
				for {
					if req, _ := take(r); req == nil {
						return
					}
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 17\r\n\r\ndata: 1\n\ndata: 2\n")
				}
			}, Options{Dial: way.dial, TLS: way.tls})
			r := st.request()
			r.Watch = func(*bench.Response) bool { panic("no such event") }
			x := st.client.Do(t.Context(), r)
			want := "aiperfd crashed when it tried to read the response, which is an error of aiperfd: no such event"
			if f := x.Response.Failure; f == nil || f.Class != bench.ClientError || f.Code != bench.CodePanic || f.Message != want {
				t.Errorf("failure %+v, want %q", f, want)
			}
			if p := x.Response.Panic; p == nil || p.Value != "no such event" || len(p.Stack) == 0 {
				t.Errorf("panic %+v, want one with its stack", p)
			}
			x.Release()
			y := st.client.Do(t.Context(), st.request())
			if y.Response.Failure != nil || y.Response.Panic != nil || y.Response.Events.Len() != 2 {
				t.Errorf("afterwards: %v, %d events", y.Response.Failure, y.Response.Events.Len())
			}
			y.Release()
		})
	}
}
