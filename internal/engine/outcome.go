package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/target"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// outcome is what a run came to.
type outcome struct {
	state    bench.State
	reason   string
	err      *run.Error
	report   *export.Report
	summary  *run.Summary
	warnings []bench.Warning
}

// export closes the record files, computes the exact results and writes them.
func (x *execution) export(r *run.Run, dir string) outcome {
	fileErr := x.closeFiles()
	x.takebacks.Wait()
	x.client.Close()
	o := x.judge(r)
	o.sharing(x.client.Shared())
	o.report = x.report(r, &o)
	failed, err := export.Write(dir, export.NamesFor(x.plan.Files.Prefix), o.report, x.secrets)
	if err = errors.Join(fileErr, err); err != nil {
		o.err = &run.Error{Code: run.ExportFailed, Message: x.secrets.String(fmt.Sprintf("write results: %v", err))}
		o.state = bench.Failed
	} else if len(failed) > 0 {
		o.warnings = append(o.warnings, bench.Warning{Code: "export", Detail: fmt.Sprintf("not written: %v", failed)})
	}
	o.summary = summarise(o.report)
	return o
}

// judge says how the run ended: by what it was asked, and by what succeeded.
func (x *execution) judge(r *run.Run) outcome {
	o := outcome{state: bench.Completed, warnings: x.warnings}
	var success, failed, retries int64
	for i := range x.finished {
		f := &x.finished[i]
		count := f.set.Counters()
		end := f.public.Stats.End
		if f.silent != "" {
			o.warn("no-answer", f.silent)
		}
		if n := f.public.Stats.Pauses; n > 0 {
			delayed := fmt.Sprintf("%d requests of phase %s were", n, f.plan.Name)
			if n == 1 {
				delayed = fmt.Sprintf("1 request of phase %s was", f.plan.Name)
			}
			o.warn("paused", delayed+" delayed after a failed connection attempt")
		}
		switch f.plan.Kind {
		case bench.Warmup:
			if count.Errors > 0 {
				o.warn("warmup-errors", fmt.Sprintf("%d of %d warm-up requests failed: %s", count.Errors, count.Errors+count.Success, x.topError(f.set)))
			}
		case bench.Profiling:
			success, failed, retries = success+count.Success, failed+count.Errors, retries+count.Retries
			if end == bench.PhaseFailed || !x.cancelled() && f.plan.TooMany(count.Errors, count.Success) {
				o.fail(run.ErrorThreshold, f.plan.Name, overThreshold(r, f)+": "+x.topError(f.set))
			}
			if end == bench.PhaseGraceTimeout && !f.saturated() { // the note on saturation says it, too
				o.warn("cut-by-grace", f.cutOff())
			}
		}
	}
	if success > 0 { // else lengths describe nothing
		x.substituted(&o)
	}
	x.remarks(&o, retries)
	switch {
	case o.err != nil:
	case x.cancelled():
		o.state, o.reason = bench.Aborted, r.StateReason
	case success == 0:
		message := "no request succeeded"
		if n := len(x.finished); n > 0 && failed > 0 {
			message += ": " + x.topError(x.finished[n-1].set)
		}
		return o.fail(run.NoSuccess, "", message)
	case failed > 0:
		o.warn("request-errors", fmt.Sprintf("%d of %d requests failed; latencies cover successful requests only", failed, failed+success))
	}
	return o
}

// substituted notes that another tokenizer than the model's was used, if it was.
func (x *execution) substituted(o *outcome) {
	if s := x.tokens.substitute; s != nil && (!x.plan.Tokens.Spare || x.tokens.counted.Load()) {
		o.warnings = append(o.warnings, s.warning(x.tokens.counted.Load() && x.plan.Kind.Caps.ProducesTokens))
	}
}

