package api

import (
	"context"
	"errors"
	"net/http"

	"golang.org/x/sync/semaphore"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/telemetry/diagnose"
)

// The bounds of probes: requests at a time, and pages of one request.
const (
	probesAtOnce = 4
	mostProbed   = 16
)

// telemetryProbes says what pages of metrics are.
type telemetryProbes struct {
	out   *respond.Responder
	probe func(ctx context.Context, pages []secret.URL) ([]diagnose.Probed, error) // nil = it cannot be asked
	room  *semaphore.Weighted
}

// serve reads pages of metrics once.
//
//	@Summary		Try pages of metrics
//	@Description	Reads each page once, as a run would: below the URL of a server at /metrics, then at /prometheus/metrics. The answer says which server or exporter of GPUs it is, which canonical metrics a run would have from which metrics of the page, which it would lack, and how long reading took. At most 16 URLs; it takes ten seconds at most. Credentials in a URL are sent to its server and appear nowhere.
//	@Tags			service
//	@Accept			json
//	@Param			body	body		wire.ProbeRequest	true	"Pages of metrics, or servers"
//	@Success		200		{object}	wire.ProbeAnswer
//	@Failure		400,403,404,413,415,503	{object}	wire.Problem
//	@Router			/api/telemetry/probe [post]
func (p *telemetryProbes) serve(w http.ResponseWriter, r *http.Request) error {
	if p.probe == nil {
		return respond.Fail(respond.ErrNotFound, "This process reads no telemetry")
	}
	var body wire.ProbeRequest
	if err := respond.ReadJSON(w, r, "pages of metrics", &body); err != nil {
		return err
	}
	if n := len(body.URLs); n == 0 || n > mostProbed {
		return respond.Fail(respond.ErrParameter, "urls has %d values; it must have 1 to %d", n, mostProbed)
	}
	pages := make([]secret.URL, len(body.URLs))
	for i, raw := range body.URLs {
		page, requirement := secret.ParseCollector(raw)
		if requirement != "" {
			return respond.Fail(respond.ErrParameter, "urls[%d] %s: %s", i, secret.NewURL(raw), requirement)
		}
		pages[i] = page
	}
	if !p.room.TryAcquire(1) {
		return respond.Fail(respond.ErrBusy, "%d requests of this kind are being answered; try again", probesAtOnce)
	}
	defer p.room.Release(1)
	answers, err := p.probe(r.Context(), pages)
	if denied, ok := errors.AsType[*allow.Denied](err); ok {
		return respond.Fail(respond.ErrTarget, "%v", denied)
	}
	if err != nil {
		return err
	}
	return p.out.WriteJSON(w, http.StatusOK, wire.ProbeAnswer{Targets: answers})
}
