package study

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"aiperfd/internal/compare"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/study/cell"
	studyexport "aiperfd/internal/study/export"
)

// trial returns what a cell of a study measured.
func (p *performance) trial(ctx context.Context, r *run.Run) (cell.Trial, error) {
	t := cell.Trial{RunID: r.ID, Label: r.Cell.Label, Seed: r.Seed}
	if r.State != bench.StateCompleted {
		t.Failure = cmp.Or(r.StateReason, string(r.State))
	}
	if r.Client != nil {
		t.Client = string(r.Client.Verdict)
	}
	snap, err := p.opts.Runner.Snapshot(ctx, r.ID)
	if err != nil {
		return t, err
	}
	t.Metrics = metricsOf(snap.Metrics)
	t.Prompts = compare.PromptSource(r)
	if c := snap.PrefixCache(); c != nil {
		t.Cached = c.Reported()
	}
	t.Load = loadOf(snap)
	if r.Summary != nil && r.StartedAt != nil && r.EndedAt != nil {
		t.Requests, t.Whole = r.Summary.Requests+r.Summary.Errors, r.EndedAt.Sub(*r.StartedAt)
	}
	if t.Failure == "" || cutShort(r) != "" || failedWith(r, run.NoSuccess) {
		t.Probe = p.probed(r, snap)
	}
	if t.Probe != nil && endedEarly(r) != "" {
		t.Failure = "" // it failed to keep the objectives, which is a result
	}
	if endedDecided(r) {
		t.Failure = ""
	}
	if t.Probe != nil {
		t.Metrics = append(t.Metrics, attainment(t.Probe, t.Metrics))
	}
	if r.Client != nil {
		doubt(t.Metrics, r.Client.Reasons)
	}
	dir := p.opts.Store.Dir(r.ID)
	kept := sync.OnceValue(func() map[string][]float64 {
		if !p.allRecords {
			return nil // a part of the requests is not representative
		}
		return readSamples(results.Open(dir, p.prefix), p.sampled)
	})
	t.Samples = func(tag string) ([]float64, bool) {
		values, ok := kept()[tag]
		return values, ok
	}
	return t, nil
}

// mostNamed is the number of runs that are named with an objective that they missed.
const mostNamed = 8

// judge adds to the objectives of the study what a run says of them.
func (p *performance) judge(r *run.Run, t *cell.Trial) {
	if r.Summary == nil || t.Failure != "" || p.doc.Adaptive() {
		return // the probes of a search are there to find the limit
	}
	comparisons := map[string]string{"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
	for _, result := range r.Summary.SLOs {
		at := slices.IndexFunc(p.objectives, func(o run.StudyObjective) bool { return o.Objective == result.Objective })
		if at < 0 {
			at = len(p.objectives)
			p.objectives = append(p.objectives, run.StudyObjective{Objective: result.Objective})
		}
		o := &p.objectives[at]
		switch {
		case t.Unsure(result.Metric, comparisons[result.Operator], result.Met):
			o.Uncounted++
			continue
		case !result.Met && len(o.MissedBy) < mostNamed:
			o.MissedBy = append(o.MissedBy, studyexport.TrialName(&r.Cell.Variation, r.Cell.Trial))
		}
		o.Runs++
		if !result.Met {
			o.Missed++
		}
	}
}

// configFile is AIPerf's description of a cell, in its folder.
const configFile = "run_config.json"

// writeConfig writes what a cell is and how it was configured.
func (p *performance) writeConfig(r *run.Run) error {
	values := studyexport.ByPath(r.Cell.Variation.Values)
	dir := p.opts.Store.Dir(r.ID)
	data, err := plainjson.Marshal(map[string]any{
		"benchmark_id": r.ID, "sweep_id": r.Cell.ParentID, "cfg": r.Config, "trial": r.Cell.Trial, "label": r.Cell.Label,
		"variation":   map[string]any{"index": r.Cell.Variation.Index, "label": r.Cell.Variation.Label, "values": values},
		"cli_command": r.CLICommand, "random_seed": r.Seed, "artifact_dir": r.Cell.Folder,
	})
	if err != nil {
		return fmt.Errorf("encode %s: %w", configFile, err)
	}
	return durable.WriteFile(filepath.Join(dir, configFile), durable.Shared, append(data, '\n'))
}

// metricsOf returns results as plain numbers; infinities are left out.
func metricsOf(list metric.Results) []cell.Metric {
	var out []cell.Metric
	for i := range list {
		m := &list[i]
		one := cell.Metric{Tag: m.Def.Tag, Unit: m.Def.Unit, Stats: map[string]float64{}}
		if m.Count > 0 {
			one.Stats["count"] = float64(m.Count)
		}
		for s := metric.Avg; s <= metric.P9999; s++ {
			v, ok := m.Get(s)
			if !ok || math.IsInf(v, 0) {
				continue
			}
			if !m.Confidence.Supported(s) {
				one.Unsupported = append(one.Unsupported, s.String())
			}
			one.Stats[s.String()] = v
			if in, ok := m.Confidence.Interval(s); ok {
				if one.Margins == nil {
					one.Margins = map[string]float64{}
				}
				one.Margins[s.String()] = (in.High - in.Low) / 2
			}
		}
		out = append(out, one)
	}
	return out
}

// doubt adds to metrics what the verdict on the load generator says of each.
func doubt(metrics []cell.Metric, reasons []verdict.Reason) {
	for i := range metrics {
		if r := verdict.Affects(reasons, metrics[i].Tag); r != nil {
			d := cell.Doubt{Invalid: r.Level == verdict.Invalid, Times: r.Value / r.Limit, Remedy: r.Remedy}
			d.Number, d.Off, d.Cause = r.Short()
			d.Side = verdict.Side(metrics[i].Tag)
			metrics[i].Doubt = &d
		}
	}
}

// readSamples reads the values of metrics from the record file of a run: those of the requests of
// profiling phases that succeeded. What cannot be read is left out: without a record file there are
// no samples, and a damaged one has those beside the damage.
func readSamples(files *results.Results, tags []string) map[string][]float64 {
	out := make(map[string][]float64)
	for record, err := range files.Records() {
		if err != nil || record.Metadata.Kind != bench.Profiling || !record.Succeeded() {
			continue
		}
		for _, tag := range tags {
			if v, ok := record.Value(tag); ok {
				out[tag] = append(out[tag], v)
			}
		}
	}
	return out
}

// sampledTags returns the metrics whose values are read from the records of the runs, with one more.
func sampledTags(more string) []string {
	tags := catalogue.Headlines(catalogue.Pooled)
	if more != "" && !slices.Contains(tags, more) {
		tags = append(tags, more)
	}
	return tags
}
