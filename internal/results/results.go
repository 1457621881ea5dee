// Package results reads the files of a finished or interrupted run, whatever their format and
// their prefix: its report, its summary, its requests, and what was recorded over its time. It
// is the only reader of what the package internal/engine/export writes. The [Log] of a run is
// written here too.
package results

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/regular"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
)

// Results are the files of one run. They are opened when they are read, and closed then. Results
// is immutable and safe for concurrent use. A file that the run does not have is fs.ErrNotExist.
type Results struct {
	Dir   string       // the folder of the run
	Names export.Names // relative to Dir
}

// Open returns the results of the run in a folder. The prefix of its files is artifacts.prefix
// of its document; see [Prefix].
func Open(dir, prefix string) *Results { return &Results{Dir: dir, Names: export.NamesFor(prefix)} }

// OpenRecords returns the results of a run of which only the path of a record file is known.
func OpenRecords(path string) *Results {
	dir, base := filepath.Split(path)
	names := export.NamesFor(base)
	names.Records, names.Tables = base, ""
	if filepath.Ext(base) == export.TableExtension {
		names.Records, names.Tables = "", base
	}
	return &Results{Dir: dir, Names: names}
}

// open opens a file, which is not reached through a link.
func (r *Results) open(name string) (*os.File, error) {
	return regular.Open(filepath.Join(r.Dir, name))
}

// Prefix returns the prefix of the files of a run that has a configuration, as its document
// states it; empty = the usual names.
func Prefix(config json.RawMessage) (string, error) {
	var document struct {
		Artifacts struct {
			Prefix string `json:"prefix"`
		} `json:"artifacts"`
	}
	if err := json.Unmarshal(config, &document); err != nil {
		return "", fmt.Errorf("decode configuration: %w", err)
	}
	return document.Artifacts.Prefix, nil
}

// Report returns the report of the run, and the machine on which it was written.
func (r *Results) Report() (*export.Report, export.Environment, error) {
	data, err := regular.Read(filepath.Join(r.Dir, r.Names.Result))
	if err != nil {
		return nil, export.Environment{}, err
	}
	report, err := export.ReadResult(bytes.NewReader(data))
	if err != nil {
		return nil, export.Environment{}, err
	}
	machine, err := export.ReadEnvironment(data)
	return report, machine, err
}

// Series returns a part of the time series of the run. It is empty for a run that had no phase.
func (r *Results) Series(ctx context.Context, q series.Query) (*series.Result, error) {
	return series.Read(ctx, r.Dir, q)
}

// Distributions returns how latencies of the run are distributed, as Series does.
func (r *Results) Distributions(ctx context.Context, q series.DistributionQuery) (*series.Distributions, error) {
	return series.ReadDistributions(ctx, r.Dir, q)
}

// Samples returns the requests that are kept for a closer look. The error is
// [samples.ErrDamaged] if no later call can read them.
func (r *Results) Samples() (*samples.Samples, error) { return samples.Read(r.Dir) }

// Log calls each for the lines of the log of the run, the oldest first. A run that was never
// started has none.
func (r *Results) Log(each func(*LogLine) error) error { return readLog(r.Dir, each) }

// RecordFile returns the path of the record file, which is that of the lines if the run has both
// formats: they have the same records.
func (r *Results) RecordFile() (string, error) {
	for _, name := range []string{r.Names.Records, r.Names.Tables} {
		if name == "" {
			continue
		}
		file, err := r.open(name)
		if err == nil {
			err = file.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(r.Dir, name), err
		}
	}
	return "", fmt.Errorf("%s has neither %s nor %s: %w", r.Dir, r.Names.Records, r.Names.Tables, fs.ErrNotExist)
}

// RecordLines opens the lines of records of the run in a folder that nothing leads out of: all
// parts of their file, while the run may go on. The caller closes them before root.
func RecordLines(root *os.Root, prefix string) (*Parts, error) {
	open := func(name string) (*os.File, error) { return regular.OpenIn(root, filepath.ToSlash(name)) }
	return openParts(open, export.NamesFor(prefix).Records)
}
