package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/token"
)

// Error is an error response in vLLM's form.
type Error struct {
	Status  int
	Message string
	param   string // "" becomes null
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// NewError returns an error about a parameter; "" = none.
func NewError(status int, message, param string) *Error { return &Error{status, message, param} }

// BadRequest returns an error with status 400 about a parameter; "" = none.
func BadRequest(param, message string) *Error { return NewError(http.StatusBadRequest, message, param) }

// ErrorKind returns vLLM's name for the class of a status.
func ErrorKind(status int) string {
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

// AppendError appends {"error":{…}}, vLLM's form since 2025.
func AppendError(dst []byte, e *Error) []byte {
	dst = append(dst, `{"error":{"message":`...)
	dst = AppendString(dst, e.Message)
	dst = append(dst, `,"type":`...)
	dst = AppendString(dst, ErrorKind(e.Status))
	dst = append(dst, `,"param":`...)
	if e.param == "" {
		dst = append(dst, "null"...)
	} else {
		dst = AppendString(dst, e.param)
	}
	dst = append(dst, `,"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Status), 10)
	return append(dst, "}}"...)
}

// Refuse sends an error response in vLLM's form.
func Refuse(w http.ResponseWriter, e *Error) { Respond(w, e.Status, AppendError(nil, e)) }

// OK sends a response with status 200 and the encoding of v.
func OK(w http.ResponseWriter, v any) { Respond(w, http.StatusOK, AppendJSON(nil, v)) }

// Respond sends a whole response of JSON. An error of the connection means that the client
// has disconnected, so nobody needs it.
func Respond(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// AppendString appends s as a JSON string with its quotes.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = token.AppendEscaped(dst, s)
	return append(dst, '"')
}

// AppendJSON appends the encoding of v by package json, without its escapes for HTML.
func AppendJSON(dst []byte, v any) []byte {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("encode a response: %v", err)) // all are of types that can be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// hugeBody is the size of the body "huge", in bytes.
const hugeBody = 1 << 20

// FaultBody returns the body of the error response of a rule to a request, and its content
// type; "" = none.
func FaultBody(f *options.Fault, r *http.Request) (data []byte, kind string) {
	text := http.StatusText(f.Status)
	message := text + " (simulated fault)"
	openAI := func(message, class, code string) []byte {
		return fmt.Appendf(nil, `{"error":{"message":%s,"type":%s,"param":null,"code":%s}}`,
			quote(message), quote(class), quote(code))
	}
	switch refusal := &f.Refusal; {
	case refusal.Type != "":
		return openAI(refusal.Message, refusal.Type, refusal.Code), JSON
	case refusal.Message != "":
		return AppendError(nil, NewError(f.Status, refusal.Message, "")), JSON
	}
	body := f.Body
	if f.Refusal.Name != "" {
		body = options.BodyHTML
	}
	switch body {
	case options.BodyOpenAI:
		data = openAI(message, "server_error", strings.ReplaceAll(strings.ToLower(text), " ", "_"))
	case options.BodyFastAPI:
		data = fmt.Appendf(nil, `{"detail":%s}`, quote(message))
	case options.BodySGLang:
		data = fmt.Appendf(nil, `{"object":"error","message":%s,"type":%s,"param":null,"code":%d}`,
			quote(message), quote(ErrorKind(f.Status)), f.Status)
	case options.BodyText:
		return []byte(message), "text/plain; charset=utf-8"
	case options.BodyHTML:
		return fmt.Appendf(nil, "<html>\r\n<head><title>%[1]d %[2]s</title></head>\r\n<body>\r\n"+
			"<center><h1>%[1]d %[2]s</h1></center>\r\n</body>\r\n</html>\r\n", f.Status, text), "text/html"
	case options.BodyEmpty:
		return nil, ""
	case options.BodyJSONString:
		data = quote(message)
	case options.BodyHuge:
		data = fmt.Appendf(nil, `{"error":{"message":%s,"type":"server_error","param":null,"code":%d}}`,
			quote(strings.Repeat("overflow ", hugeBody/len("overflow "))), f.Status)
	case options.BodyEchoHeaders:
		data = AppendError(nil, NewError(f.Status, echo(r), ""))
	default:
		data = AppendError(nil, NewError(f.Status, message, ""))
	}
	return data, JSON
}

func quote(s string) []byte { return AppendString(nil, s) }

// echo imitates servers that repeat the request in their errors, credentials included, to
// test that clients redact secrets.
func echo(r *http.Request) string {
	var message strings.Builder
	fmt.Fprintf(&message, "request refused: %s http://%s%s", r.Method, r.Host, r.URL.RequestURI())
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key", "Cookie"} {
		if v := r.Header.Get(name); v != "" {
			fmt.Fprintf(&message, "; %s: %s", name, v)
		}
	}
	return message.String()
}
