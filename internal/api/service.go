package api

import (
	"net"
	"net/http"
	"path"
	"runtime"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/run"
	"aiperfd/openapi"
	"aiperfd/web"
)

// getQueue serves the queue.
//
//	@Summary	Get the queue
//	@Tags		service
//	@Success	200	{object}	wire.Queue
//	@Produce	json
//	@Router		/api/queue [get]
func (s *Server) getQueue(w http.ResponseWriter, _ *http.Request) error {
	q := s.Live.Queue()
	return s.writeJSON(w, http.StatusOK, wire.Queue{
		Queued: append([]string{}, q.IDs...), Running: append([]string{}, q.Running...),
		MaxQueued: q.Max, MaxConcurrentRuns: q.MaxRuns,
	})
}

// getVersion says what this program is.
//
//	@Summary	Get the version
//	@Tags		service
//	@Success	200	{object}	wire.Version
//	@Produce	json
//	@Router		/api/version [get]
func (s *Server) getVersion(w http.ResponseWriter, _ *http.Request) error {
	return s.writeJSON(w, http.StatusOK, wire.Version{
		Name: "aiperfd", Version: s.Version, APILevel: 1, Compat: "aiperf-0.13", Go: runtime.Version(),
		Features: append([]string{}, s.Features...),
	})
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
func (s *Server) shutdown(w http.ResponseWriter, r *http.Request) error {
	force, err := boolParameter(r.URL.Query(), "force")
	if err != nil {
		return err
	}
	if s.OneShot {
		only, err := s.find(r.Context(), "")
		if err != nil {
			return err
		}
		if only == nil || !only.State.Terminal() {
			return fail(run.ErrActive, detailStillRunning)
		}
	} else if len(s.Live.Queue().Running) > 0 && !force {
		return fail(run.ErrActive, detailStillRunning)
	}
	err = s.writeJSON(w, http.StatusOK, wire.ShuttingDown{Status: "shutting_down"})
	s.Shutdown()
	return err
}

// healthz is the liveness probe.
//
//	@Summary	Check liveness
//	@Tags		service
//	@Param		verbose	query		string	false	"JSON with details, for clients on this machine"
//	@Success	200		{object}	wire.Health	"ok"
//	@Failure	503		{object}	wire.Health	"unhealthy"
//	@Produce	plain,json
//	@Router		/healthz [get]
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) error {
	health := s.Live.Health()
	return s.probe(w, r, health, health.State != run.HealthFailed, "unhealthy")
}

// readyz is the readiness probe.
//
//	@Summary	Check readiness
//	@Tags		service
//	@Param		verbose	query		string	false	"JSON with details, for clients on this machine"
//	@Success	200		{object}	wire.Health	"ok"
//	@Failure	503		{object}	wire.Health	"not ready"
//	@Produce	plain,json
//	@Router		/readyz [get]
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) error {
	health := s.Live.Health()
	return s.probe(w, r, health, health.State == run.HealthRunning, "not ready")
}

func (s *Server) probe(w http.ResponseWriter, r *http.Request, health run.Health, good bool, bad string) error {
	status, text := http.StatusOK, "ok"
	if !good {
		status, text = http.StatusServiceUnavailable, bad
	}
	if r.URL.Query().Has("verbose") && local(r) {
		q := s.Live.Queue()
		out := wire.Health{
			State: health.State, Since: health.Since.UTC(), Checks: health.Checks,
			ActiveRuns: len(q.Running), QueueDepth: len(q.IDs), Version: s.Version,
		}
		if out.Checks == nil {
			out.Checks = map[string]string{}
		}
		return s.writeJSON(w, status, out)
	}
	w.Header().Set("Cache-Control", noStore)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	s.write(w, status, []byte(text))
	return nil
}

// local reports whether a request comes from this machine.
func local(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && loopback(host)
}

// getDocument serves the API document.
//
//	@Summary	Get this document
//	@Tags		service
//	@Success	200	{object}	object
//	@Produce	json
//	@Router		/openapi.json [get]
func (s *Server) getDocument(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-cache")
	s.writeTagged(w, r, bodyTag(openapi.JSON), openapi.JSON)
	return nil
}

// pagePolicy is the Content-Security-Policy of pages: nothing from elsewhere,
// nothing inline.
const pagePolicy = "default-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page serves one of the embedded pages.
func (s *Server) page(name string) handler {
	return func(w http.ResponseWriter, r *http.Request) error { return s.sendAsset(w, r, name) }
}

// getStatic serves a file that belongs to a page.
func (s *Server) getStatic(w http.ResponseWriter, r *http.Request) error {
	return s.sendAsset(w, r, chi.URLParam(r, "file"))
}

func (s *Server) sendAsset(w http.ResponseWriter, r *http.Request, name string) error {
	body, ok := web.File(name)
	if !ok {
		return errNotFound
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	tag := bodyTag(body)
	h.Set("Etag", tag)
	if tagged(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", assetTypes()[path.Ext(name)])
	s.write(w, http.StatusOK, body)
	return nil
}

// assetTypes are the media types of the embedded files.
func assetTypes() map[string]string {
	return map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}
}
