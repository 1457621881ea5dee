package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/redact"
)

// statusClass maps an HTTP status outside 2xx to a class.
func statusClass(status int) bench.Class {
	switch {
	case status >= 300 && status < 400:
		return bench.Redirect
	case status == 401 || status == 403:
		return bench.Auth
	case status == 404 || status == 405:
		return bench.NotFound
	case status == 408:
		return bench.Timeout
	case status == 413:
		return bench.PayloadTooLarge
	case status == 429:
		return bench.RateLimited
	case status == 503 || status == 529:
		return bench.Overloaded
	case status == 502 || status == 504 || status >= 520 && status <= 527:
		return bench.Gateway
	case status >= 400 && status < 500:
		return bench.BadRequest
	}
	return bench.ServerError
}

// overflowPhrases are parts of the errors for prompts that do not fit the model.
func overflowPhrases() []string {
	return []string{
		"context length", "maximum context", "context_length_exceeded", "prompt is too long",
		"maximum model length", "max_seq_len", "input is too long", "too many tokens",
	}
}

// IsOverflow reports whether any text is a message about a prompt that is too long.
func IsOverflow(texts ...string) bool {
	for _, text := range texts {
		text = strings.ToLower(text)
		for _, phrase := range overflowPhrases() {
			if strings.Contains(text, phrase) {
				return true
			}
		}
	}
	return false
}

// MayOverflow reports whether a status can mean that the prompt is too long.
func MayOverflow(status int) bool { return status == 400 || status == 413 || status == 422 }

// StatusFailure explains a response whose status is not 2xx.
func StatusFailure(resp *bench.Response) *bench.Failure {
	d, status := Describe(resp.Body, resp.Status), resp.Status
	if original, message, ok := modelError(resp.Body); ok {
		d = Describe([]byte(message), original)
		if original >= 400 && original <= 599 {
			status = original
		}
	}
	f := &bench.Failure{
		Class: statusClass(status), Step: bench.StepHeaders, Status: resp.Status,
		Code: d.Code, Type: d.Kind, Message: d.Message,
		RetryAfter: retryAfter(resp.Header),
	}
	if MayOverflow(status) && IsOverflow(string(resp.Body), d.Message) {
		f.Class = bench.ContextOverflow
	}
	if f.RetryAfter > 0 {
		// In front, as the message may have been cut within a secret, see below.
		f.Message = Clip(fmt.Sprintf("retry after %v: %s", f.RetryAfter, d.Message))
	}
	if location := resp.Header.Get("Location"); f.Class == bench.Redirect && location != "" {
		// Not the body's message: it may have been cut within a secret, and what is
		// cut is recognised at the end of a text only.
		f.Message = Clip(Describe(nil, resp.Status).Message + ": " + redact.URL(location))
	}
	return f
}

// ErrorInBody explains a 2xx body that holds an error instead of an answer. The
// class is that of the HTTP status which the error names, if it names one.
func ErrorInBody(body []byte, status int) *bench.Failure {
	d := Describe(body, status)
	f := &bench.Failure{
		Class: bench.ServerError, Step: bench.StepBody, Status: status,
		Code: d.Code, Type: d.Kind, Message: d.Message,
	}
	named, err := strconv.Atoi(d.Code)
	isStatus := err == nil && named >= 400 && named <= 599
	if isStatus {
		f.Class = statusClass(named)
	}
	if (!isStatus || MayOverflow(named)) && IsOverflow(string(body), d.Message) {
		f.Class = bench.ContextOverflow
	}
	return f
}

// ErrorInStream explains an error object or event inside a 2xx stream.
func ErrorInStream(d Detail, status int) *bench.Failure {
	f := &bench.Failure{
		Class: bench.StreamError, Step: bench.StepBody, Status: status,
		Code: d.Code, Type: d.Kind, Message: d.Message,
	}
	if IsOverflow(d.Message, d.Code) {
		f.Class = bench.ContextOverflow
	}
	return f
}

// maxRetryAfter bounds an accepted Retry-After.
const maxRetryAfter = 10 * 365 * 24 * time.Hour

// retryAfter reads retry-after-ms (OpenAI, Azure) or Retry-After (RFC 9110,
// section 10.2.3). A date counts from the server's own Date, since clocks
// differ; without one it is ignored. 0 = absent.
func retryAfter(h http.Header) time.Duration {
	if d, ok := delay(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := delay(value, time.Second); ok {
		return d
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(0, until.Sub(now)), maxRetryAfter)
}

func delay(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	if n >= float64(maxRetryAfter/unit) {
		return maxRetryAfter, true
	}
	return time.Duration(n * float64(unit)), true
}

// TrimSpace removes the white space of JSON only, not that of Unicode.
func TrimSpace(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }

// modelError finds the error of the container in the one that SageMaker makes of it
// (API reference of InvokeEndpoint, ModelError). ok = false when it is none.
func modelError(body []byte) (status int, message string, ok bool) {
	var e struct {
		OriginalStatusCode int
		OriginalMessage    string
	}
	if !strings.Contains(string(body), "Original") || json.Unmarshal(body, &e) != nil || e.OriginalMessage == "" {
		return 0, "", false
	}
	return e.OriginalStatusCode, e.OriginalMessage, true
}

// exception completes a failure that the transport found: an error of the
// server may mean that the prompt is too long.
func exception(f *bench.Failure) *bench.Failure {
	if f.Class != bench.StreamError || !IsOverflow(f.Message, f.Code) {
		return f
	}
	overflow := *f
	overflow.Class = bench.ContextOverflow
	return &overflow
}
