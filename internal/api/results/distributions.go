package results

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/run"
)

// DistributionParameters returns the query parameters of the distributions.
func DistributionParameters() []string { return []string{"metric", "from", "to", "points", "phase"} }

// Distributions serves how latencies of a run are distributed.
//
//	@Summary		Get the distributions of latencies of a run
//	@Description	Histogram, quantiles and heat map over time of each latency, for active runs too. Percentiles are computed from merged sketches, with an error of 0.27 % at most.
//	@Tags			runs
//	@Param			metric	query		[]string	false	"Names of metrics, separated by commas; without it, all"	collectionFormat(csv)	Enums(time_to_first_token,inter_token_latency,inter_chunk_latency,request_latency,schedule_lag)
//	@Param			from	query		number	false	"Seconds since the start of the run, rounded down to a multiple of step_sec"	minimum(0)	maximum(2147483648)
//	@Param			to		query		number	false	"Seconds since the start of the run, rounded up to a multiple of step_sec"		minimum(0)	maximum(2147483648)
//	@Param			points	query		integer	false	"Columns of the heat maps at most"	minimum(1)	maximum(500)	default(200)
//	@Param			phase	query		string	false	"Name of a phase, or warmup or profiling for all of a kind; without it, the profiling phases"
//	@Success		200		{object}	wire.Distributions
//	@Failure		400		{object}	wire.Problem
//	@Router			/api/runs/{id}/distributions [get]
func (h *Handler) Distributions(w http.ResponseWriter, r *http.Request) error {
	q, problems := distributionQuery(r.URL.Query())
	return serveRecorded(h, w, r, q, problems, h.DistributionsOf)
}

// DistributionsOf returns how latencies of a run are distributed.
func (h *Handler) DistributionsOf(
	ctx context.Context, found *run.Run, q series.DistributionQuery,
) (*wire.Distributions, error) {
	d, err := h.Recorded.Distributions(ctx, found.ID, q)
	if err != nil {
		return nil, fmt.Errorf("distributions of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	return newDistributions(found, q.Metrics, d), nil
}

// distributionQuery reads the parameters of the distributions, and returns all that is wrong
// with them.
func distributionQuery(values url.Values) (q series.DistributionQuery, problems []string) {
	var err error
	if q.Metrics, err = series.DistributionMetrics(names(values)); err != nil {
		problems = append(problems, "metric: "+err.Error())
	}
	if text := values.Get("points"); text != "" {
		if q.Columns, err = strconv.ParseInt(text, 10, 64); err != nil || q.Columns < 1 || q.Columns > series.MaxColumns {
			problems = append(problems, fmt.Sprintf("points: %q is not a number from 1 to %d", text, series.MaxColumns))
		}
	}
	var more []string
	q.From, q.To, more = span(values)
	q.Phase = values.Get("phase")
	return q, append(problems, more...)
}

// Samples serves single requests of a run.
//
//	@Summary		Get single requests of a run
//	@Description	The 20 slowest requests by latency and by time to first token, each with its timeline, and a uniform sample of at most 2000 requests that succeeded. Requests of warm-up phases are left out. No prompts or answers.
//	@Tags			runs
//	@Success		200	{object}	wire.Samples
//	@Router			/api/runs/{id}/samples [get]
func (h *Handler) Samples(w http.ResponseWriter, r *http.Request) error {
	return serveRecorded(h, w, r, struct{}{}, nil, h.SamplesOf)
}

// SamplesOf returns single requests of a run.
func (h *Handler) SamplesOf(_ context.Context, found *run.Run, _ struct{}) (*wire.Samples, error) {
	s, err := h.Recorded.Samples(found.ID)
	if err != nil {
		return nil, fmt.Errorf("samples of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	return newSamples(found, s), nil
}
