package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/stat"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/verdict"
)

// repeatedFrom is the share of repeated prompts from which there is a warning: below it,
// they are too few to move a percentile from p1 to p99 past its neighbours.
const repeatedFrom = 0.01

// prefixCache describes the prefix caches of the servers of a run that has ended.
func prefixCache(in *Input, rep *export.Report) *verdict.Cache {
	p := in.Plan
	cold := meantCold(p) != ""
	e := verdict.CacheEvidence{
		Counted: rep.Server.PrefixHits(), CarriedOver: in.Carried, Cold: cold, FirstOnly: cold && firstOnly(p, rep),
		Alike: rep.ByTurn != nil || p.Dataset.Kind.File || p.Dataset.Options.System != "" || deliberate(p) ||
			rep.Results.Find("theoretical_prefix_cache_hit") != nil || !p.Kind.Caps.ProducesTokens,
	}
	if first, ok := rep.Results.Value(firstTurns, metric.Avg); ok {
		e.First = new(first / 100)
	}
	e.Inferred = inferredHits(in.Samples, rep)
	return verdict.JudgeCache(rep.Results, e)
}

// inferredHits returns the share of the requests of steady windows whose first token came at least a third sooner than
// that of the others, for the length of their prompts, if the requests form two such groups; nil if they do not.
func inferredHits(kept *samples.Samples, rep *export.Report) *float64 {
	const apart = 1.5 // times as late
	if kept == nil {
		return nil
	}
	var lengths, waits []float64 // logarithms
	for _, p := range kept.Points {
		at := kept.Start.Add(p.End - time.Duration(p.Latency*float64(time.Millisecond)))
		if p.Input > 0 && p.FirstToken > 0 && steadyAt(rep, at) {
			lengths, waits = append(lengths, math.Log(p.Input)), append(waits, math.Log(p.FirstToken))
		}
	}
	share, ok := stat.LowerGroup(stat.Residuals(lengths, waits), math.Log(apart))
	if !ok {
		return nil
	}
	return &share
}

// steadyAt reports whether an instant lies in a steady window.
func steadyAt(rep *export.Report, at time.Time) bool {
	return slices.ContainsFunc(rep.Phases, func(p export.PhaseReport) bool {
		return slices.ContainsFunc(p.Windows, func(w export.Window) bool {
			return w.Name == measure.SteadyWindow && !w.Absent && !at.Before(w.Start) && !at.After(w.End)
		})
	})
}

// firstTurns is the share of the prompt tokens of first turns that were cached, in percent.
const firstTurns = "first_turn_cache_read_pct"

// firstOnly reports whether only the first turns of a run can be cold: later ones find their own history in the
// cache, unless every request has a marker of its own.
func firstOnly(p *plan.Plan, rep *export.Report) bool {
	return rep.ByTurn != nil && !p.CacheBust.EachRequest
}

// cacheNotCold warns if prompts were cached although the user has asked for the opposite.
func cacheNotCold(in *Input, rep *export.Report) []bench.Warning {
	why, c := meantCold(in.Plan), rep.PrefixCache()
	if why == "" || c == nil || in.Plan.Dataset.Kind.Agentic { // agents begin like the session that starts them
		return nil
	}
	cached, what := c.Reported(), "of the prompt tokens"
	if firstOnly(in.Plan, rep) {
		cached, what = nil, "of the prompt tokens of first turns"
		if pct, ok := rep.Results.Value(firstTurns, metric.Avg); ok {
			cached = new(pct / 100)
		}
	}
	switch {
	case c.Reported() == nil && c.RepeatedInput >= verdict.ColdBelow:
		return warn("cache-not-cold", "%s requests a cold prefix cache, but %.1f %% of prompts had been sent before in the run%s",
			why, 100*c.RepeatedPrompts, uncold)
	case cached == nil || *cached < verdict.ColdBelow:
		return nil
	}
	text := fmt.Sprintf("%s requests a cold prefix cache, but the server had cached %.1f %% %s", why, 100**cached, what)
	if c.RepeatedPrompts >= repeatedFrom {
		return warn("cache-not-cold", "%s: %.1f %% of prompts had been sent before in the run%s", text, 100*c.RepeatedPrompts, uncold)
	}
	if foundWarm(rep) {
		return nil
	}
	return warn("cache-not-cold", "%s, and the run did not repeat prompts: they begin alike, or an earlier run has sent them", text)
}

// foundWarm reports whether a finding about the servers says that more was cached than the run repeats, and why.
func foundWarm(rep *export.Report) bool {
	return slices.ContainsFunc(serverFindings(rep.Server), func(of []diagnose.Finding) bool {
		return slices.ContainsFunc(of, func(f diagnose.Finding) bool { return f.Code == diagnose.PrefixWarm })
	})
}

// uncold is what to do about prompts that repeat.
const uncold = "; send more distinct ones, or use --cache-bust per_request"

// meantCold names the setting with which the user asks for prompts that are not cached;
// empty = there is none. A system message before the marker is meant to be shared.
func meantCold(p *plan.Plan) string {
	bust, data := &p.CacheBust, &p.Dataset.Options
	shared := data.System != "" || data.Synthetic.SharedSystem > 0
	switch {
	case bust.Unshared() && (bust.System || !shared):
		return "--cache-bust " + bust.Target
	case data.Synthetic.Corpus == "unique" && !shared:
		return "--prompt-corpus unique"
	case p.Reset != nil:
		return "--reset-kv-cache"
	}
	return ""
}

// cachedPrompts warns if the server had cached prompts although no option shows that the user has thought of
// prefix caches: those that the run repeated, or more than it repeated.
func cachedPrompts(in *Input, rep *export.Report) []bench.Warning {
	c := rep.PrefixCache()
	if c == nil || meantCold(in.Plan) != "" || c.Theoretical != nil || !in.Plan.Kind.Caps.ProducesTokens || deliberate(in.Plan) {
		return nil
	}
	cached := c.Reported()
	if cached == nil || *cached < verdict.ColdBelow {
		return nil // the server computed them all, or does not say
	}
	if c.Declared != verdict.Unstated && *cached > c.RepeatedInput && c.Verdict == verdict.Contradicted {
		if foundWarm(rep) {
			return nil
		}
		return warn("cache-not-cold", "the server had cached %.1f %% of the prompt tokens, but the run repeated only %.1f %% of its "+
			"input: prompts begin alike, or an earlier run has sent them; use another --random-seed, or --cache-bust",
			100**cached, 100*c.RepeatedInput)
	}
	if c.RepeatedPrompts < repeatedFrom {
		return nil
	}
	remedy := "send more distinct ones (--num-dataset-entries)"
	if in.Plan.Dataset.Kind.File {
		remedy = "give a dataset with more of them"
	}
	return warn("repeated-prompts", "%.1f %% of prompts had been sent before in the run, and the server had cached %.1f %% of the "+
		"prompt tokens; %s, or use --cache-bust", 100*c.RepeatedPrompts, 100**cached, remedy)
}

// deliberate reports whether an option of the run is about prefix caches, or its prompts are those of recorded
// sessions, which grow by design.
func deliberate(p *plan.Plan) bool {
	s := &p.Dataset.Options.Synthetic
	return p.Dataset.Kind.Agentic || p.CacheBust.On() || p.Reset != nil || s.Corpus == "unique" || s.PrefixPool > 0 || s.SharedSystem > 0 || s.UserContext > 0
}
