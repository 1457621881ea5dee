package report

import (
	"cmp"
	"fmt"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/view"
)

// The warnings of a result come from three tables of checks, by the input of a check.
// A check returns nil if there is nothing to warn of; warnings appear in the order of
// the tables. A new one is a function and a row.
var (
	// runChecks are of a run that has ended.
	runChecks = [...]func(*Input, *export.Report) []bench.Warning{
		notValid,
		saturated, // explains the rest
		preparation,
		phaseWarnings,
		substituted,
		templateRefusals,
		countMismatches,
		connectionRetries,
		malformedEvents,
		impossibleCounts,
		crashes,
		requestErrors,
		sharedConnections,
		http2NotOffered,
		lostValues,
		missingUsage,
		outputLength,
		usageDiscrepancy,
		func(_ *Input, rep *export.Report) []bench.Warning { return reportWarnings(rep) },
		cacheNotCold,
		thinkTimeCut,
		cachedPrompts,
		silentPages,
		sameHost,
	}
	// phaseChecks are of one phase.
	phaseChecks = [...]func(*Input, *Measured) []bench.Warning{
		noAnswer,
		paused,
		warmupErrors,
		cutByGrace,
		arrivalsDropped,
		arrivalsWaited,
		usersOverlap,
		rampExcluded,
		widerSlices,
	}
	// reportChecks need only the report, so they apply to interrupted runs, too.
	reportChecks = [...]func(*export.Report) []bench.Warning{
		clientReasons,
		clientEvidence,
		offeredRate,
		replayDegraded,
		streamClass,
		inconsistentResults,
	}
)

// warnings performs all checks.
func (in *Input) warnings(rep *export.Report) []bench.Warning {
	var out []bench.Warning
	for _, check := range runChecks {
		out = append(out, check(in, rep)...)
	}
	return out
}

// phaseWarnings performs the checks of every phase.
func phaseWarnings(in *Input, _ *export.Report) []bench.Warning {
	var out []bench.Warning
	for i := range in.Phases {
		for _, check := range phaseChecks {
			out = append(out, check(in, &in.Phases[i])...)
		}
	}
	return out
}

// reportWarnings performs the checks that need only the report.
func reportWarnings(rep *export.Report) []bench.Warning {
	var out []bench.Warning
	for _, check := range reportChecks {
		out = append(out, check(rep)...)
	}
	return out
}

// warn returns one warning.
func warn(code, format string, args ...any) []bench.Warning {
	return []bench.Warning{{Code: code, Detail: fmt.Sprintf(format, args...)}}
}

// warnIf returns one warning if there is something to warn of.
func warnIf(there bool, code, format string, args ...any) []bench.Warning {
	if !there {
		return nil
	}
	return warn(code, format, args...)
}

// silentPages names the pages of metrics of servers and GPUs that the user gave and that were not read.
func silentPages(_ *Input, rep *export.Report) []bench.Warning {
	var out []bench.Warning
	if rep.GPU != nil {
		for i := range rep.GPU.Targets {
			if t := &rep.GPU.Targets[i]; t.Given && t.Fetches == 0 {
				out = append(out, warn("gpu-telemetry", "no GPU metrics of %s (%s): %s", t.URL, t.State, cmp.Or(t.LastError, "no answer"))...)
			}
		}
	}
	if rep.Server == nil {
		return out
	}
	for i := range rep.Server.Targets {
		if t := &rep.Server.Targets[i]; t.Given && t.Fetches == 0 {
			out = append(out, warn("server-metrics", "no server metrics of %s (%s): %s", t.URL, t.State, cmp.Or(t.LastError, "no answer"))...)
		}
	}
	return out
}

func saturated(_ *Input, rep *export.Report) []bench.Warning {
	if s := rep.Saturation; s != nil && s.Saturated {
		return warn("saturated", "%s", s.Message)
	}
	return nil
}

func replayDegraded(rep *export.Report) []bench.Warning {
	degraded, lag := rep.Results.Find("replay_sched_degraded"), rep.Results.Find("replay_sched_lag_p99")
	if degraded == nil || lag == nil {
		return nil
	}
	if v, ok := degraded.Get(metric.Avg); !ok || v == 0 {
		return nil
	}
	late, _ := lag.Get(metric.Avg)
	return warn("replay-degraded", "the timestamps of the dataset were not kept: 1 %% of the requests were sent %.4g ms or more after their time, compared with the request that was least late",
		late)
}

