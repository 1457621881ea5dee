package export

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/stat"
	"aiperfd/internal/results"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/view"
)

// RepeatsQuestion is what repeats of a document answer.
const RepeatsQuestion = "How large are the numbers of this configuration, and how sure are they?"

// The verdicts on repeats.
const (
	repeatsEstimated    results.Verdict = "estimated"
	repeatsInconclusive results.Verdict = "inconclusive"
	repeatsInvalid      results.Verdict = "invalid"
)

// subject returns the statistic that repeats are about: the one that ends them, or else the first of these that was
// measured.
func subject(r *Report, c *cell.Result) (tag, name string) {
	if ends := r.Study.MultiRun.Convergence; ends != nil {
		return ends.Metric, ends.Stat
	}
	for _, s := range [...][2]string{
		{"time_to_first_token", "p50"}, {"request_latency", "p50"}, {"request_latency", "avg"},
	} {
		if c.Find(s[0], s[1]) != nil {
			return s[0], s[1]
		}
	}
	return cell.ThroughputTag, cell.ThroughputStat
}

// repeatsAnswer returns what repeats of a document say so far; nil if it was performed once, or no run has ended.
func repeatsAnswer(r *Report) *results.Answer {
	rows := r.Rows()
	if r.Study.Sweep != nil || r.Study.MultiRun.NumRuns < 2 || len(rows) == 0 || len(rows[0].Trials) == 0 {
		return nil
	}
	c, ends := &rows[0], r.Study.MultiRun.Convergence
	out := &results.Answer{
		AnswerHead: results.NewAnswerHead("repeats", RepeatsQuestion,
			"this configuration, on this server, while it was measured"),
		RunID: r.Run.ID, Evidence: []results.AnswerProbe{},
	}
	out.Provenance = results.AnswerOrigin{Seed: &r.Study.Seed, Version: r.Run.Version}
	out.Stop.Probes = len(c.Trials)
	tag, name := subject(r, c)
	level := cell.LevelUsed(r.Study.MultiRun.ConfidenceLevel, ends)
	found, why := c.RepeatsOf(tag, name, level)
	invalid := c.Invalid(tag)
	header := statisticText(tag, name)
	switch {
	case invalid:
		out.Verdict = repeatsInvalid
		out.Sentences = append(out.Sentences, "No answer: the load generator distorted "+header+" in every run.")
		out.Decide.Needs = "give the load generator a machine or cores of its own, and measure again"
	case why != "":
		out.Verdict = repeatsInconclusive
		out.Sentences = append(out.Sentences,
			"Not decided: how precisely "+header+" is known cannot be said, because "+why+".")
		out.Decide.Needs = fmt.Sprintf("%d runs or more that have a value of it", cell.MinRepeats)
	default:
		estimateRepeats(out, &found, ends, level, header)
	}
	if n := cheapest(&found, c.Good); n > 0 && out.Verdict != repeatsInvalid && found.N >= cell.MinRepeats {
		out.Decide.RequestsPerRun = int64(n)
		out.Sentences = append(out.Sentences, fmt.Sprintf("Runs of about %.0f requests make the interval narrow at the least "+
			"cost of time, given what the start of a run takes.", n))
	}
	stopRepeats(r, out, c)
	for i := range c.Trials {
		out.Evidence = append(out.Evidence, repeatOf(&c.Trials[i], i, tag, name))
	}
	if n := len(c.Good) - len(c.Counting(tag)); n > 0 && !invalid {
		out.AddDoubt("client", view.Plural(n, "run")+" left out, because the load generator distorted it there: "+
			"give it a machine or cores of its own")
	}
	if n := len(c.Trials) - len(c.Good); n > 0 {
		out.AddDoubt("runs-failed", view.Plural(n, "run")+" failed, so that the others may be the easier ones")
	}
	doubtCaches(out, c.Good)
	return out
}

