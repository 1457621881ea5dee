package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/telemetry/mlflow"
	"aiperfd/internal/engine/telemetry/push"
	"aiperfd/internal/run"
)

const (
	// warnMLflow is the warning on a run whose results are not, or not all, in MLflow.
	warnMLflow = "mlflow-incomplete"
	// mlflowTime bounds how long the results of a run are sent to a server of MLflow that answers.
	mlflowTime = 30 * time.Second
)

// experiment is the place of the results in MLflow.
type experiment struct {
	server mlflow.Server
	id     string
	err    error // why it is not known, and where; nil before the observers have ended
}

// findExperiment returns the observer that finds the experiment of the run when the load has ended, while others wait
// for their destinations: a server that does not answer delays the end by no more than they do. It is zero if the plan
// names no server.
func findExperiment(p *plan.Plan, env *environment, to *experiment) collect.RunObserver {
	m := &p.Document.Benchmark.MLflow
	if m.TrackingURI == nil {
		return collect.RunObserver{}
	}
	return collect.RunObserver{
		Phase: func(*spec.Phase, *measure.Set) collect.Observer { return collect.Observer{} },
		End: func(func(code, detail string)) {
			ctx, end := untilForced(env)
			defer end()
			ctx, cancel := context.WithTimeout(ctx, push.FlushTime)
			defer cancel()
			u, err := url.Parse(m.TrackingURI.Reveal())
			if err != nil {
				to.err = errors.New("at its URL, which cannot be read")
				return
			}
			to.server = mlflow.Server{URL: u, Token: m.Token.Reveal(), Allow: env.opts.Allow, Dial: env.opts.Dial}
			to.id, err = mlflow.Find(ctx, to.server, env.secrets.String(m.Experiment))
			if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = fmt.Errorf("no answer within %v", push.FlushTime)
			}
			if err != nil {
				to.err = fmt.Errorf("at %s: %w", u.Host, err)
			}
		},
	}
}

// sendToMLflow writes the results of a run to the MLflow server that its plan names, and returns what did not
// get there. It is called when the files of the run are written.
func sendToMLflow(
	p *plan.Plan, env *environment, to *experiment, r *run.Run, rep *export.Report,
) (warnings []bench.Warning) {
	if p.Document.Benchmark.MLflow.TrackingURI == nil {
		return nil
	}
	warn := func(text string) {
		warnings = append(warnings, bench.Warning{Code: warnMLflow, Detail: env.secrets.String(text)})
	}
	if to.err != nil {
		warn(fmt.Sprintf("the results are not in MLflow %v", to.err))
		return warnings
	}
	ctx, end := untilForced(env)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, mlflowTime)
	defer cancel()
	files, err := os.OpenRoot(env.dir)
	if err != nil {
		warn(fmt.Sprintf("the results are not in MLflow: %v", err))
		return warnings
	}
	defer files.Close()
	out := mlflowRun(p, env, r, export.Redacted(rep, env.secrets), files)
	out.ExperimentID = to.id
	notes, err := mlflow.Export(ctx, to.server, out)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("not within %v: %w", mlflowTime, err)
		}
		warn(fmt.Sprintf("the results are not, or not all, in MLflow at %s: %v", to.server.URL.Host, err))
	}
	for _, note := range notes {
		warn("MLflow: " + note)
	}
	if len(warnings) == 0 {
		env.notify.note("info", "the results are in MLflow", map[string]any{"server": to.server.URL.Host})
	}
	return warnings
}

