//go:build !nobus

package broker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"aiperfd/internal/cluster/bus"
)

// pair is both sides of a bus.
type pair struct{ controller, worker bus.Bus }

// TestConformance: every bus does the same.
func TestConformance(t *testing.T) {
	tests := []struct {
		name string
		test func(t *testing.T, p pair)
	}{
		{"a request is answered", testRequest},
		{"a worker answers a request", testWorkerAnswers},
		{"a message reaches all subscriptions in order", testOrder},
		{"nobody is told", testNobody},
		{"a deadline ends a request", testDeadline},
		{"permissions", testPermissions},
		{"sizes", testSizes},
		{"subjects", testSubjects},
		{"a subscription ends", testCancel},
		{"bulk data", testBulk},
		{"close", testClose},
	}
	for name, connect := range backends() {
		t.Run(name, func(t *testing.T) {
			controller, worker := connect(t)
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) { tt.test(t, pair{controller, worker}) })
			}
		})
	}
}

// subscribe subscribes until the end of a test.
func subscribe(t *testing.T, b bus.Bus, subject string, handle bus.Handler) {
	t.Helper()
	cancel, err := b.Subscribe(t.Context(), subject, handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
}

// collect subscribes, and returns what comes.
func collect(t *testing.T, b bus.Bus, subject string) <-chan string {
	t.Helper()
	got := make(chan string, 1000) // more than a test sends
	subscribe(t, b, subject, func(m bus.Message) { got <- m.Subject + " " + string(m.Payload) })
	return got
}

// next returns what has come, or fails the test.
func next(t *testing.T, got <-chan string) string {
	t.Helper()
	select {
	case text := <-got:
		return text
	case <-time.After(10 * time.Second):
		t.Fatal("no message within 10 s")
		return ""
	}
}

func send(t *testing.T, b bus.Bus, subject, payload string) {
	t.Helper()
	if err := b.Publish(t.Context(), subject, []byte(payload)); err != nil {
		t.Errorf("publish to %s: %v", subject, err)
	}
}

func testRequest(t *testing.T, p pair) {
	subscribe(t, p.controller, bus.Join, func(m bus.Message) {
		m.Reply([]byte(m.Subject + " welcomes " + string(m.Payload)))
	})
	got, err := p.worker.Request(t.Context(), bus.Join, []byte("w1"))
	if want := "aiperfd.join welcomes w1"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func testWorkerAnswers(t *testing.T, p pair) {
	subscribe(t, p.worker, bus.ToWorker(first, ">"), func(m bus.Message) { m.Reply(append([]byte("ready: "), m.Payload...)) })
	for range 3 {
		got, err := p.controller.Request(t.Context(), bus.ToWorker(first, "plan"), []byte("plan"))
		if want := "ready: plan"; err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	send(t, p.controller, bus.ToWorker(first, "stop"), "") // Reply does nothing
}

func testOrder(t *testing.T, p pair) {
	all, own := collect(t, p.controller, bus.AllWorkers), collect(t, p.controller, bus.FromWorker(first, "snapshot"))
	var want []string
	for n := range 200 {
		subject := bus.FromWorker(first, "snapshot")
		send(t, p.worker, subject, fmt.Sprint(n))
		want = append(want, fmt.Sprint(subject, " ", n))
	}
	for name, got := range map[string]<-chan string{"a subscription with wildcards": all, "one without": own} {
		var texts []string
		for range want {
			texts = append(texts, next(t, got))
		}
		if !slices.Equal(texts, want) {
			t.Errorf("%s: got %v", name, texts)
		}
	}
}

func testNobody(t *testing.T, p pair) {
	_, err := p.controller.Request(t.Context(), bus.ToWorker(second, "plan"), nil)
	wantErr(t, "request", err, bus.ErrNoReceiver)
	send(t, p.controller, bus.ToWorker(second, "plan"), "")
}

func testDeadline(t *testing.T, p pair) {
	subscribe(t, p.controller, bus.Clock, func(bus.Message) {})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.worker.Request(ctx, bus.Clock, nil)
	wantErr(t, "no answer", err, context.DeadlineExceeded)
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = p.worker.Request(ctx, bus.Clock, nil)
	wantErr(t, "cancelled request", err, context.Canceled)
	wantErr(t, "cancelled publish", p.worker.Publish(ctx, bus.Clock, nil), context.Canceled)
	wantErr(t, "cancelled put", p.controller.Put(ctx, "data", strings.NewReader("text")), context.Canceled)
	wantErr(t, "cancelled get", p.controller.Get(ctx, "data", io.Discard), context.Canceled)
}

func testPermissions(t *testing.T, p pair) {
	wantErr(t, "send as another worker", p.worker.Publish(t.Context(), bus.FromWorker(second, "x"), nil), bus.ErrDenied)
	_, err := p.worker.Request(t.Context(), bus.ToWorker(second, "x"), nil)
	wantErr(t, "ask another worker", err, bus.ErrDenied)
	_, err = p.worker.Subscribe(t.Context(), bus.AllWorkers, func(bus.Message) {})
	wantErr(t, "listen to all", err, bus.ErrDenied)
	wantErr(t, "put", p.worker.Put(t.Context(), "data", strings.NewReader("text")), bus.ErrDenied)
}

func testSizes(t *testing.T, p pair) {
	got := make(chan int, 3) // one for each message
	subscribe(t, p.controller, bus.AllWorkers, func(m bus.Message) {
		got <- len(m.Payload)
		m.Reply(m.Payload)
	})
	payload := bytes.Repeat([]byte{'x'}, bus.MaxPayload)
	answer, err := p.worker.Request(t.Context(), bus.FromWorker(first, "x"), payload)
	if err != nil || !bytes.Equal(answer, payload) {
		t.Errorf("the largest message: %d bytes, %v", len(answer), err)
	}
	wantErr(t, "publish", p.worker.Publish(t.Context(), bus.FromWorker(first, "x"), append(payload, 'x')), bus.ErrTooLarge)
	_, err = p.worker.Request(t.Context(), bus.FromWorker(first, "x"), append(payload, 'x'))
	wantErr(t, "request", err, bus.ErrTooLarge)
	send(t, p.worker, bus.FromWorker(first, "x"), "")
	for _, want := range []int{bus.MaxPayload, 0} {
		if n := <-got; n != want {
			t.Errorf("%d bytes have come, want %d", n, want)
		}
	}
}

func testSubjects(t *testing.T, p pair) {
	for _, subject := range []string{"", "a..b", "a b", "a\r\nb", "aiperfd.*"} {
		wantErr(t, fmt.Sprintf("publish to %q", subject), p.controller.Publish(t.Context(), subject, nil), bus.ErrSubject)
		_, err := p.controller.Request(t.Context(), subject, nil)
		wantErr(t, fmt.Sprintf("request to %q", subject), err, bus.ErrSubject)
	}
	_, err := p.controller.Subscribe(t.Context(), "a.>.b", func(bus.Message) {})
	wantErr(t, "subscribe", err, bus.ErrSubject)
}

func testCancel(t *testing.T, p pair) {
	got := make(chan string, 10)
	cancel, err := p.controller.Subscribe(t.Context(), bus.AllWorkers, func(m bus.Message) { got <- string(m.Payload) })
	if err != nil {
		t.Fatal(err)
	}
	other := collect(t, p.controller, bus.AllWorkers)
	send(t, p.worker, bus.FromWorker(first, "x"), "1")
	next(t, got)
	next(t, other)
	cancel()
	cancel()
	send(t, p.worker, bus.FromWorker(first, "x"), "2")
	next(t, other)
	select {
	case text := <-got:
		t.Errorf("%q has come after the end", text)
	default:
	}
}

func testBulk(t *testing.T, p pair) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 100_000) // in several messages
	for name, content := range map[string][]byte{"empty": {}, "small": []byte("text"), "large-1.2_3": large} {
		if err := p.controller.Put(t.Context(), name, slowReader{bytes.NewReader(content)}); err != nil {
			t.Fatalf("put %s: %v", name, err)
		}
		var got bytes.Buffer
		if err := p.worker.Get(t.Context(), name, &got); err != nil || !bytes.Equal(got.Bytes(), content) {
			t.Errorf("get %s: %d bytes, %v, want %d", name, got.Len(), err, len(content))
		}
	}
	if err := p.controller.Put(t.Context(), "small", strings.NewReader("other")); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := p.worker.Get(t.Context(), "small", &got); err != nil || got.String() != "other" {
		t.Errorf("replaced: %q, %v", got.String(), err)
	}
	broken := io.MultiReader(bytes.NewReader(large), iotest.ErrReader(io.ErrNoProgress))
	wantErr(t, "put what cannot be read", p.controller.Put(t.Context(), "broken", broken), io.ErrNoProgress)
	wantErr(t, "get what could not be put", p.worker.Get(t.Context(), "broken", io.Discard), bus.ErrNotFound)
	wantErr(t, "what was not put", p.worker.Get(t.Context(), "missing", io.Discard), bus.ErrNotFound)
	for _, name := range []string{"", "a/b", "a.*", ">"} {
		wantErr(t, fmt.Sprintf("get %q", name), p.worker.Get(t.Context(), name, io.Discard), bus.ErrName)
		wantErr(t, fmt.Sprintf("put %q", name), p.controller.Put(t.Context(), name, strings.NewReader("")), bus.ErrName)
	}
}

// slowReader returns little at a time.
type slowReader struct{ r io.Reader }

func (r slowReader) Read(p []byte) (int, error) { return r.r.Read(p[:min(len(p), 1000)]) }

// testClose is the last one.
func testClose(t *testing.T, p pair) {
	entered, leave := make(chan struct{}), make(chan struct{})
	cancel, err := p.worker.Subscribe(t.Context(), bus.ToWorker(first, ">"), func(bus.Message) {
		close(entered)
		<-leave
	})
	if err != nil {
		t.Fatal(err)
	}
	send(t, p.controller, bus.ToWorker(first, "x"), "")
	<-entered
	closed := make(chan struct{})
	go func() {
		p.worker.Close()
		close(closed)
	}()
	select {
	case <-closed:
		t.Error("Close did not wait for the handler")
	case <-time.After(20 * time.Millisecond):
	}
	close(leave)
	<-closed
	cancel()
	wantErr(t, "publish", p.worker.Publish(t.Context(), bus.Join, nil), bus.ErrClosed)
	_, err = p.worker.Request(t.Context(), bus.Join, nil)
	wantErr(t, "request", err, bus.ErrClosed)
	_, err = p.worker.Subscribe(t.Context(), bus.ToWorker(first, ">"), func(bus.Message) {})
	wantErr(t, "subscribe", err, bus.ErrClosed)
	wantErr(t, "get", p.worker.Get(t.Context(), "small", io.Discard), bus.ErrClosed)
	p.worker.Close()
}
