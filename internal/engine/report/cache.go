package report

import (
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/verdict"
)

// repeatedFrom is the share of repeated prompts from which there is a warning: below it,
// they are too few to move a percentile from p1 to p99 past its neighbours.
const repeatedFrom = 0.01

// cacheNotCold warns if prompts were cached although the user has asked for the
// opposite. Later turns find their own history in the cache, so that only first turns
// count, unless every request has a marker of its own.
func cacheNotCold(in *Input, rep *export.Report) []bench.Warning {
	why, c := meantCold(in.Plan), verdict.NewCache(rep.Results)
	if why == "" || c == nil {
		return nil
	}
	tag, what := "first_turn_cache_read_pct", "of the prompt tokens of first turns"
	if in.Plan.CacheBust.EachRequest {
		tag, what = "overall_usage_prompt_cache_read_pct", "of the prompt tokens"
	}
	repeated := c.RepeatedPrompts
	if c.Cached == nil {
		if c.RepeatedInput < verdict.ColdBelow {
			return nil
		}
		return warn("cache-not-cold", "%s requests a cold prefix cache, but %.1f %% of prompts had been sent before in the run%s", why, 100*repeated, uncold)
	}
	cached := rep.Results.Find(tag)
	if cached == nil {
		return nil
	}
	pct, _ := cached.Get(metric.Avg)
	if pct < 100*verdict.ColdBelow {
		return nil
	}
	text := fmt.Sprintf("%s requests a cold prefix cache, but the server had cached %.1f %% %s", why, pct, what)
	if repeated >= repeatedFrom {
		return warn("cache-not-cold", "%s: %.1f %% of prompts had been sent before in the run%s", text, 100*repeated, uncold)
	}
	return warn("cache-not-cold", "%s, and the run did not repeat prompts: they begin alike, or an earlier run has sent them", text)
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

// repeatedPrompts warns of prompts that were sent more than once, unless the server says
// that it had not cached them, or an option shows that the user has thought of prefix
// caches.
func repeatedPrompts(in *Input, rep *export.Report) []bench.Warning {
	c := verdict.NewCache(rep.Results)
	if c == nil || c.RepeatedPrompts < repeatedFrom || c.Theoretical != nil || !in.Plan.Kind.Caps.ProducesTokens || deliberate(in.Plan) {
		return nil
	}
	if c.Cached != nil && *c.Cached < verdict.ColdBelow {
		return nil // the server computed them all
	}
	remedy := "send more distinct ones (--num-dataset-entries)"
	if in.Plan.Dataset.Kind.File {
		remedy = "give a dataset with more of them"
	}
	return warn("repeated-prompts", "%.1f %% of prompts had been sent before in the run: a server with a prefix cache computes them faster; "+
		"%s, or use --cache-bust", 100*c.RepeatedPrompts, remedy)
}

// deliberate reports whether an option of the run is about prefix caches.
func deliberate(p *plan.Plan) bool {
	s := &p.Dataset.Options.Synthetic
	return p.CacheBust.On() || p.Reset != nil || s.Corpus == "unique" || s.PrefixPool > 0 || s.SharedSystem > 0 || s.UserContext > 0
}
