package bench

import (
	"fmt"
	"time"
)

// Class classifies failed requests. The names are part of reports and metrics.
type Class string

// The classes. The transport detects those up to ConnectionReset; the others follow
// from the status and the body.
const (
	ConnectError      Class = "connect_error"      // Failure.Code is dns, refused, unreachable, tls or proxy
	TargetNotAllowed  Class = "target_not_allowed" // the client may not connect to this address
	TimeoutConnect    Class = "timeout_connect"    // timeout of the dial or a handshake
	TimeoutSend       Class = "timeout_send"       // timeout of writing a request that was to be cancelled afterwards
	TimeoutHeaders    Class = "timeout_headers"    // timeout of the response head
	TimeoutIdle       Class = "timeout_idle"       // timeout of the next byte
	TimeoutTotal      Class = "timeout_total"      // timeout of the request
	Cancelled         Class = "cancelled"          // ended by the client; Failure.Code is the reason
	CancelledByTest   Class = "cancelled_by_test"  // ended by the client to imitate a user who goes away; see Cancellation
	ConnectionReset   Class = "connection_reset"   // the connection broke
	Redirect          Class = "redirect"           // 301, 302, 303 or a redirect loop
	Auth              Class = "auth"               // 401, 403
	NotFound          Class = "not_found"          // 404, 405
	Timeout           Class = "timeout"            // 408: a timeout of the server
	PayloadTooLarge   Class = "payload_too_large"  // 413
	RateLimited       Class = "rate_limited"       // 429
	Overloaded        Class = "overloaded"         // 503, 529
	Gateway           Class = "gateway"            // 502, 504, 520 to 527
	ContextOverflow   Class = "context_overflow"   // the prompt is longer than the context of the model
	BadRequest        Class = "bad_request"        // any other 4xx
	ServerError       Class = "server_error"       // any other 5xx
	StreamError       Class = "stream_error"       // an error object in a 2xx stream
	StreamTruncated   Class = "stream_truncated"   // the stream ended normally before the answer was complete
	EmptyResponse     Class = "empty_response"     // 2xx with an empty body
	EmptyOutput       Class = "empty_output"       // 2xx with a well-formed answer without output
	MalformedResponse Class = "malformed_response" // 2xx with a body that does not match its content type
	UnexpectedContent Class = "unexpected_content" // HTML, or an unknown content encoding
	EventTooLarge     Class = "event_too_large"    // an event or a body over a size limit
	JobFailed         Class = "job_failed"         // polled APIs: the job failed, or the server does not know it any more
	JobCancelled      Class = "job_cancelled"      // polled APIs: the job was cancelled, but not by the client
	JobTimeout        Class = "job_timeout"        // polled APIs: timeout of the job, at the server or at the client
	ClientError       Class = "client_error"       // an error of the client, not of the server
)

// Classes returns all classes, in the order in which a request reaches them.
func Classes() []Class {
	return []Class{
		ConnectError, TargetNotAllowed, TimeoutConnect, TimeoutSend, TimeoutHeaders, TimeoutIdle, TimeoutTotal, Cancelled,
		CancelledByTest, ConnectionReset, Redirect, Auth, NotFound, Timeout, PayloadTooLarge, RateLimited,
		Overloaded, Gateway, ContextOverflow, BadRequest, ServerError, StreamError,
		StreamTruncated, EmptyResponse, EmptyOutput, MalformedResponse, UnexpectedContent,
		EventTooLarge, JobFailed, JobCancelled, JobTimeout, ClientError,
	}
}

// Cancelled reports whether requests of the class were ended by the client.
func (c Class) Cancelled() bool { return c == Cancelled || c == CancelledByTest }

// Cancellation ends a request on purpose, to imitate a user who goes away.
type Cancellation struct {
	On    bool          // the request is to be ended
	After time.Duration // from the time when it is fully written, ≥ 0
}

// Failure returns the result of a request that was ended.
func (c *Cancellation) Failure(s Step) *Failure {
	return &Failure{Class: CancelledByTest, Step: s, Message: fmt.Sprintf("cancelled %.3f s after the request was sent", c.After.Seconds())}
}

// Step is the step of a request in which it failed.
type Step string

// The steps, in order.
const (
	StepBuild   Step = "build"
	StepConnect Step = "connect"
	StepSend    Step = "send"
	StepHeaders Step = "headers"
	StepBody    Step = "body"
	StepPoll    Step = "poll" // polled APIs: after the job was accepted
)

// Failure describes why a request failed. It is a result of the benchmark; Go errors
// are for errors of the program and its use.
type Failure struct {
	Class      Class
	Step       Step
	Status     int           // HTTP status; 0 = none received
	Code       string        // a more specific code, of the server or the client; may be empty
	Type       string        // error type reported by the server; may be empty
	Message    string        // human-readable, at most 4 KiB; redacted before it leaves the run
	RetryAfter time.Duration // from the header Retry-After; 0 = absent. Recorded only
}

// CodePanic is the code of requests whose response the client could not process.
const CodePanic = "panic"

// Panicked returns the failure of a request in the processing of which the client
// panicked. step says what it was doing with the response: "decode", for example.
func Panicked(step string, value any) *Failure {
	return &Failure{
		Class: ClientError, Step: StepBody, Code: CodePanic,
		Message: fmt.Sprintf("aiperfd crashed when it tried to %s the response, which is an error of aiperfd: %v", step, value),
	}
}

// Panic is a panic that was recovered.
type Panic struct {
	Value any
	Stack []byte
}

// CutByGrace is the code of requests that were still running when the grace period ended.
const CutByGrace = "grace_timeout"

// String returns class, status and message, for logs.
func (f *Failure) String() string {
	if f.Status != 0 {
		return fmt.Sprintf("%s (HTTP %d): %s", f.Class, f.Status, f.Message)
	}
	return fmt.Sprintf("%s: %s", f.Class, f.Message)
}
