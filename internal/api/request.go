package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/config"
)

// strictQuery rejects unknown parameters, those without a value, and those that are given
// more than once unless they are repeatable.
func strictQuery(q url.Values, known []string, repeatable ...string) error {
	for name, values := range q {
		if !slices.Contains(known, name) {
			return fail(errParameter, "Unknown parameter %q", name)
		}
		if len(values) > 1 && !slices.Contains(repeatable, name) {
			return fail(errParameter, "Parameter %q is given more than once", name)
		}
		if slices.Contains(values, "") {
			return fail(errParameter, "Parameter %q has no value", name)
		}
	}
	return nil
}

// boolParameter returns a parameter that is true, false or absent.
func boolParameter(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, fail(errParameter, "Parameter %q must be true or false", name)
}

// readBody reads the whole body of a request.
func readBody(w http.ResponseWriter, r *http.Request, limits *Limits) ([]byte, error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, &failure{
			err: errMediaType, detail: fmt.Sprintf("Content-Encoding %q is not supported", coding),
			header: map[string]string{"Accept-Encoding": "identity"},
		}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limits.Body))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, fail(errTooLarge, "The body is larger than %d bytes", limits.Body)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fail(errMalformed, "The body was not complete after %v", limits.BodyTimeout)
	case err != nil:
		return nil, fail(errMalformed, "The body could not be read")
	}
	// The deadline was for the body only. The error is that of a ResponseWriter
	// without deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return data, nil
}

// formats returns the formats of documents by media type.
func formats() map[string]config.Format {
	return map[string]config.Format{
		"application/json": config.JSON, "application/yaml": config.YAML,
		"application/x-yaml": config.YAML, "text/yaml": config.YAML,
	}
}

const acceptPost = "application/json, application/yaml, application/x-yaml, text/yaml"

// documentFormat returns the format of a document by its Content-Type.
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