// doubtCaches adds doubts about runs that sent the same prompts one after another, so that a prefix cache has those of
// the first run.
func doubtCaches(out *results.Answer, trials []cell.Trial) {
	const points = 0.02 // that shares of cached tokens may differ by
	for i := range trials {
		t, first := &trials[i], &trials[0]
		switch {
		case t.Cached != nil && first.Cached != nil:
			if apart := *t.Cached - *first.Cached; math.Abs(apart) > points {
				out.AddDoubt("cache-differs", fmt.Sprintf("servers had cached %.1f %% of the prompt tokens of the first run, and "+
					"%.1f %% of those of %s", 100**first.Cached, 100**t.Cached, t.Label))
				return
			}
		case t.Prompts != "" && slices.ContainsFunc(trials[:i], func(o cell.Trial) bool { return o.Prompts == t.Prompts }):
			out.AddDoubt("warm-second", "the runs sent the same prompts, and the server does not report cached tokens: a prefix "+
				"cache would make all but the first one faster; give each run prompts of its own (--vary-seed-per-trial), or use "+
				"--cache-bust")
			return
		}
	}
}

// leastRequests are the requests of a run of which blocks can be made.
const leastRequests = 160

// cheapest returns how many requests per run make an interval cheapest, as runs and requests took time here (Kalibera
// and Jones, ISMM 2013), at least those of 16 blocks of 10; 0 if runs differ no more than chance within them predicts, or
// if the times are not known.
func cheapest(x *cell.Repeats, trials []cell.Trial) float64 {
	var requests, start, load float64
	for i := range trials {
		requests += float64(trials[i].Requests)
		load += trials[i].Load.Seconds()
		start += (trials[i].Whole - trials[i].Load).Seconds()
	}
	if x.Between <= 0 || x.Within <= 0 || requests <= 0 || start <= 0 || load <= 0 {
		return 0
	}
	runs := float64(len(trials))
	variance := requests / runs * x.Within * x.Within // of one request
	return max(leastRequests, math.Round(math.Sqrt(start/runs/(load/requests)*variance/(x.Between*x.Between))))
}

// statisticText names a statistic as people do: Time to First Token p50.
func statisticText(tag, name string) string {
	if def, ok := catalogue.Lookup(tag); ok {
		tag = def.Header
	}
	if name == "avg" {
		return tag + ", mean"
	}
	return tag + " " + name
}

// estimateRepeats adds the value with its interval, and what would make that narrower.
func estimateRepeats(out *results.Answer, x *cell.Repeats, ends *sweep.Convergence, level float64, header string) {
	out.Estimate = &results.AnswerEstimate{AnswerInterval: results.AnswerInterval{
		Tag: x.Tag, Statistic: x.Stat, Value: x.Mean, Unit: x.Unit, Low: x.Low, High: x.High, Level: level,
		Replication: "runs", N: x.N, Method: "Student",
	}}
	if x.Within > 0 {
		out.Estimate.Method = "random effects (Paule-Mandel, Hartung-Knapp)"
	}
	out.Sentences = append(out.Sentences, fmt.Sprintf("%s: %s. The true value of this configuration probably lies between "+
		"%s and %s (%.4g %% interval over %s).", header, metric.ValueText(x.Mean, x.Unit), view.Figure(x.Low),
		view.Figure(x.High), 100*level, view.Plural(x.N, "run")))
	out.Verdict = repeatsEstimated
	asked, left := 0.0, out.Stop.Probes-x.N
	if ends != nil && ends.Mode == sweep.Precise {
		asked = ends.Limit()
	}
	reached := fmt.Sprintf("So the value is known to ± %s", view.Percent(x.Precision()))
	switch {
	case x.N < cell.MinRepeats:
		out.Verdict = repeatsInconclusive
		out.Sentences[0] = "Too few runs to rely on: " + out.Sentences[0]
		out.AddDoubt("few-runs", "two runs hardly show how much runs differ among themselves")
		out.Decide.Needs = fmt.Sprintf("at least %d runs that count (--num-profile-runs)", cell.MinRepeats)
		if left > 0 {
			out.Decide.Needs += fmt.Sprintf(": %d of %d do not, see the doubts", left, out.Stop.Probes)
		}
	case asked > 0 && x.Precision() > asked:
		out.Verdict = repeatsInconclusive
		out.Sentences[0] = "Less precise than asked: " + out.Sentences[0]
		reached += fmt.Sprintf(", and ± %s was asked: not reached", view.Percent(asked))
		out.Decide.Needs = moreRuns(x, asked, level) + ", if they differ as these do, for ± " + view.Percent(asked)
	case asked > 0:
		reached += fmt.Sprintf(", and ± %s was asked: reached", view.Percent(asked))
		fallthrough
	default:
		if x.Precision() > 0 {
			out.Decide.Needs = moreRuns(x, x.Precision()/2, level) + " for half the width of the interval"
		}
	}
	out.Sentences = append(out.Sentences, reached+".")
	if x.Within > 0 && x.N >= cell.MinRepeats {
		text := "Most of what is unsure comes from chance within the runs: longer runs help as much as more of them."
		if x.ShareBetween() > 0.5 {
			text = fmt.Sprintf("Runs differ by %s of the value beyond chance within a run, so that a single run can be off by "+
				"as much: more runs help, longer ones hardly do.", view.Percent(x.Between))
		}
		out.Sentences = append(out.Sentences, text)
	}
	if x.Drifts() {
		out.AddDoubt("drift-across-runs", "the values rise or fall with the order of the runs: the server or its machine "+
			"changed, or a cache filled, while it was measured")
	}
}

