package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/source"
)

// The bounds of what a reader holds.
const (
	aheadBytes = 8 << 20 // conversations that are complete but not yet used
	keptBytes  = 8 << 20 // conversations that are kept for the next pass
)

// ReaderOptions configure a [Reader]. Source and Sampling are required.
type ReaderOptions struct {
	Source   source.Source
	Sampling string // name of a row of [Samplings]
	Seed     bench.Seed
	Ahead    int   // conversations that are completed ahead, ≥ 1
	Need     int64 // conversations that will probably be used; more are read only when they are; 0 = unknown
	Once     bool  // there is one pass, in the order of the dataset
	// Check is called for every conversation that is complete, by several goroutines;
	// its error ends the reading. It returns early when ctx ends. nil = nothing is checked.
	Check func(ctx context.Context, c *bench.Conversation) error
	// First is called when a conversation is used for the first time; its error ends
	// the reading. nil = nothing is called.
	First func(*bench.Conversation) error
}

// Reader reads a dataset ahead of its use. It completes conversations on half of the
// processors and returns them in their order.
type Reader struct {
	o     ReaderOptions
	used  usage // by the caller of Next
	order order // by the worker that reads
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu      sync.Mutex
	changed sync.Cond     // on mu
	queue   []*slot       // guarded by mu; in their order
	bytes   int           // guarded by mu; of the complete ones in the queue
	kept    map[int]*slot // guarded by mu; by number
	room    int           // guarded by mu; bytes that kept may grow by
	left    int64         // guarded by mu; conversations to read without being asked; <0 = without bound
	reading bool          // guarded by mu; a worker reads the next entry
	ended   bool          // guarded by mu; no more entries are read
}

// slot is a conversation that is being completed, or the end of the dataset.
type slot struct {
	number       int
	conversation *bench.Conversation
	digest       [sha256.Size]byte
	size         int
	err          error
	complete     bool // guarded by Reader.mu
}

// NewReader returns a reader that has begun to read. The end of ctx ends the reading.
func NewReader(ctx context.Context, o ReaderOptions) (*Reader, error) {
	r := &Reader{o: o, kept: map[int]*slot{}, left: -1}
	if err := r.sample(); err != nil {
		return nil, err
	}
	if o.Need > 0 {
		r.left = o.Need
	}
	if indexed, ok := o.Source.(source.Indexed); !o.Once && (!ok || o.Need == 0 || o.Need > int64(indexed.Len()) || o.Sampling == "random") {
		r.room = keptBytes
	}
	r.changed.L = &r.mu
	r.start(ctx)
	return r, nil
}

// sample opens the order.
func (r *Reader) sample() (err error) {
	r.order = single{r.o.Source}
	if !r.o.Once {
		r.order, err = openOrder(r.o.Sampling, r.o.Source, r.o.Seed)
	}
	return err
}

// start starts the workers.
func (r *Reader) start(ctx context.Context) {
	ctx, r.stop = context.WithCancel(ctx)
	for range max(1, runtime.GOMAXPROCS(0)/2) { // the others send
		r.wg.Go(func() { r.work(ctx) })
	}
	r.wg.Go(func() {
		<-ctx.Done()
		r.end()
	})
}

// end ends the reading.
func (r *Reader) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.queue = append(r.queue, &slot{err: context.Canceled, complete: true})
		r.ended = true
	}
	r.changed.Broadcast()
}

// Close ends the reading and closes the source.
func (r *Reader) Close() error {
	r.stop()
	r.wg.Wait()
	return r.o.Source.Close()
}

// work reads entries and completes them.
func (r *Reader) work(ctx context.Context) {
	h := newHasher()
	for {
		s, entry, ok := r.claim(ctx)
		if !ok {
			return
		}
		if s.complete {
			continue
		}
		s.finish(ctx, &r.o, &entry, h)
		r.mu.Lock()
		r.settle(s)
		r.mu.Unlock()
	}
}

// claim reads the next entry and gives it the next place in the queue. false = no more
// are needed.
func (r *Reader) claim(ctx context.Context) (*slot, source.Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended && (r.reading || r.left == 0 || len(r.queue) >= r.o.Ahead || r.bytes >= aheadBytes && len(r.queue) > 0) {
		r.changed.Wait()
	}
	if r.ended {
		return nil, source.Entry{}, false
	}
	r.reading = true
	r.mu.Unlock()
	entry, err := r.order.next(ctx)
	r.mu.Lock()
	r.reading = false
	s := &slot{number: entry.Number}
	switch {
	case r.ended:
		return nil, entry, false
	case err != nil:
		s.err, s.complete, r.ended = err, true, true
	case r.kept[entry.Number] != nil:
		s = r.kept[entry.Number]
		r.bytes += s.size
	}
	r.left--
	r.queue = append(r.queue, s)
	r.changed.Broadcast()
	return s, entry, true
}

// finish completes the conversation of an entry.
func (s *slot) finish(ctx context.Context, o *ReaderOptions, entry *source.Entry, h *hasher) {
	s.conversation, s.err = entry.Make()
	if s.err == nil && o.Check != nil {
		s.err = o.Check(ctx, s.conversation)
	}
	if s.err == nil {
		s.err = ctx.Err()
	}
	if s.err == nil {
		s.digest = h.digest(s.number, s.conversation)
		s.size = sizeOf(s.conversation)
	}
}

