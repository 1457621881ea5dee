package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/plan"
)

// probeTimeout is the timeout of a request for one token: a model that was just
// loaded may compile kernels first.
const probeTimeout = 60 * time.Second

// errRefused means that waiting is useless.
var errRefused = errors.New("the server refuses the credentials")

// Await waits until every server is ready for the model, if the plan requests it. The
// error has the last reason why a server was not.
func (s *Servers) Await(ctx context.Context) error {
	w := &s.plan.Wait
	if w.Timeout <= 0 {
		return nil
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	defer s.opts.Status("")
	for i := range s.plan.Targets {
		if err := s.awaitTarget(ctx, &s.plan.Targets[i]); err != nil {
			return err
		}
	}
	s.opts.Log.Info().Msgf("the model is ready after %v", time.Since(began).Round(time.Millisecond))
	return nil
}

// awaitTarget probes one server until it is ready.
func (s *Servers) awaitTarget(ctx context.Context, t *plan.Target) error {
	w := &s.plan.Wait
	tick := time.NewTimer(0)
	defer tick.Stop()
	last := "no answer"
	s.opts.Status(fmt.Sprintf("waiting for the model at %s", t.Shown))
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %v: %s", t.Shown, w.Timeout, last)
		}
		err := s.probe(ctx, t)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errRefused):
			return fmt.Errorf("wait for the model: %s: %w", t.Shown, err)
		case ctx.Err() == nil: // otherwise err is only the end of ctx
			last = err.Error()
			s.opts.Status(fmt.Sprintf("waiting for the model at %s: %s", t.Shown, last))
		}
		tick.Reset(w.Interval)
	}
}

// probe checks a server once; nil = ready.
func (s *Servers) probe(ctx context.Context, t *plan.Target) error {
	w := &s.plan.Wait
	inference := w.Inference
	if w.Models {
		err := s.probeList(ctx, t)
		switch {
		case errors.Is(err, errNoList):
			inference = true
		case err != nil:
			return err
		}
	}
	if !inference {
		return nil
	}
	return s.probeInference(ctx, t)
}

// probeList checks whether a server lists the models of the plan.
func (s *Servers) probeList(ctx context.Context, t *plan.Target) error {
	all, whole, err := s.probeModels(ctx, t)
	if err != nil {
		return err
	}
	for _, name := range s.plan.Models.Names {
		if whole && !slices.ContainsFunc(all, func(m listed) bool { return m.name == name }) {
			return fmt.Errorf("it lists %s, not %s", s.names(all), name)
		}
	}
	return nil
}

// probeInference sends a request of the run's endpoint type with one short text,
// and requests one token. Every status below 500 shows that the server is up, except
// 404, 408 and 429.
func (s *Servers) probeInference(ctx context.Context, t *plan.Target) error {
	model, err := s.probeModel(ctx, t)
	if err != nil {
		return err
	}
	hello, err := s.oneToken(t, model)
	if err != nil { // requests of this type need more than a text
		if s.plan.Wait.Models {
			return nil
		}
		err = s.probeList(ctx, t)
		if errors.Is(err, errNoList) {
			return nil // the server responds; nothing else can be checked
		}
		return err
	}
	r := s.do(ctx, hello)
	switch f := r.answer.Failure; {
	case r.refused():
		return fmt.Errorf("%w: %s", errRefused, r.reason)
	case r.status == 0, r.status >= 500, r.status == http.StatusNotFound, r.status == http.StatusRequestTimeout, r.status == http.StatusTooManyRequests:
		return errors.New(r.reason)
	case r.ok() && f != nil && f.Class != bench.EmptyResponse && f.Class != bench.EmptyOutput:
		return errors.New(r.reason)
	case r.failure != nil:
		return errors.New(r.reason)
	}
	return nil
}

// oneToken returns a request of the run's endpoint type with one short text, which requests one token.
func (s *Servers) oneToken(t *plan.Target, model string) (*call, error) {
	body, err := s.plan.Kind.Body(nil, &endpoint.Request{
		Model: model, Turn: bench.Turn{Texts: []string{"Hello"}, MaxTokens: 1}, Settings: &s.plan.Settings,
	})
	return &call{target: t, method: http.MethodPost, url: t.URL, body: body, timeout: probeTimeout}, err
}

// Canary requests one token of the first server, on a connection of its own, and returns how long the answer took.
func (s *Servers) Canary(ctx context.Context) (time.Duration, error) {
	t := &s.plan.Targets[0]
	model, err := s.probeModel(ctx, t)
	if err != nil {
		return 0, err
	}
	hello, err := s.oneToken(t, model)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if r := s.do(ctx, hello); !r.ok() {
		return 0, errors.New(r.reason)
	}
	return time.Since(began), nil
}

// probeModel returns the model for a probe: the first of the plan, or the first
// that the server lists.
func (s *Servers) probeModel(ctx context.Context, t *plan.Target) (string, error) {
	if names := s.plan.Models.Names; len(names) > 0 {
		return names[0], nil
	}
	all, _, err := s.probeModels(ctx, t)
	if err != nil {
		return "", err
	}
	return all[0].name, nil
}

// probeModels returns the models that a server lists, at least one.
func (s *Servers) probeModels(ctx context.Context, t *plan.Target) (all []listed, whole bool, err error) {
	all, whole, r, err := s.models(ctx, t)
	switch {
	case r.refused():
		return nil, false, fmt.Errorf("%w: %s", errRefused, r.reason)
	case err != nil:
		return nil, false, err
	case len(all) == 0:
		return nil, false, errors.New("it lists no model yet")
	}
	return all, whole, nil
}
