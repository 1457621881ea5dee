package export

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/results"
	"aiperfd/internal/study/capacity"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/search"
	"aiperfd/internal/view"
)

// WriteAnswer writes the answer of an experiment; nothing for other studies.
func WriteAnswer(dir string, r *Report) error {
	a := r.Answer()
	if a == nil {
		return nil
	}
	data, err := indented(a)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	if err := durable.WriteFile(filepath.Join(dir, results.AnswerFile), durable.Shared, data); err != nil {
		return err
	}
	err = durable.WriteFile(filepath.Join(dir, results.AnswerMarkdown), durable.Shared, answerMarkdown(a))
	if err != nil || a.Kind != kindCapacity { // the evidence of pairs is their own file, that of repeats their runs
		return err
	}
	var probes bytes.Buffer
	for i := range a.Evidence {
		line, err := plainjson.Marshal(&a.Evidence[i])
		if err != nil {
			return fmt.Errorf("encode probe: %w", err)
		}
		probes.Write(append(line, '\n'))
	}
	return durable.WriteFile(filepath.Join(dir, results.ProbesFile), durable.Shared, probes.Bytes())
}

// What answers of searches for a capacity are called, and speak for.
const (
	kindCapacity      = "capacity"
	capacitySpeaksFor = "this server, with this workload, while it was measured"
)

// Answer returns what an experiment says so far; nil for other studies, and before the first probe of a search for a
// capacity or the first of several runs has ended.
func (r *Report) Answer() *results.Answer {
	switch {
	case r.Paired != nil:
		return r.Paired
	case r.Study.Sweep == nil:
		return repeatsAnswer(r)
	}
	found := r.search()
	if found == nil || len(r.Outcomes) == 0 {
		return nil
	}
	load, ok := found.Planner.(search.Load)
	if !ok {
		return nil
	}
	a := load.Answer(r.Outcomes)
	if a.Reason == "" {
		a.Reason = r.ended()
	}
	out := &results.Answer{
		AnswerHead: results.NewAnswerHead(kindCapacity, load.Question(), capacitySpeaksFor),
		RunID:      r.Run.ID, Binding: a.Binding, Evidence: []results.AnswerProbe{},
	}
	out.Final, out.Verdict, out.Sentences = a.Reason != "", results.Verdict(a.Verdict), found.Findings(r.Outcomes)
	out.Stop = results.AnswerStop{
		Reason: string(a.Reason), Text: search.ReasonText(string(a.Reason)), Probes: len(a.Evidence), Load: a.Load.Seconds(),
	}
	out.Decide = results.AnswerDecision{Needs: decision(&a), Load: a.Halving.Seconds()}
	out.Provenance = results.AnswerOrigin{Seed: &r.Study.Seed, Version: r.Run.Version}
	out.Stop.Budget = float64(len(a.Evidence)) / float64(load.Rules.Probes)
	if limit := load.Rules.Time; limit > 0 {
		out.Stop.Budget = max(out.Stop.Budget, a.Load.Seconds()/limit.Seconds())
	}
	if c := a.Capacity; c != nil {
		rounded := c.Value
		if load.Rules.Integer {
			rounded = math.Floor(rounded)
		}
		out.Estimate = &results.AnswerEstimate{
			AnswerInterval: results.AnswerInterval{
				Value: c.Value, Low: c.Low, High: c.High, Unit: load.Unit(), Level: 0.95, Replication: "probes", N: c.Local,
				Method: "complementary log-log, grid posterior",
			},
			Rounded: rounded, Advised: load.Advised(&a), Target: c.Target, Dispersion: c.Dispersion, Costs: a.Costs,
		}
	}
	addProbes(out, &a, probed(r.Outcomes))
	for _, d := range a.Doubts {
		out.AddDoubt(d.Code, d.Message)
	}
	return out
}

// addProbes adds the probes, whose runs have these ids, to an answer.
func addProbes(out *results.Answer, a *capacity.Answer, ran []string) {
	for i := range a.Evidence {
		p := probeOf(&a.Evidence[i], ran[i])
		out.Evidence = append(out.Evidence, p)
		if a.Good == &a.Evidence[i] {
			out.ConfirmedGood = new(p)
		}
		if a.Bad == &a.Evidence[i] {
			out.ConfirmedBad = new(p)
		}
	}
}

