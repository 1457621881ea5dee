package prom

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// The names of metrics that /metrics serves.
const (
	NamesCompat = "compat" // AIPerf's
	NamesNative = "native" // base units and real types
	NamesAll    = "all"
)

// Servers has what the metrics of servers and accelerators say of runs, and the answers of studies. It is safe for concurrent use and never waits for a run.
type Servers interface {
	// Servers returns it, of an active run up to now; nil = they were not read.
	Servers(ctx context.Context, r *run.Run) (*diagnose.Server, error)
	// Devices returns it, of an active run up to now; nil = they were not read.
	Devices(ctx context.Context, r *run.Run) (*gpu.Report, error)
	// Paths returns how the network behaved; nil = nothing was counted.
	Paths(ctx context.Context, r *run.Run) (*paths.Report, error)
	// OTel returns what became of what a run sends to OpenTelemetry collectors; nil = nothing is sent.
	OTel(ctx context.Context, r *run.Run) (*otel.Report, error)
	// Answer returns what a study says, so far or at its end; fs.ErrNotExist if it has no answer, or none yet.
	Answer(id string) (*results.Answer, error)
}

// Handler handles the routes of Prometheus metrics. All fields are required.
type Handler struct {
	Out     *respond.Responder
	Find    *respond.Finder
	Servers Servers
	Self    prometheus.Gatherer // the metrics of this process
	Names   string              // unless a request selects others
	Linger  time.Duration       // how long a finished run is included
	Version string              // of this program
}

// Scrape serves Prometheus metrics.
//
//	@Summary		Get Prometheus metrics
//	@Description	names=compat has AIPerf's names for the selected run until some time after its end; names=native has base units and proper types for the active runs, otherwise for the run that ended last until then; names=all has both. The parameter run names another run for all of them. The format is that which Accept prefers: OpenMetrics, protobuf (with native histograms), otherwise text.
//	@Tags			aiperf
//	@Param			names	query		string	false	"Metric names"	Enums(compat, native, all)
//	@Param			run		query		string	false	"Run: id, current or latest"
//	@Success		200		{string}	string
//	@Failure		400,404		{object}	wire.Problem
//	@Produce		plain,application/openmetrics-text,application/vnd.google.protobuf
//	@Router			/metrics [get]
func (h *Handler) Scrape(w http.ResponseWriter, r *http.Request) error {
	names := h.Names
	if query := r.URL.Query(); query.Has("names") {
		names = query.Get("names")
	}
	if !slices.Contains([]string{NamesCompat, NamesNative, NamesAll}, names) {
		return respond.Fail(respond.ErrParameter, "names must be compat, native or all, not %q", names)
	}
	now, named := time.Now(), r.URL.Query().Has("run")
	var found, only *run.Run
	if named || names != NamesNative {
		var err error
		if found, err = h.Find.Run(w, r); err != nil {
			return err
		}
	}
	if named {
		only = found
	} else if found != nil && !h.lingers(found, now) {
		w.Header().Del(respond.HeaderRunID)
		found = nil
	}
	var gatherers prometheus.Gatherers
	if names != NamesCompat {
		runs, err := h.scraped(r.Context(), now, only)
		if err != nil {
			return err
		}
		own, err := h.native(runs...)
		if err != nil {
			return err
		}
		gatherers = prometheus.Gatherers{own, h.Self}
	}
	if names == NamesNative {
		found = nil
	}
	return h.expose(w, r, gatherers, found)
}

// native returns a gatherer of the native families of runs.
func (h *Handler) native(runs ...Run) (prometheus.Gatherer, error) {
	own := prometheus.NewRegistry()
	if err := own.Register(NewCollector(h.Version, runs...)); err != nil {
		return nil, fmt.Errorf("collect metrics: %w", err)
	}
	return own, nil
}

// ScrapeRun serves the Prometheus metrics of one run.
//
//	@Summary	Get Prometheus metrics of a run
//	@Tags		runs
//	@Success	200	{string}	string
//	@Produce	plain,application/openmetrics-text,application/vnd.google.protobuf
//	@Router		/api/runs/{id}/metrics.prom [get]
func (h *Handler) ScrapeRun(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Find.Run(w, r)
	if err != nil {
		return err
	}
	runs, err := h.withSnapshots(r.Context(), found)
	if err != nil {
		return err
	}
	own, err := h.native(runs...)
	if err != nil {
		return err
	}
	return h.expose(w, r, own, found)
}

// expose answers in the format that the client prefers, with the metrics of a gatherer,
// followed by those of a run under AIPerf's names, if there is a run.
func (h *Handler) expose(w http.ResponseWriter, r *http.Request, g prometheus.Gatherer, run *run.Run) error {
	families, err := g.Gather()
	if err != nil {
		return fmt.Errorf("gather metrics: %w", err)
	}
	compat, err := h.compatText(r.Context(), run)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	format, err := Write(&buf, r.Header, families, compat)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", format)
	w.Header().Set("Cache-Control", respond.NoStore)
	w.Header().Add("Vary", "Accept")
	h.Out.Write(w, http.StatusOK, buf.Bytes())
	return nil
}

// compatText is the exposition under AIPerf's names; empty without a run.
func (h *Handler) compatText(ctx context.Context, run *run.Run) ([]byte, error) {
	if run == nil {
		return nil, nil
	}
	snap, err := h.Find.Snapshot(ctx, run)
	if err != nil {
		return nil, err
	}
	return Compat(h.Version, run, snap), nil
}

