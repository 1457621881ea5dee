package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"aiperfd/internal/engine/dataset/file"
)

// EachRecord calls do with each record of a file that is read as a whole. Problems of
// records are collected, unless they may be skipped; the other error ends the reading.
func EachRecord(ctx context.Context, f file.File, skip int, about *Description, do func(file.Record) (problem, err error)) error {
	r, err := file.Open(ctx, f)
	if err != nil {
		return err
	}
	var wrong file.Error
	skipped, example := 0, ""
	for more := true; more; {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var problem error
		if broken, ok := errors.AsType[*file.RecordError](err); ok {
			record.Place, problem, err = broken.Place, broken.Err, nil
		} else if err == nil {
			problem, err = do(record)
		}
		if err != nil {
			return errors.Join(err, r.Close())
		}
		problems := problemsOf(problem)
		if len(problems) > 0 && skipped < skip {
			if skipped++; skipped == 1 {
				example = record.Place.String() + ": " + problems[0]
			}
			continue
		}
		more = wrong.Add(record.Place.String(), problems...)
	}
	if skipped > 0 {
		about.Warnings = append(about.Warnings, skippedWarning(skipped, example))
	}
	if err := r.Close(); err != nil {
		return err
	}
	return wrong.OrNil()
}

// Problems are what is wrong with a record, each with the path of its member.
type Problems []string

// Error returns all of them in one line.
func (p Problems) Error() string { return strings.Join(p, "; ") }

// Below returns the problems of an object that is at a path.
func (p Problems) Below(path string) Problems {
	out := make(Problems, len(p))
	for i, problem := range p {
		out[i] = path + ": " + problem
		if name, _, ok := strings.Cut(problem, ":"); ok && !strings.ContainsAny(name, " \"") {
			out[i] = path + "." + problem
		}
	}
	return out
}

// OrNil returns the problems as an error; nil = there are none.
func (p Problems) OrNil() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// problemsOf returns the problems that an error lists; none of nil.
func problemsOf(err error) Problems {
	if all, ok := errors.AsType[Problems](err); ok || err == nil {
		return all
	}
	return Problems{err.Error()}
}

// skippedWarning says that records were skipped.
func skippedWarning(n int, example string) string {
	return fmt.Sprintf("%d records with problems were skipped, for example %s", n, example)
}