// moreRuns says how many runs give an interval whose half width is a share of the value, if they differ as these do.
func moreRuns(x *cell.Repeats, share, level float64) string {
	const most = 1000
	half := func(n int) float64 { return stat.Student((1+level)/2, float64(n-1)) / math.Sqrt(float64(n)) }
	width := x.Precision() / half(x.N)
	for n := x.N + 1; n <= most; n++ {
		if width*half(n) <= share {
			return fmt.Sprintf("about %d runs in all", n)
		}
	}
	return fmt.Sprintf("more than %d runs", most)
}

// stopRepeats says why there are no more repeats.
func stopRepeats(r *Report, out *results.Answer, c *cell.Result) {
	out.Stop.Budget = float64(len(c.Trials)) / float64(r.Study.MultiRun.NumRuns)
	ends := r.Study.MultiRun.Convergence
	switch {
	case r.Run.State != bench.StateExporting && !r.Run.State.Terminal():
		return
	case r.Cancelled:
		out.Stop.Reason, out.Stop.Text = results.StopCancelled, "it was cancelled, or its deadline passed"
	case len(c.Trials) >= r.Study.MultiRun.NumRuns:
		out.Stop.Reason, out.Stop.Text = results.StopComplete, fmt.Sprintf("all %d runs have ended", len(c.Trials))
	case ends != nil && cell.Converged(ends, r.Study.MultiRun.ConfidenceLevel, c.Trials):
		out.Stop.Reason = results.StopDecided
		out.Stop.Text = fmt.Sprintf("%s is stable enough after %d runs", statisticText(ends.Metric, ends.Stat), len(c.Trials))
	default:
		out.Stop.Reason, out.Stop.Text = "failed", "it failed before it was complete"
	}
	out.Final = true
}

// repeatOf returns a run as the answer has it.
func repeatOf(t *cell.Trial, at int, tag, name string) results.AnswerProbe {
	out := results.AnswerProbe{RunID: t.RunID, Role: "trial", X: float64(at + 1), Flags: []string{}, Failure: t.Failure}
	if t.Failure != "" {
		out.Flags = append(out.Flags, "failed")
		return out
	}
	if t.Distorted(tag) {
		out.Flags = append(out.Flags, "distorted")
	}
	if v, ok := t.Stat(tag, name); ok {
		margin := t.Metric(tag).Margins[name]
		out.Value, out.Low, out.High = v, v-margin, v+margin
	}
	return out
}

// repeatsMarkdown adds what the answer rests on, and the runs.
func repeatsMarkdown(out *bytes.Buffer, a *results.Answer) {
	for _, note := range a.Notes() {
		fmt.Fprintf(out, "- %s\n", view.EscapeMarkdown(note))
	}
	out.WriteString("\n| run | value | 95 % interval of the run alone | |\n|---|---|---|---|\n")
	for i := range a.Evidence {
		e := &a.Evidence[i]
		value, interval := view.Absent, view.Absent
		if e.Failure == "" {
			value = view.Figure(e.Value)
		}
		if e.Low < e.High {
			interval = view.Figure(e.Low) + " to " + view.Figure(e.High)
		}
		fmt.Fprintf(out, "| %.0f | %s | %s | %s |\n", e.X, value, interval, strings.Join(e.Flags, ", "))
	}
}
