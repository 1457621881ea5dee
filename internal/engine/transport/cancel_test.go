package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
)

// planned is what became of a request that was to be cancelled.
type planned struct {
	Class   bench.Class // empty = success
	Step    bench.Step
	Status  int
	End     bench.End
	Events  int
	Dials   int  // connections after a second request, which is not cancelled
	Hung    bool // the server saw the end of the first connection
	Message string
}

func TestPlannedCancellation(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	const events = head + "Transfer-Encoding: chunked\r\n\r\n"
	message := "cancelled 0.500 s after the request was sent"
	for _, tt := range []struct {
		name string
		send []string // of the first answer; "" = wait for the end of the connection
		want planned
	}{
		{"no answer", []string{""}, planned{bench.CancelledByTest, bench.StepHeaders, 0, bench.EndAborted, 0, 2, true, message}},
		{"a part of a stream", []string{events + "9\r\ndata: {}\n\r\n", "2\r\n\n\n\r\n", ""}, planned{bench.CancelledByTest, bench.StepBody, 200, bench.EndAborted, 1, 2, true, message}},
		{"answered before", []string{events + "b\r\ndata: {}\n\n\n\r\n0\r\n\r\n"}, planned{"", "", 200, bench.EndEOF, 1, 1, false, ""}},
		{"complete, but not ended", []string{events + "e\r\ndata: [DONE]\n\n\r\n", ""}, planned{"", "", 200, bench.EndEOF, 0, 2, true, ""}},
	} {
		for _, way := range ways() {
			t.Run(tt.name+"/"+way.name, func(t *testing.T) {
				t.Parallel() // most wait
				hung := make(chan bool, 1)
				stage := perform(t, func(n int, c peer, r *bufio.Reader) {
					for i := 0; ; i++ {
						if req, _ := take(r); req == nil {
							return
						}
						if n+i > 0 {
							io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
							continue
						}
						for _, text := range tt.send {
							if text == "" {
								_, err := r.ReadByte()
								hung <- err != nil
								return
							}
							io.WriteString(c, text)
						}
						hung <- false
					}
				}, Options{Dial: way.dial, TLS: way.tls})
				r := stage.request()
				r.Cancel = bench.Cancellation{On: true, After: 500 * time.Millisecond}
				x := stage.client.Do(t.Context(), r)
				got := planned{Status: x.Response.Status, End: x.Response.End, Hung: <-hung}
				if f := x.Response.Failure; f != nil {
					got.Class, got.Step, got.Message = f.Class, f.Step, f.Message
					if after := x.Stamps.End - x.Stamps.Wrote; after < 50*time.Millisecond {
						t.Errorf("cancelled %v after it was written", after)
					}
				}
				for range x.Response.Events.All() {
					got.Events++
				}
				x.Release()
				next := stage.do(t.Context())
				next.Release()
				got.Dials = stage.dialed()
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// A request that is cancelled at once is received whole.
func TestCancelledAtOnce(t *testing.T) {
	for _, way := range ways() {
		for _, size := range []int{10, 5000, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%d", way.name, size), func(t *testing.T) {
				const requests = 20
				received := make(chan int, requests)
				stage := perform(t, func(_ int, _ peer, r *bufio.Reader) {
					_, body := take(r)
					received <- len(body)
					r.ReadByte()
				}, Options{Dial: way.dial, TLS: way.tls})
				for range requests {
					r := stage.request()
					r.Body, r.Cancel = make([]byte, size), bench.Cancellation{On: true}
					x := stage.client.Do(t.Context(), r)
					if f := x.Response.Failure; f == nil || f.Class != bench.CancelledByTest {
						t.Fatalf("%v", f)
					}
					x.Release()
					if got := <-received; got != size {
						t.Fatalf("the server received %d of %d bytes", got, size)
					}
				}
			})
		}
	}
}

// The time of a cancellation is that of the written request, and a request that cannot be
// written is no cancellation.
func TestPlannedCancellationInVirtualTime(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reads bool // the server reads the request
		body  int
		want  bench.Failure
		after time.Duration
	}{
		{"written", true, 10, bench.Failure{Class: bench.CancelledByTest, Step: bench.StepHeaders}, 2 * time.Second},
		{"not written", false, 64 << 20, bench.Failure{Class: bench.TimeoutSend, Step: bench.StepSend}, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ln := memnet.Listen()
				go func() {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					defer c.Close()
					if tt.reads {
						io.Copy(io.Discard, c)
					}
					time.Sleep(time.Minute)
				}()
				client := New(Options{Clock: bench.NewClock(), Dial: ln.DialContext, TotalTimeout: 10 * time.Second})
				s := &stage{url: &url.URL{Scheme: "http", Host: "server"}}
				r := s.request()
				r.Body, r.Cancel = make([]byte, tt.body), bench.Cancellation{On: true, After: 2 * time.Second}
				began := time.Now()
				x := client.Do(context.Background(), r)
				if took := time.Since(began); took != tt.after {
					t.Errorf("took %v, want %v", took, tt.after)
				}
				if diff := cmp.Diff(&tt.want, x.Response.Failure, cmpopts.IgnoreFields(bench.Failure{}, "Message")); diff != "" {
					t.Error(diff)
				}
				client.Close()
				ln.Close()
				time.Sleep(2 * time.Minute)
			})
		})
	}
}