// mlflowRun returns what MLflow gets: AIPerf's metrics, parameters and tags.
func mlflowRun(p *plan.Plan, env *environment, r *run.Run, rep *export.Report, files *os.Root) *mlflow.Run {
	m, clean := &p.Document.Benchmark.MLflow, env.secrets.String
	const shortID = 8
	out := &mlflow.Run{
		Experiment: clean(m.Experiment), Name: "aiperf-" + r.ID[:min(len(r.ID), shortID)], BenchmarkID: r.ID,
		Start: rep.Start, End: rep.End, Status: "FINISHED", Metrics: mlflowMetrics(rep),
		Params: mlflowParams(p, r, rep), Files: files, Globs: m.Globs, ShownURI: m.TrackingURI.String(),
	}
	if out.Start.IsZero() { // nothing was measured
		out.Start, out.End = r.CreatedAt, env.shot().Wall
	}
	if rep.State == bench.StateFailed {
		out.Status = "FAILED"
	}
	if rep.State == bench.StateCancelled {
		out.Status = "KILLED"
	}
	if m.RunName != nil {
		out.Name = clean(*m.RunName)
	}
	if m.ParentRunID != nil {
		out.ParentID = clean(*m.ParentRunID)
	}
	if out.Globs == nil {
		out.Globs = mlflow.DefaultGlobs()
	}
	out.Tags = []mlflow.Pair{
		{Key: "aiperf.version", Value: env.opts.Version},
		{Key: "aiperf.was_cancelled", Value: strconv.FormatBool(rep.Cancelled)},
		{Key: "benchmark_id", Value: r.ID}, {Key: "gen_ai.provider.name", Value: provider(p, env.secrets)},
	}
	if m.Tags != nil {
		for name, value := range *m.Tags {
			out.Tags = append(out.Tags, mlflow.Pair{Key: clean(name), Value: clean(value.Reveal())})
		}
	}
	return out
}

// mlflowMetrics returns the results under AIPerf's names: the average under the tag, other statistics behind it.
func mlflowMetrics(rep *export.Report) (all []mlflow.Metric) {
	for i := range rep.Results {
		res := &rep.Results[i]
		if !res.Def.Shown() {
			continue
		}
		for _, name := range metric.StatNames() {
			stat, _ := metric.ParseStat(name)
			value, ok := res.Get(stat)
			if !ok {
				continue
			}
			key := res.Def.Tag
			if stat != metric.Avg {
				key += "." + name
			}
			all = append(all, mlflow.Metric{Key: key, Value: value})
		}
	}
	requests, _ := rep.Results.Value("request_count", metric.Avg)
	failed, _ := rep.Results.Value("error_request_count", metric.Avg)
	all = append(all, mlflow.Metric{Key: "aiperf.completed_requests", Value: requests + failed})
	if rep.Expected > 0 {
		all = append(all, mlflow.Metric{Key: "aiperf.total_expected_requests", Value: float64(rep.Expected)})
	}
	return all
}

// mlflowParams returns what was asked for, under AIPerf's names.
func mlflowParams(p *plan.Plan, r *run.Run, rep *export.Report) []mlflow.Pair {
	all := []mlflow.Pair{
		{Key: "endpoint.type", Value: rep.Endpoint}, {Key: "endpoint.models", Value: strings.Join(rep.Models, ",")},
		{Key: "endpoint.urls", Value: strings.Join(rep.Targets, ",")},
		{Key: "output.artifact_directory", Value: p.Document.Benchmark.Artifacts.Dir},
	}
	add := func(key, value string) {
		if value != "" {
			all = append(all, mlflow.Pair{Key: key, Value: value})
		}
	}
	add("aiperf.cli_command", rep.CLICommand)
	if r.Concurrency != nil {
		add("loadgen.concurrency", strconv.Itoa(*r.Concurrency))
	}
	if r.Rate != nil {
		add("loadgen.request_rate", strconv.FormatFloat(*r.Rate, 'g', -1, 64))
	}
	for i := range p.Document.Benchmark.Phases {
		ph := &p.Document.Benchmark.Phases[i]
		if ph.Kind == string(bench.Warmup) {
			continue
		}
		add("timing.mode", ph.Type)
		if ph.Requests != nil {
			add("loadgen.request_count", strconv.FormatInt(*ph.Requests, 10))
		}
		if ph.Duration != nil {
			add("loadgen.benchmark_duration", strconv.FormatFloat(float64(*ph.Duration), 'g', -1, 64))
		}
		break
	}
	return all
}