func preparation(in *Input, _ *export.Report) []bench.Warning { return in.Warnings }

func noAnswer(_ *Input, m *Measured) []bench.Warning {
	return warnIf(m.Silence != "", "no-answer", "%s", m.Silence)
}

func rampExcluded(_ *Input, m *Measured) []bench.Warning {
	return warnIf(m.Plan.Shape.ExcludeRamp, "ramp-excluded", "phase %s: %d of %d requests were sent during the ramp of %v and are not in the metrics",
		m.Plan.Name, m.Stats.Records.Excluded, m.Stats.Sent, m.Plan.Shape.Ramp())
}

func paused(_ *Input, m *Measured) []bench.Warning {
	const after = "delayed because requests before had failed"
	count := m.Set.Counters()
	switch n := m.Stats.Pauses; {
	case n <= 0 || count.Success == 0: // the error says that none succeeded
		return nil
	case n == 1:
		return warn("paused", "1 request of phase %s was %s", m.Plan.Name, after)
	default:
		return warn("paused", "%d requests of phase %s were %s", n, m.Plan.Name, after)
	}
}

func warmupErrors(in *Input, m *Measured) []bench.Warning {
	count := m.Set.Counters()
	return warnIf(m.Plan.Kind == bench.Warmup && count.Errors > 0, "warmup-errors", "%d of %d warm-up requests failed: %s", count.Errors, count.Errors+count.Success, in.topError(m.Set))
}

// cutByGrace is not of saturated phases: the warning about saturation covers it.
func cutByGrace(_ *Input, m *Measured) []bench.Warning {
	s := m.Saturation
	switch {
	case m.Plan.Kind != bench.Profiling || m.Stats.End != bench.PhaseGraceTimeout || s != nil && s.Saturated:
		return nil
	case s != nil && s.CutOff() != "":
		return warn("cut-by-grace", "%s", s.CutOff())
	}
	return warn("cut-by-grace", "%d of %d requests were still running when the grace period of phase %s ended; the slowest are missing, so percentiles are lower bounds",
		m.Stats.Cancelled, m.Stats.Sent, m.Plan.Name)
}

// substituted warns that the built-in tokenizer counts in place of the model's.
func substituted(in *Input, _ *export.Report) []bench.Warning {
	if in.Tokens.Warning == nil || in.totals().success == 0 { // without a success there are no lengths
		return nil
	}
	return []bench.Warning{*in.Tokens.Warning}
}

func templateRefusals(in *Input, _ *export.Report) []bench.Warning {
	return warnIf(in.Tokens.Refused > 0, "chat-template", "the chat template cannot render %d conversations; their prompt lengths exclude it: %v", in.Tokens.Refused, in.Tokens.Refusal)
}

func countMismatches(in *Input, _ *export.Report) []bench.Warning {
	return warnIf(in.Responses.Mismatched > 0, "count-mismatch", "%d responses did not contain one vector or score per input", in.Responses.Mismatched)
}

func connectionRetries(in *Input, _ *export.Report) []bench.Warning {
	n := in.totals().retries
	return warnIf(n > 0, "connection-retries", "%d requests were sent again on a new connection: the server had closed the reused one before it answered", n)
}

func malformedEvents(in *Input, _ *export.Report) []bench.Warning {
	switch r := &in.Responses; {
	case r.Malformed == 0:
		return nil
	case r.Example == "":
		return warn("malformed-events", "%d responses had malformed events, which were skipped", r.Malformed)
	default:
		return warn("malformed-events", "%d responses had malformed events, which were skipped, for example %q", r.Malformed, r.Example)
	}
}

func impossibleCounts(in *Input, _ *export.Report) []bench.Warning {
	return warnIf(in.Responses.Impossible > 0, "impossible-token-counts", "%d responses had token counts that no response can have; these counts were dropped", in.Responses.Impossible)
}

func crashes(in *Input, _ *export.Report) []bench.Warning {
	return warnIf(in.Responses.Crashes > 0, "processing-crashed",
		"aiperfd crashed %d times when it processed responses; these requests count as errors or lack a line in the record files; the log of the run has the reason",
		in.Responses.Crashes)
}

