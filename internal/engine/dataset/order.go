package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/source"
)

// order returns the entries of a source in the order in which sessions use them. Only
// one goroutine may use it.
type order interface {
	// next returns the next entry. io.EOF = there are no more.
	next(ctx context.Context) (source.Entry, error)
}

// Sampling is one row of the table of sampling strategies.
type Sampling struct {
	Name string // as documents write it
	// open returns the order of a source. Its randomness comes from streams
	// dataset.sampler.random and .shuffle of the seed.
	open func(s source.Source, seed bench.Seed) order
}

// Samplings lists the strategies in the order of the documentation; the first is
// the default.
func Samplings() []Sampling {
	return []Sampling{
		{"sequential", openSequential},
		{"random", openRandom},
		{"shuffle", openShuffle},
	}
}

// openOrder returns the order of the named strategy. The error names those that exist.
func openOrder(name string, s source.Source, seed bench.Seed) (order, error) {
	var names []string
	for _, k := range Samplings() {
		if k.Name == name {
			return k.open(s, seed), nil
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("unknown sampling %q; accepted: %s", name, strings.Join(names, ", "))
}

// sequential is the order of the source, pass after pass.
type sequential struct{ source source.Source }

func openSequential(s source.Source, _ bench.Seed) order { return sequential{s} }

func (o sequential) next(ctx context.Context) (source.Entry, error) {
	e, err := o.source.Next(ctx)
	if !errors.Is(err, io.EOF) {
		return e, err
	}
	if err := o.source.Rewind(ctx); errors.Is(err, source.ErrOnce) {
		return e, io.EOF
	} else if err != nil {
		return e, err
	}
	return o.source.Next(ctx)
}

// single is the order of the source, for one pass.
type single struct{ source source.Source }

func (o single) next(ctx context.Context) (source.Entry, error) { return o.source.Next(ctx) }

func openRandom(s source.Source, seed bench.Seed) order {
	r := seed.Rand(bench.StreamSamplerRandom)
	random := func(s source.Indexed) order { return draw{s, r} }
	if indexed, ok := s.(source.Indexed); ok {
		return random(indexed)
	}
	return &windowed{source: s, rand: r, whole: random}
}

// draw draws entries with replacement.
type draw struct {
	source source.Indexed
	rand   *rand.Rand
}

func (o draw) next(context.Context) (source.Entry, error) {
	return o.source.At(bench.Below(o.rand, o.source.Len())), nil
}

func openShuffle(s source.Source, seed bench.Seed) order {
	r := seed.Rand(bench.StreamSamplerShuffle)
	shuffled := func(s source.Indexed) order { return newShuffle(s, r) }
	if indexed, ok := s.(source.Indexed); ok {
		return shuffled(indexed)
	}
	return &windowed{source: s, rand: r, whole: shuffled}
}

// shuffle draws entries without replacement. It takes four bytes per entry, at most
// 40 MB.
type shuffle struct {
	source  source.Indexed
	rand    *rand.Rand
	entries []uint32 // the permutation of this pass
	at      int      // entries returned in this pass
}

func newShuffle(s source.Indexed, r *rand.Rand) *shuffle {
	o := &shuffle{source: s, rand: r, entries: make([]uint32, s.Len()), at: s.Len()}
	for i := range o.entries {
		o.entries[i] = uint32(i)
	}
	return o
}

func (o *shuffle) next(context.Context) (source.Entry, error) {
	if o.at == len(o.entries) {
		o.at = 0
		for i := len(o.entries) - 1; i > 0; i-- {
			j := bench.Below(o.rand, i+1)
			o.entries[i], o.entries[j] = o.entries[j], o.entries[i]
		}
	}
	o.at++
	return o.source.At(int(o.entries[o.at-1])), nil
}

// The bounds of the conversations among which a stream is drawn.
const (
	windowEntries = 1 << 16
	windowBytes   = 4 << 20
)

// windowed draws among the next entries of a stream. The one that was drawn is replaced
// by the next one of the stream.
type windowed struct {
	source source.Source
	rand   *rand.Rand
	whole  func(source.Indexed) order // for a stream that fits into the window
	inner  order                      // that of such a stream
	window []source.Entry
	bytes  int
	ended  bool // the pass
	drawn  bool // in this pass
}

func (o *windowed) next(ctx context.Context) (source.Entry, error) {
	if o.inner != nil {
		return o.inner.next(ctx)
	}
	if err := o.fill(ctx); err != nil {
		return source.Entry{}, err
	}
	if o.ended && !o.drawn {
		entries := o.window
		o.inner = o.whole(source.NewIndexed(len(entries), func(i int) source.Entry { return entries[i] }, o.source.Describe))
		return o.inner.next(ctx)
	}
	i := bench.Below(o.rand, len(o.window))
	e := o.window[i]
	last := len(o.window) - 1
	o.window[i], o.window[last] = o.window[last], source.Entry{}
	o.window, o.bytes, o.drawn = o.window[:last], o.bytes-e.Size, true
	return e, nil
}

// fill fills the window. At the end of a pass the window gets empty before the next
// pass begins.
func (o *windowed) fill(ctx context.Context) error {
	if o.ended && len(o.window) == 0 {
		if err := o.source.Rewind(ctx); errors.Is(err, source.ErrOnce) {
			return io.EOF
		} else if err != nil {
			return err
		}
		o.ended, o.drawn = false, false
	}
	for !o.ended && len(o.window) < windowEntries && o.bytes < windowBytes {
		e, err := o.source.Next(ctx)
		if errors.Is(err, io.EOF) {
			o.ended = true
			break
		}
		if err != nil {
			return err
		}
		o.window, o.bytes = append(o.window, e), o.bytes+e.Size
	}
	return nil
}