// remarks notes what was odd about prompts, responses and connections.
func (x *execution) remarks(o *outcome, retries int64) {
	if n := x.tokens.refused.Load(); n > 0 {
		o.warn("chat-template", fmt.Sprintf("the chat template cannot render %d conversations; their prompt lengths exclude it: %v", n, *x.tokens.refusal.Load()))
	}
	if n := x.mismatched.Load(); n > 0 {
		o.warn("count-mismatch", fmt.Sprintf("%d responses did not contain one vector or score per input", n))
	}
	if retries > 0 {
		o.warn("connection-retries", fmt.Sprintf("%d requests were sent again on a new connection: the server had closed the reused one before it answered", retries))
	}
	if n := x.malformed.Load(); n > 0 {
		text := fmt.Sprintf("%d responses had malformed events, which were skipped", n)
		if example := *x.oddity.Load(); example != "" {
			text += fmt.Sprintf(", for example %q", example)
		}
		o.warn("malformed-events", text)
	}
}

// cutOff says that the grace period ended before the requests of a phase.
func (f *finishedPhase) cutOff() string {
	if s := f.watch.saturation; s != nil && s.CutOff() != "" {
		return s.CutOff()
	}
	return fmt.Sprintf("%d of %d requests were still running when the grace period of phase %s ended; the slowest are missing, so percentiles are lower bounds",
		f.public.Stats.Cancelled, f.public.Stats.Sent, f.plan.Name)
}

// overThreshold says that too many requests of a phase failed, and, if that ended
// it, how far it came.
func overThreshold(r *run.Run, f *finishedPhase) string {
	count, st := f.set.Counters(), &f.public.Stats
	setting := "failedRequestThreshold"
	if r.CLICommand != "" {
		setting = "--failed-request-threshold"
	}
	done := count.Errors + count.Success
	allowed := fmt.Sprintf("more than the %.4g %% that %s allows", 100**f.plan.FailThreshold, setting)
	switch early := st.End == bench.PhaseFailed; {
	case early && done < st.ExpectedRequests:
		return fmt.Sprintf("stopped after %d of %d requests: %d failed, %s", done, st.ExpectedRequests, count.Errors, allowed)
	case early && st.ExpectedRequests == 0:
		return fmt.Sprintf("stopped after %d requests: %d failed, %s", done, count.Errors, allowed)
	}
	return fmt.Sprintf("%d of %d requests failed, %s", count.Errors, done, allowed)
}

func (o *outcome) warn(code, detail string) {
	o.warnings = append(o.warnings, bench.Warning{Code: code, Detail: detail})
}

// sharing says how requests shared connections, where they did.
func (o *outcome) sharing(s transport.SharedCount) {
	if s.Connections > 0 {
		o.warn("http2", fmt.Sprintf("requests shared connections of HTTP/2: %d were opened in all, with %d requests at a time on each at most, as the server allows", s.Connections, s.Limit))
	}
	if s.Fallbacks > 0 {
		o.warn("http2-not-offered", "the server offers no HTTP/2; requests went over HTTP/1.1")
	}
}

func (o *outcome) fail(code run.ErrorCode, phase, message string) outcome {
	o.state, o.reason, o.err = bench.Failed, message, &run.Error{Code: code, Message: message, Phase: phase}
	return *o
}

// topError quotes the most frequent error of a phase, and what to look at.
func (x *execution) topError(set *metric.Set) string {
	groups := set.ErrorGroups()
	if len(groups) == 0 {
		return "no request was answered"
	}
	g := &groups[0]
	times := "once"
	if g.Count > 1 {
		times = fmt.Sprintf("%d times", g.Count)
	}
	message := x.plan.Hint(g.Class, g.Example)
	if g.Status != 0 {
		return fmt.Sprintf("%s, HTTP %d, %s: %s", g.Class, g.Status, times, message)
	}
	return fmt.Sprintf("%s, %s: %s", g.Class, times, message)
}

