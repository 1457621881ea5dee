package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"aiperfd/internal/engine/dataset/file"
)

// EachRecord calls do with each record of a file that is read as a whole. Problems that
// do returns are collected, unless they may be skipped; its error ends the reading.
func EachRecord(ctx context.Context, f file.File, skip int, about *Description, do func(file.Record) ([]string, error)) error {
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
		var problems []string
		if broken, ok := errors.AsType[*file.RecordError](err); ok {
			record.Place, problems = broken.Place, []string{broken.Err.Error()}
		} else if err == nil {
			problems, err = do(record)
		}
		if err != nil && problems == nil {
			return errors.Join(err, r.Close())
		}
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

// skippedWarning says that records were skipped.
func skippedWarning(n int, example string) string {
	return fmt.Sprintf("%d records with problems were skipped, for example %s", n, example)
}
