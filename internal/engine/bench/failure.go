package bench

import (
	"fmt"
	"time"
)

// Class is the closed list of ways in which a request fails. Reports, retries
// and alerts speak of these names.
type Class string

// The classes. Those of the connect and send phase are found by the transport,
// the others by reading status and body.
const (
	ConnectError      Class = "connect_error"      // code: dns, refused, unreachable, tls, proxy
	TimeoutConnect    Class = "timeout_connect"    // dial or handshake took too long
	TimeoutHeaders    Class = "timeout_headers"    // no response head in time
	TimeoutIdle       Class = "timeout_idle"       // no byte for too long
	TimeoutTotal      Class = "timeout_total"      // the request's whole budget is spent
	Cancelled         Class = "cancelled"          // ended by us; code says why
	ConnectionReset   Class = "connection_reset"   // the peer broke the connection
	Redirect          Class = "redirect"           // 301, 302, 303 or a redirect loop
	Auth              Class = "auth"               // 401, 403
	NotFound          Class = "not_found"          // 404, 405
	Timeout           Class = "timeout"            // 408: the server's own timeout
	PayloadTooLarge   Class = "payload_too_large"  // 413
	RateLimited       Class = "rate_limited"       // 429
	Overloaded        Class = "overloaded"         // 503, 529
	Gateway           Class = "gateway"            // 502, 504, 520 to 527
	ContextOverflow   Class = "context_overflow"   // the prompt does not fit the model
	BadRequest        Class = "bad_request"        // any other 4xx
	ServerError       Class = "server_error"       // any other 5xx
	StreamError       Class = "stream_error"       // an error object inside a 2xx stream
	StreamTruncated   Class = "stream_truncated"   // clean end before the answer was complete
	EmptyResponse     Class = "empty_response"     // 2xx with nothing in it
	EmptyOutput       Class = "empty_output"       // 2xx, well formed, no output
	MalformedResponse Class = "malformed_response" // 2xx, not what its type promises
	UnexpectedContent Class = "unexpected_content" // HTML, unknown encoding
	EventTooLarge     Class = "event_too_large"    // one event over the limit
	JobFailed         Class = "job_failed"         // polled APIs: the server says that the work failed, or forgot it
	JobCancelled      Class = "job_cancelled"      // polled APIs: somebody else took the work back
	JobTimeout        Class = "job_timeout"        // polled APIs: not done in time, by the server's clock or by ours
	ClientError       Class = "client_error"       // our side: never blamed on the server
)

// Classes lists every class, in the order of a request's life.
func Classes() []Class {
	return []Class{
		ConnectError, TimeoutConnect, TimeoutHeaders, TimeoutIdle, TimeoutTotal, Cancelled,
		ConnectionReset, Redirect, Auth, NotFound, Timeout, PayloadTooLarge, RateLimited,
		Overloaded, Gateway, ContextOverflow, BadRequest, ServerError, StreamError,
		StreamTruncated, EmptyResponse, EmptyOutput, MalformedResponse, UnexpectedContent,
		EventTooLarge, JobFailed, JobCancelled, JobTimeout, ClientError,
	}
}

// Step is the part of a request's life in which it failed.
type Step string

// The steps, in order.
const (
	StepBuild   Step = "build"
	StepConnect Step = "connect"
	StepSend    Step = "send"
	StepHeaders Step = "headers"
	StepBody    Step = "body"
	StepPoll    Step = "poll" // polled APIs: after the work was accepted
)

// Failure says why a request failed. It is data about the system under test;
// a Go error, in contrast, means that we are broken or misused.
type Failure struct {
	Class      Class
	Step       Step
	Status     int           // HTTP status; 0 = none was received
	Code       string        // the server's or our finer code; may be empty
	Type       string        // the server's error type; may be empty
	Message    string        // for people; at most 4 KiB; redacted before it leaves the run
	RetryAfter time.Duration // from Retry-After; 0 = absent. Recorded, never obeyed
}

// String is for logs: class, status and message.
func (f *Failure) String() string {
	if f.Status != 0 {
		return fmt.Sprintf("%s (HTTP %d): %s", f.Class, f.Status, f.Message)
	}
	return fmt.Sprintf("%s: %s", f.Class, f.Message)
}