// lingers reports whether a scrape includes a run that it does not name: it has not
// ended, or not long ago.
func (h *Handler) lingers(r *run.Run, now time.Time) bool {
	return r.EndedAt == nil || now.Sub(*r.EndedAt) <= h.Linger
}

// scraped returns the runs that a scrape includes: the one that it names, otherwise the
// active ones, or else the one that finished last, for the duration of linger, so that
// every scraper sees the final values.
func (h *Handler) scraped(ctx context.Context, now time.Time, only *run.Run) ([]Run, error) {
	if only != nil {
		return h.withSnapshots(ctx, only)
	}
	var runs []*run.Run
	for _, id := range h.Find.Live.Queue().Running {
		active, err := h.Find.Runs.Get(ctx, id)
		if errors.Is(err, run.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, active)
	}
	if len(runs) == 0 {
		last, err := h.Find.LastFinished(ctx, run.Query{Kind: run.KindRun})
		if err != nil {
			return nil, err
		}
		if last != nil && h.lingers(last, now) {
			whole, err := h.Find.Runs.Get(ctx, last.ID) // a list has no configurations
			switch {
			case errors.Is(err, run.ErrNotFound): // deleted in between
			case err != nil:
				return nil, err
			default:
				runs = append(runs, whole)
			}
		}
	}
	out, err := h.withSnapshots(ctx, runs...)
	if err != nil {
		return nil, err
	}
	studies, err := h.studies(ctx, now)
	return append(out, studies...), err
}

// Families returns the native families of runs and studies, for those who send them elsewhere; of studies only their
// progress and their answers. Ids that are not stored are left out. Self, Names and Linger are not used.
func (h *Handler) Families(ctx context.Context, ids ...string) ([]*dto.MetricFamily, error) {
	var all []Run
	for _, id := range ids {
		found, err := h.Find.Runs.Get(ctx, id)
		switch {
		case errors.Is(err, run.ErrNotFound):
			continue
		case err != nil:
			return nil, fmt.Errorf("read run %s: %w", id, err)
		case found.Study != nil:
			all = append(all, Run{Run: found, Answer: h.answer(found), Aside: true})
			continue
		}
		one, err := h.withSnapshots(ctx, found)
		if err != nil {
			return nil, fmt.Errorf("read the snapshot of run %s: %w", id, err)
		}
		all = append(all, one...)
	}
	own, err := h.native(all...)
	if err != nil {
		return nil, err
	}
	families, err := own.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather metrics: %w", err)
	}
	return families, nil
}

// studies returns the studies that a scrape includes: the active ones, otherwise the one that ended last until some
// time after its end.
func (h *Handler) studies(ctx context.Context, now time.Time) ([]Run, error) {
	page, err := h.Find.Runs.List(ctx, run.Query{Kind: run.KindSweep, States: respond.ActiveStates(), Limit: maxStudies})
	if err != nil {
		return nil, err
	}
	found := page.Runs
	if len(found) == 0 {
		last, err := h.Find.LastFinished(ctx, run.Query{Kind: run.KindSweep})
		if err != nil {
			return nil, err
		}
		if last != nil && h.lingers(last, now) {
			found = append(found, *last)
		}
	}
	var out []Run
	for i := range found {
		if found[i].Study != nil {
			out = append(out, Run{Run: &found[i], Answer: h.answer(&found[i]), Aside: true})
		}
	}
	return out, nil
}

// maxStudies is the number of active studies that a scrape includes.
const maxStudies = 50

// answer returns what a study says; nil if it has no answer.
func (h *Handler) answer(r *run.Run) *results.Answer {
	if r.Study == nil {
		return nil
	}
	a, err := h.Servers.Answer(r.ID)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the other metrics are worth more than an error
		h.Out.Log.Warn().Err(err).Str("run", r.ID).Msg("the answer of the study is left out of a scrape")
	}
	if err != nil {
		return nil
	}
	return a
}

// withSnapshots returns runs with their newest snapshots.
func (h *Handler) withSnapshots(ctx context.Context, runs ...*run.Run) ([]Run, error) {
	out := make([]Run, 0, len(runs))
	for _, r := range runs {
		snap, err := h.Find.Snapshot(ctx, r)
		if err != nil {
			return nil, err
		}
		server, err := h.Servers.Servers(ctx, r)
		if err != nil { // the other metrics of the run are worth more than an error
			h.Out.Log.Warn().Err(err).Str("run", r.ID).Msg("what servers say of the run is left out of a scrape")
		}
		devices, err := h.Servers.Devices(ctx, r)
		if err != nil { // the same
			h.Out.Log.Warn().Err(err).Str("run", r.ID).Msg("what GPUs say of the run is left out of a scrape")
		}
		network, err := h.Servers.Paths(ctx, r)
		if err != nil { // the same
			h.Out.Log.Warn().Err(err).Str("run", r.ID).Msg("what the network did in the run is left out of a scrape")
		}
		sent, err := h.Servers.OTel(ctx, r)
		if err != nil { // the same
			h.Out.Log.Warn().Err(err).Str("run", r.ID).Msg("what the run sends to collectors is left out of a scrape")
		}
		out = append(out, Run{Run: r, Snapshot: snap, Server: server, GPU: devices, Path: network, OTel: sent, Answer: h.answer(r)})
	}
	return out, nil
}
