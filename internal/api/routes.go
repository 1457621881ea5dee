package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/sync/semaphore"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/baselines"
	"aiperfd/internal/api/feed"
	"aiperfd/internal/api/prom"
	"aiperfd/internal/api/report"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/results"
	"aiperfd/internal/api/runs"
	"aiperfd/internal/api/spans"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/run"
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

// one is the pattern of a run.
const one = "/api/runs/{id}"

// none returns the query of a route without parameters.
func none() []string { return []string{} }

// routes returns the route table. To add a route, write its handler as a method of
// the type of its resource and add a row.
func (s *Server) routes() []route {
	return slices.Concat(s.runRoutes(), s.metricRoutes(), s.serviceRoutes())
}

// get returns the row of a route that callers with the scope read may use. A nil query has
// the meaning of route.query.
func get(pattern string, handle handler, query []string) route {
	return route{method: http.MethodGet, pattern: pattern, scope: access.Read, handle: handle, query: query}
}

// change returns the row of a route that changes something.
func change(action, method, pattern string, scope access.Scope, handle handler, query ...string) route {
	return route{
		method: method, pattern: pattern, scope: scope, handle: handle, query: append(none(), query...), action: action,
	}
}

// runRoutes returns the routes of runs and of what they have left behind.
func (s *Server) runRoutes() []route {
	files := results.NewFiles(s.out, s.find, func(id string) (*os.Root, error) { return s.Live.Artifacts(id) })
	data := &results.Handler{
		Out: s.out, Find: s.find, Recorded: s.History, Version: s.Version,
		Recent: func(id string, now time.Time) wire.Recent { return s.Hub.Recent(id, now) },
	}
	all := runs.New(runs.Options{
		Out: s.out, Find: s.find, Engine: s.Runs, Files: files, Load: s.Load, Compat: s.Compat,
		Await:   func(ctx context.Context, id string, ended func() bool) error { return s.Hub.Await(ctx, id, ended) },
		MaxBody: s.Limits.Body, BodyTimeout: s.Limits.BodyTimeout,
		SubmitRate: s.Limits.SubmitRate, AnonymousRate: s.Limits.AnonymousRate,
	})
	s.reports = &report.Maker{Find: s.find, Runs: all, Results: data}
	reports := &report.Handler{Out: s.out, Maker: s.reports, Room: semaphore.NewWeighted(report.MaxAtOnce)}
	named := &baselines.Handler{
		Out: s.out, Find: s.find, Kept: s.Baselines, Update: s.update, Rules: s.rules, Version: s.Version,
	}
	return slices.Concat(handlerRoutes(all), dataRoutes(data, files), reportRoutes(reports), baselineRoutes(named))
}

// update changes a run.
func (s *Server) update(ctx context.Context, id string, change func(*run.Run) error) (*run.Run, error) {
	return s.Runs.Update(ctx, id, change)
}

// baselineRoutes returns the routes of the names of runs that others are compared with.
func baselineRoutes(named *baselines.Handler) []route {
	const all, oneBaseline, revision = "/api/baselines", "/api/baselines/{name}", "/api/baselines/{name}/{revision}"
	return []route{
		get(all, named.List, none()),
		get(oneBaseline, named.Get, none()),
		get(revision, named.GetRevision, none()),
		change("set-baseline", http.MethodPut, oneBaseline, access.Submit, named.Set),
		change("promote-baseline", http.MethodPost, oneBaseline+"/promote", access.Submit, named.Promote),
		change("", http.MethodPost, oneBaseline+"/judge", access.Submit, named.Judge),
		change("remove-baseline", http.MethodDelete, oneBaseline, access.Submit, named.Remove),
		change("remove-baseline", http.MethodDelete, revision, access.Submit, named.RemoveRevision),
	}
}

