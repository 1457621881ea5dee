package app

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/rs/zerolog"

	"aiperfd/internal/api/prom"
	"aiperfd/internal/api/prom/remote"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/run"
)

// pushing sends the metrics of a run of the command line, or of the runs of a study, to Prometheus and to a
// Pushgateway: the process ends before anybody scrapes it.
type pushing struct {
	app     *app
	metrics *prom.Handler
	secrets *redact.Set
	log     zerolog.Logger

	writer  *remote.Writer // nil = nothing is written
	gateway *url.URL       // nil = nothing is pushed
	start   time.Time
}

// startPushing begins to send the metrics if the document names a receiver.
func startPushing(ctx context.Context, a *app, d *config.Document, version string, log zerolog.Logger) *pushing {
	rt := &d.Benchmark.Runtime
	p := &pushing{
		app: a, start: time.Now(), secrets: redact.NewSet(d.Secrets()...), log: log, gateway: receiver(rt.PushGateway),
		metrics: &prom.Handler{
			Out: &respond.Responder{Log: log}, Find: &respond.Finder{Runs: a.studies, Live: a.engine},
			Servers: engine.NewHistory(a.engine), Version: version,
		},
	}
	if to := receiver(rt.RemoteWrite); to != nil {
		p.writer = remote.StartWriter(ctx, to, p.gatherRecent)
	}
	return p
}

// receiver returns the URL of a receiver, which was checked; nil = there is none.
func receiver(u *secret.URL) *url.URL {
	if u == nil {
		return nil
	}
	at, err := url.Parse(u.Reveal())
	if err != nil {
		return nil
	}
	return at
}

// lingering is how long the writer goes on with the final values of a run, so that none ends unseen between two
// payloads, even if the receiver was slow meanwhile.
const lingering = 4 * remote.Period

// gatherRecent returns the metrics of the runs and studies that are active or have just ended.
func (p *pushing) gatherRecent(ctx context.Context) ([]*dto.MetricFamily, error) {
	return p.gather(ctx, time.Now().Add(-lingering))
}

// gather returns the metrics of the runs and studies that have started and had not ended at a time. Of a study with
// more than mostRuns, it has the newest.
func (p *pushing) gather(ctx context.Context, since time.Time) ([]*dto.MetricFamily, error) {
	page, err := p.app.studies.List(ctx, run.Query{Limit: mostRuns})
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	var ids []string
	for i := range page.Runs {
		if r := &page.Runs[i]; r.StartedAt != nil && (r.EndedAt == nil || r.EndedAt.After(since)) {
			ids = append(ids, r.ID)
		}
	}
	return p.metrics.Families(ctx, ids...)
}

// mostRuns is how many runs are sent at once, the largest page of a store.
const mostRuns = 500

// The process waits for receivers for some time since the load has ended, but for a second at least.
const (
	patience      = 5500 * time.Millisecond
	leastPatience = time.Second
)

// finish sends the final values to both receivers at the same time, to the Pushgateway if anything was measured. What
// did not arrive is logged.
func (p *pushing) finish(ctx context.Context, ended time.Time, measured bool) {
	ctx, cancel := context.WithTimeout(ctx, max(leastPatience, time.Until(ended.Add(patience))))
	defer cancel()
	var sending sync.WaitGroup
	defer sending.Wait()
	if p.gateway != nil && measured {
		sending.Go(func() {
			if err := p.push(ctx); err != nil {
				p.log.Warn().Str("reason", p.reason(err)).Msg("the metrics were not pushed to the Pushgateway")
			}
		})
	}
	if p.writer != nil {
		w := p.writer.Close(ctx)
		p.log.Info().Int("payloads", w.Payloads).Int("dropped", w.Dropped).Msg("metrics were written to Prometheus")
		if w.Dropped > 0 || w.Payloads == 0 && w.Err != nil {
			p.log.Warn().Int("dropped", w.Dropped).Str("reason", p.reason(w.Err)).Msg("not all metrics were written to Prometheus")
		}
	}
}

// reason returns the text of an error without secrets.
func (p *pushing) reason(err error) string {
	if err == nil {
		return ""
	}
	return p.secrets.String(err.Error())
}

// push pushes the final values of the run, or of the study and its runs.
func (p *pushing) push(ctx context.Context) error {
	families, err := p.gather(ctx, p.start)
	if err != nil {
		return err
	}
	return remote.Push(ctx, p.gateway, families)
}
