package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
)

// flushEvery bounds how much of the record file a crash of the process can lose.
const flushEvery = time.Second

// How many lines wait until the writer is woken, unless it looks for them by itself, and how
// many may wait before write blocks: a second of a slow disk at a thousand requests per second.
const (
	wakeAt     = 64
	mostQueued = 1024
)

// recordFile is a file with one line per request. One goroutine encodes the lines that
// write hands over and appends them, many at a time; it ends when close is called. The zero
// recordFile discards everything.
type recordFile[T any] struct {
	lines  *batches[T]         // nil = the file is not written
	room   *semaphore.Weighted // for the bytes of waiting lines, which are not kept back then; nil = they are small
	size   func(T) int         // bytes of a line; nil without room
	writer sync.WaitGroup
	disk   *disk // nil = without limit
	faults *Faults
	most   int64 // bytes of a part; 0 = without limit
	err    error // of the writer; read it after close
}

// encoder encodes the lines of a file.
type encoder[T any] struct {
	write      func(T) error
	flush, end func() error // flush hands over what is whole, end everything
}

// lines returns the encoder of a file of lines.
func lines[T any](o export.RecordOptions, write func(*export.RecordWriter, T) error) func(io.Writer) (encoder[T], error) {
	return func(to io.Writer) (encoder[T], error) {
		w := export.NewRecordWriter(to, o)
		return encoder[T]{func(line T) error { return write(w, line) }, w.Flush, w.Flush}, nil
	}
}

// tables returns the encoder of a Parquet file, which is not whole before its end.
func tables(o export.RecordOptions) func(io.Writer) (encoder[*bench.Record], error) {
	return func(to io.Writer) (encoder[*bench.Record], error) {
		w, err := export.NewTableWriter(to, o)
		if err != nil {
			return encoder[*bench.Record]{}, err
		}
		return encoder[*bench.Record]{w.Write, func() error { return nil }, w.Close}, nil
	}
}

// open creates the file and starts the writer, which appends by an encoder.
func (f *recordFile[T]) open(path string, encode func(io.Writer) (encoder[T], error)) error {
	file, err := createParts(path, f.most)
	if err != nil {
		return err
	}
	out, err := encode(file)
	if err != nil {
		return errors.Join(err, file.close())
	}
	f.start(file, out)
	return nil
}

// start starts the writer.
func (f *recordFile[T]) start(file *parts, out encoder[T]) {
	f.lines = newBatches[T](mostQueued)
	f.writer.Go(func() { f.err = f.append(file, out) })
}

// maxWaiting bounds the bytes of lines that wait for the disk, if lines may be large.
const maxWaiting = 128 << 20

// bounded limits the bytes of the lines that wait to be written. Call it before open.
func (f *recordFile[T]) bounded(size func(T) int) {
	f.size, f.room = size, semaphore.NewWeighted(maxWaiting)
}

// weight returns the part of the room that a line takes.
func (f *recordFile[T]) weight(line T) int64 { return min(int64(f.size(line)), maxWaiting) }

// write hands a line over; it blocks while the disk is behind.
func (f *recordFile[T]) write(line T) {
	if f.lines == nil {
		return
	}
	enough := wakeAt
	if f.room != nil {
		// Without a deadline, like the send below: the writer never stops receiving.
		_ = f.room.Acquire(context.Background(), f.weight(line))
		enough = 1
	}
	f.lines.add(line, enough)
}

// close waits until all lines are on disk.
func (f *recordFile[T]) close() error {
	if f.lines != nil {
		f.lines.close()
		f.writer.Wait()
		f.lines = nil
	}
	return f.err
}

// append writes lines until there are no more. After an error, and once the disk is
// nearly full, it continues to receive, so that the run is not blocked.
func (f *recordFile[T]) append(file *parts, out encoder[T]) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var failure error
	note := func(err error) {
		if failure == nil {
			failure = err
		}
	}
	for {
		ticked, ended := false, false
		select {
		case <-f.lines.enough:
		case <-f.lines.closed:
			ended = true
		case <-tick.C:
			ticked = true
		}
		for _, line := range f.lines.take() {
			if failure == nil && !f.disk.stopped(file.path) {
				if err := f.encode(out, line); !f.disk.filled(file.path, err) {
					note(err)
				}
			}
			if f.room != nil {
				f.room.Release(f.weight(line))
			}
		}
		switch {
		case ended:
			if err := out.end(); !f.disk.filled(file.path, err) {
				note(err)
			}
			note(file.close())
			return failure
		case ticked:
			if err := out.flush(); !f.disk.filled(file.path, err) {
				note(err)
			}
			f.disk.look()
		}
	}
}