// handlerRoutes returns the routes of the collection of runs.
func handlerRoutes(all *runs.Handler) []route {
	const collection = "/api/runs"
	return []route{
		change("submit", http.MethodPost, collection, access.Submit, all.Submit),
		change("submit", http.MethodPost, "/api/run", access.Submit, all.Submit),
		change("", http.MethodPost, "/api/validate", access.Submit, all.Validate),
		change("update", http.MethodPatch, one, access.Submit, all.Update),
		change("delete", http.MethodDelete, one, access.Submit, all.Delete, "force"),
		change("cancel", http.MethodPost, one+"/cancel", access.Submit, all.Cancel, "wait"),
		get(collection, all.List, runs.ListParameters()),
		get(one, all.Get, none()),
		get(one+"/children", all.Children, []string{"limit", "cursor"}),
	}
}

// reportRoutes returns the routes of reports.
func reportRoutes(reports *report.Handler) []route {
	return []route{
		get(one+"/report.html", reports.OfRun(report.HTML), none()),
		get(one+"/report.md", reports.OfRun(report.Markdown), none()),
		get("/api/compare/report.html", reports.Compared(report.HTML), []string{"ids", "baseline"}),
		get("/api/compare/report.md", reports.Compared(report.Markdown), []string{"ids", "baseline"}),
	}
}

// dataRoutes returns the routes of what runs have left behind.
func dataRoutes(data *results.Handler, files *results.Files) []route {
	return []route{
		get("/api/config", data.Config, nil),
		get("/api/run", data.RunInfo, nil),
		get("/api/metrics", data.Metrics, nil),
		get("/api/progress", data.Progress, nil),
		get("/api/workers", data.Workers, nil),
		get("/api/server-metrics", data.ServerMetrics, nil),
		get("/api/results", data.Results, nil),
		get("/api/results/list", files.List, nil),
		get("/api/results/files/*", files.Get, nil),

		get(one+"/config", data.Config, none()),
		get(one+"/run", data.RunInfo, none()),
		get(one+"/metrics", data.Metrics, none()),
		get(one+"/progress", data.Progress, none()),
		get(one+"/workers", data.Workers, none()),
		get(one+"/workers/{worker}", data.Worker, none()),
		get(one+"/server-metrics", data.ServerMetrics, none()),
		get(one+"/results", data.Results, none()),
		get(one+"/errors", data.Errors, none()),
		get(one+"/timeseries", data.Timeseries, results.SeriesParameters()),
		get(one+"/distributions", data.Distributions, results.DistributionParameters()),
		get(one+"/samples", data.Samples, none()),
		get(one+"/telemetry", data.Telemetry, none()),
		get(one+"/agents", data.Agents, none()),
		get(one+"/sweep", data.Sweep, none()),
		get(one+"/answer", data.Capacity, none()),
		get(one+"/logs", data.Log, results.LogParameters()),
		get("/api/compare", data.Compare, []string{"ids", "baseline"}),
		change("", http.MethodPost, "/api/compare", access.Read, data.Judge),

		get(one+"/results/list", files.List, none()),
		get(one+"/results/files/*", files.Get, none()),
		get(one+"/artifacts", files.List, none()),
		get(one+"/artifacts/*", files.Get, none()),
		get(one+"/artifacts.zip", files.Archive(results.Zip), none()),
		get(one+"/artifacts.tar.gz", files.Archive(results.TarGz), none()),
		get(one+"/records", files.Records, []string{"cursor", "limit", "outcome", "phase"}),
	}
}

// metricRoutes returns the routes of what changes while runs go on.
func (s *Server) metricRoutes() []route {
	live := &feed.Handler{
		Out: s.out, Find: s.find, Hub: s.Hub, State: func() string { return s.Live.Health().State },
		Version: s.Version, Most: s.Limits.Streams, Access: s.Access,
	}
	metrics := &prom.Handler{
		Out: s.out, Find: s.find, Servers: s.History, Self: s.registry, Names: s.MetricNames, Linger: s.MetricsLinger, Version: s.Version,
	}
	scrape := get("/metrics", metrics.Scrape, nil)
	scrape.scope = s.Access.MetricsScope()
	return []route{
		scrape,
		get("/api/runs/{id}/metrics.prom", metrics.ScrapeRun, none()),
		get("/api/runs/{id}/events", live.OfRun, []string{"types", "since_seq"}),
		get("/api/events", live.OfAll, []string{"since_seq"}),
		get(feedPath, live.Connect, nil),
	}
}

