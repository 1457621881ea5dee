package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/plan"
)

// ResetCaches empties the prefix cache of every server before a phase, if the plan
// requests it; nil = before the run. It fails if a server does not: what should start
// cold must not start warm.
func (s *Servers) ResetCaches(ctx context.Context, before *spec.Phase) error {
	reset := s.plan.Reset
	switch {
	case reset == nil, before == nil && !reset.Run:
		return nil
	case before != nil:
		if !reset.Profiling || before.Kind != bench.Profiling {
			return nil
		}
		defer s.Close() // no connection stays open during the phase
	}
	for i := range s.plan.Targets {
		t := &s.plan.Targets[i]
		if err := s.resetCache(ctx, t); err != nil {
			return fmt.Errorf("reset the prefix cache of %s: %w", t.Shown, err)
		}
	}
	return nil
}

// resetCache tries the paths of the plan until a server knows one.
func (s *Servers) resetCache(ctx context.Context, t *plan.Target) error {
	var tried []string
	for _, path := range s.plan.Reset.Paths {
		r, err := s.post(ctx, t, path, s.plan.Reset.Timeout)
		if err != nil {
			return err
		}
		if r.ok() {
			s.opts.Log.Info().Str("server", t.Shown).Stringer("path", path).Msg("the prefix cache was reset")
			return nil
		}
		tried = append(tried, "POST "+path.String()+": "+r.reason)
		if r.status != http.StatusNotFound && r.status != http.StatusMethodNotAllowed {
			break
		}
	}
	return errors.New(strings.Join(tried, "; "))
}

// Profile starts or stops the profilers of all servers before or after a profiling
// phase, if the plan requests it. It returns a warning for each server that did not.
func (s *Servers) Profile(ctx context.Context, phase *spec.Phase, start bool) (warnings []bench.Warning) {
	profiler := s.plan.Profiler
	if profiler == nil || phase.Kind != bench.Profiling {
		return nil
	}
	defer s.Close() // no connection stays open during the phase
	path, what := profiler.Stop, "stopped"
	if start {
		path, what = profiler.Start, "started"
	}
	for i := range s.plan.Targets {
		t := &s.plan.Targets[i]
		r, err := s.post(ctx, t, path, profiler.Timeout)
		if err == nil && !r.ok() {
			err = errors.New(r.reason)
		}
		if err != nil {
			warnings = append(warnings, bench.Warning{Code: "server-profiler", Detail: fmt.Sprintf(
				"phase %s: the profiler of %s was not %s: POST %s: %v", phase.Name, t.Shown, what, path, err)})
			continue
		}
		s.opts.Log.Info().Str("server", t.Shown).Str("phase", phase.Name).Msg("the profiler was " + what)
	}
	return warnings
}

// post calls a function of a server without arguments.
func (s *Servers) post(ctx context.Context, t *plan.Target, path secret.URL, timeout time.Duration) (*reply, error) {
	u, err := t.FunctionURL(path.Reveal(), true)
	if err != nil {
		return nil, err
	}
	return s.do(ctx, &call{target: t, method: http.MethodPost, url: u, timeout: timeout}), nil
}
