package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
)

// flushEvery bounds what a crash of the process can lose of the record file.
const flushEvery = time.Second

// recordFile is a file that grows while a run goes, one line a request. Others
// hand lines over; one goroutine of its own encodes and appends them, and ends
// when close is called. The zero recordFile swallows everything.
type recordFile[T any] struct {
	in     chan T
	room   *semaphore.Weighted // for the bytes of waiting lines; nil = they are small
	size   func(T) int         // bytes of a line; nil without room
	writer sync.WaitGroup
	err    error // of the writer; read it after close
}

// open creates the file and starts the writer, which appends by encode.
func (f *recordFile[T]) open(path string, o export.RecordOptions, encode func(*export.RecordWriter, T) error) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, export.FileMode)
	if err != nil {
		return err
	}
	f.in = make(chan T, 1024) // a second of a slow disk at a thousand requests per second
	f.writer.Go(func() { f.err = f.append(file, o, encode) })
	return nil
}

// maxWaiting bounds the bytes of lines that wait for the disk, where lines may
// be large.
const maxWaiting = 128 << 20

// bounded makes lines wait for room by their size. Call it before open.
func (f *recordFile[T]) bounded(size func(T) int) {
	f.size, f.room = size, semaphore.NewWeighted(maxWaiting)
}

// weight is the part of the room that a line takes.
func (f *recordFile[T]) weight(line T) int64 { return min(int64(f.size(line)), maxWaiting) }

// write hands a line over; it blocks while the disk is behind.
func (f *recordFile[T]) write(line T) {
	if f.in == nil {
		return
	}
	if f.room != nil {
		// Without a deadline, as the channel below: the writer never stops receiving.
		_ = f.room.Acquire(context.Background(), f.weight(line))
	}
	f.in <- line
}

// close waits until everything is on disk.
func (f *recordFile[T]) close() error {
	if f.in != nil {
		close(f.in)
		f.writer.Wait()
		f.in = nil
	}
	return f.err
}

// append writes lines until the channel is closed. After an error it goes on
// receiving, so that the run is not held up.
func (f *recordFile[T]) append(file *os.File, o export.RecordOptions, encode func(*export.RecordWriter, T) error) error {
	out := export.NewRecordWriter(file, o)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var failure error
	note := func(err error) {
		if failure == nil {
			failure = err
		}
	}
	for {
		select {
		case line, open := <-f.in:
			if !open {
				note(errors.Join(out.Flush(), file.Sync(), file.Close()))
				return failure
			}
			if failure == nil {
				note(encode(out, line))
			}
			if f.room != nil {
				f.room.Release(f.weight(line))
			}
		case <-tick.C:
			note(out.Flush())
		}
	}
}

// valueNames are the names that value files have until they are removed.
const valueNames = ".values-*"

// valueFiles are where the sets of phases leave their values until the results are
// computed. They are removed while they are open, so that a crash leaves nothing
// behind; on systems without that, when they are closed or the run is recovered.
type valueFiles struct {
	dir   string
	files []*os.File
}

// keep gives a set a file of its own. After an error the values stay in memory.
func (v *valueFiles) keep(set *metric.Set) error {
	f, err := os.CreateTemp(v.dir, valueNames)
	if err != nil {
		return fmt.Errorf("keep values on disk: %w", err)
	}
	_ = os.Remove(f.Name())
	v.files = append(v.files, f)
	set.KeepIn(f)
	return nil
}

// close lets go of all values.
func (v *valueFiles) close() {
	for _, f := range v.files {
		_, _ = f.Close(), os.Remove(f.Name())
	}
	v.files = nil
}

// removeValues removes the value files that a run of a dead process has left.
func removeValues(dir string) {
	names, _ := filepath.Glob(filepath.Join(dir, valueNames)) // the pattern is a good one
	for _, name := range names {
		_ = os.Remove(name)
	}
}

// openFiles writes what is known before the first request and starts the
// writers of what grows.
func (x *execution) openFiles(dir string) error {
	x.values.dir = dir
	names := export.NamesFor(x.plan.Files.Prefix)
	if err := x.writeInputs(filepath.Join(dir, names.Inputs)); err != nil {
		return err
	}
	o := x.recordOptions()
	if x.plan.Files.Records {
		if err := x.files.open(filepath.Join(dir, names.Records), o, (*export.RecordWriter).Write); err != nil {
			return err
		}
	}
	if x.plan.Files.Raw {
		x.raws.bounded((*export.Raw).Bytes)
		return x.raws.open(filepath.Join(dir, names.Raw), o, (*export.RecordWriter).WriteRaw)
	}
	return nil
}

// closeFiles waits until all lines are on disk.
func (x *execution) closeFiles() error { return errors.Join(x.files.close(), x.raws.close()) }

func (x *execution) recordOptions() export.RecordOptions {
	o := export.RecordOptions{Clock: x.clock, Metrics: x.plan.Metrics, Secrets: x.secrets, Worker: "worker-0"}
	for i := range x.plan.Phases {
		p := &x.plan.Phases[i]
		o.Phases = append(o.Phases, export.PhaseName{
			Index: p.Index, ProfilingIndex: p.ProfilingIndex, Name: p.Name, Kind: p.Kind,
		})
	}
	return o
}

// writeInputs writes the request bodies of the dataset, each turn without the
// history that it carries when it is sent.
func (x *execution) writeInputs(path string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, export.FileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffer := bufio.NewWriterSize(file, 256<<10)
	var fault error
	if err := export.WriteInputs(buffer, x.inputs(maxInputs, &fault), x.secrets); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return errors.Join(fault, buffer.Flush())
}

// maxInputs bounds the bodies in inputs.json. Pictures and sounds can make a
// dataset of many gigabytes out of less memory.
const maxInputs = 512 << 20

// inputs encodes the dataset; the first turn that cannot be encoded is reported
// in fault and ends the sequence, and so does what is beyond the bound, with a
// warning.
func (x *execution) inputs(bound int, fault *error) iter.Seq2[string, []json.RawMessage] {
	return func(yield func(string, []json.RawMessage) bool) {
		size := 0
		for i := range x.source.Len() {
			talk := x.source.At(i)
			if size > bound {
				x.warn("inputs-cut", fmt.Sprintf(
					"inputs.json holds the first %d of %d conversations: it is bounded to %d MiB", i, x.source.Len(), bound>>20))
				return
			}
			var bodies []json.RawMessage
			for t := range talk.Turns {
				model := x.plan.ModelOf(talk, t)
				body, err := x.plan.Kind.Body(nil, &endpoint.Request{
					Model: model, System: talk.System, Context: talk.Context,
					Turn: talk.Turns[t], TokenIDs: x.tokenIDs(&talk.Turns[t], model), Settings: &x.plan.Settings,
				})
				if err != nil {
					*fault = fmt.Errorf("encode turn %d of conversation %s: %w", t, talk.ID, err)
					return
				}
				bodies = append(bodies, export.Payload(x.plan.Header.Get("Content-Type"), body))
				size += len(body)
			}
			if !yield(talk.ID, bodies) {
				return
			}
		}
	}
}
