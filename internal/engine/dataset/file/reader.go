package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// MaxRecordBytes bounds a record of a text file.
const MaxRecordBytes = 64 << 20

// Reader reads the records of a file, or of the files of a folder. It is not safe for
// concurrent use.
type Reader struct {
	file         File
	paths, names []string                           // not yet opened
	inline       int                                // index of the next inline record
	interrupted  func() error                       // the error of the context
	open         func(path string) (fs.File, error) // within the context

	name    string // of the current file
	current container
	closers []io.Closer // of the current file, in the order of closing
	err     error       // the end, or the error after which nothing can be read
}

// container is a file that is open. next returns a record, valid until the next call,
// with its number; of its errors, io.EOF is the end, and nothing can be read after any
// other one except a *RecordError, whose place need not have a file.
type container interface {
	next() (data []byte, number int, err error)
	about() (name string, unit Unit)
}

// Open opens a file; the caller closes the reader. Opening blocks until a pipe has a
// writer and its first bytes, and reading until there is a record; both end with the
// context's error when ctx ends.
func Open(ctx context.Context, f File) (*Reader, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	r := &Reader{file: f, interrupted: ctx.Err}
	r.open = func(path string) (fs.File, error) { return r.openFile(ctx, path) }
	if len(f.Records) > 0 {
		return r, nil
	}
	var err error
	if r.paths, r.names, err = f.list(); err != nil {
		return nil, err
	}
	if err := r.advance(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Container names the container of the current file: jsonl, json, text, csv, tsv, parquet
// or arrow; inline if there is no file.
func (r *Reader) Container() string {
	if r.current == nil {
		return "inline"
	}
	name, _ := r.current.about()
	return name
}

// Next returns the next record, whose data is valid until the next call. It returns
// io.EOF after the last one. After a *[RecordError] it can be called again; all other
// errors are final.
func (r *Reader) Next() (Record, error) {
	if r.err == nil {
		r.err = r.interrupted()
	}
	if r.err != nil {
		return Record{}, r.err
	}
	if len(r.file.Records) > 0 {
		if r.inline == len(r.file.Records) {
			return Record{}, io.EOF
		}
		i := r.inline
		r.inline++
		return Record{Place{Line: i}, r.file.Records[i]}, nil
	}
	return r.next()
}

// next returns the next record of the files.
func (r *Reader) next() (Record, error) {
	for {
		data, number, err := r.current.next()
		_, unit := r.current.about()
		place := Place{r.name, number, unit}
		var wrong *RecordError
		switch {
		case err == nil:
			return Record{place, data}, nil
		case errors.As(err, &wrong):
			wrong.Place = place
			return Record{}, wrong
		case err != io.EOF: //nolint:errorlint // a decoder that wraps io.EOF has met a damaged file, not its end
			if stopped := r.interrupted(); stopped != nil {
				err = stopped
			} else {
				err = fmt.Errorf("read %v: %w", place, err)
			}
			r.err = err
		case len(r.paths) == 0:
			r.err = io.EOF
		default:
			r.err = r.advance()
		}
		if r.err != nil {
			return Record{}, r.err
		}
	}
}

// Close closes the file.
func (r *Reader) Close() error {
	var problems []error
	for _, c := range r.closers {
		problems = append(problems, c.Close())
	}
	r.closers = nil
	return errors.Join(problems...)
}
