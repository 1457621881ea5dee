package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"
	"golang.org/x/sync/semaphore"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/amend"
	"aiperfd/internal/api/feed"
	"aiperfd/internal/api/history"
	"aiperfd/internal/api/intake"
	"aiperfd/internal/api/pages"
	"aiperfd/internal/api/report"
	"aiperfd/internal/api/respond"
	"aiperfd/openapi"
)

// handler responds to a request, or returns an error that becomes a problem.
type handler func(w http.ResponseWriter, r *http.Request) error

// route is one path with one method. GET includes HEAD.
type route struct {
	method, pattern string
	scope           access.Scope // that a caller needs
	handle          handler
	action          string // name in the audit log; empty = not there
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
	files := &fileHandler{base: s.base, bundles: semaphore.NewWeighted(maxBundles)}
	runs := &runHandler{base: s.base, hub: s.Hub, load: s.Load, compat: s.Compat, limits: s.Limits, rate: s.rate, keys: new(inProgress), gate: intake.New(s.Limits.Body), orders: intake.New(s.Limits.Body), files: files}
	data := &dataHandler{base: s.base, hub: s.Hub}
	metrics := &metricsHandler{base: s.base, self: s.self, names: s.MetricNames, linger: s.MetricsLinger}
	service := &serviceHandler{base: s.base, features: s.Features, oneShot: s.OneShot, stop: s.Shutdown, simulate: s.Simulator, access: s.Access, named: s.named}
	live := &feedHandler{base: s.base, hub: s.Hub, access: s.Access}
	session := &sessionHandler{base: s.base, access: s.Access}
	get, post, del, patch := http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodPatch
	return append(slices.Concat(resultRoutes(files), queueRoutes(service), s.courseRoutes(), s.pageRoutes(), s.reportRoutes()), []route{
		{method: get, pattern: "/api/config", scope: access.Read, handle: data.getConfig},
		{method: get, pattern: "/api/run", scope: access.Read, handle: data.getRunInfo},
		{method: get, pattern: "/api/metrics", scope: access.Read, handle: data.getMetrics},
		{method: get, pattern: "/api/progress", scope: access.Read, handle: data.getProgress},
		{method: get, pattern: "/api/workers", scope: access.Read, handle: data.getWorkers},
		{method: get, pattern: "/api/server-metrics", scope: access.Read, handle: data.getServerMetrics},
		{method: get, pattern: "/api/results", scope: access.Read, handle: data.getResults},
		{method: get, pattern: "/api/results/list", scope: access.Read, handle: files.listFiles},
		{method: get, pattern: "/api/results/files/*", scope: access.Read, handle: files.getFile},
		{method: get, pattern: "/metrics", scope: s.Access.MetricsScope(), handle: metrics.scrape},
		{method: get, pattern: "/healthz", scope: access.Open, handle: service.healthz},
		{method: get, pattern: "/readyz", scope: access.Open, handle: service.readyz},
		{method: post, pattern: "/api/shutdown", scope: access.Admin, handle: service.shutdown, query: []string{"force"}, action: "shutdown"},
		{method: get, pattern: feedPath, scope: access.Read, handle: live.connect},

		{method: post, pattern: "/api/runs", scope: access.Submit, handle: runs.submit, query: none(), action: "submit"},
		{method: post, pattern: "/api/run", scope: access.Submit, handle: runs.submit, query: none(), action: "submit"},
		{method: post, pattern: "/api/validate", scope: access.Submit, handle: runs.validate, query: none()},
		{method: get, pattern: "/api/runs", scope: access.Read, handle: runs.listRuns, query: listParameters()},
		{method: get, pattern: "/api/runs/{id}", scope: access.Read, handle: runs.getRun, query: none()},
		{method: patch, pattern: "/api/runs/{id}", scope: access.Submit, handle: updateHandler{runs}.update, query: none(), action: "update"},
		{method: del, pattern: "/api/runs/{id}", scope: access.Submit, handle: runs.deleteRun, query: []string{"force"}, action: "delete"},
		{method: post, pattern: "/api/runs/{id}/cancel", scope: access.Submit, handle: runs.cancel, query: []string{"wait"}, action: "cancel"},
		{method: get, pattern: "/api/runs/{id}/children", scope: access.Read, handle: runs.listChildren, query: []string{"limit", "cursor"}},
		{method: get, pattern: "/api/runs/{id}/config", scope: access.Read, handle: data.getConfig, query: none()},
		{method: get, pattern: "/api/runs/{id}/run", scope: access.Read, handle: data.getRunInfo, query: none()},
		{method: get, pattern: "/api/runs/{id}/metrics", scope: access.Read, handle: data.getMetrics, query: none()},
		{method: get, pattern: "/api/runs/{id}/progress", scope: access.Read, handle: data.getProgress, query: none()},
		{method: get, pattern: "/api/runs/{id}/workers", scope: access.Read, handle: data.getWorkers, query: none()},
		{method: get, pattern: "/api/runs/{id}/server-metrics", scope: access.Read, handle: data.getServerMetrics, query: none()},
		{method: get, pattern: "/api/runs/{id}/results", scope: access.Read, handle: data.getResults, query: none()},
		{method: get, pattern: "/api/runs/{id}/results/list", scope: access.Read, handle: files.listFiles, query: none()},
		{method: get, pattern: "/api/runs/{id}/results/files/*", scope: access.Read, handle: files.getFile, query: none()},
		{method: get, pattern: "/api/runs/{id}/metrics.prom", scope: access.Read, handle: metrics.scrapeRun, query: none()},
		{method: get, pattern: "/api/version", scope: access.Open, handle: service.getVersion, query: none()},
		{method: post, pattern: "/api/session", scope: access.Read, handle: session.begin, query: none(), action: "begin-session"},
		{method: del, pattern: "/api/session", scope: access.Open, handle: session.end, query: none(), action: "end-session"},
	}...)
}

