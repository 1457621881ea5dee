package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/plainjson"
)

// Header names.
const (
	headerRequestID = "X-Request-Id"
	headerRunID     = "X-Aiperfd-Run-Id"
)

const (
	noStore   = "no-store"
	immutable = "private, max-age=86400, immutable"
)

// responder writes responses. It is safe for concurrent use.
type responder struct {
	log         zerolog.Logger
	storeFaults rarely
}

// rarely bounds lines of the log that requests cause while something is broken. Safe for
// concurrent use.
type rarely struct{ next atomic.Int64 } // in nanoseconds of Unix time

// due reports whether a line is due: the first one, and then at most one per minute.
func (r *rarely) due(now time.Time) bool {
	next := r.next.Load()
	return now.UnixNano() >= next && r.next.CompareAndSwap(next, now.Add(time.Minute).UnixNano())
}

// writeJSON answers with JSON that must not be cached.
func (out *responder) writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := plainjson.Marshal(v)
	if err != nil {
		return err
	}
	out.writeBody(w, status, body)
	return nil
}

// writeBody answers with encoded JSON. It must not be cached unless the header
// Cache-Control is set already.
func (out *responder) writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", noStore)
	}
	h.Set("Content-Type", "application/json")
	out.write(w, status, body)
}

// write sends a whole body. An error means that the client has disconnected;
// it is only logged.
func (out *responder) write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		out.log.Debug().Err(err).Str("request_id", w.Header().Get(headerRequestID)).Msg("write response")
	}
}

// writeTagged answers with JSON and its entity tag, or with 304 if the client has
// that version.
func (out *responder) writeTagged(w http.ResponseWriter, r *http.Request, tag string, body []byte) {
	if !unchanged(w, r, tag) {
		out.writeBody(w, http.StatusOK, body)
	}
}

// sendTagged is like writeTagged for a body of any media type, whose tag it computes.
func (out *responder) sendTagged(w http.ResponseWriter, r *http.Request, mediaType string, body []byte) {
	if !unchanged(w, r, bodyTag(body)) {
		w.Header().Set("Content-Type", mediaType)
		out.write(w, http.StatusOK, body)
	}
}

// unchanged sets the entity tag, and answers with 304 if the client has that version.
func unchanged(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("Etag", tag)
	same := tagged(r.Header.Values("If-None-Match"), tag)
	if same {
		w.WriteHeader(http.StatusNotModified)
	}
	return same
}

// bodyTag is the entity tag of a body.
func bodyTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// tagged reports whether lists of entity tags contain a tag, by weak comparison
// (RFC 9110 section 13.1.2).
func tagged(fields []string, tag string) bool {
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
