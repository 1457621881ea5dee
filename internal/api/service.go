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

// service handles the routes of the service itself.
type service struct {
	Options
	out   *respond.Responder
	find  *respond.Finder
	named func(r *http.Request) bool // the Host header is a name of this server
}

// getQueue serves the queue.
//
//	@Summary	Get the queue
//	@Tags		service
//	@Success	200	{object}	wire.Queue
//	@Router		/api/queue [get]
func (s *service) getQueue(w http.ResponseWriter, _ *http.Request) error {
	return s.out.WriteJSON(w, http.StatusOK, wire.NewQueue(s.Live.Queue()))
}

// startSimulator starts the simulated server.
//
//	@Summary		Start the simulated server
//	@Description	It has the OpenAI API and plausible latencies, listens on a loopback port of the machine of the daemon, and serves until the daemon ends. Further requests return the same server.
//	@Tags			service
//	@Success		200	{object}	wire.Simulator
//	@Failure		404	{object}	wire.Problem
//	@Router			/api/simulator [post]
func (s *service) startSimulator(w http.ResponseWriter, _ *http.Request) error {
	if s.Simulator == nil {
		return respond.Fail(respond.ErrNotFound, "This process has no simulated server; run aiperfd mock")
	}
	server, err := s.Simulator()
	if denied, ok := errors.AsType[*allow.Denied](err); ok {
		return respond.Fail(respond.ErrTarget, "%v; run aiperfd mock on a server that is allowed", denied)
	}
	if err != nil {
		return err
	}
	return s.out.WriteJSON(w, http.StatusOK, server)
}

// getVersion serves the version of this program.
//
//	@Summary		Get the version
//	@Description	Callers without the scope read get name and version only.
//	@Tags			service
//	@Success		200	{object}	wire.Version
//	@Router			/api/version [get]
func (s *service) getVersion(w http.ResponseWriter, r *http.Request) error {
	out := wire.Version{Name: "aiperfd", Version: s.Version}
	if access.Of(r.Context()).Admit(access.Read) == nil {
		out.APILevel, out.Compat, out.Go = 1, "aiperf-0.13", runtime.Version()
		out.Features = append([]string{}, s.Features...)
	}
	return s.out.WriteJSON(w, http.StatusOK, out)
}

