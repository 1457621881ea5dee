package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
)

// handler answers a request or returns why it does not.
type handler func(w http.ResponseWriter, r *http.Request) error

// route is one address with one method. GET stands for HEAD, too.
type route struct {
	method, pattern string
	handle          handler
	// query are the parameters that the route takes; others are refused. nil:
	// the route is AIPerf's and ignores what it does not know.
	query  []string
	hidden bool // not in the API document: pages and their files
}

const feedPath = "/ws"

// none is the query of a route without parameters.
func none() []string { return []string{} }

// routes is every address that is served.
func (s *Server) routes() []route {
	get, post, del := http.MethodGet, http.MethodPost, http.MethodDelete
	return []route{
		{method: get, pattern: "/api/config", handle: s.getConfig},
		{method: get, pattern: "/api/run", handle: s.getRunInfo},
		{method: get, pattern: "/api/metrics", handle: s.getMetrics},
		{method: get, pattern: "/api/progress", handle: s.getProgress},
		{method: get, pattern: "/api/workers", handle: s.getWorkers},
		{method: get, pattern: "/api/server-metrics", handle: s.getServerMetrics},
		{method: get, pattern: "/api/results", handle: s.getResults},
		{method: get, pattern: "/api/results/list", handle: s.listFiles},
		{method: get, pattern: "/api/results/files/*", handle: s.getFile},
		{method: get, pattern: "/metrics", handle: s.scrape},
		{method: get, pattern: "/healthz", handle: s.healthz},
		{method: get, pattern: "/readyz", handle: s.readyz},
		{method: post, pattern: "/api/shutdown", handle: s.shutdown, query: []string{"force"}},
		{method: get, pattern: feedPath, handle: s.connect},

		{method: post, pattern: "/api/runs", handle: s.submit, query: none()},
		{method: post, pattern: "/api/run", handle: s.submit, query: none()},
		{method: post, pattern: "/api/validate", handle: s.validate, query: none()},
		{method: get, pattern: "/api/runs", handle: s.listRuns, query: listParameters()},
		{method: get, pattern: "/api/runs/{id}", handle: s.getRun, query: none()},
		{method: del, pattern: "/api/runs/{id}", handle: s.deleteRun, query: []string{"force"}},
		{method: post, pattern: "/api/runs/{id}/cancel", handle: s.cancel, query: []string{"wait"}},
		{method: get, pattern: "/api/runs/{id}/config", handle: s.getConfig, query: none()},
		{method: get, pattern: "/api/runs/{id}/run", handle: s.getRunInfo, query: none()},
		{method: get, pattern: "/api/runs/{id}/metrics", handle: s.getMetrics, query: none()},
		{method: get, pattern: "/api/runs/{id}/progress", handle: s.getProgress, query: none()},
		{method: get, pattern: "/api/runs/{id}/workers", handle: s.getWorkers, query: none()},
		{method: get, pattern: "/api/runs/{id}/server-metrics", handle: s.getServerMetrics, query: none()},
		{method: get, pattern: "/api/runs/{id}/results", handle: s.getResults, query: none()},
		{method: get, pattern: "/api/runs/{id}/results/list", handle: s.listFiles, query: none()},
		{method: get, pattern: "/api/runs/{id}/results/files/*", handle: s.getFile, query: none()},
		{method: get, pattern: "/api/runs/{id}/metrics.prom", handle: s.scrapeRun, query: none()},
		{method: get, pattern: "/api/queue", handle: s.getQueue, query: none()},
		{method: get, pattern: "/api/version", handle: s.getVersion, query: none()},
		{method: get, pattern: "/openapi.json", handle: s.getDocument},

		{method: get, pattern: "/", handle: s.page("index.html"), hidden: true},
		{method: get, pattern: "/dashboard", handle: s.page("index.html"), hidden: true},
		{method: get, pattern: "/docs", handle: s.page("docs.html"), hidden: true},
		{method: get, pattern: "/redoc", handle: redirect("/docs"), hidden: true},
		{method: get, pattern: "/static/{file}", handle: s.getStatic, hidden: true},
	}
}

// mount puts the routes and the layers around them together.
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
	s.handler = s.router
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

// allowed lists the methods that a path has, in the order of the Allow header.
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

// notFound answers for paths that do not exist. If the path exists with one
// slash more or less at its end, the client is sent there.
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

// otherMethod answers OPTIONS, and refuses methods that a path does not have.
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

// redirect sends clients to another path for good.
func redirect(to string) handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusPermanentRedirect)
		return nil
	}
}
