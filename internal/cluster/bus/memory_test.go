package bus

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// network is a controller and a worker on a memory bus.
type network struct {
	Memory
	controller, worker Bus
}

const workerID = "0123456789abcdef"

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T, n *network)) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{}
		n.controller = n.Connect("controller", Everything())
		n.worker = n.Connect(workerID, OfWorker(workerID))
		defer n.controller.Close()
		defer n.worker.Close()
		test(t, n)
	})
}

// snapshots subscribes to what the worker sends, and returns what has come so far.
func (n *network) snapshots(t *testing.T) func() string {
	t.Helper()
	var mu sync.Mutex
	var got []string
	_, err := n.controller.Subscribe(t.Context(), AllWorkers, func(m Message) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(m.Payload))
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(got, " ")
	}
}

func (n *network) publish(t *testing.T, payloads ...string) {
	t.Helper()
	for _, p := range payloads {
		if err := n.worker.Publish(t.Context(), FromWorker(workerID, "snapshot"), []byte(p)); err != nil {
			t.Errorf("publish %s: %v", p, err)
		}
	}
}

// Messages are lost, doubled, delayed and reordered as a test says.
func TestMemoryDisturb(t *testing.T) {
	fates := map[string][]time.Duration{
		"lost": {}, "double": {0, time.Second}, "late": {3 * time.Second}, "later": {2 * time.Second}, "plain": {0},
	}
	bubble(t, func(t *testing.T, n *network) {
		got := n.snapshots(t)
		n.Disturb(func(d Delivery) []time.Duration {
			if d.From != workerID || d.To != "controller" || d.Reply {
				t.Errorf("unexpected delivery %+v", d)
			}
			return fates[string(d.Payload)]
		})
		n.publish(t, "lost", "late", "later", "double", "plain")
		if want := "double plain"; got() != want {
			t.Errorf("at once: %q, want %q", got(), want)
		}
		time.Sleep(5 * time.Second)
		if want := "double plain double later late"; got() != want {
			t.Errorf("after 5 s: %q, want %q", got(), want)
		}
		n.Disturb(nil)
		n.publish(t, "lost")
		if !strings.HasSuffix(got(), " lost") {
			t.Errorf("undisturbed: %q, want it to end with what was lost before", got())
		}
	})
}

// A participant that is cut off sends nothing, and loses what is sent to it, also what was under way.
func TestMemoryCut(t *testing.T) {
	bubble(t, func(t *testing.T, n *network) {
		got := n.snapshots(t)
		n.Disturb(func(Delivery) []time.Duration { return []time.Duration{time.Second} })
		n.publish(t, "under way")
		n.Cut("controller", true)
		time.Sleep(2 * time.Second)
		n.Cut("controller", false)
		n.Disturb(nil)
		n.publish(t, "later")
		if want := "later"; got() != want {
			t.Errorf("%q, want %q", got(), want)
		}
		n.Cut(workerID, true)
		if err := n.worker.Publish(t.Context(), FromWorker(workerID, "snapshot"), nil); !errors.Is(err, ErrDisconnected) {
			t.Errorf("publish: %v, want %v", err, ErrDisconnected)
		}
		if _, err := n.worker.Request(t.Context(), Join, nil); !errors.Is(err, ErrDisconnected) {
			t.Errorf("request: %v, want %v", err, ErrDisconnected)
		}
	})
}

// A request whose answer is lost ends with its context, and after Patience without a deadline.
func TestMemoryPatience(t *testing.T) {
	bubble(t, func(t *testing.T, n *network) {
		_, err := n.controller.Subscribe(t.Context(), Join, func(m Message) { m.Reply([]byte("welcome")) })
		if err != nil {
			t.Fatal(err)
		}
		n.Disturb(func(d Delivery) []time.Duration {
			if d.Reply {
				return nil
			}
			return []time.Duration{0}
		})
		asked := time.Now()
		if _, err := n.worker.Request(t.Context(), Join, nil); err == nil || time.Since(asked) != Patience {
			t.Errorf("an answer that is lost: %v after %v, want an error after %v", err, time.Since(asked), Patience)
		}
		n.Disturb(func(d Delivery) []time.Duration { return slices.Repeat([]time.Duration{time.Second}, 2) })
		asked = time.Now()
		answer, err := n.worker.Request(t.Context(), Join, nil)
		if string(answer) != "welcome" || time.Since(asked) != 2*time.Second {
			t.Errorf("%q, %v after %v, want the answer after 2 s", answer, err, time.Since(asked))
		}
		time.Sleep(time.Minute) // the other copies of question and answer come to nothing
	})
}

// A handler that is slow delays its own subscription only.
func TestMemorySlowHandler(t *testing.T) {
	bubble(t, func(t *testing.T, n *network) {
		_, err := n.controller.Subscribe(t.Context(), AllWorkers, func(Message) { time.Sleep(time.Minute) })
		if err != nil {
			t.Fatal(err)
		}
		got := n.snapshots(t)
		n.publish(t, "1", "2", "3")
		if want := "1 2 3"; got() != want {
			t.Errorf("%q, want %q", got(), want)
		}
	})
}
