package engine

import (
	"context"
	"strconv"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/run"
)

// SubmitTurns is Submit with turns in place of the document's dataset, for tests of
// content that no dataset makes.
func (e *Engine) SubmitTurns(ctx context.Context, s run.Submission, list ...bench.Turn) (*run.Run, error) {
	j, err := e.newJob(s)
	if err != nil {
		return nil, err
	}
	j.plan.Dataset.Kind.Open = func(context.Context, dataset.Options) (source.Source, error) { return turnSource(list), nil }
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

// turnSource is a dataset of conversations of one turn each.
func turnSource(turns []bench.Turn) source.Source {
	return source.NewIndexed(len(turns), func(i int) source.Entry {
		return source.Entry{Number: i, Make: func() (*bench.Conversation, error) {
			return &bench.Conversation{ID: "turn" + strconv.Itoa(i), Turns: turns[i : i+1]}, nil
		}}
	}, func() source.Description { return source.Description{} })
}
