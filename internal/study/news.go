package study

import (
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/study/capacity"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/export"
	"aiperfd/internal/study/paired"
)

// What a study announces, as clients of the feed see it.
type (
	startedNews struct {
		Experiment experiment `json:"experiment"`
	}
	experiment struct {
		Kind     run.Experiment `json:"kind"`
		Question string         `json:"question,omitempty"` // empty = the study has no answer
		Seed     int64          `json:"seed"`
		Children int            `json:"children"` // at most
		Done     int            `json:"done"`     // by an earlier process
	}
	plannedNews struct {
		Child child `json:"child"`
	}
	child struct {
		Index int      `json:"index"` // from 0
		Role  string   `json:"role"`
		Label string   `json:"label"`
		X     *float64 `json:"x,omitempty"` // load that a search probes
		Why   string   `json:"why,omitempty"`
	}
	finishedNews struct {
		Evidence evidence `json:"evidence"`
	}
	evidence struct {
		Index   int    `json:"index"`
		Label   string `json:"label"`
		Role    string `json:"role"`
		RunID   string `json:"run_id,omitempty"` // empty = the document of the run is not valid
		Failure string `json:"failure,omitempty"`
		*measured
	}
	// measured is what a probe of a search for a capacity says.
	measured struct {
		X         float64  `json:"x"`
		Value     float64  `json:"value"`
		Low       float64  `json:"low"`
		High      float64  `json:"high"`
		Effective float64  `json:"effective_n"`
		Flags     []string `json:"flags"`
	}
	answerNews struct {
		Answer *results.Answer `json:"answer"`
	}
)

// trialRole is the role of the runs of studies that do not plan by results.
const trialRole = "trial"

// experimentOf returns the kind of question that a study answers.
func (p *performance) experimentOf() run.Experiment {
	if _, ok := p.load(); ok {
		return run.CapacityExperiment
	}
	switch {
	case p.doc.Paired():
		return run.PairedExperiment
	case p.doc.Sweep == nil:
		return run.RepeatsExperiment
	}
	return run.SweepExperiment
}

// announceStart says that the study begins, or goes on.
func (p *performance) announceStart() {
	r := p.item.View()
	e := experiment{Kind: p.experimentOf(), Seed: p.doc.Seed, Children: r.Study.Total, Done: r.Study.Done}
	if l, ok := p.load(); ok {
		e.Question = l.Question()
	} else if p.doc.Paired() {
		e.Question = pairedQuestion
	} else if p.doc.Sweep == nil {
		e.Question = export.RepeatsQuestion
	}
	p.item.Announce(run.EventExperimentStarted, startedNews{e})
}

// announcePlan says which trial of the last of the outcomes comes next.
func (p *performance) announcePlan(at int) {
	c := child{Index: p.measured(), Role: trialRole, Label: p.outcomes[at].Label}
	if _, plan, ok := p.planned(); ok {
		c.Role, c.X, c.Why = string(plan.Role), new(plan.Level), purpose(plan.Role)
	}
	p.item.Announce(run.EventChildPlanned, plannedNews{c})
}

// measured returns how many trials have ended.
func (p *performance) measured() int {
	n := 0
	for i := range p.outcomes {
		n += len(p.outcomes[i].Trials)
	}
	return n
}

// purpose says why a level is probed.
func purpose(r capacity.Role) string {
	switch r {
	case capacity.Baseline:
		return "to see if the server meets the objectives at the least load"
	case capacity.Bracket:
		return "to find roughly where the server ceases to meet the objectives"
	case capacity.Refine:
		return "to narrow the interval around the estimate"
	case capacity.ConfirmHigh:
		return "to confirm the upper end of the interval"
	case capacity.ConfirmLow:
		return "to confirm the lower end of the interval, coming down from more load"
	}
	return ""
}

// announceEnd says what a trial of a variation has shown, and what that changes in the answer.
func (p *performance) announceEnd(at int, t *cell.Trial) {
	e := evidence{
		Index: p.measured() - 1, Label: p.outcomes[at].Label, Role: trialRole, RunID: t.RunID, Failure: t.Failure,
	}
	if p.doc.Paired() { // the blocks change the answer, not the ends of the runs
		e.Index, e.Role = at, []string{paired.A: "a", paired.B: "b"}[at]
		p.item.Announce(run.EventChildFinished, finishedNews{e})
		return
	}
	a := p.report().Answer()
	if _, ok := p.load(); ok && a != nil && len(a.Evidence) > 0 {
		last := &a.Evidence[len(a.Evidence)-1]
		e.Role, e.Failure = last.Role, last.Failure
		e.measured = &measured{
			X: last.X, Value: last.Value, Low: last.Low, High: last.High, Effective: last.Effective, Flags: last.Flags,
		}
	}
	p.item.Announce(run.EventChildFinished, finishedNews{e})
	p.announceAnswer(a)
}

// announceAnswer says what is known so far, without what it rests on; nothing for nil.
func (p *performance) announceAnswer(a *results.Answer) {
	if a == nil {
		return
	}
	short := *a
	short.Evidence = nil
	if a.Paired != nil {
		pairs := *a.Paired
		pairs.Blocks = nil
		short.Paired = &pairs
	}
	p.item.Announce(run.EventAnswerUpdate, answerNews{&short})
}

// announceResult announces the final answer, if the study has one.
func (p *performance) announceResult(r *export.Report) {
	if a := r.Answer(); a != nil {
		p.item.Announce(run.EventAnswer, answerNews{a})
	}
}
