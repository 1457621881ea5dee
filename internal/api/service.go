package api

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"runtime"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/allow"
	"aiperfd/internal/run"
)

// serviceHandler handles the routes of the service itself.
type serviceHandler struct {
	*base
	features []string
	oneShot  bool
	stop     func() // see Options.Shutdown
	simulate func() (wire.Simulator, error)
	access   *access.Guard
	named    func(r *http.Request) bool // the Host header is a name of this server
}

// getQueue serves the queue.
//
//	@Summary	Get the queue
//	@Tags		service
//	@Success	200	{object}	wire.Queue
//	@Produce	json
//	@Router		/api/queue [get]
func (h *serviceHandler) getQueue(w http.ResponseWriter, _ *http.Request) error {
	return h.WriteJSON(w, http.StatusOK, wire.NewQueue(h.live.Queue()))
}

// startSimulator starts the simulated server.
//
//	@Summary		Start the simulated server
//	@Description	It has the OpenAI API and plausible latencies, listens on a loopback port of the machine of the daemon, and serves until the daemon ends. Further requests return the same server.
//	@Tags			service
//	@Success		200	{object}	wire.Simulator
//	@Failure		403	{object}	wire.Problem
//	@Failure		404	{object}	wire.Problem
//	@Produce		json
//	@Router			/api/simulator [post]
func (h *serviceHandler) startSimulator(w http.ResponseWriter, _ *http.Request) error {
	if h.simulate == nil {
		return respond.Fail(respond.ErrNotFound, "This process has no simulated server; run aiperfd mock")
	}
	server, err := h.simulate()
	if denied, ok := errors.AsType[*allow.Denied](err); ok {
		return respond.Fail(respond.ErrTarget, "%v; run aiperfd mock on a server that is allowed", denied)
	}
	if err != nil {
		return err
	}
	return h.WriteJSON(w, http.StatusOK, server)
}

// getVersion serves the version of this program.
//
//	@Summary		Get the version
//	@Description	Callers without the scope read get name and version only.
//	@Tags			service
//	@Success		200	{object}	wire.Version
//	@Produce		json
//	@Router			/api/version [get]
func (h *serviceHandler) getVersion(w http.ResponseWriter, r *http.Request) error {
	out := wire.Version{Name: "aiperfd", Version: h.version}
	if access.Of(r.Context()).Admit(access.Read) == nil {
		out.APILevel, out.Compat, out.Go = 1, "aiperf-0.13", runtime.Version()
		out.Features = append([]string{}, h.features...)
	}
	return h.WriteJSON(w, http.StatusOK, out)
}

// shutdown ends the program.
//
//	@Summary		Shut down
//	@Description	The API of a single run shuts down once the run has ended. A daemon shuts down if no run is active, or with force=true.
//	@Tags			service
//	@Param			force	query		boolean	false	"Daemon: cancel active runs first"
//	@Success		200		{object}	wire.ShuttingDown
//	@Failure		400		{object}	wire.Problem
//	@Failure		403		{object}	wire.Problem
//	@Failure		409		{object}	wire.Problem
//	@Produce		json
//	@Router			/api/shutdown [post]
func (h *serviceHandler) shutdown(w http.ResponseWriter, r *http.Request) error {
	force, err := respond.BoolParameter(r.URL.Query(), "force")
	if err != nil {
		return err
	}
	studies, err := h.runs.List(r.Context(), run.Query{Kind: run.KindSweep, States: respond.ActiveStates(), Limit: 1})
	if err != nil {
		return err
	}
	if studies.Total > 0 && (h.oneShot || !force) {
		return respond.Fail(run.ErrActive, respond.DetailStillRunning)
	}
	if h.oneShot {
		only, err := h.Find(r.Context(), "")
		if err != nil {
			return err
		}
		if only == nil || !only.State.Terminal() {
			return respond.Fail(run.ErrActive, respond.DetailStillRunning)
		}
	} else if len(h.live.Queue().Running) > 0 && !force {
		return respond.Fail(run.ErrActive, respond.DetailStillRunning)
	}
	err = h.WriteJSON(w, http.StatusOK, wire.ShuttingDown{Status: "shutting_down"})
	h.stop()
	return err
}

// healthz is the liveness probe.
//
//	@Summary	Check liveness
//	@Tags		service
//	@Param		verbose	query		string	false	"JSON with details, for clients with a token; without tokens, for clients on this machine"
//	@Success	200		{object}	wire.Health	"ok"
//	@Failure	503		{object}	wire.Health	"unhealthy"
//	@Produce	plain,json
//	@Router		/healthz [get]
func (h *serviceHandler) healthz(w http.ResponseWriter, r *http.Request) error {
	health := h.live.Health()
	return h.probe(w, r, health, health.State != run.HealthFailed, "unhealthy")
}

// readyz is the readiness probe.
//
//	@Summary	Check readiness
//	@Tags		service
//	@Param		verbose	query		string	false	"JSON with details, for clients with a token; without tokens, for clients on this machine"
//	@Success	200		{object}	wire.Health	"ok"
//	@Failure	503		{object}	wire.Health	"not ready"
//	@Produce	plain,json
//	@Router		/readyz [get]
func (h *serviceHandler) readyz(w http.ResponseWriter, r *http.Request) error {
	health := h.live.Health()
	return h.probe(w, r, health, health.State == run.HealthRunning, "not ready")
}

// probe answers with the state of the service.
func (h *serviceHandler) probe(w http.ResponseWriter, r *http.Request, health run.Health, good bool, bad string) error {
	status, text := http.StatusOK, "ok"
	if !good {
		status, text = http.StatusServiceUnavailable, bad
	}
	if r.URL.Query().Has("verbose") && h.mayInspect(r) {
		q := h.live.Queue()
		out := wire.Health{
			State: health.State, Since: health.Since.UTC(), Checks: health.Checks,
			ActiveRuns: len(q.Running), QueueDepth: len(q.IDs), Version: h.version,
		}
		if out.Checks == nil {
			out.Checks = map[string]string{}
		}
		if q.Paused {
			out.Checks = maps.Clone(out.Checks)
			out.Checks["queue"] = "paused"
		}
		return h.WriteJSON(w, status, out)
	}
	w.Header().Set("Cache-Control", respond.NoStore)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	h.Write(w, status, []byte(text))
	return nil
}

// mayInspect reports whether a request may see the details of a probe: with tokens it
// needs one, else it must come from this machine, not through a proxy, and name this
// server, which pages of other sites cannot do.
func (h *serviceHandler) mayInspect(r *http.Request) bool {
	if h.access.Tokens() {
		return access.Of(r.Context()).Admit(access.Read) == nil
	}
	proxied := r.Header.Get("Forwarded") != "" || r.Header.Get("X-Forwarded-For") != ""
	return !proxied && local(r) && h.named(r)
}

// local reports whether a request comes from this machine.
func local(r *http.Request) bool {
	if own, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && own.Network() == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && access.Loopback(host)
}