// serviceRoutes returns the routes of the service itself, and of the embedded pages and
// documents.
func (s *Server) serviceRoutes() []route {
	own, files := &service{Options: s.Options, out: s.out, find: s.find, named: s.named}, pages{s.out}
	probes := &telemetryProbes{out: s.out, probe: s.ProbeTelemetry, room: semaphore.NewWeighted(probesAtOnce)}
	open := func(pattern string, handle handler, query []string) route {
		row := get(pattern, handle, query)
		row.scope = access.Open
		return row
	}
	page := func(pattern string, handle handler) route {
		return route{method: http.MethodGet, pattern: pattern, scope: access.Open, handle: handle, hidden: true}
	}
	return []route{
		open("/healthz", own.healthz, nil),
		open("/readyz", own.readyz, nil),
		open("/api/version", own.getVersion, none()),
		change("shutdown", http.MethodPost, "/api/shutdown", access.Admin, own.shutdown, "force"),
		get("/api/queue", own.getQueue, none()),
		get("/api/cluster", own.getCluster, none()),
		get("/api/cluster/workers/{worker}", own.getWorker, none()),
		change("drain-worker", http.MethodPost, "/api/cluster/workers/{worker}/drain", access.Admin, own.drainWorker),
		change("pause-queue", http.MethodPost, "/api/queue/pause", access.Admin, own.pause),
		change("resume-queue", http.MethodPost, "/api/queue/resume", access.Admin, own.resume),
		change("", http.MethodPost, "/v1/traces", access.Submit, (&spans.Handler{Out: s.out, Take: s.Spans}).Receive),
		change("", http.MethodPost, "/api/telemetry/probe", access.Submit, probes.serve),
		change("start-simulator", http.MethodPost, "/api/simulator", access.Submit, own.startSimulator),
		get("/api/session", own.getSession, none()),
		change("begin-session", http.MethodPost, "/api/session", access.Read, own.beginSession),
		change("end-session", http.MethodDelete, "/api/session", access.Open, own.endSession),
		open("/api/config/schema", files.getSchema, none()),
		open("/openapi.json", files.getDocument, nil),
		open("/openapi.yaml", files.documentYAML(), none()),
		page("/", files.page("index.html")),
		page("/dashboard", files.page("index.html")),
		page("/docs", files.page("docs.html")),
		page("/redoc", redirect("/docs")),
		page("/assets/{file}", files.getAsset),
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
			s.out.WriteProblem(w, r, err)
		}
	})
}

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
	if _, made := errors.AsType[respond.AfterChange](err); err != nil && !made {
		e.Result = respond.ProblemOf(err).Name
	}
	s.Access.Audit(e)
}

// Scopes returns the scope that each route needs, by method and pattern such as
// "GET /api/runs". /metrics needs none if the daemon says so.
func Scopes() map[string]access.Scope {
	s := &Server{Options: Options{Access: new(access.Guard)}}
	out := map[string]access.Scope{}
	for _, rt := range s.routes() {
		out[rt.method+" "+rt.pattern] = rt.scope
	}
	return out
}

// allowed returns the methods of a path, in the order of the Allow header.
func (s *Server) allowed(path string) []string {
	var out []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
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
		w.Header().Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
		s.out.WriteProblem(w, r, respond.ErrMethod)
		return
	}
	path := r.URL.EscapedPath()
	other, cut := strings.CutSuffix(path, "/")
	if !cut {
		other = path + "/"
	}
	if other == "" || strings.HasPrefix(other, "//") || len(s.allowed(other)) == 0 {
		s.out.WriteProblem(w, r, respond.ErrNotFound)
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
		s.out.WriteProblem(w, r, respond.ErrMethod)
		return
	}
	if slices.Contains(allowed, http.MethodPost) {
		w.Header().Set("Accept-Post", runs.AcceptPost)
	}
	if slices.Contains(allowed, http.MethodPatch) {
		w.Header().Set("Accept-Patch", runs.PatchType)
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
