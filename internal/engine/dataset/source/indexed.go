package source

import (
	"context"
	"errors"
	"io"
)

// ErrOnce is returned by [Source.Rewind] if the input can be read only once.
var ErrOnce = errors.New("the input can be read only once")

// NewIndexed returns a source of n entries, n ≥ 1.
func NewIndexed(n int, at func(i int) Entry, describe func() Description) Indexed {
	return &indexed{n: n, at: at, describe: describe}
}

type indexed struct {
	n, next  int
	at       func(i int) Entry
	describe func() Description
}

func (s *indexed) Len() int                     { return s.n }
func (s *indexed) Rewind(context.Context) error { s.next = 0; return nil }
func (s *indexed) Close() error                 { return nil }

func (s *indexed) At(i int) Entry { return s.at(i) }

func (s *indexed) Next(context.Context) (Entry, error) {
	if s.next == s.n {
		return Entry{}, io.EOF
	}
	s.next++
	return s.At(s.next - 1), nil
}

func (s *indexed) Describe() Description {
	d := s.describe()
	d.Entries = s.n
	return d
}
