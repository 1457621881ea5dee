package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

// Member is a load generator that has performed a part of a run.
type Member struct {
	Name       string
	Dir        string        // of its files
	Share      float64       // of the load that was asked of it
	Run        *run.Run      // its part, as it ended; nil = the load generator was lost
	Snapshot   *run.Snapshot // the last one; nil = there is none
	ClockBound time.Duration // the largest error of its clock; <0 = unknown
	Lost       string        // why it was lost; empty = it was not
	LostAt     time.Duration // offset of the last that was heard of it
	Unknown    int64         // arrivals of its lanes after that, while it may have sent requests
	NotSent    int64         // arrivals of its lanes that were due later
	Ending     *Ending       // nil = it did not tell

	report *export.Report // of its part; nil = there is none
}

// ClusterInput is what the results of a run on several load generators depend on.
type ClusterInput struct {
	Run       *run.Run // before its end
	Plan      *plan.Plan
	Members   []Member
	Records   io.Writer // gets the lines of all records
	Cancelled bool
	Fault     *run.Error // that ended the load; nil = none
	Keep      func(*measure.Set) error
	Servers   *collect.FleetServers // nil = the servers' metrics were not read
	Samples   *samples.Recorder     // of single requests
	Warnings  []bench.Warning       // of the controller
}

// ConcludeCluster computes the results of a run on several load generators from the records of all of them, as those of
// a run on one, and decides how it ended.
func ConcludeCluster(ctx context.Context, c *ClusterInput) (Outcome, []run.Phase, error) {
	var parts []*results.Results
	for i := range c.Members {
		m := &c.Members[i]
		if m.Run == nil { // what is there of its files may not be all
			continue
		}
		part := results.Open(m.Dir, c.Plan.Files.Layout.Prefix)
		if rep, _, err := part.Report(); err == nil {
			m.report = rep
		}
		if _, err := part.RecordFile(); err == nil {
			parts = append(parts, part)
		}
	}
	merged, jobs := results.Merge(c.Records, parts...), agents.NewJobs()
	joined := c.stats()
	began := func(phase int) time.Duration { return joined[phase].Start }
	phases, err := replay(&c.Plan.Measure, c.observed(merged.Records(ctx)), c.Keep, jobs, began)
	if err != nil {
		return Outcome{}, nil, fmt.Errorf("merge records: %w", err)
	}
	for i := range phases {
		c.complete(&phases[i], joined)
		c.Servers.Conclude(&phases[i].Stats, slices.ContainsFunc(c.Members, func(m Member) bool { return m.Run == nil }))
	}
	in := &Input{
		Run: c.Run, Plan: c.Plan, Clock: merged.Clock, Phases: phases, Cancelled: c.Cancelled, Fault: c.Fault,
		Warnings: c.Warnings,
	}
	in.Server, in.GPU = c.Servers.Reports()
	in.Samples = c.Samples.Samples()
	if c.Plan.Dataset.Kind.Agentic {
		in.Jobs = jobs
	}
	in.join(c.Members)
	in.Cluster = c.describe(phases)
	o := Conclude(in)
	var public []run.Phase
	for i := range phases {
		public = append(public, phases[i].Public(merged.Clock))
	}
	return o, public, nil
}