// pageRoutes are those of the embedded pages and documents.
func (s *Server) pageRoutes() []route {
	p := &pages.Handler{Responder: &s.Responder, YAML: sync.OnceValues(openapi.YAML)}
	get := http.MethodGet
	return []route{
		{method: get, pattern: "/api/config/schema", scope: access.Open, handle: p.DocumentSchema, query: none()},
		{method: get, pattern: "/openapi.json", scope: access.Open, handle: p.Document},
		{method: get, pattern: "/openapi.yaml", scope: access.Open, handle: p.DocumentYAML, query: none()},
		{method: get, pattern: "/", scope: access.Open, handle: p.Page("index.html"), hidden: true},
		{method: get, pattern: "/dashboard", scope: access.Open, handle: p.Page("index.html"), hidden: true},
		{method: get, pattern: "/docs", scope: access.Open, handle: p.Page("docs.html"), hidden: true},
		{method: get, pattern: "/redoc", scope: access.Open, handle: redirect("/docs"), hidden: true},
		{method: get, pattern: "/assets/{file}", scope: access.Open, handle: p.Asset, hidden: true},
	}
}

// queueRoutes are those of the queue, and of the simulated server.
func queueRoutes(service *serviceHandler) []route {
	return []route{
		{method: http.MethodGet, pattern: "/api/queue", scope: access.Read, handle: service.getQueue, query: none()},
		{method: http.MethodPost, pattern: "/api/queue/pause", scope: access.Admin, handle: service.pause, query: none(), action: "pause-queue"},
		{method: http.MethodPost, pattern: "/api/simulator", scope: access.Submit, handle: service.startSimulator, query: none(), action: "start-simulator"},
		{method: http.MethodPost, pattern: "/api/queue/resume", scope: access.Admin, handle: service.resume, query: none(), action: "resume-queue"},
	}
}

// courseRoutes returns the routes of what happens in runs, and of what was recorded of it.
func (s *Server) courseRoutes() []route {
	past := &history.Handler{Base: s.Base, Source: s.History}
	events := &feed.EventHandler{
		Base: s.Base, Hub: s.Hub, Source: feedSource{s.base}, Version: s.version, Most: s.Limits.Streams, Access: s.Access,
	}
	return []route{
		{method: http.MethodGet, pattern: "/api/runs/{id}/timeseries", scope: access.Read, handle: past.Timeseries, query: history.Parameters()},
		{method: http.MethodGet, pattern: "/api/runs/{id}/distributions", scope: access.Read, handle: past.Distributions, query: history.DistributionParameters()},
		{method: http.MethodGet, pattern: "/api/runs/{id}/samples", scope: access.Read, handle: past.Samples, query: none()},
		{method: http.MethodGet, pattern: "/api/runs/{id}/logs", scope: access.Read, handle: past.Log, query: history.LogParameters()},
		{method: http.MethodGet, pattern: "/api/runs/{id}/events", scope: access.Read, handle: events.OfRun, query: []string{"types", "since_seq"}},
		{method: http.MethodGet, pattern: "/api/events", scope: access.Read, handle: events.OfAll, query: []string{"since_seq"}},
	}
}

