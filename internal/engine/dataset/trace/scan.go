package trace

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"aiperfd/internal/engine/dataset/file"
)

// Scanner reads the requests of a trace in the order of the file. It is not safe for
// concurrent use.
type Scanner struct {
	reader *file.Reader
	decode decoder
	sizes  pass // of the hash ids
	// Skipped are the records with problems; Problem is called for each of their problems.
	Skipped int
	Problem func(at file.Place, problem string)
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
	s := &Scanner{reader: r, decode: f.decoder(), Problem: func(file.Place, string) {}}
	s.sizes = pass{trace: t, tokenizer: true, sizes: newRecent[int64, int32](), kinds: newRecent[string, kind]()}
	return s, nil
}

// BlockSize returns the number of tokens per hash id.
func (s *Scanner) BlockSize() int { return s.sizes.blockSize }

// Next returns the next request; io.EOF = there is none.
func (s *Scanner) Next() (Request, error) {
	for {
		record, err := s.reader.Next()
		var r Request
		var problems []string
		if broken, ok := errors.AsType[*file.RecordError](err); ok {
			record.Place, problems = broken.Place, []string{broken.Err.Error()}
		} else if err != nil {
			return Request{}, err
		} else if r, problems = s.decode(record.Data); len(problems) == 0 {
			_, problems = s.sizes.joined(&r)
			problems = append(problems, s.sizes.sized(&r)...)
		}
		if len(problems) == 0 {
			return r, nil
		}
		s.Skipped++
		for _, problem := range problems {
			s.Problem(record.Place, problem)
		}
	}
}

// Close closes the file.
func (s *Scanner) Close() error { return s.reader.Close() }

// Detect returns the format that the first record of a trace looks like.
func Detect(ctx context.Context, in file.File) (name string, err error) {
	all := formats()
	for i := range all {
		in.Numbers = append(in.Numbers, all[i].Numbers...)
	}
	r, err := file.Open(ctx, in)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	record, err := r.Next()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("no records")
		}
		return "", err
	}
	var names []string
	for i := range all {
		if _, problems := all[i].decoder()(record.Data); len(problems) == 0 {
			names = append(names, all[i].Name)
		}
	}
	// A record of Bailian has all that one of Mooncake needs.
	if len(names) == 2 && names[0] == "mooncake_trace" && names[1] == "bailian_trace" {
		names = names[1:]
	}
	if len(names) != 1 {
		all := make([]string, len(Formats()))
		for i, f := range Formats() {
			all[i] = f.Name
		}
		return "", errors.New("the first record is not one of a known format; name it: " + strings.Join(all, ", "))
	}
	return names[0], nil
}
