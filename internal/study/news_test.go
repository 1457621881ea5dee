package study

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"aiperfd/internal/run"
)

// published keeps the events of a study. The study publishes them one at a time.
type published struct{ all []run.Event }

func (p *published) Publish(ev run.Event) { p.all = append(p.all, ev) }

// TestNews: a search says that it begins, before each probe what it is for, after it what it has shown, and the whole
// answer before its end.
func TestNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t)
		news := &published{}
		s := newLoaded(t, r, news)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = s.Run(ctx) }() // its error is that of no test
		parent := submitCapacity(t, s)
		if ended := wait(t, s, parent.ID); ended.Study.Experiment != run.CapacityExperiment {
			t.Errorf("the experiment is %q", ended.Study.Experiment)
		}
		synctest.Wait()
		var got []run.EventType
		probes := 0
		for _, ev := range news.all {
			switch n := ev.News.(type) {
			case nil:
				if ev.Type != run.EventComplete {
					continue
				}
			case startedNews:
				if n.Experiment.Children != 11 || n.Experiment.Question == "" || n.Experiment.Seed != 42 {
					t.Errorf("started %+v", n.Experiment)
				}
			case plannedNews:
				if c := n.Child; c.Index != probes || c.X == nil || c.Why == "" || probes == 0 && c.Role != "baseline" {
					t.Errorf("probe %d: planned %+v", probes, c)
				}
			case finishedNews:
				if e := n.Evidence; e.Index != probes || e.RunID == "" || e.measured == nil || e.Value == 0 {
					t.Errorf("probe %d: finished %+v", probes, e)
				}
				probes++
			case answerNews:
				if whole := len(n.Answer.Evidence); ev.Type == run.EventAnswer && (whole != probes || !n.Answer.Final) ||
					ev.Type == run.EventAnswerUpdate && whole != 0 {
					t.Errorf("after %d probes: %s with %d of them", probes, ev.Type, whole)
				}
			}
			got = append(got, ev.Type)
		}
		want := []run.EventType{run.EventExperimentStarted}
		for range probes {
			want = append(want, run.EventChildPlanned, run.EventChildFinished, run.EventAnswerUpdate)
		}
		if want = append(want, run.EventAnswer, run.EventComplete); probes < 3 || !slices.Equal(got, want) {
			t.Errorf("%d probes: got %v", probes, got)
		}
		stop()
		synctest.Wait()
	})
}
