package load

import (
	"cmp"
	"net/http"
	"runtime/debug"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport"
)

// CodeForced is the code of requests that were cut by force. Their responses are not
// decoded.
const CodeForced = "run_cancelled"

// Decoder reads responses. It is safe for concurrent use.
type Decoder interface {
	// Decode reads the response of a request into its record. If it panics, the request has
	// failed.
	Decode(f *Finished)
	// HasContent reports whether a response that is still being received has content.
	HasContent(r *bench.Response) bool
}

// Finished is a request whose last byte has arrived. The [Sink] decodes the response, if
// the session has not, and releases the exchange.
type Finished struct {
	Record       *bench.Record
	Exchange     transport.Exchange
	Conversation *bench.Conversation
	History      []bench.Exchange  // that the request contained; the session only appends
	Header       http.Header       // as it was sent; nil if it was not
	Body         []byte            // as it was sent; not changed
	Content      transport.Content // in place of Body; nil = none

	Items int // requested number of items in the answer; 0 = unknown

	decoded bool
	panic   *bench.Panic // of Decode; nil = none
}

// Sent returns headers and body of the request.
func (f *Finished) Sent() *transport.Request {
	return &transport.Request{Header: f.Header, Body: f.Body, Content: f.Content}
}

// Panic returns the panic of the framing of the response, or that of Decode; nil = there was
// none.
func (f *Finished) Panic() *bench.Panic { return cmp.Or(f.Exchange.Response.Panic, f.panic) }

// Forced reports whether the request was cut by force. What was received of it is not
// decoded, because a user who forces the end does not wait for hundreds of long answers.
func (f *Finished) Forced() bool {
	failure := f.Exchange.Response.Failure
	return failure != nil && failure.Code == CodeForced
}

// Force makes the request one that was cut by force, unless its answer has been decoded: a
// user who forces the end does not wait for what is left to decode and count either. It
// returns false if nothing has changed.
func (f *Finished) Force() bool {
	failure := f.Exchange.Response.Failure
	if f.decoded || failure != nil && failure.Class.Cancelled() {
		return false
	}
	f.Exchange.Response.Failure = Forced()
	return true
}

// Turn returns the turn as it was sent.
func (f *Finished) Turn() *bench.Turn {
	return cmp.Or(f.Record.Content.Replayed, &f.Conversation.Turns[f.Record.Turn])
}

// Forced returns the failure of requests that are cut by force.
func Forced() *bench.Failure {
	return &bench.Failure{Class: bench.Cancelled, Code: CodeForced, Message: "run cancelled by force"}
}

// Decode reads the response into the record. A second call does nothing. If it panics, the
// request has failed.
func (f *Finished) Decode(by Decoder) {
	if f.decoded {
		return
	}
	f.decoded = true
	if f.Forced() {
		f.Record.Answer = bench.Answer{Failure: f.Exchange.Response.Failure}
		return
	}
	defer func() {
		if value := recover(); value != nil {
			f.panic = &bench.Panic{Value: value, Stack: debug.Stack()}
			a := &f.Record.Answer
			*a = bench.Answer{Failure: bench.Panicked("decode", value)}
			a.Failure.Status = f.Record.Status
		}
	}()
	by.Decode(f)
}
