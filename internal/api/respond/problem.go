package respond

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
)

// The errors of requests.
var (
	ErrNotFound       = errors.New("not found")
	ErrMethod         = errors.New("method not allowed")
	ErrParameter      = errors.New("bad parameter")
	ErrMalformed      = errors.New("malformed body")
	ErrMediaType      = errors.New("unsupported media type")
	ErrTooLarge       = errors.New("body too large")
	ErrInvalid        = errors.New("not valid")
	ErrTarget         = errors.New("target not allowed")
	ErrSecret         = errors.New("secret not allowed")
	ErrOrigin         = errors.New("forbidden origin")
	ErrHost           = errors.New("misdirected host")
	ErrNoRun          = errors.New("no run")
	ErrNoActiveRun    = errors.New("no active run")
	ErrNoPart         = errors.New("no such worker of the run")
	ErrNotReady       = errors.New("results not ready")
	ErrFilename       = errors.New("invalid filename")
	ErrPrecondition   = errors.New("precondition failed")
	ErrTooManyStreams = errors.New("too many streams")
	ErrUpgrade        = errors.New("upgrade required")
	ErrRange          = errors.New("range not satisfiable")
	ErrBusy           = errors.New("too many documents at the same time")
	ErrInternal       = errors.New("internal error")

	ErrKeyReused          = errors.New("idempotency key reused")
	ErrKeyInProgress      = errors.New("idempotency key in progress")
	ErrRateLimited        = errors.New("rate limited")
	ErrTooManyConnections = errors.New("too many connections")
	ErrStarting           = errors.New("starting")
	ErrNotPassed          = errors.New("gate not passed")
)

// The texts of problems. The details are AIPerf's, and scripts depend on them.
const (
	typePrefix          = "urn:aiperfd:problem:"
	retryAfterSeconds   = 10
	detailNotFound      = "Not Found"
	detailMethod        = "Method Not Allowed"
	detailNoActiveRun   = "No active benchmark run."
	DetailStillRunning  = "Benchmark is still running. Cannot shut down API service."
	detailInternalError = "Internal Server Error"
)

// Row is the problem of an error.
type Row struct {
	Err    error
	Status int
	Name   string // of the type, after the prefix
	Title  string
	Detail string // default
	Retry  bool   // the request may succeed later
}

// Problems returns the problems of all errors. The first row that matches
// counts; all other errors are internal.
func Problems() []Row {
	return []Row{
		{ErrNotFound, 404, "not-found", "Not found", detailNotFound, false},
		{run.ErrNotFound, 404, "not-found", "Not found", "No such run", false},
		{run.ErrNoBaseline, 404, "not-found", "Not found", "No such baseline", false},
		{ErrNoPart, 404, "not-found", "Not found", "The run has no worker of this name", false},
		{run.ErrNoWorker, 404, "not-found", "Not found", "No worker of this name or id has joined", false},
		{ErrMethod, 405, "method-not-allowed", "Method not allowed", detailMethod, false},
		{ErrParameter, 400, "bad-parameter", "Bad parameter", "A parameter is not valid", false},
		{run.ErrBadCursor, 400, "bad-parameter", "Bad parameter", "The cursor is not valid for this query", false},
		{ErrMalformed, 400, "malformed-body", "Malformed body", "The body cannot be parsed", false},
		{ErrMediaType, 415, "unsupported-media-type", "Unsupported media type", "The media type of the body is not supported", false},
		{ErrTooLarge, 413, "body-too-large", "Body too large", "The body is too large", false},
		{ErrInvalid, 422, "validation-failed", "Configuration is not valid", "The configuration is not valid", false},
		{access.ErrUnauthorized, 401, "unauthorized", "Unauthorized", "A bearer token is required", false},
		{access.ErrScope, 403, "insufficient-scope", "Insufficient scope", "The token does not permit this request", false},
		{ErrTarget, 403, "target-not-allowed", "Target not allowed", "The configuration names a server that runs must not reach; see serve --allow-target", false},
		{ErrSecret, 403, "secret-not-allowed", "Secret not allowed", "The configuration would send a secret to a server that is not one of its hosts", false},
		{ErrOrigin, 403, "forbidden-origin", "Forbidden origin", "Requests from this origin are not allowed", false},
		{ErrHost, 421, "misdirected-host", "Misdirected request", "The Host header is not a name of this server; see --allowed-host", false},
		{ErrNoRun, 404, "no-run", "No run", "No run exists yet", false},
		{ErrNoActiveRun, 503, "no-active-run", "No active run", detailNoActiveRun, false},
		{ErrNotReady, 404, "results-not-ready", "Results not ready", "The results are not ready", false},
		{ErrFilename, 400, "invalid-filename", "Invalid file name", "The file name is not valid", false},
		{ErrRange, 416, "range-not-satisfiable", "Range not satisfiable", "The range is outside the file", false},
		{run.ErrActive, 409, "run-active", "Run is active", "The run has not ended; cancel it first, or use force=true", false},
		{run.ErrPinned, 409, "run-pinned", "Run is pinned", "The run is pinned, so that it is kept; unpin it first, or use force=true", false},
		{run.ErrNotQueued, 409, "not-queued", "Run is not queued", "The priority of a run can only be changed while it is queued", false},
		{run.ErrDiskFull, 507, "insufficient-storage", "Insufficient storage", "Less than --min-free-disk is free on the disk of the data directory; delete runs, or free space", true},
		{run.ErrAlreadyFinished, 409, "already-finished", "Run has ended", "The run has already ended", false},
		{ErrNotPassed, 409, "gate-not-passed", "Gate not passed", "The candidate does not pass the gate", false},
		{ErrPrecondition, 412, "precondition-failed", "Precondition failed", "The run has changed", false},
		{run.ErrQueueFull, 429, "queue-full", "Queue is full", "The queue is full", true},
		{ErrRateLimited, 429, "rate-limited", "Rate limited", "Too many submissions in a short time", true},
		{ErrKeyReused, 422, "idempotency-key-reused", "Idempotency key reused", "The Idempotency-Key was used with another body", false},
		{ErrKeyInProgress, 409, "idempotency-in-progress", "Request in progress", "A request with this Idempotency-Key is in progress", true},
		{ErrTooManyStreams, 503, "too-many-streams", "Too many streams", "Too many clients are connected", true},
		{ErrTooManyConnections, 503, "too-many-connections", "Too many connections", "Too many connections are open; only the probes are answered", true},
		{ErrBusy, 503, "busy", "Busy", "Too many documents are being received or read", true},
		{ErrUpgrade, 426, "upgrade-required", "Upgrade required", "This route requires a WebSocket handshake", false},
		{ErrStarting, 503, "starting", "Starting", "The data directory is being opened", true},
		{run.ErrStopping, 503, "shutting-down", "Shutting down", "The service is shutting down", true},
		{run.ErrStore, 503, "store-failed", "Store failed", "The data directory cannot be read or written", true},
		{ErrInternal, 500, "internal", "Internal error", detailInternalError, false},
	}
}

