package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/config"
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

// writeJSON answers with JSON that must not be cached.
func (s *Server) writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := plainjson.Marshal(v)
	if err != nil {
		return err
	}
	s.writeBody(w, status, body)
	return nil
}

// writeBody answers with encoded JSON that must not be cached, unless a header
// says otherwise already.
func (s *Server) writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", noStore)
	}
	h.Set("Content-Type", "application/json")
	s.write(w, status, body)
}

// write sends a whole body. The client may be gone; there is nobody to tell.
func (s *Server) write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		s.Log.Debug().Err(err).Msg("write response")
	}
}

// writeTagged answers with JSON under an entity tag, or 304 if the client has
// it.
func (s *Server) writeTagged(w http.ResponseWriter, r *http.Request, tag string, body []byte) {
	w.Header().Set("Etag", tag)
	if tagged(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.writeBody(w, http.StatusOK, body)
}

// bodyTag is the entity tag of a body.
func bodyTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// tagged reports whether a list of entity tags has one, weakly compared
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

// strictQuery refuses parameters that a route does not have, and those that are
// given twice unless they may be.
func strictQuery(q url.Values, known []string, repeatable ...string) error {
	for name, values := range q {
		if !slices.Contains(known, name) {
			return fail(errParameter, "Unknown parameter %q", name)
		}
		if len(values) > 1 && !slices.Contains(repeatable, name) {
			return fail(errParameter, "Parameter %q is given more than once", name)
		}
	}
	return nil
}

// boolParameter reads a parameter that is true or false, or absent.
func boolParameter(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, fail(errParameter, "Parameter %q must be true or false", name)
}

// bodyLimit is how long a client may take to send a body.
const bodyLimit = 30 * time.Second

// readBody reads the whole body.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, &failure{
			err: errMediaType, detail: fmt.Sprintf("Content-Encoding %q is not supported", coding),
			header: map[string]string{"Accept-Encoding": "identity"},
		}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, fail(errTooLarge, "The body is larger than %d bytes", s.MaxBody)
	case err != nil:
		return nil, fail(errMalformed, "The body could not be read")
	}
	// The deadline was for the body; waiting afterwards is our own affair. A
	// writer without deadlines has none to lift.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return data, nil
}

// formats are the media types of documents.
func formats() map[string]config.Format {
	return map[string]config.Format{
		"application/json": config.JSON, "application/yaml": config.YAML,
		"application/x-yaml": config.YAML, "text/yaml": config.YAML,
	}
}

const acceptPost = "application/json, application/yaml, application/x-yaml, text/yaml"

// documentFormat reads the Content-Type of a document.
func documentFormat(r *http.Request) (config.Format, error) {
	given := r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(given)
	format, ok := formats()[media]
	charset := strings.ToLower(params["charset"])
	if err != nil || !ok || charset != "" && charset != "utf-8" {
		return "", &failure{
			err: errMediaType, header: map[string]string{"Accept-Post": acceptPost},
			detail: fmt.Sprintf("Content-Type %q is not supported; send %s in UTF-8", given, acceptPost),
		}
	}
	return format, nil
}