// settle marks a slot as complete and keeps it for the next pass if there is room. Call
// with mu held.
func (r *Reader) settle(s *slot) {
	s.complete = true
	r.bytes += s.size
	if s.err == nil && s.size <= r.room && r.kept[s.number] == nil {
		r.kept[s.number] = s
		r.room -= s.size
	}
	r.changed.Broadcast()
}

// errQuit is returned by [Reader.Next] if nobody waits for the conversation any more.
var errQuit = errors.New("the wait for the dataset was ended")

// Next returns the next conversation. It may be called by one goroutine at a time.
// io.EOF = the dataset has ended and is not repeated; errors are final, unless quit was
// closed while Next waited.
func (r *Reader) Next(quit <-chan struct{}) (*bench.Conversation, error) {
	s := r.take(quit)
	if s == nil {
		return nil, errQuit
	}
	if s.err != nil {
		return nil, s.err
	}
	if r.used.add(s.number, s.digest) && r.o.First != nil {
		if err := r.o.First(s.conversation); err != nil {
			return nil, err
		}
	}
	return s.conversation, nil
}

// take removes the first conversation from the queue. An error stays there. nil = quit was
// closed before there was one.
func (r *Reader) take(quit <-chan struct{}) *slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) > 0 && r.queue[0].complete {
		return r.takeFirst()
	}
	over, ready := false, make(chan struct{})
	defer close(ready)
	for waits := false; len(r.queue) == 0 || !r.queue[0].complete; waits = true {
		if over {
			return nil
		}
		if !waits {
			r.wg.Go(func() {
				select {
				case <-quit:
					r.mu.Lock()
					over = true
					r.mu.Unlock()
					r.changed.Broadcast()
				case <-ready:
				}
			})
		}
		if len(r.queue) == 0 && r.left == 0 && !r.reading {
			r.left = 1
			r.changed.Broadcast()
		}
		r.changed.Wait()
	}
	return r.takeFirst()
}

// takeFirst removes the first conversation, which is complete, from the queue. An error stays
// there. Call with mu held.
func (r *Reader) takeFirst() *slot {
	s := r.queue[0]
	if s.err != nil {
		return s
	}
	r.queue[0] = nil
	r.queue = r.queue[1:]
	if r.bytes -= s.size; len(r.queue) <= r.o.Ahead/2 || r.bytes <= aheadBytes/2 {
		r.changed.Broadcast()
	}
	return s
}

// readyTime bounds how long a run waits before it begins until conversations have been
// read ahead.
const readyTime = 25 * time.Millisecond

// Ready waits until as many conversations have been read as are read ahead, but not
// longer than 25 ms. It returns the first error.
func (r *Reader) Ready() error {
	late := false
	timer := time.AfterFunc(readyTime, func() {
		r.mu.Lock()
		late = true
		r.mu.Unlock()
		r.changed.Broadcast()
	})
	defer timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		complete := 0
		for complete < len(r.queue) && r.queue[complete].complete {
			if err := r.queue[complete].err; err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			complete++
		}
		if late || complete == len(r.queue) && (r.ended || r.left == 0 || complete >= r.o.Ahead || r.bytes >= aheadBytes) {
			return nil
		}
		r.changed.Wait()
	}
}

// Head returns the first conversations that are complete and not yet used, at most n.
func (r *Reader) Head(n int) (out []*bench.Conversation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.queue {
		if len(out) == n || !s.complete || s.err != nil {
			break
		}
		out = append(out, s.conversation)
	}
	return out
}

// Restart begins again at the first conversation. With once, there is one pass, in the
// order of the dataset. It must not be called while Next is.
func (r *Reader) Restart(ctx context.Context, once bool) error {
	if once && r.o.Once && r.used.drawn == 0 {
		return nil // it is there
	}
	r.stop()
	r.wg.Wait()
	if err := r.o.Source.Rewind(ctx); err != nil {
		return fmt.Errorf("read the dataset again: %w", err)
	}
	r.o.Once = once
	if err := r.sample(); err != nil {
		return err
	}
	r.queue, r.bytes, r.left, r.ended = nil, 0, -1, false
	r.start(ctx)
	return nil
}

// Describe describes what has been used.
func (r *Reader) Describe() Description {
	d := Description{Description: r.o.Source.Describe(), Hash: r.used.hash(), Used: r.used.distinct, Drawn: r.used.drawn}
	return d
}

// sizeOf returns about how many bytes of memory a conversation takes.
func sizeOf(c *bench.Conversation) int {
	const overhead = 256 // of a turn
	n := len(c.System) + len(c.Context) + overhead
	for child := range c.Children() {
		n += sizeOf(child)
	}
	for i := range c.Turns {
		t := &c.Turns[i]
		if t.Script != nil {
			n += overhead // its prompts share what they are written from
		}
		n += overhead + len(t.Payload) + len(t.Messages) + len(t.Tools) + len(t.ExtraBody)
		for _, text := range t.Texts {
			n += len(text)
		}
		for _, named := range t.Named {
			for _, text := range named.Texts {
				n += len(text)
			}
		}
		for _, list := range [...][]bench.Media{t.Images, t.Audios, t.Videos} {
			for k := range list {
				n += len(list[k].Data)
			}
		}
	}
	return n
}
