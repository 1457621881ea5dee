//go:build !nobus

package broker

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/cluster/bus"
)

// asked repeats a request until it is answered.
func asked(t *testing.T, b bus.Bus, subject string) {
	t.Helper()
	eventually(t, "an answer to "+subject, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := b.Request(ctx, subject, nil)
		return err == nil
	})
}

// answer makes a participant answer a subject.
func answer(t *testing.T, b bus.Bus, subject string) {
	t.Helper()
	subscribe(t, b, subject, func(m bus.Message) { m.Reply(m.Payload) })
}

// A server that is killed and starts again is the same bus: both sides come back by themselves, with their
// subscriptions, bulk data is still there, and a transfer that was under way is completed.
func TestProcessRestart(t *testing.T) {
	p := startProcess(t)
	controller := p.connect(Options{Creds: p.controller, Controller: true})
	worker := p.connect(Options{Creds: p.worker, ID: first})
	answer(t, controller, bus.Join)
	answer(t, worker, bus.ToWorker(first, ">"))
	content := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	if err := controller.Put(t.Context(), "data", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	asked(t, worker, bus.Join)

	p.kill()
	eventually(t, "a message is refused while there is no server", func() bool {
		return errors.Is(worker.Publish(t.Context(), bus.FromWorker(first, "snapshot"), nil), bus.ErrDisconnected)
	})
	_, err := worker.Request(t.Context(), bus.Join, nil)
	wantErr(t, "request without a server", err, bus.ErrDisconnected)
	p.start()
	asked(t, worker, bus.Join)
	asked(t, controller, bus.ToWorker(first, "plan"))

	got := &interrupted{after: func() {
		p.kill()
		p.start()
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := worker.Get(ctx, "data", got); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("get over a restart: %d bytes, %v, want %d", got.Len(), err, len(content))
	}
	asked(t, controller, bus.ToWorker(first, "plan"))
}

// interrupted calls a function after the first write.
type interrupted struct {
	bytes.Buffer
	after func()
}

func (w *interrupted) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.after != nil {
		w.after()
		w.after = nil
	}
	return n, err
}

// A worker outlives the daemon that it is connected to, and comes back to the next one on the same address.
func TestDaemonRestart(t *testing.T) {
	s := listen(t, nil)
	controller := connected(t)(s.Connect(t.Context()))
	worker := join(t, s, first)
	answer(t, controller, bus.Join)
	answer(t, worker, bus.ToWorker(first, ">"))
	asked(t, worker, bus.Join)
	at := strings.TrimPrefix(s.URL(), "nats://")
	controller.Close()
	s.Close()
	_, err := worker.Request(t.Context(), bus.Join, nil)
	if !errors.Is(err, bus.ErrDisconnected) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("request without a server: %v", err)
	}

	s = listen(t, func(o *ServerOptions) { o.Listen = at })
	controller = connected(t)(s.Connect(t.Context()))
	answer(t, controller, bus.Join)
	asked(t, worker, bus.Join)
	asked(t, controller, bus.ToWorker(first, "plan"))
}

// A server that is not there yet is waited for until the deadline.
func TestConnectWaits(t *testing.T) {
	s := listen(t, nil)
	at := strings.TrimPrefix(s.URL(), "nats://")
	s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := Connect(ctx, Options{URL: "nats://" + at, ID: first, Token: token})
	wantErr(t, "no server", err, context.DeadlineExceeded)
	if err == nil || !strings.Contains(err.Error(), at) || strings.Contains(err.Error(), token) {
		t.Errorf("error %q, want the address and no token in it", err)
	}

	connects := make(chan error, 1)
	go func() {
		b, err := Connect(t.Context(), Options{URL: "nats://" + at, ID: first, Token: token})
		if err == nil {
			b.Close()
		}
		connects <- err
	}()
	listen(t, func(o *ServerOptions) { o.Listen = at })
	if err := <-connects; err != nil {
		t.Errorf("a server that comes late: %v", err)
	}
}

// An address that is in use is an error at once.
func TestListenTwice(t *testing.T) {
	s := listen(t, nil)
	at := strings.TrimPrefix(s.URL(), "nats://")
	_, err := Listen(t.Context(), ServerOptions{Listen: at, Authenticate: authenticate})
	if err == nil || !strings.Contains(err.Error(), "address already in use") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want that the address is in use", err)
	}
}
