package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/api/intake"
)

// handler responds to a request, or returns an error that becomes a problem.
type handler func(w http.ResponseWriter, r *http.Request) error

// route is one path with one method. GET includes HEAD.
type route struct {
	method, pattern string
	handle          handler
	// query are the parameters of the route; others are rejected. nil means that
	// the route is AIPerf's and ignores unknown parameters.
	query  []string
	hidden bool // not in the API document: pages and their files
}

const feedPath = "/ws"

// none returns the query of a route without parameters.
func none() []string { return []string{} }

// routes returns the route table. To add a route, write its handler as a method of
// the type of its resource and add a row.
func (s *Server) routes() []route {
	files := &fileHandler{base: s.base}
	runs := &runHandler{base: s.base, hub: s.Hub, load: s.Load, compat: s.Compat, maxBody: s.MaxBody, gate: intake.New(), orders: intake.New(), files: files}
	data := &dataHandler{base: s.base, hub: s.Hub}
	metrics := &metricsHandler{base: s.base, self: s.self, names: s.MetricNames, linger: s.MetricsLinger}
	service := &serviceHandler{base: s.base, features: s.Features, oneShot: s.OneShot, stop: s.Shutdown}
	live := &feedHandler{base: s.base, hub: s.Hub}
	pages := &pageHandler{base: s.base}
	get, post, del := http.MethodGet, http.MethodPost, http.MethodDelete
	return []route{
		{method: get, pattern: "/api/config", handle: data.getConfig},
		{method: get, pattern: "/api/run", handle: data.getRunInfo},
		{method: get, pattern: "/api/metrics", handle: data.getMetrics},
		{method: get, pattern: "/api/progress", handle: data.getProgress},
		{method: get, pattern: "/api/workers", handle: data.getWorkers},
		{method: get, pattern: "/api/server-metrics", handle: data.getServerMetrics},
		{method: get, pattern: "/api/results", handle: data.getResults},
		{method: get, pattern: "/api/results/list", handle: files.listFiles},
		{method: get, pattern: "/api/results/files/*", handle: files.getFile},
		{method: get, pattern: "/metrics", handle: metrics.scrape},
		{method: get, pattern: "/healthz", handle: service.healthz},
		{method: get, pattern: "/readyz", handle: service.readyz},
		{method: post, pattern: "/api/shutdown", handle: service.shutdown, query: []string{"force"}},
		{method: get, pattern: feedPath, handle: live.connect},

		{method: post, pattern: "/api/runs", handle: runs.submit, query: none()},
		{method: post, pattern: "/api/run", handle: runs.submit, query: none()},
		{method: post, pattern: "/api/validate", handle: runs.validate, query: none()},
		{method: get, pattern: "/api/runs", handle: runs.listRuns, query: listParameters()},
		{method: get, pattern: "/api/runs/{id}", handle: runs.getRun, query: none()},
		{method: del, pattern: "/api/runs/{id}", handle: runs.deleteRun, query: []string{"force"}},
		{method: post, pattern: "/api/runs/{id}/cancel", handle: runs.cancel, query: []string{"wait"}},
		{method: get, pattern: "/api/runs/{id}/children", handle: runs.listChildren, query: []string{"limit", "cursor"}},
		{method: get, pattern: "/api/runs/{id}/config", handle: data.getConfig, query: none()},
		{method: get, pattern: "/api/runs/{id}/run", handle: data.getRunInfo, query: none()},
		{method: get, pattern: "/api/runs/{id}/metrics", handle: data.getMetrics, query: none()},
		{method: get, pattern: "/api/runs/{id}/progress", handle: data.getProgress, query: none()},
		{method: get, pattern: "/api/runs/{id}/workers", handle: data.getWorkers, query: none()},
		{method: get, pattern: "/api/runs/{id}/server-metrics", handle: data.getServerMetrics, query: none()},
		{method: get, pattern: "/api/runs/{id}/results", handle: data.getResults, query: none()},
		{method: get, pattern: "/api/runs/{id}/results/list", handle: files.listFiles, query: none()},
		{method: get, pattern: "/api/runs/{id}/results/files/*", handle: files.getFile, query: none()},
		{method: get, pattern: "/api/runs/{id}/metrics.prom", handle: metrics.scrapeRun, query: none()},
		{method: get, pattern: "/api/queue", handle: service.getQueue, query: none()},
		{method: get, pattern: "/api/version", handle: service.getVersion, query: none()},
		{method: get, pattern: "/api/config/schema", handle: pages.getDocumentSchema, query: none()},
		{method: get, pattern: "/openapi.json", handle: pages.getDocument},

		{method: get, pattern: "/", handle: pages.page("index.html"), hidden: true},
		{method: get, pattern: "/dashboard", handle: pages.page("index.html"), hidden: true},
		{method: get, pattern: "/docs", handle: pages.page("docs.html"), hidden: true},
		{method: get, pattern: "/redoc", handle: redirect("/docs"), hidden: true},
		{method: get, pattern: "/static/{file}", handle: pages.getStatic, hidden: true},
	}
}

// mount registers the middleware and the routes.
func (s *Server) mount() error {
	layers, err := s.layers()
	if err != nil {
		return fmt.Errorf("make API server: %w", err)
	}
	s.router.Use(layers...)
	for _, rt := range s.routes() {
		h := s.adapt(rt)
		s.router.Method(rt.method, rt.pattern, h)
		if rt.method == http.MethodGet {
			s.router.Method(http.MethodHead, rt.pattern, h)
		}
	}
	s.router.NotFound(s.notFound)
	s.router.MethodNotAllowed(s.otherMethod)
	return nil
}

// adapt turns a route into a handler of net/http.
func (s *Server) adapt(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := error(nil)
		if rt.query != nil {
			err = strictQuery(r.URL.Query(), rt.query, "label")
		}
		if err == nil {
			err = rt.handle(w, r)
		}
		if err != nil {
			s.writeProblem(w, r, err)
		}
	})
}

// allowed returns the methods of a path, in the order of the Allow header.
func (s *Server) allowed(path string) []string {
	var out []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
		if s.router.Match(chi.NewRouteContext(), m, path) {
			out = append(out, m)
		}
	}
	if len(out) > 0 {
		out = append(out, http.MethodOptions)
	}
	return out
}

// notFound handles unknown paths. If the path exists with or without a trailing
// slash, it redirects there.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	other, cut := strings.CutSuffix(path, "/")
	if !cut {
		other = path + "/"
	}
	if other == "" || strings.HasPrefix(other, "//") || len(s.allowed(other)) == 0 {
		s.writeProblem(w, r, errNotFound)
		return
	}
	if r.URL.RawQuery != "" {
		other += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", other)
	w.WriteHeader(http.StatusPermanentRedirect)
}

// otherMethod handles OPTIONS, and rejects methods that a path does not support.
func (s *Server) otherMethod(w http.ResponseWriter, r *http.Request) {
	allowed := s.allowed(r.URL.EscapedPath())
	if len(allowed) == 0 {
		s.notFound(w, r)
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	if r.Method != http.MethodOptions {
		s.writeProblem(w, r, errMethod)
		return
	}
	if slices.Contains(allowed, http.MethodPost) {
		w.Header().Set("Accept-Post", acceptPost)
	}
	w.WriteHeader(http.StatusNoContent)
}

// redirect redirects permanently to another path.
func redirect(to string) handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusPermanentRedirect)
		return nil
	}
}
