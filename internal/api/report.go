package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/api/report"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/compare"
)

// ownAnswers lets reports ask the server.
type ownAnswers struct{ server *Server }

var _ report.Source = (*ownAnswers)(nil)

// Get implements [report.Source]. It calls the handler of the route, without the layers
// that are for clients.
func (a *ownAnswers) Get(ctx context.Context, path string) ([]byte, error) {
	target, err := url.Parse("/" + path)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", path, err)
	}
	routing := chi.NewRouteContext()
	if !a.server.router.Match(routing, http.MethodGet, target.Path) || a.server.gets[routing.RoutePattern()] == nil {
		return nil, fmt.Errorf("ask for %s: %w", path, respond.ErrNotFound)
	}
	ctx = context.WithValue(ctx, chi.RouteCtxKey, routing)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", path, err)
	}
	answer := &ownAnswer{header: http.Header{}}
	if err := a.server.gets[routing.RoutePattern()](answer, r); err != nil {
		return nil, err
	}
	return answer.body.Bytes(), nil
}

// Input implements [report.Source].
func (a *ownAnswers) Input(ctx context.Context, id string) (compare.Input, error) {
	found, err := a.server.runs.Get(ctx, id)
	if err != nil {
		return compare.Input{}, err
	}
	snap, err := a.server.Snapshot(ctx, found)
	return compare.Input{Run: found, Snapshot: snap}, err
}

// ownAnswer is the answer to a request of this process.
type ownAnswer struct {
	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (o *ownAnswer) Header() http.Header { return o.header }

// WriteHeader implements http.ResponseWriter. Handlers return errors instead.
func (o *ownAnswer) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (o *ownAnswer) Write(b []byte) (int, error) { return o.body.Write(b) }
