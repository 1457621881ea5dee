package trace

import (
	"cmp"
	"context"
	"errors"

	"aiperfd/internal/engine/dataset/file"
)

// Scanner reads the requests of a trace in the order of the file. It is not safe for
// concurrent use.
type Scanner struct {
	reader  *file.Reader
	decode  decoder
	sizes   pass // of the hash ids
	Skipped int  // records with problems
}

// NewScanner opens a trace. blockSize 0 = that of the format.
func NewScanner(ctx context.Context, name string, in file.File, blockSize int) (*Scanner, error) {
	f, err := find(name)
	if err != nil {
		return nil, err
	}
	in.Numbers = f.Numbers
	r, err := file.Open(ctx, in)
	if err != nil {
		return nil, err
	}
	t := &trace{format: &f, blockSize: cmp.Or(blockSize, f.BlockSize, defaultBlockSize)}
	s := &Scanner{reader: r, decode: f.decoder()}
	s.sizes = pass{trace: t, tokenizer: true, sizes: newRecent[int64, int32](), kinds: newRecent[string, kind]()}
	return s, nil
}

// BlockSize returns the number of tokens per hash id.
func (s *Scanner) BlockSize() int { return s.sizes.blockSize }

// Next returns the next request; io.EOF = there is none.
func (s *Scanner) Next() (Request, error) {
	for {
		record, err := s.reader.Next()
		if _, broken := errors.AsType[*file.RecordError](err); err != nil && !broken {
			return Request{}, err
		} else if !broken {
			r, problems := s.decode(record.Data)
			if len(problems) == 0 {
				_, problems = s.sizes.joined(&r)
				problems = append(problems, s.sizes.sized(&r)...)
			}
			if len(problems) == 0 {
				return r, nil
			}
		}
		s.Skipped++
	}
}

// Close closes the file.
func (s *Scanner) Close() error { return s.reader.Close() }
