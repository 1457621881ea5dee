package mock

import (
	"errors"
	"net/http"
	"strconv"
)

// Ends of an exchange other than a complete answer.
var (
	errClientGone = errors.New("client is gone")
	errShutdown   = errors.New("server shuts down")
	errFaulted    = errors.New("answer ended by a fault rule")
)

// apiError is a refusal in vLLM's shape.
type apiError struct {
	status  int
	message string
	kind    string // "BadRequestError", …
	param   string // "" becomes null
}

// Error implements error.
func (e *apiError) Error() string { return e.message }

func badRequest(param, message string) *apiError {
	return &apiError{http.StatusBadRequest, message, "BadRequestError", param}
}

// kindOf returns vLLM's name for the class of a status.
func kindOf(status int) string {
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

// appendError appends {"error":{…}} as vLLM writes it since 2025.
func appendError(dst []byte, e *apiError) []byte {
	dst = append(dst, `{"error":{"message":`...)
	dst = appendJSONString(dst, e.message)
	dst = append(dst, `,"type":`...)
	dst = appendJSONString(dst, e.kind)
	dst = append(dst, `,"param":`...)
	if e.param == "" {
		dst = append(dst, "null"...)
	} else {
		dst = appendJSONString(dst, e.param)
	}
	dst = append(dst, `,"code":`...)
	dst = strconv.AppendInt(dst, int64(e.status), 10)
	return append(dst, "}}"...)
}

// writeJSON sends a whole answer. The error is that of the connection.
func writeJSON(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}