// report computes the exact results of all phases that ended.
func (x *execution) report(r *run.Run, o *outcome) *export.Report {
	rep := newReport(r, &x.plan.Measure)
	rep.State, rep.Reason, rep.Cancelled = o.state, o.reason, x.cancelled()
	rep.Tokenizer = x.tokens.method()
	if x.source != nil {
		rep.Dataset = x.datasetHash()
	}
	var phases []measured
	for i := range x.finished {
		f := &x.finished[i]
		phases = append(phases, measured{plan: f.plan, set: f.set, stats: f.public.Stats, tally: &f.watch.tally, self: f.watch.self})
	}
	fill(rep, x.clock, phases)
	for _, m := range phases {
		if err := m.set.DiskError(); err != nil {
			o.warn("values", fmt.Sprintf("phase %s: %v", m.plan.Name, err))
		}
	}
	o.warnings = append(o.warnings, lengthDoubts(x.plan, rep.Results, x.tokens.substitute != nil)...)
	rep.Client, _ = x.trust(nil)
	rep.Saturation = x.saturation(nil)
	for _, w := range doubts(rep) {
		o.warn(w.Code, w.Detail)
	}
	if place := target.Local(x.plan.Targets); place != "" && rep.Client != nil {
		o.warn("same-host", place+" is this machine: a server on it shares the CPU")
	}
	if s := rep.Saturation; s != nil && s.Saturated { // what explains the rest comes first
		o.warnings = slices.Insert(o.warnings, 0, bench.Warning{Code: "saturated", Detail: s.Message})
	}
	for _, w := range o.warnings {
		rep.Warnings = append(rep.Warnings, w)
	}
	return rep
}

// measured is one phase with its accumulated records.
type measured struct {
	plan  *plan.Phase
	set   *metric.Set
	stats bench.PhaseStats
	tally *verdict.Tally
	self  *verdict.Self // nil = nobody watched
}

// fill computes the results of phases into a report.
func fill(rep *export.Report, clock bench.Clock, phases []measured) {
	var profiling, warmup []metric.Part
	complete := true
	for _, m := range phases {
		part := metric.Part{Set: m.set, Window: m.stats.Window(m.stats.LastUpdate), Phase: m.stats}
		rep.Phases = append(rep.Phases, export.PhaseReport{
			Stats: m.stats, Start: clock.Wall(m.stats.Start), End: clock.Wall(m.stats.Start + part.Window),
			Results: m.set.Final(part.Window, m.stats), Errors: m.set.ErrorGroups(),
		})
		complete = complete && (m.stats.End == bench.PhaseCompleted)
		switch {
		case m.plan.Kind == bench.Warmup:
			warmup = append(warmup, part)
		case !m.plan.Excluded:
			profiling = append(profiling, part)
			rep.Expected += m.plan.Requests
			rep.Duration += part.Window
			if rep.Start.IsZero() {
				rep.Start = clock.Wall(m.stats.Start)
			}
			rep.End = clock.Wall(m.stats.Start + part.Window)
		}
	}
	trusted(rep, phases)
	rep.Complete = complete && len(profiling) > 0
	rep.Results, rep.Errors = pooled(profiling, rep.Phases)
	rep.Warmup, _ = pooled(warmup, rep.Phases)
}

// pooled returns the results and errors of several phases together; those of a
// single one are in its report already.
func pooled(parts []metric.Part, done []export.PhaseReport) (metric.Results, []metric.ErrorGroup) {
	switch len(parts) {
	case 0:
		return nil, nil
	case 1:
		i := slices.IndexFunc(done, func(r export.PhaseReport) bool { return r.Stats.Index == parts[0].Phase.Index })
		return done[i].Results, done[i].Errors
	}
	results, err := metric.Pool(parts...)
	if err != nil {
		panic(fmt.Sprintf("phases of one run have the same metrics: %v", err))
	}
	all := metric.NewErrors()
	for _, p := range parts {
		for _, g := range p.Set.ErrorGroups() {
			all.AddGroup(&g)
		}
	}
	return results, all.Groups()
}

