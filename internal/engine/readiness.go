package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/plan"
)

// probeTimeout bounds one request of a token: a model that was just loaded may
// compile kernels first.
const probeTimeout = 60 * time.Second

// errRefused is for servers that will never be ready for us.
var errRefused = errors.New("the server refuses the credentials")

// awaitModel waits until every server is ready for the model, as the plan says.
// The error says what was missing last.
func (x *execution) awaitModel(ctx context.Context, c *caller) error {
	w := &x.plan.Wait
	if w.Timeout <= 0 {
		return nil
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	defer x.notify.status("")
	for i := range x.plan.Targets {
		if err := x.awaitTarget(ctx, c, &x.plan.Targets[i]); err != nil {
			return err
		}
	}
	x.notify.log.Info().Msgf("the model is ready after %v", time.Since(began).Round(time.Millisecond))
	return nil
}

// awaitTarget looks at one server until it is ready.
func (x *execution) awaitTarget(ctx context.Context, c *caller, t *plan.Target) error {
	w := &x.plan.Wait
	tick := time.NewTimer(0)
	defer tick.Stop()
	last := "no answer"
	x.notify.status(fmt.Sprintf("waiting for the model at %s", t.Shown))
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %v: %s", t.Shown, w.Timeout, last)
		}
		err := x.probe(ctx, c, t)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errRefused):
			return fmt.Errorf("wait for the model: %s: %w", t.Shown, err)
		case ctx.Err() == nil: // else it says only that our time is over
			last = err.Error()
			x.notify.status(fmt.Sprintf("waiting for the model at %s: %s", t.Shown, last))
		}
		tick.Reset(w.Interval)
	}
}

// probe looks once; nil = ready.
func (x *execution) probe(ctx context.Context, c *caller, t *plan.Target) error {
	w := &x.plan.Wait
	inference := w.Inference
	if w.Models {
		err := x.probeList(ctx, c, t)
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
	return x.probeInference(ctx, c, t)
}

// probeList looks whether a server lists the model.
func (x *execution) probeList(ctx context.Context, c *caller, t *plan.Target) error {
	all, whole, r, err := c.models(ctx, t)
	switch {
	case refuses(r.status):
		return fmt.Errorf("%w: %s", errRefused, c.reason(r))
	case err != nil:
		return err
	case len(all) == 0:
		return errors.New("it lists no model yet")
	}
	for _, name := range x.plan.Models.Names {
		if whole && !slices.ContainsFunc(all, func(m listed) bool { return m.name == name }) {
			return fmt.Errorf("it lists %s, not %s", c.names(all), name)
		}
	}
	return nil
}

func refuses(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// probeInference sends a request of the run's kind with one short text and one
// token to answer. Any status below 500 shows that the server is up, except those
// that say "not here", "too slow" and "too many".
func (x *execution) probeInference(ctx context.Context, c *caller, t *plan.Target) error {
	model, err := x.probeModel(ctx, c, t)
	if err != nil {
		return err
	}
	body, err := x.plan.Kind.Body(nil, &endpoint.Request{
		Model: model, Turn: bench.Turn{Texts: []string{"Hello"}, MaxTokens: 1}, Settings: &x.plan.Settings,
	})
	if err != nil { // this kind needs more than a text
		if x.plan.Wait.Models {
			return nil
		}
		err = x.probeList(ctx, c, t)
		if errors.Is(err, errNoList) {
			return nil // it answers, and that is all that can be asked for
		}
		return err
	}
	r := c.do(ctx, &call{target: t, method: http.MethodPost, url: t.URL, body: body, timeout: probeTimeout})
	switch f := r.answer.Failure; {
	case refuses(r.status):
		return fmt.Errorf("%w: %s", errRefused, c.reason(r))
	case r.status == 0, r.status >= 500, r.status == http.StatusNotFound, r.status == http.StatusRequestTimeout, r.status == http.StatusTooManyRequests:
		return errors.New(c.reason(r))
	case r.ok() && f != nil && f.Class != bench.EmptyResponse && f.Class != bench.EmptyOutput:
		return errors.New(c.reason(r))
	case r.failure != nil:
		return errors.New(c.reason(r))
	}
	return nil
}

// probeModel returns the name to ask for: the plan's first, else the server's
// only one.
func (x *execution) probeModel(ctx context.Context, c *caller, t *plan.Target) (string, error) {
	if names := x.plan.Models.Names; len(names) > 0 {
		return names[0], nil
	}
	all, _, r, err := c.models(ctx, t)
	switch {
	case refuses(r.status):
		return "", fmt.Errorf("%w: %s", errRefused, c.reason(r))
	case err != nil:
		return "", err
	case len(all) == 0:
		return "", errors.New("it lists no model yet")
	}
	return all[0].name, nil
}

// resetCaches empties the cache of every server, if the plan says so. A run that
// was to begin cold must not begin warm, so that a failure ends it.
func (x *execution) resetCaches(ctx context.Context, c *caller) error {
	plan := x.plan.Reset
	if plan == nil {
		return nil
	}
	for i := range x.plan.Targets {
		t := &x.plan.Targets[i]
		var tried []string
		done := false
		for _, path := range plan.Paths {
			r, err := x.post(ctx, c, t, path, plan.Timeout)
			if err == nil && r.ok() {
				x.notify.log.Info().Str("server", t.Shown).Str("path", path).Msg("the prefix cache was reset")
				done = true
				break
			}
			if err != nil {
				return fmt.Errorf("reset the prefix cache of %s: %w", t.Shown, err)
			}
			tried = append(tried, "POST "+path+": "+c.reason(r))
			if r.status != http.StatusNotFound && r.status != http.StatusMethodNotAllowed {
				break
			}
		}
		if !done {
			return fmt.Errorf("reset the prefix cache of %s: %s", t.Shown, strings.Join(tried, "; "))
		}
	}
	return nil
}

// post asks a server for a function without arguments.
func (x *execution) post(ctx context.Context, c *caller, t *plan.Target, path string, timeout time.Duration) (*reply, error) {
	u, err := beside(t, path, true)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, &call{target: t, method: http.MethodPost, url: u, timeout: timeout}), nil
}

// profile starts or stops the profilers of all servers around a profiling phase,
// if the plan says so. A failure is a doubt of the result.
func (x *execution) profile(ctx context.Context, phase *plan.Phase, start bool) {
	plan := x.plan.Profiler
	if plan == nil || phase.Kind != bench.Profiling {
		return
	}
	path, what := plan.Stop, "stopped"
	if start {
		path, what = plan.Start, "started"
	}
	c := x.newCaller()
	defer c.close()
	for i := range x.plan.Targets {
		t := &x.plan.Targets[i]
		r, err := x.post(ctx, c, t, path, plan.Timeout)
		if err == nil && !r.ok() {
			err = errors.New(c.reason(r))
		}
		if err != nil {
			x.warn("server-profiler", fmt.Sprintf("phase %s: the profiler of %s was not %s: POST %s: %v", phase.Name, t.Shown, what, path, err))
			continue
		}
		x.notify.log.Info().Str("server", t.Shown).Str("phase", phase.Name).Msg("the profiler was " + what)
	}
}
