package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/transport"
)

// ProbeTelemetry reads pages of metrics, each once and all at the same time, and says what they are. The error is
// *[allow.Denied] if runs may not connect to one of them; addresses are checked again when connections are opened. It
// takes ten seconds at most.
func (e *Engine) ProbeTelemetry(ctx context.Context, pages []secret.URL) ([]diagnose.Probed, error) {
	o := telemetry.Options{
		Transport: transport.Options{
			Clock: bench.NewClock(), ConnectTimeout: transport.DefaultConnectTimeout, Dial: e.opts.Dial,
			Policy: transport.Policy{Allow: e.opts.Allow},
		},
		Period: time.Second, Log: zerolog.Nop(),
	}
	o.Clock = o.Transport.Clock
	var secrets []string
	for _, page := range pages {
		secrets = append(secrets, page.Secrets()...)
		target, ok := plan.MetricsPage(page)
		if !ok {
			return nil, fmt.Errorf("%s: must be an http or https URL", page)
		}
		if e.opts.Allow != nil {
			if err := e.opts.Allow.URL(target.Candidates[0]); err != nil {
				return nil, err
			}
		}
		target.Given = false // the answer says what is wrong, and not the log
		o.Targets = append(o.Targets, target)
	}
	o.Secrets = redact.NewSet(secrets...)
	return telemetry.Probe(ctx, o), nil
}