// newReport returns a report of what does not depend on any measurement.
func newReport(r *run.Run, plan *plan.Measure) *export.Report {
	rep := &export.Report{
		RunID: r.ID, Version: r.Version, Seed: r.Seed, Name: r.Name, Labels: r.Labels, CLICommand: r.CLICommand,
		InputConfig: config.InputConfig(plan.Document), Models: r.Models, Endpoint: r.Endpoint, Title: plan.Kind.Title, Streaming: r.Streaming,
		SLOs: plan.Metrics.SLOs, Targets: r.Targets,
	}
	for i := range plan.Phases {
		if p := &plan.Phases[i]; p.Kind == bench.Profiling {
			if rep.Load != "" {
				rep.Load += ", then "
			}
			rep.Load += p.Load
		}
	}
	return rep
}

// summarise picks the few numbers of a list view.
func summarise(rep *export.Report) *run.Summary {
	s := &run.Summary{}
	get := func(tag string, stat metric.Stat) *float64 {
		m := rep.Results.Find(tag)
		if m == nil {
			return nil
		}
		if v, ok := m.Get(stat); ok {
			return &v
		}
		return nil
	}
	count := func(tag string) int64 {
		if v := get(tag, metric.Avg); v != nil {
			return int64(*v)
		}
		return 0
	}
	s.Requests, s.Errors = count("request_count"), count("error_request_count")
	s.Cancelled = count("cancelled_request_count")
	s.ErrorRate = get("request_error_rate", metric.Avg)
	s.RequestThroughput = get("request_throughput", metric.Avg)
	s.OutputTokenThroughput = get("output_token_throughput", metric.Avg)
	s.TTFTP50, s.TTFTP99 = get("time_to_first_token", metric.P50), get("time_to_first_token", metric.P99)
	s.ITLAvg, s.ITLP99 = get("inter_token_latency", metric.Avg), get("inter_token_latency", metric.P99)
	s.LatencyP50, s.LatencyP99 = get("request_latency", metric.P50), get("request_latency", metric.P99)
	s.Goodput = get("goodput", metric.Avg)
	s.Saturation, s.Unsupported = rep.Saturation, []string{}
	for _, p := range []struct {
		name, tag string
		stat      metric.Stat
	}{
		{"time_to_first_token_p50_ms", "time_to_first_token", metric.P50}, {"time_to_first_token_p99_ms", "time_to_first_token", metric.P99},
		{"inter_token_latency_p99_ms", "inter_token_latency", metric.P99},
		{"request_latency_p50_ms", "request_latency", metric.P50}, {"request_latency_p99_ms", "request_latency", metric.P99},
	} {
		if m := rep.Results.Find(p.tag); m != nil && get(p.tag, p.stat) != nil && !m.Confidence.Supported(p.stat) {
			s.Unsupported = append(s.Unsupported, p.name)
		}
	}
	return s
}

// snapshotFile holds the last snapshot of a terminal run. Its name starts with
// a dot: it is ours, not an artifact.
const snapshotFile = ".snapshot.json"

// finalSnapshot publishes and stores the last state of a run. rep is nil for a
// run that never got to measure.
func (x *execution) finalSnapshot(state bench.State, dir string, rep *export.Report) error {
	snap := x.baseSnapshot()
	snap.State, snap.Final, snap.Exported = state, true, rep != nil
	if rep != nil {
		snap.Metrics, snap.Warmup, snap.Errors = rep.Results, rep.Warmup, rep.Errors
		snap.MetricsAt, snap.Start, snap.End = snap.Wall, rep.Start, rep.End
	}
	x.snapshot.Store(snap)
	return storeSnapshot(dir, snap)
}

func storeSnapshot(dir string, snap *run.Snapshot) error {
	data, err := json.Marshal(snap)
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	return export.WriteFile(filepath.Join(dir, snapshotFile), data)
}

// loadSnapshot reads the last snapshot of a terminal run; an empty one if the
// run left none.
func loadSnapshot(dir string, state bench.State) (*run.Snapshot, error) {
	data, err := os.ReadFile(filepath.Join(dir, snapshotFile))
	if errors.Is(err, os.ErrNotExist) {
		return &run.Snapshot{Wall: time.Now().UTC(), State: state, Final: state.Terminal()}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	snap := new(run.Snapshot)
	if err := json.Unmarshal(data, snap); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	snap.State = state
	return snap, nil
}