// reportRoutes returns the routes of reports.
func (s *Server) reportRoutes() []route {
	reports := &report.Handler{
		Base: s.Base, Source: &ownAnswers{s}, Version: s.version, Room: semaphore.NewWeighted(report.MaxAtOnce),
	}
	get, several := http.MethodGet, []string{"ids", "baseline"}
	return []route{
		{method: get, pattern: "/api/runs/{id}/report.html", scope: access.Read, handle: reports.OfRun(report.HTML), query: none()},
		{method: get, pattern: "/api/runs/{id}/report.md", scope: access.Read, handle: reports.OfRun(report.Markdown), query: none()},
		{method: get, pattern: "/api/compare/report.html", scope: access.Read, handle: reports.Compared(report.HTML), query: several},
		{method: get, pattern: "/api/compare/report.md", scope: access.Read, handle: reports.Compared(report.Markdown), query: several},
	}
}

// mount registers the middleware and the routes.
func (s *Server) mount() error {
	layers, err := s.layers()
	if err != nil {
		return fmt.Errorf("make API server: %w", err)
	}
	s.router.Use(layers...)
	s.gets = map[string]handler{}
	for _, rt := range s.routes() {
		h := s.adapt(rt)
		s.router.Method(rt.method, rt.pattern, h)
		if rt.method == http.MethodGet {
			s.gets[rt.pattern] = rt.handle
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
		err := access.Of(r.Context()).Admit(rt.scope)
		if err == nil && rt.query != nil {
			err = respond.StrictQuery(r.URL.Query(), rt.query, "label")
		}
		if err == nil {
			err = rt.handle(w, r)
		}
		if rt.action != "" {
			s.audit(w, r, rt.action, err)
		}
		if err != nil {
			s.WriteProblem(w, r, err)
		}
	})
}

// afterChange is an error of the answer to a request that was carried out.
type afterChange struct{ error }

func (e afterChange) Unwrap() error { return e.error }

// audit records an action and its result. Requests without a valid token are counted by
// the metrics only, so that they cannot push others out of the audit log.
func (s *Server) audit(w http.ResponseWriter, r *http.Request, action string, err error) {
	if s.Access.Tokens() && access.Caller(r.Context()) == "" {
		return
	}
	e := access.Entry{
		Caller: access.Caller(r.Context()), Remote: r.RemoteAddr, RequestID: w.Header().Get(respond.HeaderRequestID),
		Action: action, RunID: w.Header().Get(respond.HeaderRunID), Result: "ok",
	}
	if _, made := errors.AsType[afterChange](err); err != nil && !made {
		e.Result = respond.ProblemOf(err).Name
	}
	s.Access.Audit(e)
}

// Scopes returns the scope that each route needs, by method and pattern such as
// "GET /api/runs". /metrics needs none if the daemon says so.
func Scopes() map[string]access.Scope {
	s := &Server{base: &base{Base: new(respond.Base)}, Options: Options{Access: new(access.Guard)}}
	out := map[string]access.Scope{}
	for _, rt := range s.routes() {
		out[rt.method+" "+rt.pattern] = rt.scope
	}
	return out
}

// allowed returns the methods of a path, in the order of the Allow header.
func (s *Server) allowed(path string) []string {
	var out []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete} {
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
	if r.Method == http.MethodConnect { // it has no path
		w.Header().Set("Allow", "GET, HEAD, POST, PATCH, DELETE, OPTIONS")
		s.WriteProblem(w, r, respond.ErrMethod)
		return
	}
	path := r.URL.EscapedPath()
	other, cut := strings.CutSuffix(path, "/")
	if !cut {
		other = path + "/"
	}
	if other == "" || strings.HasPrefix(other, "//") || len(s.allowed(other)) == 0 {
		s.WriteProblem(w, r, respond.ErrNotFound)
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
		s.WriteProblem(w, r, respond.ErrMethod)
		return
	}
	if slices.Contains(allowed, http.MethodPost) {
		w.Header().Set("Accept-Post", acceptPost)
	}
	if slices.Contains(allowed, http.MethodPatch) {
		w.Header().Set("Accept-Patch", amend.MediaType)
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