// requestErrors is of runs that completed: for the others, errors are the reason, or
// to be expected.
func requestErrors(in *Input, rep *export.Report) []bench.Warning {
	n := in.totals()
	return warnIf(rep.State == bench.StateCompleted && n.failed > 0, "request-errors", "%d of %d requests failed; latencies cover successful requests only", n.failed, n.failed+n.success)
}

func sharedConnections(in *Input, _ *export.Report) []bench.Warning {
	s := &in.Sharing
	return warnIf(s.Connections > 0, "http2", "requests shared connections of HTTP/2: %d were opened in all, with %d requests at a time on each at most, as the server allows", s.Connections, s.Limit)
}

func http2NotOffered(in *Input, _ *export.Report) []bench.Warning {
	return warnIf(in.Sharing.Fallbacks > 0, "http2-not-offered", "the server offers no HTTP/2; requests went over HTTP/1.1")
}

// lostValues warns that values could not be kept on disk or read back.
func lostValues(in *Input, _ *export.Report) []bench.Warning {
	var out []bench.Warning
	for i := range in.Phases {
		m := &in.Phases[i]
		if err := m.Set.DiskError(); err != nil {
			out = append(out, warn("values", "phase %s: %v", m.Plan.Name, err)...)
		}
	}
	return out
}

func sameHost(in *Input, rep *export.Report) []bench.Warning {
	return warnIf(in.SameHost != "" && rep.Client != nil, "same-host", "%s is this machine: a server on it shares the CPU", in.SameHost)
}

// clientReasons names the reported numbers that the load generator itself has affected.
func clientReasons(rep *export.Report) []bench.Warning {
	if rep.Client == nil {
		return nil
	}
	var out []bench.Warning
	for _, r := range verdict.Decisive(rep.Client.Reasons) {
		out = append(out, bench.Warning{Code: "client-" + string(r.Level), Detail: r.Message})
	}
	return out
}

// clientEvidence lists possible causes, if a reported number was affected.
func clientEvidence(rep *export.Report) []bench.Warning {
	c := rep.Client
	if c == nil || len(verdict.Decisive(c.Reasons)) == 0 || len(c.Evidence) == 0 {
		return nil
	}
	var signs []string
	for i := range c.Evidence {
		signs = append(signs, c.Evidence[i].Message)
	}
	return warn("client-evidence", "%s", strings.Join(signs, "; "))
}

func offeredRate(rep *export.Report) []bench.Warning {
	s := rep.Saturation
	if s == nil || s.Saturated || !s.Apart() || rep.Cluster != nil && rep.Cluster.Conservation.NotSent > 0 {
		return nil
	}
	return warn("offered-rate", "asked %s, the random arrivals came at %s: the rate of a short run differs from the mean",
		verdict.PerSecond(s.AskedRate), verdict.PerSecond(*s.OfferedRate))
}

func streamClass(rep *export.Report) []bench.Warning {
	s := rep.Stream
	if s == nil || s.Class == verdict.PerToken {
		return nil
	}
	return warn("stream-"+string(s.Class), "%s", s.Message)
}

// inconsistentResults lists numbers that do not agree with each other.
func inconsistentResults(rep *export.Report) []bench.Warning {
	var out []bench.Warning
	for i := range rep.Checks.Warnings {
		w := &rep.Checks.Warnings[i]
		out = append(out, warn("inconsistent-result", "phase %s: %s: %s", cmp.Or(w.Phase, "?"), w.Code, w.Detail)...)
	}
	return out
}

// widerSlices warns that there would have been too many time slices.
func widerSlices(in *Input, m *Measured) []bench.Warning {
	asked, width := in.Plan.Metrics.Slice, m.Set.SliceWidth()
	return warnIf(width > asked, "slices-joined", "time slices of phase %s last %v, not %v: there would have been too many, or they would have taken too much memory",
		m.Plan.Name, width, asked)
}

// thinkTimeCut warns of limits of idle time that changed what was measured.
func thinkTimeCut(_ *Input, rep *export.Report) []bench.Warning {
	const least = 0.05 // of the recorded pauses
	a := rep.Agents
	if a == nil || a.IdleShare == nil || *a.IdleShare <= least {
		return nil
	}
	return warn("think-time-cut", "limits of idle time left out %s of the recorded pauses: sessions came back sooner than recorded, "+
		"so that more of them were still in caches; compare only with runs in which that is about as much", view.Percent(*a.IdleShare))
}
