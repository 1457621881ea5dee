package report

import (
	"fmt"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// Input is everything that the outcome of a run depends on, once its phases are over.
type Input struct {
	Run         *run.Run // before its end
	Plan        *plan.Plan
	Clock       bench.Clock
	Phases      []Measured // those that started, in order
	Cancelled   bool
	Fault       *run.Error           // that ended the load; nil = none
	Certificate *verdict.Certificate // of the client; nil = there is none
	Dataset     export.Dataset
	SameHost    string          // address of a target on this machine; empty = there is none
	Warnings    []bench.Warning // of the preparation
	Tokens      Tokens
	Responses   Responses
	Sharing     transport.SharedCount
	Server      *diagnose.Server  // what the servers' metrics say; nil = they were not read
	GPU         *gpu.Report       // what the accelerators did; nil = they were not read
	Path        *paths.Report     // how the network behaved; nil = nothing was counted
	OTel        *otel.Report      // what was sent to OpenTelemetry collectors; nil = nothing
	Spans       *otel.ServerSpans // of servers; nil = none were received
	Samples     *samples.Samples  // single requests; nil = none were kept
	Jobs        *agents.Jobs      // the plays of recorded sessions; nil = the dataset has none
	Carried     *float64          // share of the input that earlier runs have sent to the servers; nil = it is not known
	Cluster     *export.Cluster   // the load generators; nil = there was one
	Network     *measure.Network  // the round trips to the targets, if they were measured; nil = they are not known
}

// Tokens describes how tokens were counted.
type Tokens struct {
	Method      string         // for users; empty = nothing was counted
	Substituted bool           // the built-in tokenizer replaces that of the model
	Warning     *bench.Warning // about the substitute; nil = none
	Refused     int64          // conversations that the chat template cannot render
	Refusal     error          // the first reason; nil = none was refused
}

// Responses counts odd responses.
type Responses struct {
	Mismatched int64  // did not contain one vector or score per input
	Malformed  int64  // had events that could not be read
	Example    string // of such an event, redacted; may be empty
	Impossible int64  // had token counts that no response can have
	Crashes    int64  // panics while responses were processed
}

// Outcome is how a run ended, with its results.
type Outcome struct {
	State    bench.State
	Reason   string     // for users; empty if the run completed
	Err      *run.Error // nil = the run did not fail
	Report   *export.Report
	Summary  *run.Summary
	Warnings []bench.Warning
}

// Conclude computes the results of a run and decides how it ended.
func Conclude(in *Input) Outcome {
	o := in.end()
	adjust(in.Phases, in.Plan.Document, in.Network)
	rep := Build(in.Run, &in.Plan.Measure, in.Clock, in.Phases)
	addPower(rep, in.GPU, in.Phases)
	rep.Path, rep.OTel, rep.ServerSpans = in.Path, in.OTel, in.Spans
	rep.Agents = agentsOf(in.Jobs, in.Plan.Document, rep)
	rep.State, rep.Reason, rep.Cancelled = o.State, o.Reason, in.Cancelled
	rep.Tokenizer, rep.Dataset = in.Tokens.Method, in.Dataset
	rep.Client, rep.Server = Client(in.Phases, in.Certificate), in.Server
	rep.SLOs.Run = append(rep.SLOs.Run, unwanted(in.Plan.Unwanted, rep)...)
	rep.Cluster = in.Cluster
	rep.Cache = prefixCache(in, rep)
	rep.Validity = Validity(in.Plan.Document, rep, in.Phases)
	rep.Warnings = in.warnings(rep)
	o.Report, o.Summary, o.Warnings = rep, Summarize(rep), slices.Clip(rep.Warnings)
	return o
}

// agentsOf returns what the replay of recorded sessions measured; nil = none was replayed.
func agentsOf(jobs *agents.Jobs, doc *config.Document, rep *export.Report) *agents.Report {
	if jobs == nil {
		return nil
	}
	r := agents.Summarize(jobs, rep.Duration)
	if r == nil {
		return nil
	}
	for tag, to := range map[string]**float64{
		"theoretical_prefix_cache_hit": &r.Hits.Theoretical, "expected_prefix_cache_hit": &r.Hits.Expected,
		"overall_usage_prompt_cache_read_pct": &r.Hits.Reported,
	} {
		if v, ok := rep.Results.Value(tag, metric.Avg); ok {
			*to = new(v / 100)
		}
	}
	if n := doc.Benchmark.GPUTelemetry.Count; n != nil {
		if r.JobsPerHour != nil {
			r.JobsPerHourPerGPU = new(*r.JobsPerHour / float64(*n))
		}
		if v, ok := rep.Results.Value("output_token_throughput", metric.Avg); ok {
			r.OutputRatePerGPU = new(v / float64(*n))
		}
	}
	return r
}

// end decides how a run ended: a run fails if too many of its requests failed, or,
// unless it was cancelled, if none succeeded.
func (in *Input) end() Outcome {
	if in.Fault != nil && !in.Cancelled {
		return failed(in.Fault)
	}
	o := Outcome{State: bench.StateCompleted}
	for i := range in.Phases {
		switch m := &in.Phases[i]; {
		case m.Stats.End == bench.PhaseFailed && denied(m.Set) != "":
			o = failed(&run.Error{Code: run.TargetNotAllowed, Phase: m.Plan.Name, Message: denied(m.Set)})
		case m.Stats.End == bench.PhaseSaturated:
			o = failed(&run.Error{Code: run.Saturated, Phase: m.Plan.Name, Message: overLimit(m)})
		case in.exceeded(m):
			o = failed(&run.Error{Code: run.ErrorThreshold, Phase: m.Plan.Name, Message: overThreshold(in.Run, m) + ": " + in.topError(m.Set)})
		}
	}
	n := in.totals()
	switch {
	case o.Err != nil:
	case in.Cancelled:
		o.State, o.Reason = bench.StateCancelled, in.Run.StateReason
	case n.success == 0:
		message := "no request succeeded"
		if n.failed > 0 {
			message += ": " + in.topError(in.Phases[len(in.Phases)-1].Set)
		} else if n.tested > 0 {
			message += fmt.Sprintf(": the cancellation test ended all %d", n.tested)
		}
		o = failed(&run.Error{Code: run.NoSuccess, Message: message})
	}
	return o
}

// denied returns the message of a request to a server that may not be reached; "" = there
// was none.
func denied(set *measure.Set) string {
	for _, g := range set.ErrorGroups() {
		if g.Class == bench.TargetNotAllowed {
			return g.Example
		}
	}
	return ""
}

// failed returns the outcome of a run that failed.
func failed(cause *run.Error) Outcome {
	return Outcome{State: bench.StateFailed, Reason: cause.Message, Err: cause}
}

// exceeded reports whether more requests of a profiling phase failed than allowed.
func (in *Input) exceeded(m *Measured) bool {
	count := m.Set.Counters()
	return m.Plan.Kind == bench.Profiling &&
		(m.Stats.End == bench.PhaseFailed || !in.Cancelled && m.Plan.TooMany(count.Errors, count.Success))
}

// totals counts the requests of all profiling phases.
type totals struct{ success, failed, tested, retries int64 }

func (in *Input) totals() totals {
	var n totals
	for i := range in.Phases {
		if m := &in.Phases[i]; m.Plan.Kind == bench.Profiling {
			count := m.Set.Counters()
			n.success, n.failed, n.retries = n.success+count.Success, n.failed+count.Errors, n.retries+count.Retries
			n.tested += count.CancelledByTest
		}
	}
	return n
}

// overThreshold returns the message that too many requests of a phase failed, and, if
// that ended the phase, after how many.
func overThreshold(r *run.Run, m *Measured) string {
	count, st := m.Set.Counters(), &m.Stats
	setting := "failedRequestThreshold"
	if r.CLICommand != "" {
		setting = "--failed-request-threshold"
	}
	done := count.Errors + count.Success
	allowed := fmt.Sprintf("more than the %.4g %% that %s allows", 100**m.Plan.FailThreshold, setting)
	switch early := st.End == bench.PhaseFailed; {
	case early && done < st.ExpectedRequests:
		return fmt.Sprintf("stopped after %d of %d requests: %d failed, %s", done, st.ExpectedRequests, count.Errors, allowed)
	case early && st.ExpectedRequests == 0:
		return fmt.Sprintf("stopped after %d requests: %d failed, %s", done, count.Errors, allowed)
	}
	return fmt.Sprintf("%d of %d requests failed, %s", count.Errors, done, allowed)
}

// topError quotes the most frequent error of a phase, with a hint.
func (in *Input) topError(set *measure.Set) string {
	groups := set.ErrorGroups()
	if len(groups) == 0 {
		return "no request was answered"
	}
	g := &groups[0]
	times := "once"
	if g.Count > 1 {
		times = fmt.Sprintf("%d times", g.Count)
	}
	message := in.Plan.Hint(g.Class, g.Example)
	if g.Status != 0 {
		return fmt.Sprintf("%s, HTTP %d, %s: %s", g.Class, g.Status, times, message)
	}
	return fmt.Sprintf("%s, %s: %s", g.Class, times, message)
}
