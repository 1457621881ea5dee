package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/source"
)

// counted is a source of n entries that counts how many were made. Entries are completed
// out of their order.
type counted struct {
	source.Indexed
	made atomic.Int64
}

func newCounted(n, size int) *counted {
	c := &counted{}
	c.Indexed = source.NewIndexed(n, func(i int) source.Entry {
		return source.Entry{Number: i, Make: func() (*bench.Conversation, error) {
			c.made.Add(1)
			<-time.After(time.Duration(i*7919%5) * time.Millisecond)
			return &bench.Conversation{ID: fmt.Sprint(i), Turns: []bench.Turn{{Payload: make([]byte, size)}}}, nil
		}}
	}, func() source.Description { return source.Description{Path: "counted"} })
	return c
}

// open opens a reader, which is closed with the test.
func openReader(t *testing.T, ctx context.Context, o ReaderOptions) *Reader { //nolint:revive // the context of the bubble
	t.Helper()
	if o.Sampling == "" {
		o.Sampling = "sequential"
	}
	r, err := NewReader(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ids returns the ids of the next conversations.
func ids(t *testing.T, r *Reader, n int) (out []string) {
	t.Helper()
	for range n {
		c, err := r.Next(nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c.ID)
	}
	return out
}

// The order and the hash do not depend on the number of processors.
func TestReaderOrder(t *testing.T) {
	read := func(procs int, sampling string) ([]string, string) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		var out []string
		var hash string
		synctest.Test(t, func(t *testing.T) {
			r := openReader(t, t.Context(), ReaderOptions{Source: newCounted(50, 10), Sampling: sampling, Seed: 7, Ahead: 9})
			out = ids(t, r, 120)
			hash = r.Describe().Hash
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
		return out, hash
	}
	for _, s := range Samplings() {
		one, hash := read(1, s.Name)
		many, same := read(8, s.Name)
		if !slices.Equal(one, many) || hash != same {
			t.Errorf("%s: order or hash depends on the number of processors", s.Name)
		}
	}
}

// No more is read ahead than is asked for, in number and in bytes.
func TestReaderReadsAhead(t *testing.T) {
	for _, tt := range []struct{ size, ahead, want int }{
		{1, 20, 20},
		{3 << 20, 1000, aheadBytes/(3<<20) + runtime.GOMAXPROCS(0)},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newCounted(1000, tt.size)
			r := openReader(t, t.Context(), ReaderOptions{Source: s, Ahead: tt.ahead})
			time.Sleep(time.Second)
			if n := int(s.made.Load()); n > tt.want || n < tt.want/2 {
				t.Errorf("%d conversations of %d bytes were made ahead, want %d", n, tt.size, tt.want)
			}
			before := int(s.made.Load())
			ids(t, r, before)
			time.Sleep(time.Second)
			if n := int(s.made.Load()); n <= before || n > before+tt.want {
				t.Errorf("%d more were made for %d that were used", n-before, before)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Small conversations are made once, and kept for the next pass.
func TestReaderKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCounted(30, 100)
		r := openReader(t, t.Context(), ReaderOptions{Source: s, Ahead: 10})
		first := ids(t, r, 30)
		if again := ids(t, r, 30); !slices.Equal(first, again) {
			t.Errorf("second pass = %v", again)
		}
		ids(t, r, 90)
		if n := s.made.Load(); n != 30 {
			t.Errorf("%d conversations were made, want 30", n)
		}
		if d := r.Describe(); d.Used != 30 || d.Drawn != 150 || d.Path != "counted" {
			t.Errorf("description = %+v", d)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// With a known need, only what is used beyond it is read.
func TestReaderNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCounted(100, 1)
		r := openReader(t, t.Context(), ReaderOptions{Source: s, Ahead: 50, Need: 7})
		for used := range int64(10) {
			time.Sleep(time.Second)
			if n := s.made.Load(); n != max(7, used) {
				t.Errorf("after %d: %d conversations were made, want %d", used, n, max(7, used))
			}
			ids(t, r, 1)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// deep is a conversation that starts another one, and so on.
func deep(n int) *bench.Conversation {
	c := &bench.Conversation{ID: "c", Turns: []bench.Turn{{Texts: []string{"x"}}}}
	for range n - 1 {
		c = &bench.Conversation{ID: "c", Turns: []bench.Turn{{Texts: []string{"x"}, Spawns: []bench.Spawn{{Children: []*bench.Conversation{c}}}}}}
	}
	return c
}

// TestSizeOf: every conversation of a tree counts once, and is visited once: twice at
// every level would never end.
func TestSizeOf(t *testing.T) {
	if one, all := sizeOf(deep(1)), sizeOf(deep(2000)); all != 2000*one {
		t.Errorf("2000 conversations have %d bytes, one has %d", all, one)
	}
}

// TestReaderCheckStops: a worker that checks a conversation ends with the context.
func TestReaderCheckStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := ReaderOptions{Source: newCounted(20, 1), Ahead: 20, Check: func(ctx context.Context, _ *bench.Conversation) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		ctx, cancel := context.WithCancel(t.Context())
		r := openReader(t, ctx, o)
		time.AfterFunc(time.Second, cancel)
		if _, err := r.Next(nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Next = %v, want %v", err, context.Canceled)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Errors come in their order, after the conversations before them, and stay.
func TestReaderErrors(t *testing.T) {
	bad := errors.New("bad")
	check := func(id string) func(*bench.Conversation) error {
		return func(c *bench.Conversation) error {
			if c.ID == id {
				return bad
			}
			return nil
		}
	}
	checked := func(_ context.Context, c *bench.Conversation) error { return check("5")(c) }
	for name, o := range map[string]ReaderOptions{"check": {Check: checked}, "first use": {First: check("5")}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o.Source, o.Ahead = newCounted(20, 1), 20
				r := openReader(t, t.Context(), o)
				if err := r.Ready(); o.Check != nil && !errors.Is(err, bad) {
					t.Errorf("Ready = %v, want the error", err)
				}
				if got := ids(t, r, 5); got[4] != "4" {
					t.Errorf("before the error: %v", got)
				}
				if _, err := r.Next(nil); !errors.Is(err, bad) {
					t.Errorf("error = %v", err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// stuck is a source whose next entry never comes.
type stuck struct{ source.Indexed }

func (s stuck) Next(ctx context.Context) (source.Entry, error) {
	<-ctx.Done()
	return source.Entry{}, ctx.Err()
}

// Ready waits for 25 ms at most, and Close ends a read and those who wait for it.
func TestReaderOfASlowSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := openReader(t, t.Context(), ReaderOptions{Source: stuck{numbered(1)}, Ahead: 5})
		start := time.Now()
		if err := r.Ready(); err != nil || time.Since(start) != readyTime {
			t.Errorf("Ready = %v after %v, want nil after %v", err, time.Since(start), readyTime)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := r.Next(nil)
			ended <- err
		}()
		synctest.Wait()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Next = %v, want that it was cancelled", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := openReader(t, ctx, ReaderOptions{Source: newCounted(1000, 1), Ahead: 5})
		ids(t, r, 3)
		cancel()
		synctest.Wait()
		for range 10 {
			if _, err := r.Next(nil); err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Next = %v after the end of the context", err)
				}
				break
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A restart begins again with the first conversation, in the order of the dataset.
func TestReaderRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := openReader(t, t.Context(), ReaderOptions{Source: newCounted(10, 1), Sampling: "shuffle", Seed: 3, Ahead: 4})
		ids(t, r, 3)
		if err := r.Restart(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if got := ids(t, r, 10); !slices.Equal(got, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}) {
			t.Errorf("after the restart: %v", got)
		}
		if _, err := r.Next(nil); !errors.Is(err, io.EOF) {
			t.Errorf("error after one pass = %v, want EOF", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A wait that is no longer needed ends, and loses nothing.
func TestReaderQuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		s := source.NewIndexed(1, func(int) source.Entry {
			return source.Entry{Make: func() (*bench.Conversation, error) {
				<-hold
				return &bench.Conversation{ID: "a"}, nil
			}}
		}, func() source.Description { return source.Description{} })
		r := openReader(t, t.Context(), ReaderOptions{Source: s, Ahead: 1})
		quit := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(quit) })
		if c, err := r.Next(quit); c != nil || !errors.Is(err, errQuit) {
			t.Errorf("conversation %v, error %v; want none", c, err)
		}
		close(hold)
		if c, err := r.Next(nil); err != nil || c.ID != "a" {
			t.Errorf("after the wait: conversation %v, error %v", c, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}