// Failure is an error with further members of its problem.
type Failure struct {
	Err      error // of the table
	Detail   string
	Header   map[string]string
	Line     int // of ErrMalformed, 1-based
	Column   int // likewise
	Errors   []wire.Fault
	Warnings []wire.Fault
}

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%v: %s", f.Err, f.Detail) }

// Unwrap returns the error of the table.
func (f *Failure) Unwrap() error { return f.Err }

// AfterChange is an error of the answer to a request that was carried out.
type AfterChange struct{ Err error }

// Error implements error.
func (e AfterChange) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e AfterChange) Unwrap() error { return e.Err }

// Fail returns an error of the table with a specific detail.
func Fail(err error, format string, args ...any) *Failure {
	return &Failure{Err: err, Detail: fmt.Sprintf(format, args...)}
}

// ProblemOf returns the row of an error.
func ProblemOf(err error) Row {
	table := Problems()
	for _, row := range table {
		if errors.Is(err, row.Err) {
			return row
		}
	}
	return table[len(table)-1]
}

// WriteProblem responds with the problem of an error.
func (out *Responder) WriteProblem(w http.ResponseWriter, r *http.Request, err error) {
	row := ProblemOf(err)
	internal := row.Status == http.StatusInternalServerError || errors.Is(row.Err, run.ErrStore) && out.storeFaults.Due(time.Now())
	if internal && r.Context().Err() == nil { // otherwise the client has left
		out.Log.Error().Err(err).Str("request_id", w.Header().Get(HeaderRequestID)).Str("path", r.URL.Path).Msg("request failed")
	}
	p := wire.Problem{
		Type: typePrefix + row.Name, Title: row.Title, Status: row.Status, Detail: row.Detail,
		Instance: r.URL.EscapedPath(), RequestID: w.Header().Get(HeaderRequestID),
	}
	h := w.Header()
	if f, ok := errors.AsType[*Failure](err); ok {
		if f.Detail != "" {
			p.Detail = f.Detail
		}
		p.Line, p.Column, p.Errors, p.Warnings = f.Line, f.Column, f.Errors, f.Warnings
		for name, value := range f.Header {
			h.Set(name, value)
		}
	}
	if refusal, ok := errors.AsType[*access.Refusal](err); ok {
		p.Detail = refusal.Detail
		h.Set("WWW-Authenticate", refusal.Challenge)
	}
	if row.Retry && h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(retryAfterSeconds))
	}
	for _, name := range []string{"Etag", "Last-Modified", "Content-Disposition", "X-Filename", "Content-Encoding", "Accept-Ranges"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	body, err := plainjson.Marshal(p)
	if err != nil {
		out.Log.Error().Err(err).Str("request_id", w.Header().Get(HeaderRequestID)).Msg("encode problem")
	}
	out.Write(w, row.Status, body)
}