// encode writes a line. A line whose encoding panics is left out.
func (f *recordFile[T]) encode(out encoder[T], line T) error {
	defer func() {
		if value := recover(); value != nil {
			f.faults.note("record", value, debug.Stack())
		}
	}()
	return out.write(line)
}

// valueNames is the pattern of the names of value files.
const valueNames = ".values-*"

// Values store the values of the sets of phases until the results are computed.
// They are removed while they are open, so that a crash leaves nothing behind; on
// systems that do not allow this, when they are closed or the run is recovered.
type Values struct {
	dir   string
	files []*os.File
}

// NewValues returns the values of a run with a folder. They must be closed.
func NewValues(dir string) *Values { return &Values{dir: dir} }

// Keep assigns a new file to a set. After an error the values stay in memory.
func (v *Values) Keep(set *measure.Set) error {
	f, err := os.CreateTemp(v.dir, valueNames)
	if err != nil {
		return fmt.Errorf("keep values on disk: %w", err)
	}
	_ = os.Remove(f.Name())
	v.files = append(v.files, f)
	set.KeepIn(f)
	return nil
}

// Close releases all values.
func (v *Values) Close() {
	for _, f := range v.files {
		_, _ = f.Close(), os.Remove(f.Name())
	}
	v.files = nil
}

// RemoveValues removes the value files that a run of an earlier process has left.
func RemoveValues(dir string) {
	names, _ := filepath.Glob(filepath.Join(dir, valueNames)) // the pattern is valid
	for _, name := range names {
		_ = os.Remove(name)
	}
}

// Files are the files that a run writes while it is active. Safe for concurrent use
// between OpenFiles and Close.
type Files struct {
	Readings
	records recordFile[*bench.Record]
	tables  recordFile[*bench.Record]
	raws    recordFile[*export.Raw]
	outputs recordFile[*bench.Record]
	texts   outputFiles
	values  Values

	keep       export.RecordKeep
	seen, kept atomic.Int64 // requests, if not all are kept
}

// FileOptions configure [OpenFiles].
type FileOptions struct {
	Dir     string // of the artifacts
	Plan    *plan.Plan
	Clock   bench.Clock
	Secrets *redact.Set
	Reserve int64             // bytes of the disk that record files leave free; 0 = without limit
	Alarm   func(text string) // is told when the disk is nearly full; nil = nobody
	Faults  *Faults
	Worker  string // name of the load generator in the records; empty = that of a run that has only one
}

// OpenFiles starts the writers of the record files of the plan. The files must be
// closed, even after an error.
func OpenFiles(o FileOptions) (*Files, error) {
	f := &Files{
		Readings: Readings{plan: o.Plan, dir: o.Dir}, values: Values{dir: o.Dir}, keep: o.Plan.Files.Keep,
	}
	names, common, files := export.NamesFor(o.Plan.Files.Layout.Prefix), recordOptions(&o), &o.Plan.Files
	f.texts = outputsIn(o.Dir, names)
	f.texts.remove()
	if o.Reserve > 0 {
		f.disk = newDisk(o.Dir, o.Reserve, o.Alarm)
	}
	f.records.most, f.raws.most = o.Plan.Files.PartSize, o.Plan.Files.PartSize
	f.records.disk, f.tables.disk, f.raws.disk, f.outputs.disk = f.disk, f.disk, f.disk, f.disk
	f.records.faults, f.tables.faults, f.raws.faults, f.outputs.faults = o.Faults, o.Faults, o.Faults, o.Faults
	removeStale(&o, names)
	at := func(name string) string { return filepath.Join(o.Dir, name) }
	if files.Records {
		if err := f.records.open(at(names.Records), lines(common, (*export.RecordWriter).Write)); err != nil {
			return f, err
		}
	}
	if files.Tables {
		if err := f.tables.open(at(names.Tables), tables(common)); err != nil {
			return f, err
		}
	}
	if files.Outputs {
		f.outputs.bounded(answerBytes)
		if err := f.outputs.open(f.texts.fragments, lines(common, (*export.RecordWriter).WriteOutput)); err != nil {
			return f, err
		}
	}
	if files.Raw {
		f.raws.bounded((*export.Raw).Bytes)
		return f, f.raws.open(at(names.Raw), lines(common, (*export.RecordWriter).WriteRaw))
	}
	return f, nil
}