// ended returns why the study performs no more runs although its search asks for more; empty = it
// does.
func (r *Report) ended() capacity.Reason {
	switch {
	case r.Run.State != bench.StateExporting && !r.Run.State.Terminal():
		return ""
	case r.Cancelled:
		return capacity.Cancelled
	}
	return capacity.Failed
}

// probed returns the ids of the runs of the outcomes that have ended.
func probed(done []cell.Outcome) []string {
	var out []string
	for i := range done {
		if len(done[i].Trials) > 0 {
			out = append(out, done[i].Trials[0].RunID)
		}
	}
	return out
}

// probeOf returns a probe as the answer has it.
func probeOf(e *capacity.Evidence, id string) results.AnswerProbe {
	out := results.AnswerProbe{
		RunID: id, Role: string(e.Role), X: e.Level, Window: e.Window.Seconds(), Flags: []string{}, Failure: e.Failure,
	}
	if e.Failure != "" {
		out.Flags = append(out.Flags, "failed")
		return out
	}
	out.Value, out.FromStart, out.Low, out.High = e.Share.X, &e.FromStart, e.Low, e.High
	out.Requests, out.Effective = e.Share.N, e.Worth
	for _, flag := range []struct {
		name string
		set  bool
	}{{"growing", e.Growing}, {e.Ended, e.Ended != ""}, {"distorted", e.Distorted != ""}, {"not-idle", e.Busy}} {
		if flag.set {
			out.Flags = append(out.Flags, flag.name)
		}
	}
	return out
}

// decision says what would make the answer better.
func decision(a *capacity.Answer) string {
	switch a.Verdict {
	case capacity.Estimated:
		return "half the width of the interval takes about four times the load near the capacity"
	case capacity.LowerBound:
		return "probe more load: raise the upper end of the range, or the budget"
	case capacity.UpperBound:
		return "probe less load: lower the lower end of the range, or raise the budget"
	case capacity.NotFound:
		return "lower the lower end of the range, or loosen the objective that is missed"
	case capacity.NonMonotone:
		return "look at the probes for what changed: caches, autoscaling, other users of the server"
	case capacity.Invalid:
		switch {
		case a.Distorted != "":
			return "give the load generator a machine or cores of its own"
		case slices.ContainsFunc(a.Evidence, func(e capacity.Evidence) bool { return e.Failure == "" }):
			return "probe more loads: raise the budget, or let the search end"
		case len(a.Evidence) == 0:
			return "let the first probe end"
		}
		return "look at why the probes failed: " + a.Evidence[len(a.Evidence)-1].Failure
	}
	return ""
}

// openDecision says what would decide a capacity that is open. Of an estimate, the sentences have what a narrower
// interval takes.
func openDecision(a *results.Answer) string {
	if a.Verdict == results.Verdict(capacity.Estimated) {
		return ""
	}
	return a.Decide.Needs
}

// answerMarkdown returns the answer as text with a table of its probes.
func answerMarkdown(a *results.Answer) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n\n", a.Question)
	for i, text := range a.Sentences {
		if i == 0 {
			text = "**" + text + "**\n"
		} else {
			text = "- " + text
		}
		fmt.Fprintln(&out, text)
	}
	switch {
	case a.Paired != nil:
		pairedMarkdown(&out, a)
		return out.Bytes()
	case a.Kind != kindCapacity:
		repeatsMarkdown(&out, a)
		return out.Bytes()
	}
	if a.Stop.Text != "" {
		fmt.Fprintf(&out, "- The search ended: %s.\n", a.Stop.Text)
	}
	if needs := openDecision(a); needs != "" {
		fmt.Fprintf(&out, "- What would decide it: %s.\n", view.EscapeMarkdown(needs))
	}
	out.WriteString("\n| probe | load | good | 95 % interval | requests | worth independent ones | window | |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	for i := range a.Evidence {
		p := &a.Evidence[i]
		if p.Failure != "" {
			fmt.Fprintf(&out, "| %s | %.4g | – | – | – | – | – | failed |\n", p.Role, p.X)
			continue
		}
		fmt.Fprintf(&out, "| %s | %.4g | %.1f %% | %.1f to %.1f %% | %.0f | %.0f | %.0f s | %s |\n", p.Role, p.X, 100*p.Value,
			100*p.Low, 100*p.High, p.Requests, p.Effective, p.Window, strings.Join(p.Flags, ", "))
	}
	return out.Bytes()
}
