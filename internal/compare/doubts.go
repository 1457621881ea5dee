package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/dataset/trace"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/stat"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// addDoubts adds the reasons to trust the answer for one cell, which has these metrics, less.
func (a *Answer) addDoubts(c *pair, metrics []MetricAnswer) {
	left, right := c.a, c.b
	both := slices.Concat(left, right)
	for i := range both {
		r := both[i].Run
		if r.Version != both[0].Run.Version {
			a.AddDoubt("version-differs", "the runs were measured by different versions of aiperfd")
		}
		if s := both[i].Snapshot; s != nil && !s.Final {
			a.Final = false
			a.AddDoubt("not-final", "some of the runs have not ended; their results still change")
		}
		if r.Client == nil {
			continue
		}
		for _, m := range metrics {
			if verdict.Of(r.Client.Reasons, m.Tag) == verdict.Suspect {
				a.AddDoubt("client-suspect", "the load generator may have changed "+m.Tag+" in some of the runs")
			}
		}
	}
	doubtCaches(a.AddDoubt, compared{"A", left}, compared{"B", right})
	for i := range metrics {
		for _, runs := range [][]Input{left, right} {
			if drifts(runs, &metrics[i]) {
				a.AddDoubt("drift-across-runs", fmt.Sprintf("%s %s rises or falls from run to run of one side, "+
					"as if the server had changed in time", metrics[i].Statistic, metrics[i].Tag))
			}
		}
	}
	if slices.ContainsFunc(metrics, func(m MetricAnswer) bool { return m.short }) {
		a.AddDoubt("too-short", "some numbers change more slowly than a sixteenth of a run, "+
			"so the runs do not show how sure they are; longer runs do")
	}
	for _, tag := range []string{"input_sequence_length", "output_sequence_length"} {
		if !lengthsDiffer(left, right, tag) {
			continue
		}
		a.AddDoubt("lengths-differ", fmt.Sprintf("mean %s is %.4g in A and %.4g in B", tag,
			*meanLength(left, tag), *meanLength(right, tag)))
		if tag == "output_sequence_length" {
			withhold(metrics, "request_latency", "answers of A and B are not equally long")
		}
	}
	if len(left) > 1 && len(right) > 1 && (isBefore(left, right) || isBefore(right, left)) {
		a.AddDoubt("not-interleaved", "all runs of one side were measured before those of the other, "+
			"so a change of the server in time looks like one between A and B; aiperfd compare --run measures them alternately")
	}
}

// drifts reports whether a metric depends on the order in which the runs of a side were made.
func drifts(runs []Input, m *MetricAnswer) bool {
	ordered := slices.Clone(runs)
	slices.SortStableFunc(ordered, func(x, y Input) int { return x.Run.CreatedAt.Compare(y.Run.CreatedAt) })
	s, _ := metric.ParseStat(m.Statistic)
	_, p, ok := stat.Trend(valuesOf(ordered, asked{tag: m.Tag, stat: s}))
	return ok && p < 0.01
}

// lengthsDiffer reports whether the means of a length differ by more than 1 %.
func lengthsDiffer(a, b []Input, tag string) bool {
	const share = 0.01
	la, lb := meanLength(a, tag), meanLength(b, tag)
	return la != nil && lb != nil && math.Abs(*la-*lb) > share*math.Abs(*la)
}

// meanLength returns the mean of a length over runs; nil if none has one.
func meanLength(runs []Input, tag string) *float64 {
	return meanOf(valuesOf(runs, asked{tag: tag, stat: metric.Avg}))
}

// withhold marks a metric as not tested.
func withhold(metrics []MetricAnswer, tag, reason string) {
	for i := range metrics {
		if m := &metrics[i]; m.Tag == tag && m.Verdict == Inconclusive {
			m.Verdict, m.Reason = NotTested, reason
		}
	}
}

// isBefore reports whether every run of a was created before every one of b.
func isBefore(a, b []Input) bool {
	created := func(x, y Input) int { return x.Run.CreatedAt.Compare(y.Run.CreatedAt) }
	last, first := slices.MaxFunc(a, created), slices.MinFunc(b, created)
	return last.Run.CreatedAt.Before(first.Run.CreatedAt)
}