// removeStale removes the files of requests that an earlier run in the folder has left
// and this one does not write, all further parts of them, and the readings of servers,
// GPUs and the network, unless they are its dataset.
func removeStale(o *FileOptions, n export.Names) {
	removeReadings(o, &n)
	for _, name := range []string{n.Records, n.Raw} {
		for part := 2; removeUnread(o, export.PartName(name, part)); part++ {
			continue // the first part that does not exist is the end
		}
	}
	files := &o.Plan.Files
	for name, written := range map[string]bool{n.Records: files.Records, n.Tables: files.Tables, n.Raw: files.Raw, n.Inputs: files.Inputs} {
		if !written {
			removeUnread(o, name)
		}
	}
}

// removeUnread removes a file of an earlier run unless it is the dataset of this one. It
// returns false if there is no such file.
func removeUnread(o *FileOptions, name string) (exists bool) {
	path := filepath.Join(o.Dir, name)
	old, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !slices.ContainsFunc(o.Plan.Document.Benchmark.Datasets, func(d config.Dataset) bool {
		data, err := os.Stat(d.Path)
		return err == nil && os.SameFile(old, data)
	}) {
		_ = os.Remove(path) // a file that cannot be removed is no reason to stop
	}
	return true
}

// Keep assigns a file to the values of a metric set. After an error the values stay in
// memory.
func (f *Files) Keep(set *measure.Set) error { return f.values.Keep(set) }

// Close returns when all lines are on disk. A second call returns the same error.
func (f *Files) Close() error {
	writing := f.outputs.lines != nil
	err := errors.Join(f.records.close(), f.tables.close(), f.raws.close(), f.outputs.close())
	if writing && f.outputs.err == nil {
		if joined := f.texts.join(); !f.disk.filled(f.texts.fragments, joined) {
			f.outputs.err = joined
		}
		err = errors.Join(err, f.outputs.err)
	}
	return err
}

// Incomplete returns the names of the files that lack requests because the disk was nearly
// full, and a warning that says so. It is called after Close.
func (f *Files) Incomplete() (names []string, w bench.Warning) { return f.disk.incomplete() }

// Release removes the values of all sets.
func (f *Files) Release() { f.values.Close() }

// write writes a record. A file that cannot be written is reported once, by Close.
func (f *Files) write(rec *bench.Record) {
	f.outputs.write(rec)
	if !f.keep.Everything() {
		f.seen.Add(1)
		if !f.keep.Admits(rec) {
			return
		}
		f.kept.Add(1)
	}
	f.records.write(rec)
	f.tables.write(rec)
}

// Kept returns what the files have, if they do not have all requests; else nil. It is called
// after Close.
func (f *Files) Kept() *export.KeptRecords {
	if f.keep.Everything() {
		return nil
	}
	return &export.KeptRecords{RecordKeep: f.keep, Kept: f.kept.Load(), Requests: f.seen.Load()}
}

// writeRaw writes a raw record, if there is one.
func (f *Files) writeRaw(raw *export.Raw) {
	if raw != nil && f.keep.Admits(raw.Record) {
		f.raws.write(raw)
	}
}

func recordOptions(f *FileOptions) export.RecordOptions {
	o := export.RecordOptions{
		Clock: f.Clock, Metrics: f.Plan.Metrics, Secrets: f.Secrets, Worker: cmp.Or(f.Worker, "worker-0"),
	}
	for i := range f.Plan.Phases {
		p := &f.Plan.Phases[i]
		o.Phases = append(o.Phases, export.PhaseName{
			Index: p.Index, ProfilingIndex: p.ProfilingIndex, Name: p.Name, Kind: p.Kind,
		})
	}
	return o
}
