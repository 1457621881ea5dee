package engine

import (
	"context"
	"strconv"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/run"
)

// SubmitTurns is Submit with turns in place of the document's dataset, for tests of
// content that no dataset makes.
func (e *Engine) SubmitTurns(ctx context.Context, doc *config.Document, s run.Submission, list ...bench.Turn) (*run.Run, error) {
	if err := e.queue.Opened(ctx); err != nil { // or the run is taken for one of an earlier process
		return nil, err
	}
	j, err := e.compile(doc, s)
	if err != nil {
		return nil, err
	}
	j.plan.Dataset.Kind.Open = func(context.Context, dataset.Options) (source.Source, error) { return turnSource(list), nil }
	created := j.item.View()
	return created, e.queue.Submit(ctx, j, false, nil)
}

// turnSource is a dataset of conversations of one turn each.
func turnSource(turns []bench.Turn) source.Source {
	return source.NewIndexed(len(turns), func(i int) source.Entry {
		return source.Entry{Number: i, Make: func() (*bench.Conversation, error) {
			return &bench.Conversation{ID: "turn" + strconv.Itoa(i), Turns: turns[i : i+1]}, nil
		}}
	}, func() source.Description { return source.Description{} })
}
