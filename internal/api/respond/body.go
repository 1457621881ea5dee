package respond

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"time"
)

// The bounds of a body that [ReadJSON] reads.
const (
	maxBody     = 64 << 10 // bytes
	bodyTimeout = 10 * time.Second
)

// ReadJSON decodes the body of a request, one JSON object without unknown members. what names it in errors,
// with its article.
func ReadJSON(w http.ResponseWriter, r *http.Request, what string, v any) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return Fail(ErrMediaType, "Content-Type %q is not supported; send application/json", r.Header.Get("Content-Type"))
	}
	controller := http.NewResponseController(w)
	_ = controller.SetReadDeadline(time.Now().Add(bodyTimeout)) // a ResponseWriter of a test has none
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		if _, end := dec.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("unexpected text after the JSON object")
		}
	}
	_ = controller.SetReadDeadline(time.Time{})
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return Fail(ErrTooLarge, "The body is larger than %d bytes", maxBody)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Fail(ErrMalformed, "The body was not complete after %v", bodyTimeout)
	}
	if err != nil {
		return Fail(ErrMalformed, "The body is not %s: %v", what, err)
	}
	return nil
}
