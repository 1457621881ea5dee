package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/regular"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/target"
	"aiperfd/internal/run"
)

// export closes the record files, computes the exact results and writes them. fault is
// why the run ended early; nil = nothing failed between its phases.
func (x *execution) export(r *run.Run, fault *run.Error) report.Outcome {
	with, dir, secrets := x.prepared, x.env.dir, x.env.secrets
	fileErr := with.close()
	incomplete, warning := with.files.Incomplete()
	if len(incomplete) > 0 {
		with.warnings = append(with.warnings, warning)
	}
	kept := with.files.Kept()
	if kept != nil {
		with.warnings = append(with.warnings, kept.Warning())
	}
	with.endObservers(x.env.live)
	in := x.results(r)
	in.Fault = cmp.Or(fault, in.Fault)
	if x.env.part != nil {
		x.env.part.Ended(in.Ending())
	}
	o := report.Conclude(in)
	o.Report.Layout.Incomplete, o.Report.Layout.Kept = incomplete, kept
	failed, err := export.Write(dir, o.Report, secrets)
	if err = errors.Join(fileErr, err); err != nil {
		o.Err = &run.Error{Code: run.ExportFailed, Message: secrets.String(fmt.Sprintf("write results: %v", err))}
		o.State = bench.StateFailed
	} else if len(failed) > 0 {
		o.Warnings = append(o.Warnings, bench.Warning{Code: "export", Detail: fmt.Sprintf("not written: %v", failed)})
	}
	unsent := sendToMLflow(with.plan, x.env, with.mlflow, r, o.Report)
	o.Warnings = append(o.Warnings, unsent...)
	o.Report.Warnings = append(slices.Clip(o.Report.Warnings), unsent...) // of the console; the files are written
	return o
}

// results collects the input of the outcome of the run.
func (x *execution) results(r *run.Run) *report.Input {
	with := x.prepared
	in := &report.Input{
		Run: r, Plan: with.plan, Clock: with.clock, Phases: x.measured(), Cancelled: x.env.cancel.cancelled(),
		Certificate: x.certificate, SameHost: target.Local(with.plan.Targets), Warnings: with.warnings,
		Tokens: counting(with.tokens),
		Responses: report.Responses{
			Mismatched: with.records.Mismatched.Load(), Malformed: with.records.Malformed.Load(),
			Example: with.records.MalformedEvent(), Impossible: with.records.Impossible.Load(),
			Crashes: with.faults.Count(),
		},
		Sharing: with.client.Shared(), Server: with.server, GPU: with.devices, Path: with.path, OTel: with.senders.Report(), Spans: with.spans,
		Jobs: with.jobs, Carried: with.carried.Share(), Network: with.trips.network(with.path),
		Samples: with.samples.Samples(),
	}
	if err := with.work.Err(); err != nil {
		in.Fault = &run.Error{Code: run.DatasetFailed, Message: x.env.secrets.String(err.Error())}
	}
	in.Dataset = with.data.describe()
	return in
}

// counting describes how tokens were counted.
func counting(t *collect.Tokens) report.Tokens {
	out := report.Tokens{Method: t.Method(), Substituted: t.Substituted()}
	out.Refused, out.Refusal = t.Refused()
	if w, ok := t.SubstituteWarning(); ok {
		out.Warning = &w
	}
	return out
}

// snapshotFile holds the last snapshot of a terminal run. Its name starts with a dot
// because it is not an artifact for users.
const snapshotFile = ".snapshot.json"

// keepSnapshot stores the last snapshot of a run.
func (env *environment) keepSnapshot(snap *run.Snapshot, state bench.State) error {
	snap.State, snap.Final = state, true
	env.live.snapshot.Store(snap)
	return storeSnapshot(env.dir, snap)
}

// complete adds the exported results to the last snapshot of a run.
func complete(snap *run.Snapshot, rep *export.Report) {
	snap.Final, snap.Exported = true, true
	snap.Metrics, snap.Warmup, snap.Errors = rep.Results, rep.Warmup, rep.Errors
	snap.AcceptedDrafts, snap.Cache = rep.AcceptedDrafts, rep.Cache
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
