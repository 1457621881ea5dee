package api

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"aiperfd/internal/api/intake"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/engine/config"
)

// readBody reads the whole body of a request. The caller releases it.
func readBody(w http.ResponseWriter, r *http.Request, gate *intake.Gate, limits *Limits) (*intake.Body, error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, &respond.Failure{
			Err: respond.ErrMediaType, Detail: fmt.Sprintf("Content-Encoding %q is not supported", coding),
			Header: map[string]string{"Accept-Encoding": "identity"},
		}
	}
	body, err := gate.Read(http.MaxBytesReader(w, r.Body, limits.Body))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, respond.Fail(respond.ErrTooLarge, "The body is larger than %d bytes", limits.Body)
	case errors.Is(err, intake.ErrBusy):
		w.Header().Set("Connection", "close") // the rest of the body is not read
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, respond.Fail(respond.ErrMalformed, "The body was not complete after %v", limits.BodyTimeout)
	case err != nil:
		return nil, respond.Fail(respond.ErrMalformed, "The body could not be read")
	}
	// The deadline was for the body only. The error is that of a ResponseWriter
	// without deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, nil
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
		return "", &respond.Failure{
			Err: respond.ErrMediaType, Header: map[string]string{"Accept-Post": acceptPost},
			Detail: fmt.Sprintf("Content-Type %q is not supported; send %s in UTF-8", given, acceptPost),
		}
	}
	return format, nil
}
