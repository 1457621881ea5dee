package api

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/intake"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
)

// The errors of requests.
var (
	errNotFound       = errors.New("not found")
	errMethod         = errors.New("method not allowed")
	errParameter      = errors.New("bad parameter")
	errMalformed      = errors.New("malformed body")
	errMediaType      = errors.New("unsupported media type")
	errTooLarge       = errors.New("body too large")
	errInvalid        = errors.New("not valid")
	errTarget         = errors.New("target not allowed")
	errSecret         = errors.New("secret not allowed")
	errOrigin         = errors.New("forbidden origin")
	errHost           = errors.New("misdirected host")
	errNoRun          = errors.New("no run")
	errNoActiveRun    = errors.New("no active run")
	errNotReady       = errors.New("results not ready")
	errFilename       = errors.New("invalid filename")
	errPrecondition   = errors.New("precondition failed")
	errTooManyStreams = errors.New("too many streams")
	errUpgrade        = errors.New("upgrade required")
	errRange          = errors.New("range not satisfiable")
	errInternal       = errors.New("internal error")

	errKeyReused          = errors.New("idempotency key reused")
	errKeyInProgress      = errors.New("idempotency key in progress")
	errRateLimited        = errors.New("rate limited")
	errTooManyConnections = errors.New("too many connections")
	errStarting           = errors.New("starting")
)

// The texts of problems. The details are AIPerf's, and scripts depend on them.
const (
	problemTypePrefix   = "urn:aiperfd:problem:"
	retryAfterSeconds   = 10
	detailNotFound      = "Not Found"
	detailMethod        = "Method Not Allowed"
	detailNoActiveRun   = "No active benchmark run."
	detailStillRunning  = "Benchmark is still running. Cannot shut down API service."
	detailInternalError = "Internal Server Error"
)

// problemRow is the problem of an error.
type problemRow struct {
	err    error
	status int
	name   string // of the type, after the prefix
	title  string
	detail string // default
	retry  bool   // the request may succeed later
}

// problemTable returns the problems of all errors. The first row that matches
// counts; all other errors are internal.
func problemTable() []problemRow {
	return []problemRow{
		{errNotFound, 404, "not-found", "Not found", detailNotFound, false},
		{run.ErrNotFound, 404, "not-found", "Not found", "No such run", false},
		{errMethod, 405, "method-not-allowed", "Method not allowed", detailMethod, false},
		{errParameter, 400, "bad-parameter", "Bad parameter", "A parameter is not valid", false},
		{run.ErrBadCursor, 400, "bad-parameter", "Bad parameter", "The cursor is not valid for this query", false},
		{errMalformed, 400, "malformed-body", "Malformed body", "The body cannot be parsed", false},
		{errMediaType, 415, "unsupported-media-type", "Unsupported media type", "The media type of the body is not supported", false},
		{errTooLarge, 413, "body-too-large", "Body too large", "The body is too large", false},
		{errInvalid, 422, "validation-failed", "Configuration is not valid", "The configuration is not valid", false},
		{access.ErrUnauthorized, 401, "unauthorized", "Unauthorized", "A bearer token is required", false},
		{access.ErrScope, 403, "insufficient-scope", "Insufficient scope", "The token does not permit this request", false},
		{errTarget, 403, "target-not-allowed", "Target not allowed", "The configuration names a server that runs must not reach; see serve --allow-target", false},
		{errSecret, 403, "secret-not-allowed", "Secret not allowed", "The configuration would send a secret to a server that is not one of its hosts", false},
		{errOrigin, 403, "forbidden-origin", "Forbidden origin", "Requests from this origin are not allowed", false},
		{errHost, 421, "misdirected-host", "Misdirected request", "The Host header is not a name of this server; see --allowed-host", false},
		{errNoRun, 404, "no-run", "No run", "No run exists yet", false},
		{errNoActiveRun, 503, "no-active-run", "No active run", detailNoActiveRun, false},
		{errNotReady, 404, "results-not-ready", "Results not ready", "The results are not ready", false},
		{errFilename, 400, "invalid-filename", "Invalid file name", "The file name is not valid", false},
		{errRange, 416, "range-not-satisfiable", "Range not satisfiable", "The range is outside the file", false},
		{run.ErrActive, 409, "run-active", "Run is active", "The run has not ended; cancel it first, or use force=true", false},
		{run.ErrPinned, 409, "run-pinned", "Run is pinned", "The run is pinned, so that it is kept; unpin it first, or use force=true", false},
		{run.ErrNotQueued, 409, "not-queued", "Run is not queued", "The priority of a run can only be changed while it is queued", false},
		{run.ErrDiskFull, 507, "insufficient-storage", "Insufficient storage", "Less than --min-free-disk is free on the disk of the data directory; delete runs, or free space", true},
		{run.ErrAlreadyFinished, 409, "already-finished", "Run has ended", "The run has already ended", false},
		{errPrecondition, 412, "precondition-failed", "Precondition failed", "The run has changed", false},
		{run.ErrQueueFull, 429, "queue-full", "Queue is full", "The queue is full", true},
		{errRateLimited, 429, "rate-limited", "Rate limited", "Too many submissions in a short time", true},
		{errKeyReused, 422, "idempotency-key-reused", "Idempotency key reused", "The Idempotency-Key was used with another body", false},
		{errKeyInProgress, 409, "idempotency-in-progress", "Request in progress", "A request with this Idempotency-Key is in progress", true},
		{errTooManyStreams, 503, "too-many-streams", "Too many streams", "Too many clients are connected", true},
		{errTooManyConnections, 503, "too-many-connections", "Too many connections", "Too many connections are open; only the probes are answered", true},
		{intake.ErrBusy, 503, "busy", "Busy", "Too many documents are being received or read", true},
		{errUpgrade, 426, "upgrade-required", "Upgrade required", "This route requires a WebSocket handshake", false},
		{errStarting, 503, "starting", "Starting", "The data directory is being opened", true},
		{run.ErrStopping, 503, "shutting-down", "Shutting down", "The service is shutting down", true},
		{run.ErrStore, 503, "store-failed", "Store failed", "The data directory cannot be read or written", true},
		{errInternal, 500, "internal", "Internal error", detailInternalError, false},
	}
}

