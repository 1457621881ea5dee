package engine

import (
	"context"
	"strconv"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/run"
)

// turns is a dataset of conversations with one turn each.
type turns []bench.Conversation

var _ dataset.Source = turns(nil)

func (s turns) Len() int                     { return len(s) }
func (s turns) At(i int) *bench.Conversation { return &s[i] }
func (s turns) Hash() string                 { return "turns" }
func (s turns) Describe() dataset.Description {
	return dataset.Description{Entries: len(s), Turns: len(s)}
}

// SubmitTurns is Submit with turns in place of the document's dataset, for tests of
// content that no dataset makes.
func (e *Engine) SubmitTurns(ctx context.Context, s run.Submission, list ...bench.Turn) (*run.Run, error) {
	j, err := e.newJob(s)
	if err != nil {
		return nil, err
	}
	source := make(turns, 0, len(list))
	for i := range list {
		source = append(source, bench.Conversation{ID: "turn" + strconv.Itoa(i), Turns: list[i : i+1]})
	}
	j.plan.Dataset.Kind.Open = func(context.Context, dataset.Options) (dataset.Source, error) { return source, nil }
	select {
	case <-e.open: // or the run is taken for one of an earlier process
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := e.opts.Store.Put(ctx, &j.run); err != nil {
		return nil, err
	}
	created := j.view()
	e.enqueue(j)
	return created, nil
}
