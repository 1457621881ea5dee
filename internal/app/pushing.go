package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/rs/zerolog"

	"aiperfd/internal/api/prom"
	"aiperfd/internal/api/prom/remote"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/run"
)

// pushing sends the metrics of a run of the command line, or of the runs of a study, to Prometheus and to a
// Pushgateway: the process ends before anybody scrapes it.
type pushing struct {
	app     *app
	history *engine.History
	version string
	secrets *redact.Set
	log     zerolog.Logger

	writer  *remote.Writer // nil = nothing is written
	gateway *url.URL       // nil = nothing is pushed
	before  []string       // ids of the runs that were active when they were gathered last; of gatherActive
	ended   atomic.Pointer[run.Run]
}

// startPushing begins to send the metrics if the document names a receiver.
func (o *oneShot) startPushing(a *app) *pushing {
	rt := &o.Document.Benchmark.Runtime
	p := &pushing{
		app: a, history: engine.NewHistory(a.engine), version: o.Version, secrets: redact.NewSet(o.Document.Secrets()...),
		log: o.log, gateway: receiver(rt.PushGateway),
	}
	if to := receiver(rt.RemoteWrite); to != nil {
		p.writer = remote.StartWriter(to, p.gatherActive)
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

// gatherActive returns the metrics of the active runs, and once more of those that have ended since it was called
// last, so that their final values are seen.
func (p *pushing) gatherActive(ctx context.Context) ([]*dto.MetricFamily, error) {
	active := slices.Clone(p.app.engine.Queue().Running)
	ids := append(slices.Clone(active), p.before...)
	if ended := p.ended.Load(); ended != nil && ended.Study == nil {
		ids = append(ids, ended.ID) // which may have been too short to be seen
	}
	slices.Sort(ids)
	p.before = active
	return p.gather(ctx, slices.Compact(ids))
}

// gather returns the metrics of runs. Those that were not stored are left out.
func (p *pushing) gather(ctx context.Context, ids []string) ([]*dto.MetricFamily, error) {
	var runs []prom.Run
	for _, id := range ids {
		r, err := p.app.engine.Get(ctx, id)
		if errors.Is(err, run.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read run %s: %w", id, err)
		}
		of := prom.Run{Run: r}
		if of.Snapshot, err = p.app.engine.Snapshot(ctx, id); err != nil && !errors.Is(err, run.ErrNotFound) {
			return nil, fmt.Errorf("read the snapshot of run %s: %w", id, err)
		}
		if of.Server, err = p.history.Servers(ctx, r); err != nil {
			return nil, fmt.Errorf("read the server metrics of run %s: %w", id, err)
		}
		if of.GPU, err = p.history.Devices(ctx, r); err != nil {
			return nil, fmt.Errorf("read the GPU telemetry of run %s: %w", id, err)
		}
		runs = append(runs, of)
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(prom.NewCollector(p.version, runs...)); err != nil {
		return nil, fmt.Errorf("collect metrics: %w", err)
	}
	families, err := registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather metrics: %w", err)
	}
	return families, nil
}

// finish sends the final values. What did not arrive is logged. ended is nil if there was no run.
func (p *pushing) finish(ctx context.Context, ended *run.Run) {
	if p.writer != nil {
		p.ended.Store(ended)
		w := p.writer.Close(ctx)
		p.log.Info().Int("payloads", w.Payloads).Int("dropped", w.Dropped).Msg("metrics were written to Prometheus")
		if w.Dropped > 0 || w.Payloads == 0 && w.Err != nil {
			p.log.Warn().Int("dropped", w.Dropped).Str("reason", p.reason(w.Err)).Msg("not all metrics were written to Prometheus")
		}
	}
	if p.gateway == nil || ended == nil {
		return
	}
	if err := p.push(ctx, ended); err != nil {
		p.log.Warn().Str("reason", p.reason(err)).Msg("the metrics were not pushed to the Pushgateway")
	}
}

// reason returns the text of an error without secrets.
func (p *pushing) reason(err error) string {
	if err == nil {
		return ""
	}
	return p.secrets.String(err.Error())
}

// push pushes the final values of a run, or of the runs of a study.
func (p *pushing) push(ctx context.Context, ended *run.Run) error {
	ids := []string{ended.ID}
	if ended.Study != nil {
		page, err := p.app.studies.List(ctx, run.Query{Parent: ended.ID, Sort: run.SortCreated, Limit: mostPushed})
		if err != nil {
			return fmt.Errorf("list the runs of %s: %w", ended.ID, err)
		}
		ids = ids[:0]
		for i := range page.Runs {
			ids = append(ids, page.Runs[i].ID)
		}
	}
	families, err := p.gather(ctx, ids)
	if err != nil {
		return err
	}
	return remote.Push(ctx, p.gateway, families)
}

// mostPushed is how many runs of a study are pushed, the largest page of a store.
const mostPushed = 500