// shutdown ends the program.
//
//	@Summary		Shut down
//	@Description	The API of a single run shuts down once the run has ended. A daemon shuts down if no run is active, or with force=true.
//	@Tags			service
//	@Param			force	query		boolean	false	"Daemon: cancel active runs first"
//	@Success		200		{object}	wire.ShuttingDown
//	@Failure		400,409		{object}	wire.Problem
//	@Router			/api/shutdown [post]
func (s *service) shutdown(w http.ResponseWriter, r *http.Request) error {
	force, err := respond.BoolParameter(r.URL.Query(), "force")
	if err != nil {
		return err
	}
	studies, err := s.Runs.List(r.Context(), run.Query{Kind: run.KindSweep, States: respond.ActiveStates(), Limit: 1})
	if err != nil {
		return err
	}
	if studies.Total > 0 && (s.OneShot || !force) {
		return respond.Fail(run.ErrActive, respond.DetailStillRunning)
	}
	if s.OneShot {
		only, err := s.find.Find(r.Context(), "")
		if err != nil {
			return err
		}
		if only == nil || !only.State.Terminal() {
			return respond.Fail(run.ErrActive, respond.DetailStillRunning)
		}
	} else if len(s.Live.Queue().Running) > 0 && !force {
		return respond.Fail(run.ErrActive, respond.DetailStillRunning)
	}
	err = s.out.WriteJSON(w, http.StatusOK, wire.ShuttingDown{Status: "shutting_down"})
	s.Shutdown()
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
func (s *service) healthz(w http.ResponseWriter, r *http.Request) error {
	health := s.Live.Health()
	return s.probe(w, r, health, health.State != run.HealthFailed, "unhealthy")
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
func (s *service) readyz(w http.ResponseWriter, r *http.Request) error {
	health := s.Live.Health()
	return s.probe(w, r, health, health.State == run.HealthRunning, "not ready")
}

// probe answers with the state of the service.
func (s *service) probe(w http.ResponseWriter, r *http.Request, health run.Health, good bool, bad string) error {
	status, text := http.StatusOK, "ok"
	if !good {
		status, text = http.StatusServiceUnavailable, bad
	}
	if r.URL.Query().Has("verbose") && s.mayInspect(r) {
		q := s.Live.Queue()
		out := wire.Health{
			State: health.State, Since: health.Since.UTC(), Checks: health.Checks,
			ActiveRuns: len(q.Running), QueueDepth: len(q.IDs), Version: s.Version,
		}
		if out.Checks == nil {
			out.Checks = map[string]string{}
		}
		if q.Paused {
			out.Checks = maps.Clone(out.Checks)
			out.Checks["queue"] = "paused"
		}
		return s.out.WriteJSON(w, status, out)
	}
	w.Header().Set("Cache-Control", respond.NoStore)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	s.out.Write(w, status, []byte(text))
	return nil
}

// mayInspect reports whether a request may see the details of a probe: with tokens it
// needs one, else it must come from this machine, not through a proxy, and name this
// server, which pages of other sites cannot do.
func (s *service) mayInspect(r *http.Request) bool {
	if s.Access.Tokens() {
		return access.Of(r.Context()).Admit(access.Read) == nil
	}
	proxied := r.Header.Get("Forwarded") != "" || r.Header.Get("X-Forwarded-For") != ""
	return !proxied && local(r) && s.named(r)
}

// local reports whether a request comes from this machine.
func local(r *http.Request) bool {
	if own, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && own.Network() == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && access.Loopback(host)
}

// pause stops the queue.
//
//	@Summary		Pause the queue
//	@Description	No run starts until the queue is resumed, also after a restart of the service. Active runs continue, and runs can still be submitted.
//	@Tags			service
//	@Success		200	{object}	wire.Queue
//	@Failure		503	{object}	wire.Problem
//	@Router			/api/queue/pause [post]
func (s *service) pause(w http.ResponseWriter, r *http.Request) error {
	return s.setPaused(w, r, true)
}

// resume starts the queue again.
//
//	@Summary	Resume the queue
//	@Tags		service
//	@Success	200	{object}	wire.Queue
//	@Failure	503	{object}	wire.Problem
//	@Router		/api/queue/resume [post]
func (s *service) resume(w http.ResponseWriter, r *http.Request) error {
	return s.setPaused(w, r, false)
}

func (s *service) setPaused(w http.ResponseWriter, r *http.Request, paused bool) error {
	if err := s.Runs.Pause(r.Context(), paused); err != nil {
		return err
	}
	return s.getQueue(w, r)
}

// beginSession begins a session.
//
//	@Summary		Begin a session
//	@Description	For browsers: the bearer token of this request becomes the cookie aiperfd_session, which is valid for 12 hours. Without a token file, nobody needs a session and no cookie is set.
//	@Tags			service
//	@Success		204	"The session has begun"
//	@Failure		400	{object}	wire.Problem
//	@Router			/api/session [post]
func (s *service) beginSession(w http.ResponseWriter, r *http.Request) error {
	cookie, err := s.Access.Login(r)
	if err != nil {
		return err
	}
	if cookie != nil {
		http.SetCookie(w, cookie)
	}
	w.Header().Set("Cache-Control", respond.NoStore)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getSession says who the caller is.
//
//	@Summary	Get the caller
//	@Tags		service
//	@Success	200	{object}	wire.Session
//	@Produce	json
//	@Router		/api/session [get]
func (s *service) getSession(w http.ResponseWriter, r *http.Request) error {
	id := access.Of(r.Context())
	w.Header().Set("Cache-Control", respond.NoStore)
	return s.out.WriteJSON(w, http.StatusOK, wire.Session{Name: id.Name, Scope: id.Scope().String(), Begun: id.InSession()})
}

// endSession ends a session.
//
//	@Summary		End a session
//	@Description	Ends the session of the cookie, and the feeds that were opened with it.
//	@Tags			service
//	@Success		204	"The session has ended, or there was none"
//	@Failure		400,403	{object}	wire.Problem
//	@Router			/api/session [delete]
func (s *service) endSession(w http.ResponseWriter, r *http.Request) error {
	http.SetCookie(w, s.Access.Logout(r))
	w.Header().Set("Cache-Control", respond.NoStore)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
