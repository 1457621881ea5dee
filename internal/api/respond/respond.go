// Package respond has what the handlers of all resources share: problems, responses, parameters
// and the run of a request.
package respond

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"

	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
)

// Header names.
const (
	HeaderRequestID = "X-Request-Id"
	HeaderRunID     = "X-Aiperfd-Run-Id"
)

// Values of Cache-Control.
const (
	NoStore   = "no-store"
	Immutable = "private, max-age=86400, immutable"
)

// Responder writes responses. It is safe for concurrent use.
type Responder struct {
	Log         zerolog.Logger // the zero Logger writes nothing
	storeFaults Rarely
}

// Rarely bounds lines of the log that requests cause while something is broken. Safe for
// concurrent use.
type Rarely struct{ next atomic.Int64 } // in nanoseconds of Unix time

// Due reports whether a line is due: the first one, and then at most one per minute.
func (r *Rarely) Due(now time.Time) bool {
	next := r.next.Load()
	return now.UnixNano() >= next && r.next.CompareAndSwap(next, now.Add(time.Minute).UnixNano())
}

// WriteJSON answers with JSON that must not be cached.
func (out *Responder) WriteJSON(w http.ResponseWriter, status int, v any) error {
	body, err := plainjson.Marshal(v)
	if err != nil {
		return err
	}
	out.WriteBody(w, status, body)
	return nil
}

// WriteBody answers with encoded JSON. It must not be cached unless the header
// Cache-Control is set already.
func (out *Responder) WriteBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", NoStore)
	}
	h.Set("Content-Type", "application/json")
	out.Write(w, status, body)
}

// Write sends a whole body. An error means that the client has disconnected;
// it is only logged.
func (out *Responder) Write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		out.Log.Debug().Err(err).Str("request_id", w.Header().Get(HeaderRequestID)).Msg("write response")
	}
}

// WriteTagged answers with JSON and its entity tag, or with 304 if the client has
// that version.
func (out *Responder) WriteTagged(w http.ResponseWriter, r *http.Request, tag string, body []byte) {
	if !unchanged(w, r, tag) {
		out.WriteBody(w, http.StatusOK, body)
	}
}

// WriteOf answers with data of a run. The data of a finished run never changes; if
// the request has the run's id, the response may be cached.
func (out *Responder) WriteOf(w http.ResponseWriter, r *http.Request, found *run.Run, v any) error {
	body, err := plainjson.Marshal(v)
	if err != nil {
		return err
	}
	if found == nil || chi.URLParam(r, "id") != found.ID || !found.State.Terminal() {
		out.WriteBody(w, http.StatusOK, body)
		return nil
	}
	w.Header().Set("Cache-Control", Immutable)
	out.WriteTagged(w, r, BodyTag(body), body)
	return nil
}

// SendTagged is like writeTagged for a body of any media type, whose tag it computes.
func (out *Responder) SendTagged(w http.ResponseWriter, r *http.Request, mediaType string, body []byte) {
	if !unchanged(w, r, BodyTag(body)) {
		w.Header().Set("Content-Type", mediaType)
		out.Write(w, http.StatusOK, body)
	}
}

// unchanged sets the entity tag, and answers with 304 if the client has that version.
func unchanged(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("Etag", tag)
	same := Tagged(r.Header.Values("If-None-Match"), tag)
	if same {
		w.WriteHeader(http.StatusNotModified)
	}
	return same
}

// BodyTag is the entity tag of a body.
func BodyTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// Tagged reports whether lists of entity tags contain a tag, by weak comparison
// (RFC 9110 section 13.1.2).
func Tagged(fields []string, tag string) bool {
	tag = strings.TrimPrefix(tag, "W/")
	for _, field := range fields {
		for one := range strings.SplitSeq(field, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// StrictQuery rejects unknown parameters, those without a value, and those that are given
// more than once unless they are repeatable.
func StrictQuery(q url.Values, known []string, repeatable ...string) error {
	for name, values := range q {
		if !slices.Contains(known, name) {
			return Fail(ErrParameter, "Unknown parameter %q", name)
		}
		if len(values) > 1 && !slices.Contains(repeatable, name) {
			return Fail(ErrParameter, "Parameter %q is given more than once", name)
		}
		if slices.Contains(values, "") {
			return Fail(ErrParameter, "Parameter %q has no value", name)
		}
	}
	return nil
}

// BoolParameter returns a parameter that is true, false or absent.
func BoolParameter(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, Fail(ErrParameter, "Parameter %q must be true or false", name)
}

// Visible reports whether a text has 1 to most characters, all of them visible ASCII, so
// that it may be copied to headers and logs.
func Visible(text string, most int) bool {
	if text == "" || len(text) > most {
		return false
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
