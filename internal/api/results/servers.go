package results

import (
	"context"
	"fmt"
	"net/http"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/run"
)

// ServerMetrics serves the metrics of the servers in AIPerf's shape.
//
//	@Summary		Get the metrics of the server under test
//	@Description	Every metric that the servers expose, over the profiling phases, by host and port; while the run goes on, up to now. Empty without a server that has metrics.
//	@Tags			aiperf
//	@Success		200	{object}	wire.ServerMetrics
//	@Router			/api/server-metrics [get]
//	@Router			/api/runs/{id}/server-metrics [get]
func (h *Handler) ServerMetrics(w http.ResponseWriter, r *http.Request) error {
	return serveRecorded(h, w, r, struct{}{}, nil, h.ServerMetricsOf)
}

// ServerMetricsOf returns the metrics of the servers of a run in AIPerf's shape.
func (h *Handler) ServerMetricsOf(ctx context.Context, found *run.Run, _ struct{}) (*wire.ServerMetrics, error) {
	out := &wire.ServerMetrics{Endpoints: map[string]diagnose.Summary{}}
	if found != nil {
		var err error
		if out.Endpoints, err = h.Recorded.ServerSummaries(ctx, found); err != nil {
			return nil, fmt.Errorf("server metrics of run %s: %w: %w", found.ID, run.ErrStore, err)
		}
	}
	if len(out.Endpoints) == 0 {
		out.Message = "No server metrics available yet"
	}
	return out, nil
}

// Telemetry serves what the metrics of servers and GPUs mean.
//
//	@Summary		Get what the servers, the GPUs and the network say of a run
//	@Description	The pages of metrics and how they answered, and for each phase the canonical metrics of the servers within the exact window of the phase, what they mean in words, whether server and client agree, and where the time to the first token went; and what each reading said, over the time of the run, at most 400 points. While the run goes on, its phase is examined up to now, without what needs the client's sums. gpu has the devices with their metrics, energy with the bound of its error, the cards of each vendor together, and findings. path has, of the network to each server, what the kernel counted of the connections of the load: the shortest round trip, segments that were sent again or came out of order, and the share of responses that this concerned. otel has what became of the payloads of metrics and of the spans that the run sends to OpenTelemetry collectors, and server_spans, of the requests whose spans the servers have sent to POST /v1/traces, the percentiles of their time in the queue, in prefill and in decode.
//	@Tags			runs
//	@Success		200	{object}	wire.Telemetry
//	@Router			/api/runs/{id}/telemetry [get]
func (h *Handler) Telemetry(w http.ResponseWriter, r *http.Request) error {
	return serveRecorded(h, w, r, struct{}{}, nil, h.TelemetryOf)
}

// TelemetryOf returns what the servers' metrics of a run mean.
func (h *Handler) TelemetryOf(ctx context.Context, found *run.Run, _ struct{}) (*wire.Telemetry, error) {
	server, err := h.Recorded.Servers(ctx, found)
	if err != nil {
		return nil, fmt.Errorf("telemetry of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	devices, err := h.Recorded.Devices(ctx, found)
	if err != nil {
		return nil, fmt.Errorf("telemetry of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	network, err := h.Recorded.Paths(ctx, found)
	if err != nil {
		return nil, fmt.Errorf("telemetry of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	sent, err := h.Recorded.OTel(ctx, found)
	if err != nil {
		return nil, fmt.Errorf("telemetry of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	spans, err := h.Recorded.ServerSpans(ctx, found)
	if err != nil {
		return nil, fmt.Errorf("telemetry of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	return &wire.Telemetry{
		RunID: found.ID, State: string(found.State), Server: server, GPU: devices, Path: network, OTel: sent, ServerSpans: spans,
	}, nil
}