// failure is an error with further members of its problem.
type failure struct {
	err      error // of the table
	detail   string
	header   map[string]string
	position config.Malformed // of errMalformed
	errors   []problem.Problem
	warnings []problem.Problem
}

// Error implements error.
func (f *failure) Error() string { return fmt.Sprintf("%v: %s", f.err, f.detail) }

// Unwrap returns the error of the table.
func (f *failure) Unwrap() error { return f.err }

// fail returns an error of the table with a specific detail.
func fail(err error, format string, args ...any) *failure {
	return &failure{err: err, detail: fmt.Sprintf(format, args...)}
}

// problemOf returns the row of an error.
func problemOf(err error) problemRow {
	table := problemTable()
	for _, row := range table {
		if errors.Is(err, row.err) {
			return row
		}
	}
	return table[len(table)-1]
}

// writeProblem responds with the problem of an error.
func (out *responder) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	row := problemOf(err)
	internal := row.status == http.StatusInternalServerError || errors.Is(row.err, run.ErrStore) && out.storeFaults.due(time.Now())
	if internal && r.Context().Err() == nil { // otherwise the client has left
		out.log.Error().Err(err).Str("request_id", w.Header().Get(headerRequestID)).Str("path", r.URL.Path).Msg("request failed")
	}
	p := wire.Problem{
		Type: problemTypePrefix + row.name, Title: row.title, Status: row.status, Detail: row.detail,
		Instance: r.URL.EscapedPath(), RequestID: w.Header().Get(headerRequestID),
	}
	h := w.Header()
	if f, ok := errors.AsType[*failure](err); ok {
		if f.detail != "" {
			p.Detail = f.detail
		}
		p.Line, p.Column, p.Errors, p.Warnings = f.position.Line, f.position.Column, f.errors, f.warnings
		for name, value := range maps.All(f.header) {
			h.Set(name, value)
		}
	}
	if refusal, ok := errors.AsType[*access.Refusal](err); ok {
		p.Detail = refusal.Detail
		h.Set("WWW-Authenticate", refusal.Challenge)
	}
	if row.retry && h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(retryAfterSeconds))
	}
	for _, name := range []string{"Etag", "Last-Modified", "Content-Disposition", "X-Filename", "Content-Encoding", "Accept-Ranges"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	body, err := plainjson.Marshal(p)
	if err != nil {
		out.log.Error().Err(err).Str("request_id", w.Header().Get(headerRequestID)).Msg("encode problem")
	}
	out.write(w, row.status, body)
}
