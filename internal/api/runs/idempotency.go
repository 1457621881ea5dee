package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/run"
)

const (
	headerIdempotencyKey = "Idempotency-Key"
	maxIdempotencyKey    = 255
	idempotencyPeriod    = 24 * time.Hour // how long a key is known
)

// inProgress are the idempotency keys of the submissions in progress. The zero value is
// ready to use and safe for concurrent use.
type inProgress struct {
	mu   sync.Mutex
	keys map[run.Idempotency]bool // without Body
}

// begin adds a key and returns a function that removes it, or nil if it is there.
func (p *inProgress) begin(id run.Idempotency) (end func()) {
	id.Body = ""
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys[id] {
		return nil
	}
	if p.keys == nil {
		p.keys = make(map[run.Idempotency]bool)
	}
	p.keys[id] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.keys, id)
	}
}

// idempotency returns what identifies a submission; nil if it has no key.
func idempotency(r *http.Request, body []byte, format config.Format) (*run.Idempotency, error) {
	keys := r.Header.Values(headerIdempotencyKey)
	if len(keys) == 0 {
		return nil, nil
	}
	if len(keys) > 1 {
		return nil, respond.Fail(respond.ErrParameter, "%s is given %d times", headerIdempotencyKey, len(keys))
	}
	if !respond.Visible(keys[0], maxIdempotencyKey) {
		return nil, respond.Fail(respond.ErrParameter, "%s must have 1 to %d visible ASCII characters", headerIdempotencyKey, maxIdempotencyKey)
	}
	hash := sha256.New()
	hash.Write([]byte(format + "\n"))
	hash.Write(body)
	return &run.Idempotency{Caller: access.Caller(r.Context()), Key: keys[0], Body: hex.EncodeToString(hash.Sum(nil))}, nil
}

// once creates a run, or returns that of an earlier request with the same key.
func (h *Handler) once(ctx context.Context, id *run.Idempotency, create func(context.Context) (*run.Run, error)) (r *run.Run, created bool, err error) {
	if id == nil {
		r, err = create(ctx)
		return r, true, err
	}
	end := h.keys.begin(*id)
	if end == nil {
		return nil, false, &respond.Failure{Err: respond.ErrKeyInProgress, Header: map[string]string{"Retry-After": "1"}}
	}
	defer end()
	if r, err = h.earlier(ctx, id); err != nil || r != nil {
		return r, false, err
	}
	r, err = create(ctx)
	return r, true, err
}

// earlier returns the run that was submitted with the key of a request, or nil. Another
// body with the same key is an error.
func (h *Handler) earlier(ctx context.Context, id *run.Idempotency) (*run.Run, error) {
	page, err := h.Engine.List(ctx, run.Query{Idempotency: id, CreatedAfter: time.Now().Add(-idempotencyPeriod), Limit: 1})
	if err != nil || len(page.Runs) == 0 {
		return nil, err
	}
	found := &page.Runs[0]
	if found.Idempotency == nil || found.Idempotency.Body != id.Body {
		return nil, respond.Fail(respond.ErrKeyReused, "%s %q was used for run %s with another body", headerIdempotencyKey, id.Key, found.ID)
	}
	return h.Engine.Get(ctx, found.ID)
}
