package report

import (
	"cmp"
	"context"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
)

// Validity decides whether the result of a run counts for its scenario; nil = it has none. The report must be complete
// otherwise, and the tallies of the phases those of their records.
func Validity(doc *config.Document, rep *export.Report, phases []Measured) *verdict.Validity {
	if doc.Scenario() == nil {
		return nil
	}
	var all []playedPhase
	for i := range phases {
		all = append(all, playedPhase{&phases[i].Stats, phases[i].Tally.Replay})
	}
	return judgeValidity(doc, rep, all)
}

// playedPhase is a phase with what its records say.
type playedPhase struct {
	stats  *bench.PhaseStats
	replay *verdict.Replay // nil = it plays no sessions
}

// Recheck decides again whether the result of a run counts, from its record file and from what its report says of the
// client, the data and the caches. The phases of the report are those of the records.
func Recheck(ctx context.Context, doc *config.Document, rep *export.Report, log *results.Measured) (*verdict.Validity, error) {
	all := make([]playedPhase, len(rep.Phases))
	at := map[int]*verdict.Replay{}
	for i := range rep.Phases {
		all[i] = playedPhase{&rep.Phases[i].Stats, new(verdict.Replay)}
		at[rep.Phases[i].Stats.Index] = all[i].replay
	}
	for rec, err := range log.Records(ctx) {
		if err != nil {
			return nil, err
		}
		if r := at[rec.Phase]; r != nil {
			r.Observe(rec)
		}
	}
	return judgeValidity(doc, rep, all), nil
}

// judgeValidity judges phases.
func judgeValidity(doc *config.Document, rep *export.Report, phases []playedPhase) *verdict.Validity {
	s := doc.Scenario()
	rules, played := rulesOf(doc, s), playedOf(doc, rep, phases)
	rules.Traces = s.Corpora.Traces[rep.Dataset.Source]
	return verdict.JudgeValidity(rules, played)
}

// rulesOf returns what a scenario asks of a run.
func rulesOf(doc *config.Document, s *config.Scenario) *verdict.Rules {
	r := &verdict.Rules{
		Scenario: s.ID(), SHA256: s.SHA256, Overridden: s.Overridden, Deviations: map[string][]string{},
		Duration: time.Duration(s.Limits.Duration * float64(time.Second)), Silence: time.Duration(s.Limits.Silence * float64(time.Second)),
		Overflow: s.Limits.Overflow, Errors: s.Limits.Errors, Cold: s.Limits.Cold,
		Lanes: s.Limits.Lanes, Output: s.Limits.Output, Input: s.Limits.Input, Coverage: s.Limits.Coverage,
	}
	for _, d := range s.Deviations {
		r.Deviations[d.Check] = append(r.Deviations[d.Check], d.Text)
	}
	for i := range doc.Benchmark.Phases {
		if p := &doc.Benchmark.Phases[i]; p.Type == config.AgenticReplay && p.Concurrency != nil {
			r.Concurrency = *p.Concurrency
		}
	}
	return r
}

// playedOf returns what the phases of a run did.
func playedOf(doc *config.Document, rep *export.Report, phases []playedPhase) *verdict.Played {
	p := &verdict.Played{
		Replay: new(verdict.Replay), Client: verdict.Unknown, Cancelled: rep.Cancelled,
		Source: rep.Dataset.Source, Revision: rep.Dataset.Revision, Traces: rep.Dataset.Entries, LeftOut: rep.Dataset.LeftOut,
	}
	if d := &doc.Benchmark.Datasets[0]; d.Dataset != "" {
		p.Dataset = d.Dataset
		if d.Path != "" {
			p.Revision = "" // a local copy, whatever it is called
		}
	} else {
		p.Dataset = cmp.Or(d.Format, "weka_trace")
	}
	if rep.Client != nil {
		p.Client = rep.Client.Verdict
	}
	if rep.Cache != nil {
		p.Cache = rep.Cache.Verdict
	}
	for _, phase := range phases {
		switch {
		case phase.replay == nil:
		case phase.stats.Kind == bench.Warmup && p.Primers != nil: // a cache warm-up
		case phase.stats.Kind == bench.Warmup:
			p.Primers = phase.replay
		default:
			p.Replay = phase.replay
			p.From, p.Until = phase.stats.Start, sentUntil(phase.stats)
		}
	}
	return p
}

// sentUntil returns when a phase stopped sending: at the end of its duration, or before.
func sentUntil(s *bench.PhaseStats) time.Duration {
	until := cmp.Or(s.RequestsEnd, s.LastUpdate)
	if s.ExpectedDuration > 0 && (s.DurationReached || until > s.Start+s.ExpectedDuration) {
		until = s.Start + s.ExpectedDuration
	}
	return until
}

// notValid warns of a result that does not count.
func notValid(_ *Input, rep *export.Report) []bench.Warning {
	v := rep.Validity
	if v == nil || v.Valid {
		return nil
	}
	var why []string
	for _, c := range v.Checks {
		if !c.OK {
			why = append(why, c.ID+": "+c.Text())
		}
	}
	return warn(export.NotValid, "the result does not count for %s (submission_valid: false): %s", v.Scenario, strings.Join(why, "; "))
}
