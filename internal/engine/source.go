package engine

import (
	"context"
	"math/rand/v2"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/request"
)

// newWork returns the load of the run.
func (x *prepared) newWork(ctx context.Context, env *environment) *load.Work {
	p := x.plan
	x.sender = &request.Polling{Sender: x.client, Plan: p, Clock: x.clock}
	return load.NewWork(load.Options{
		Sessions: p.Sessions, Spread: p.Spread, Targets: len(p.Targets), PerPhase: p.CacheBust.Warmup,
		Clock: x.clock,
		Source: &loadSource{
			data: x.data, models: &p.Models, choose: p.Seed.Rand(bench.StreamModelSelection),
			restart: func(once bool) error { return x.data.restart(ctx, once) },
		},
		Encoder: request.NewEncoder(request.Options{
			Plan: p, RunID: env.id, TokenIDs: x.tokenIDs(), Traceparent: traceparent(p, env),
			Seed: env.history.Seed,
		}),
		Sender: x.sender, Received: x.received, Pacer: env.opts.Pacer, Stop: env.cancel,
	})
}

// loadSource gives the load the conversations of the datasets, each with its model.
type loadSource struct {
	data    *datasets
	models  *plan.Models
	choose  *rand.Rand // models
	restart func(once bool) error
}

var _ load.Source = (*loadSource)(nil)

// Next implements [load.Source].
func (s *loadSource) Next(session int64, quit <-chan struct{}) (c *bench.Conversation, model string, err error) {
	model = s.models.Pick(session, s.choose)
	c, err = s.data.draw(model, quit)
	return c, model, err
}

// Restart implements [load.Source].
func (s *loadSource) Restart(once bool) error { return s.restart(once) }
