package results

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// Recorded has what was recorded of runs. Its methods are safe for concurrent use and never
// wait for a run.
type Recorded interface {
	// Series returns a part of the time series of a run; a run without one has an empty one.
	Series(ctx context.Context, id string, q series.Query) (*series.Result, error)
	// Distributions returns how latencies of a run are distributed.
	Distributions(ctx context.Context, id string, q series.DistributionQuery) (*series.Distributions, error)
	// Samples returns the requests of a run that are kept for a closer look.
	Samples(id string) (*samples.Samples, error)
	// Servers returns what the servers' metrics say of a run, of an active one up to now; nil = they were not read.
	Servers(ctx context.Context, r *run.Run) (*diagnose.Server, error)
	// Devices returns what the accelerators did in a run, in an active one up to now; nil = they were not read.
	Devices(ctx context.Context, r *run.Run) (*gpu.Report, error)
	// Paths returns how the network behaved; nil = nothing was counted.
	Paths(ctx context.Context, r *run.Run) (*paths.Report, error)
	// Agents returns what a run of recorded sessions says, besides its metrics.
	Agents(ctx context.Context, r *run.Run) (*results.Agents, error)
	// OTel returns what became of what a run sends to OpenTelemetry collectors; nil = nothing is sent.
	OTel(ctx context.Context, r *run.Run) (*otel.Report, error)
	// ServerSpans returns what the spans of servers say of a run; nil = none are received.
	ServerSpans(ctx context.Context, r *run.Run) (*otel.ServerSpans, error)
	// ServerSummaries returns the metrics of the servers of a run in AIPerf's shape; empty = there are none.
	ServerSummaries(ctx context.Context, r *run.Run) (map[string]diagnose.Summary, error)
	// Sweep returns what the runs of a sweep say together; fs.ErrNotExist if there is none yet.
	Sweep(id string) (*results.Sweep, error)
	// Answer returns the answer of an experiment.
	Answer(id string) (*results.Answer, error)
	// Requests returns the requests of a run that are compared with others; nil = they are not known.
	Requests(ctx context.Context, in *compare.Input) (*compare.Requests, error)
	// Log calls each for the lines of the log of a run, the oldest first.
	Log(id string, each func(*results.LogLine) error) error
	// Active reports whether the log of a run may get further lines.
	Active(id string) bool
}

// SeriesParameters returns the query parameters of the time series.
func SeriesParameters() []string { return []string{"metric", "step", "from", "to"} }

// Timeseries serves the time series of a run.
//
//	@Summary		Get the time series of a run
//	@Description	Rates, levels, errors and latencies over time, for active runs too. A request counts when it ends. To follow a run, give the step and pass next_sec as from in the next request, until the state is terminal.
//	@Tags			runs
//	@Param			metric	query		[]string	false	"Names of metrics, separated by commas; without it, all"	collectionFormat(csv)	Enums(time_to_first_token,inter_token_latency,inter_chunk_latency,request_latency,schedule_lag,requests_offered,requests_sent,requests_completed,requests_failed,requests_cancelled,input_tokens,output_tokens,in_flight,concurrency_limit,backlog,client_cpu,errors)
//	@Param			step	query		string	false	"Length of a point in whole seconds, such as 1s or 5m. Without it, the shortest of a few with at most 2000 points; one with more points is multiplied. See step_sec"
//	@Param			from	query		number	false	"Seconds since the start of the run, rounded down to a multiple of the step"	minimum(0)	maximum(2147483648)
//	@Param			to		query		number	false	"Seconds since the start of the run, rounded up to a multiple of the step"		minimum(0)	maximum(2147483648)
//	@Success		200		{object}	wire.Timeseries
//	@Failure		400		{object}	wire.Problem
//	@Router			/api/runs/{id}/timeseries [get]
func (h *Handler) Timeseries(w http.ResponseWriter, r *http.Request) error {
	q, problems := seriesQuery(r.URL.Query())
	return serveRecorded(h, w, r, q, problems, h.TimeseriesOf)
}

// TimeseriesOf returns a part of the time series of a run.
func (h *Handler) TimeseriesOf(ctx context.Context, found *run.Run, q series.Query) (*wire.Timeseries, error) {
	s, err := h.Recorded.Series(ctx, found.ID, q)
	if err != nil {
		return nil, fmt.Errorf("series of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	return NewTimeseries(found, q.Metrics, s), nil
}

// serveRecorded answers with what read returns for the run of a request and a query, unless
// there are problems with its parameters.
func serveRecorded[Q, V any](
	h *Handler, w http.ResponseWriter, r *http.Request, q Q, problems []string,
	read func(context.Context, *run.Run, Q) (V, error),
) error {
	if len(problems) > 0 {
		return respond.Fail(respond.ErrParameter, "%s", strings.Join(problems, "; "))
	}
	found, err := h.Find.Run(w, r)
	if err != nil {
		return err
	}
	v, err := read(r.Context(), found, q)
	if err != nil {
		return err
	}
	return h.Out.WriteOf(w, r, found, v)
}

// seriesQuery reads the parameters of the time series, and returns all that is wrong with them.
func seriesQuery(values url.Values) (q series.Query, problems []string) {
	var err error
	if q.Metrics, err = series.Select(names(values)); err != nil {
		problems = append(problems, "metric: "+err.Error())
	}
	if text := values.Get("step"); text != "" {
		if q.Step, err = step(text); err != nil {
			problems = append(problems, err.Error())
		}
	}
	var more []string
	q.From, q.To, more = span(values)
	return q, append(problems, more...)
}

// names reads the names of metrics.
func names(values url.Values) []string {
	list := values.Get("metric")
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// span reads a part of the time of a run, and returns all that is wrong with it.
func span(values url.Values) (from, to int64, problems []string) {
	from, fromErr := second(values, "from", math.Floor)
	to, toErr := second(values, "to", math.Ceil)
	for _, err := range []error{fromErr, toErr} {
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	if len(problems) == 0 && values.Get("to") != "" && to <= from {
		problems = append(problems, fmt.Sprintf("to: %s is not after from", values.Get("to")))
	}
	return from, to, problems
}

// The bounds of parameters in seconds.
const (
	maxStep = 24 * 60 * 60
	maxTime = 1 << 31
)

// step reads a duration of whole seconds.
func step(text string) (int64, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d%time.Second != 0 || d < time.Second || d > maxStep*time.Second {
		return 0, fmt.Errorf("step: %q is not a duration in whole seconds from 1s to 24h", text)
	}
	return int64(d / time.Second), nil
}

// second reads a time in seconds; without the parameter it is 0.
func second(values url.Values, name string, round func(float64) float64) (int64, error) {
	text := values.Get(name)
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= maxTime) {
		return 0, fmt.Errorf("%s: %q is not a number of seconds from 0 to %d", name, text, maxTime)
	}
	return int64(round(v)), nil
}
