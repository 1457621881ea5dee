package runs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/api/respond"
)

func TestReadBody(t *testing.T) {
	g := newGate(1 << 20)
	for _, size := range []int{0, 1, piece - 1, piece, piece + 1, 1 << 20} {
		want := bytes.Repeat([]byte("x"), size)
		b, err := g.read(bytes.NewReader(want))
		if err != nil || !bytes.Equal(b.Data, want) {
			t.Fatalf("Read(%d bytes) = %d bytes, %v", size, len(b.Data), err)
		}
		b.release()
		b.release()
	}
	if !g.bodies.TryAcquire(bodies) {
		t.Error("memory is still reserved after all bodies were released")
	}
}

// Bodies of 1 MiB are refused when their memory is used up, and accepted again afterwards.
func TestBodiesTogether(t *testing.T) {
	g := newGate(1 << 20)
	var held []*body
	for {
		b, err := g.read(strings.NewReader(strings.Repeat("x", 1<<20)))
		if err != nil {
			if !errors.Is(err, respond.ErrBusy) {
				t.Fatal(err)
			}
			break
		}
		if held = append(held, b); len(held) > 100 {
			t.Fatal("100 MiB of bodies were received at the same time")
		}
	}
	if len(held) < 8 {
		t.Errorf("%d bodies of 1 MiB were accepted, want at least 8", len(held))
	}
	if _, err := g.read(io.MultiReader(strings.NewReader("x"), failing{})); !errors.Is(err, errFailing) {
		t.Errorf("a small body: %v, want the error of its reader", err)
	}
	for _, b := range held {
		b.release()
	}
	if _, err := g.read(strings.NewReader(strings.Repeat("x", 1<<20))); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

var errFailing = errors.New("connection reset")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFailing }

func TestEnterGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1 << 20)
		work, leave, err := g.enter(t.Context(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, _, err := g.enter(t.Context(), 1<<20); !errors.Is(err, respond.ErrBusy) || time.Since(began) != waitLimit {
			t.Errorf("a second large document: %v after %v, want respond.ErrBusy after %v", err, time.Since(began), waitLimit)
		}
		_, leaveSmall, err := g.enter(t.Context(), 100)
		if err != nil {
			t.Errorf("a small document waits for a large one: %v", err)
		} else {
			leaveSmall()
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := g.enter(gone, 1<<20); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that has left: %v, want context.Canceled", err)
		}
		<-work.Done() // by the limit
		leave()
		if _, leave, err = g.enter(t.Context(), 1<<20); err != nil {
			t.Errorf("after the first has left: %v", err)
		} else {
			leave()
		}
	})
}
