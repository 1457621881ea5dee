// Package apierror has the errors of the simulated server, in vLLM's form.
package apierror

import (
	"net/http"
	"strconv"

	"aiperfd/internal/mock/jsonappend"
)

// Error is an error response in vLLM's form.
type Error struct {
	Status  int
	Message string
	kind    string // "BadRequestError", …
	param   string // "" becomes null
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// New returns an error with vLLM's name for the class of its status.
func New(status int, message, param string) *Error {
	return &Error{status, message, Kind(status), param}
}

// BadRequest returns an error with status 400 about a parameter; "" = none.
func BadRequest(param, message string) *Error {
	return &Error{http.StatusBadRequest, message, "BadRequestError", param}
}

// Kind returns vLLM's name for the class of a status.
func Kind(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "BadRequestError"
	case http.StatusUnauthorized:
		return "AuthenticationError"
	case http.StatusNotFound:
		return "NotFoundError"
	case http.StatusTooManyRequests:
		return "RateLimitError"
	case http.StatusServiceUnavailable:
		return "ServiceUnavailableError"
	}
	if status >= http.StatusInternalServerError {
		return "InternalServerError"
	}
	return "APIError"
}

// Append appends {"error":{…}}, vLLM's form since 2025.
func Append(dst []byte, e *Error) []byte {
	dst = append(dst, `{"error":{"message":`...)
	dst = jsonappend.String(dst, e.Message)
	dst = append(dst, `,"type":`...)
	dst = jsonappend.String(dst, e.kind)
	dst = append(dst, `,"param":`...)
	if e.param == "" {
		dst = append(dst, "null"...)
	} else {
		dst = jsonappend.String(dst, e.param)
	}
	dst = append(dst, `,"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Status), 10)
	return append(dst, "}}"...)
}

// WriteJSON sends a whole response. The error is that of the connection.
func WriteJSON(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}