// observed shows the records to those who observe them in a run on one load generator, too.
func (c *ClusterInput) observed(records iter.Seq2[*bench.Record, error]) iter.Seq2[*bench.Record, error] {
	return func(yield func(*bench.Record, error) bool) {
		for rec, err := range records {
			if err == nil && rec.Phase >= 0 && rec.Phase < len(c.Plan.Phases) {
				c.Servers.Observe(rec)
				collect.Sample(c.Samples, &c.Plan.Phases[rec.Phase], rec)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// stats joins the states of each phase, by its index. One that no load generator has begun has an empty state.
func (c *ClusterInput) stats() []bench.PhaseStats {
	out := make([]bench.PhaseStats, len(c.Plan.Phases))
	begun := make([]bool, len(out))
	for i := range c.Members {
		snap := c.Members[i].Snapshot
		if snap == nil || c.Members[i].Run == nil { // nobody has the records of one that was lost
			continue
		}
		for j := range snap.Phases {
			s := &snap.Phases[j].Stats
			if s.Index < 0 || s.Index >= len(out) {
				continue
			}
			if begun[s.Index] {
				out[s.Index].Join(s)
			} else {
				out[s.Index], begun[s.Index] = *s, true
			}
		}
	}
	return out
}

// complete adds what the records do not tell to a phase.
func (c *ClusterInput) complete(m *Measured, joined []bench.PhaseStats) {
	p, s := m.Plan, joined[m.Plan.Index]
	s.Index, s.ProfilingIndex, s.Name, s.Kind = p.Index, p.ProfilingIndex, p.Name, p.Kind
	s.ExpectedRequests, s.ExpectedSessions, s.ExpectedDuration, s.Grace = p.Requests, p.Sessions, p.Duration, p.Grace
	if s.End == "" {
		s.End = bench.PhaseAborted
	}
	m.Stats = s
	if !p.Counted() {
		return
	}
	var members []verdict.Member
	for i := range c.Members {
		members = append(members, c.Members[i].verdict(p.Name))
	}
	m.Client = verdict.Pool(members)
	c.reduce(m)
	if p.Arrivals == nil || p.PerSession {
		return
	}
	mean, last := p.RateUntil(s.Arrivals.Last - s.Start)
	load := m.Tally.Load(verdict.Asked{Open: true, Limited: p.Prefill > 0, BacklogMax: s.BacklogMax})
	m.Saturation = verdict.Saturate(&verdict.Demand{
		Rate: mean, Rising: last / mean, Smoothness: p.Smoothness, Capped: load.Capped,
		Stats: &m.Stats, Tally: m.Tally, Load: &load,
	})
}

// The shares of the load that was not offered because load generators were lost, above which its rates are doubtful or
// wrong.
const (
	reducedLimit = 0.01
	reducedWrong = 0.05
)

// reduce adds the reason that load generators were lost to the judgement of a phase.
func (c *ClusterInput) reduce(m *Measured) {
	lost, notSent, unknown, first := 0, int64(0), int64(0), time.Duration(0)
	for i := range c.Members {
		if w := &c.Members[i]; w.Run == nil {
			lost, notSent, unknown = lost+1, notSent+w.NotSent, unknown+w.Unknown
			if lost == 1 || w.LostAt < first {
				first = w.LostAt
			}
		}
	}
	if lost == 0 {
		return
	}
	if m.Client == nil {
		m.Client = &verdict.Report{
			Phase: m.Plan.Name, Verdict: verdict.OK, Evidence: []verdict.Sign{}, Bias: []verdict.Bias{},
		}
	}
	were := "were"
	if lost == 1 {
		were = "was"
	}
	since := view.Figure(max(0, first-m.Stats.Start).Seconds()) // it may have gone in an earlier phase
	gone := fmt.Sprintf("%d of %d load generators %s gone from %s s on", lost, len(c.Members), were, since)
	share := float64(lost) / float64(len(c.Members)) // of the slots of a closed loop
	if m.Plan.Open() {
		share = float64(notSent+unknown) / float64(max(1, notSent+unknown+m.Stats.Sent))
		gone += fmt.Sprintf(": %d arrivals were not sent, and %d more perhaps not", notSent, unknown)
	}
	r := verdict.Reason{
		Code: "load-reduced", Level: verdict.Suspect, Phase: m.Plan.Name, Metric: "load_not_offered",
		Value: share, Limit: reducedLimit, Unit: "ratio", Concerns: []string{"throughput"},
		Message: gone + "; the requests that they had sent are not in the results",
	}
	if share > reducedWrong {
		r.Level = verdict.Invalid
	}
	m.Client.Reasons = append(m.Client.Reasons, r)
	m.Client.Verdict = verdict.Worse(m.Client.Verdict, r.Level)
}

// verdict returns the judgement of the load generator on a phase.
func (m *Member) verdict(phase string) verdict.Member {
	out := verdict.Member{Worker: m.Name}
	if m.Snapshot == nil {
		return out
	}
	for i := range m.Snapshot.Phases {
		if s := &m.Snapshot.Phases[i].Stats; s.Name == phase {
			out.Requests = s.Sent
		}
	}
	client := m.Snapshot.Client
	switch {
	case client == nil || m.Run == nil:
	case client.Phase == phase && len(client.Phases) == 0:
		out.Report = client
	default:
		if at := slices.IndexFunc(client.Phases, func(r verdict.Report) bool { return r.Phase == phase }); at >= 0 {
			out.Report = &client.Phases[at]
		}
	}
	return out
}

// Ending is what is known at the end of a part of a run that its records do not tell.
type Ending struct {
	Warnings  []bench.Warning       `json:"warnings,omitempty"`
	Dataset   export.Dataset        `json:"dataset"`
	Method    string                `json:"token_counts"` // see [Tokens]
	Built     bool                  `json:"substituted,omitempty"`
	Warning   *bench.Warning        `json:"substitute_warning,omitempty"`
	Refused   int64                 `json:"refused,omitempty"`
	Refusal   string                `json:"refusal,omitempty"`
	Responses Responses             `json:"responses"`
	Sharing   transport.SharedCount `json:"sharing"`
}

// Ending returns what a load generator tells of its part besides records.
func (in *Input) Ending() *Ending {
	out := &Ending{
		Warnings: in.Warnings, Dataset: in.Dataset, Method: in.Tokens.Method, Built: in.Tokens.Substituted,
		Warning: in.Tokens.Warning, Refused: in.Tokens.Refused, Responses: in.Responses, Sharing: in.Sharing,
	}
	if in.Tokens.Refusal != nil {
		out.Refusal = in.Tokens.Refusal.Error()
	}
	return out
}

// join adds the endings of all parts.
func (in *Input) join(members []Member) {
	names := map[bench.Warning][]string{}
	var order []bench.Warning
	for i := range members {
		e := members[i].Ending
		if e == nil {
			continue
		}
		for _, w := range e.Warnings {
			if names[w] == nil {
				order = append(order, w)
			}
			names[w] = append(names[w], members[i].Name)
		}
		if in.Tokens.Method == "" {
			in.Dataset, in.Tokens.Method = e.Dataset, e.Method
			in.Tokens.Substituted, in.Tokens.Warning = e.Built, e.Warning
		}
		in.Tokens.Refused += e.Refused
		if e.Refusal != "" && in.Tokens.Refusal == nil {
			in.Tokens.Refusal = errors.New(e.Refusal)
		}
		in.Responses.add(&e.Responses)
		in.Sharing = in.Sharing.Add(e.Sharing)
	}
	for _, w := range order {
		if who := names[w]; len(who) < len(members) {
			w.Detail = "worker " + strings.Join(who, ", ") + ": " + w.Detail
		}
		in.Warnings = append(in.Warnings, w)
	}
}

// add adds those of another load generator.
func (r *Responses) add(o *Responses) {
	r.Mismatched += o.Mismatched
	r.Malformed += o.Malformed
	r.Impossible += o.Impossible
	r.Crashes += o.Crashes
	r.Example = cmp.Or(r.Example, o.Example)
}

// describe says how the load generators performed the run.
func (c *ClusterInput) describe(phases []Measured) *export.Cluster {
	out := &export.Cluster{}
	var doubtful []verdict.Member
	for i := range c.Members {
		out.Workers = append(out.Workers, c.Members[i].describe())
	}
	for i := range phases {
		p := &phases[i]
		s, n := &p.Stats, p.Set.Counters()
		k := &out.Conservation
		k.Scheduled += s.ExpectedRequests
		k.Sent += s.Sent
		k.Succeeded += n.Success
		k.Failed += n.Errors
		k.Cancelled += n.Cancelled + n.CancelledByTest
		if !p.Plan.Counted() {
			continue
		}
		doubtful = doubtful[:0]
		for j := range c.Members {
			doubtful = append(doubtful, c.Members[j].verdict(p.Plan.Name))
		}
		if share, _ := verdict.Distorted(doubtful); share > 0 && len(out.Contamination) == 0 {
			out.Contamination = contamination(p.Set, share)
		}
	}
	k := &out.Conservation
	for i := range c.Members {
		if m := &c.Members[i]; m.Run == nil && m.Snapshot != nil {
			k.NotSent, k.Unknown = k.NotSent+m.NotSent, k.Unknown+m.Unknown
			for j := range m.Snapshot.Phases {
				n := m.Snapshot.Phases[j].Stats.Sent
				k.Sent, k.Unrecorded = k.Sent+n, k.Unrecorded+n
			}
		}
	}
	k.Holds = k.Sent == k.Succeeded+k.Failed+k.Cancelled+k.Unrecorded
	return out
}

// describe says what a load generator has done.
func (m *Member) describe() export.Worker {
	w := export.Worker{Name: m.Name, Share: m.Share, State: "lost", Verdict: string(verdict.Unknown)}
	w.Reason = m.Lost
	if m.Run != nil {
		w.State, w.Reason = string(m.Run.State), m.Run.StateReason
	}
	if m.ClockBound >= 0 {
		w.ClockBound = new(float64(m.ClockBound) / float64(time.Millisecond))
	}
	if m.Snapshot != nil {
		for j := range m.Snapshot.Phases {
			if s := &m.Snapshot.Phases[j].Stats; s.Kind == bench.Profiling {
				w.Requests += s.Sent
			}
		}
		if client := m.Snapshot.Client; client != nil {
			w.Verdict = string(client.Verdict)
		}
	}
	if rep := m.report; rep != nil {
		for to, of := range map[**float64]struct {
			tag  string
			stat metric.Stat
		}{
			&w.TTFTP50: {"time_to_first_token", metric.P50}, &w.TTFTP99: {"time_to_first_token", metric.P99},
			&w.LatencyP50: {"request_latency", metric.P50}, &w.LatencyP99: {"request_latency", metric.P99},
		} {
			if v, ok := rep.Results.Value(of.tag, of.stat); ok {
				*to = &v
			}
		}
	}
	return w
}

// contamination returns the bounds of the percentiles of a phase if a share of its values may be wrong: these move an
// order statistic by their number at most (P. J. Huber, Robust Estimation of a Location Parameter, 1964).
func contamination(set *measure.Set, share float64) (out []verdict.Contamination) {
	for _, tag := range []string{"time_to_first_token", "request_latency"} {
		h, ok := set.Histogram(tag)
		def, known := catalogue.Lookup(tag)
		if !ok || !known || h.Count() == 0 {
			continue
		}
		const perSecond = 1000 // milliseconds; sketches have seconds
		for _, p := range []float64{50, 90, 95, 99} {
			lower := h.Quantile(max(0, p/100-share)) * perSecond
			b := verdict.Contamination{Metric: tag, Percentile: p, Lower: lower, Unit: def.Unit}
			if p/100+share < 1 {
				b.Upper = new(h.Quantile(p/100+share) * perSecond)
			}
			out = append(out, b)
		}
	}
	return out
}
