package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/export/native"
	"aiperfd/internal/engine/regular"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/target"
	"aiperfd/internal/run"
)

// export closes the record files, computes the exact results and writes them. fault is
// why the run ended early; nil = nothing failed between its phases.
func (x *execution) export(r *run.Run, dir string, fault *run.Error) report.Outcome {
	fileErr := errors.Join(x.files.Close(), x.data.close(x.warn))
	incomplete, warning := x.files.Incomplete()
	if len(incomplete) > 0 {
		x.warnings = append(x.warnings, warning)
	}
	kept := x.files.Kept()
	if kept != nil {
		x.warnings = append(x.warnings, kept.Warning())
	}
	x.closeSeries()
	x.closeSamples()
	x.work.Wait()
	x.client.Close()
	in := x.results(r)
	in.Fault = cmp.Or(fault, in.Fault)
	o := report.Conclude(in)
	o.Report.Layout.Incomplete, o.Report.Layout.Kept = incomplete, kept
	failed, err := export.Write(dir, o.Report, x.secrets, native.Format())
	if err = errors.Join(fileErr, err); err != nil {
		o.Err = &run.Error{Code: run.ExportFailed, Message: x.secrets.String(fmt.Sprintf("write results: %v", err))}
		o.State = bench.StateFailed
	} else if len(failed) > 0 {
		o.Warnings = append(o.Warnings, bench.Warning{Code: "export", Detail: fmt.Sprintf("not written: %v", failed)})
	}
	return o
}

// closeSeries makes the time series of the run durable.
func (x *execution) closeSeries() {
	recorder := x.observed.series.Swap(nil)
	if recorder == nil {
		return
	}
	incomplete, err := recorder.Close()
	switch {
	case err != nil:
		x.warn("series-incomplete", err.Error())
	case incomplete:
		x.warn("series-incomplete", "the time series lacks some seconds, because the disk was too slow")
	}
}

// closeSamples makes the samples of the run durable.
func (x *execution) closeSamples() {
	if recorder := x.observed.samples.Swap(nil); recorder != nil {
		if err := recorder.Close(); err != nil {
			x.warn("samples-incomplete", err.Error())
		}
	}
}

// results collects the input of the outcome of the run.
func (x *execution) results(r *run.Run) *report.Input {
	in := &report.Input{
		Run: r, Plan: x.plan, Clock: x.clock, Phases: x.measured(), Cancelled: x.cancel.cancelled(), Certificate: x.observed.certificate,
		SameHost: target.Local(x.plan.Targets), Warnings: x.warnings, Tokens: x.counting(),
		Responses: report.Responses{
			Mismatched: x.records.Mismatched.Load(), Malformed: x.records.Malformed.Load(), Example: x.records.MalformedEvent(),
			Impossible: x.records.Impossible.Load(), Crashes: x.faults.Count(),
		},
		Sharing: report.Sharing(x.client.Shared()),
	}
	if err := x.work.Err(); err != nil {
		in.Fault = &run.Error{Code: run.DatasetFailed, Message: x.secrets.String(err.Error())}
	}
	in.Dataset = x.data.describe()
	return in
}

// counting describes how tokens were counted.
func (x *execution) counting() report.Tokens {
	out := report.Tokens{Method: x.tokens.Method(), Substituted: x.tokens.Substituted()}
	out.Refused, out.Refusal = x.tokens.Refused()
	if w, ok := x.tokens.SubstituteWarning(); ok {
		out.Warning = &w
	}
	return out
}

// snapshotFile holds the last snapshot of a terminal run. Its name starts with a dot
// because it is not an artifact for users.
const snapshotFile = ".snapshot.json"

// finalSnapshot publishes and stores the last state of a run. rep is nil for a run
// that was not measured.
func (x *execution) finalSnapshot(state bench.State, dir string, rep *export.Report) error {
	snap := x.shot(nil)
	snap.State, snap.Final = state, true
	if rep != nil {
		complete(snap, rep)
	}
	x.snapshot.Store(snap)
	return storeSnapshot(dir, snap)
}

// complete adds the exported results to the last snapshot of a run.
func complete(snap *run.Snapshot, rep *export.Report) {
	snap.Final, snap.Exported = true, true
	snap.Metrics, snap.Warmup, snap.Errors = rep.Results, rep.Warmup, rep.Errors
	snap.MetricsAt, snap.Start, snap.End = snap.Wall, rep.Start, rep.End
	for i := range snap.Phases {
		p := &snap.Phases[i]
		for j := range rep.Phases {
			if r := &rep.Phases[j]; r.Stats.Index == p.Stats.Index {
				p.Metrics, p.Errors = r.Results, r.Errors
				for _, s := range r.Slices {
					p.Slices = append(p.Slices, run.Slice{Start: s.Start, End: s.End, Complete: s.Complete, Metrics: s.Results})
				}
			}
		}
	}
}

// storeSnapshot writes the last snapshot of a run to its folder.
func storeSnapshot(dir string, snap *run.Snapshot) error {
	data, err := json.Marshal(snap)
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	return durable.WriteFile(filepath.Join(dir, snapshotFile), durable.Shared, data)
}

// loadSnapshot reads the last snapshot of a terminal run; if there is none, or it cannot be
// decoded, it returns an empty one.
func loadSnapshot(dir string, state bench.State) (*run.Snapshot, error) {
	data, err := regular.Read(filepath.Join(dir, snapshotFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	snap := new(run.Snapshot)
	if err != nil || json.Unmarshal(data, snap) != nil {
		snap = &run.Snapshot{Wall: time.Now().UTC(), Final: state.Terminal()}
	}
	snap.State = state
	return snap, nil
}