// compared is the runs of one side of an answer, and what the side is called.
type compared struct {
	name string
	runs []Input
}

// doubtCaches adds doubts about prefix caches: servers that report other shares of cached tokens for
// the second side than for the first, and prompts that the same server had got before from the other side.
func doubtCaches(doubt func(code, message string), first, second compared) {
	const points = 0.02 // that shares of cached tokens may differ by
	shares, others := cachedShares(first.runs), cachedShares(second.runs)
	reported := len(shares) > 0 && len(shares) == len(first.runs) && len(others) == len(second.runs)
	if reported {
		before, after := *meanOf(shares), *meanOf(others)
		if math.Abs(before-after) > points {
			doubt("cache-differs", fmt.Sprintf("servers had cached %.1f %% of the prompt tokens of %s and %.1f %% of those of %s",
				100*before, first.name, 100*after, second.name))
		}
		return
	}
	again := slices.ContainsFunc(second.runs, func(b Input) bool {
		return slices.ContainsFunc(first.runs, func(a Input) bool { return samePrompts(a.Run, b.Run) })
	})
	if again {
		doubt("warm-second", "runs of both sides sent the same prompts to the same server, which does not report "+
			"cached tokens: a prefix cache makes the later run faster; give each run prompts of its own, or use --cache-bust")
	}
}

// cachedShares returns the shares of prompt tokens that servers report to have had in their cache.
func cachedShares(runs []Input) []float64 {
	var out []float64
	for i := range runs {
		if runs[i].Snapshot == nil {
			continue
		}
		if c := runs[i].Snapshot.PrefixCache(); c != nil && c.Reported() != nil {
			out = append(out, *c.Reported())
		}
	}
	return out
}

// PromptSource returns a text that is the same for runs of one document that send the same prompts; empty if a marker
// makes each request, or each session, differ from all others.
func PromptSource(r *run.Run) string {
	p := promptsOf(r)
	if p.marked {
		return ""
	}
	return fmt.Sprintf("%d %s", p.seed, p.recorded)
}

// samePrompts reports whether two runs sent the same prompts to a server that both used, and nothing
// in them made them different.
func samePrompts(a, b *run.Run) bool {
	if a.ID == b.ID || !a.ServerInCommon(b) {
		return false
	}
	first, second := promptsOf(a), promptsOf(b)
	return first == second && !first.marked
}

// prompts is where the prompts of a run come from: runs with equal ones send the same prompts.
type prompts struct {
	recorded string // the file, public dataset or records that have the prompts; empty = they are made up
	seed     int64  // 0 = they do not depend on it
	marked   bool   // each request, or each session, differs from all others by a marker
}

// promptsOf reads where the prompts of a run come from in its document.
func promptsOf(r *run.Run) prompts {
	type cacheBust struct {
		Target string `json:"target"`
	}
	var document struct {
		Datasets []struct {
			Type       string          `json:"type"`
			Path       string          `json:"path"`
			Dataset    string          `json:"dataset"`
			Subset     string          `json:"hfSubset"`
			Split      string          `json:"hfSplit"`
			Records    json.RawMessage `json:"records"`
			Format     string          `json:"format"`
			RandomSeed *int64          `json:"randomSeed"`
			CacheBust  cacheBust       `json:"cacheBust"`
			Prompts    struct {
				CacheBust cacheBust `json:"cacheBust"`
			} `json:"prompts"`
		} `json:"datasets"`
	}
	out := prompts{seed: r.Seed}
	if err := json.Unmarshal(r.Config, &document); err != nil || len(document.Datasets) == 0 {
		return out
	}
	d := &document.Datasets[0]
	if d.RandomSeed != nil {
		out.seed = *d.RandomSeed
	}
	target := cmp.Or(d.CacheBust.Target, d.Prompts.CacheBust.Target, "none")
	out.marked = target != "none"
	if d.Type == "" || d.Type == "synthetic" {
		return out
	}
	out.recorded = strings.Join([]string{d.Path, d.Dataset, d.Subset, d.Split, string(d.Records)}, "\n")
	// A trace has the lengths of prompts, whose words follow from the seed.
	if !slices.ContainsFunc(trace.Formats(), func(f source.Format) bool { return f.Name == d.Format }) {
		out.seed = 0
	}
	return out
}
