package transport

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/frame"
)

// Request is one HTTP request, ready to be sent.
type Request struct {
	Method    string // empty = POST
	URL       *url.URL
	Host      string      // for the Host header; empty = that of the URL
	Header    http.Header // complete; not changed
	Body      []byte      // not changed; must stay as it is until Do returns
	Content   Content     // the body, in place of Body; nil = it is Body
	Streaming bool        // a stream was asked for
	Session   string      // for sticky connections
	// Watch is called as [frame.Framer.Watch] describes it. It may be called by the goroutine that
	// reads all connections, and not any more once Do has returned. nil = none.
	Watch  func(r *bench.Response) (done bool)
	Cancel bench.Cancellation
	// MaxBody is the most bytes that the body of the response may have, received
	// or kept; 0 = frame.MaxBody and frame.MaxKept.
	MaxBody int
}

// Content is a body that is written while it is sent, because all those that are sent at a time would be too long to
// be kept. It is immutable and safe for concurrent use.
type Content interface {
	// Len returns the number of its bytes.
	Len() int
	// Open returns a reader of all its bytes, the same ones each time. It neither fails nor waits.
	Open() io.Reader
}

// BodySize returns the number of bytes of the body.
func (r *Request) BodySize() int {
	if r.Content != nil {
		return r.Content.Len()
	}
	return len(r.Body)
}

// WholeBody returns the body, which is written if the request has a [Content].
func (r *Request) WholeBody() []byte {
	if r.Content == nil {
		return r.Body
	}
	body := make([]byte, r.Content.Len())
	n, _ := io.ReadFull(r.Content.Open(), body) // which never fails
	return body[:n]
}

// openBody returns a reader of the body.
func (r *Request) openBody() io.Reader {
	if r.Content != nil {
		return r.Content.Open()
	}
	return bytes.NewReader(r.Body)
}

// Exchange is what one request led to.
type Exchange struct {
	Response *bench.Response // valid until Release
	Stamps   bench.Stamps    // Start and later; Due and Permit are the caller's
	Conn     bench.Connection
	// Lag is the longest time from the kernel's stamp of a read of this exchange
	// to the moment at which we handled the bytes; 0 unless Conn.Kernel.
	Lag time.Duration

	framer  *frame.Framer // owns the bytes of Response; nil = nothing was read
	framers *sync.Pool
}

// Release gives the memory of the response back; the response must not be used
// any more. Without it the memory is garbage like any other, and what a large
// response took of [Options.Memory] is lost.
func (x *Exchange) Release() {
	if x.framer != nil {
		x.framer.Free()
		x.framers.Put(x.framer)
		x.framer, x.Response = nil, nil
	}
}

// roundTripper performs exchanges: over net/http, HTTP/2 or an event loop. It is safe
// for concurrent use.
type roundTripper interface {
	// attempt performs one request on one connection. It sets the start in a.x unless
	// a redirected attempt has set it; on an open connection that is immediately
	// before the request is written. again = true if a reused connection failed before
	// the first byte of the response: the caller repeats the attempt with a.fresh. The
	// response is valid until a.x is released.
	attempt(ctx context.Context, a *attempt) (resp *bench.Response, again bool)
	// lacks returns the estimated number of missing connections for n simultaneous
	// requests to an address.
	lacks(target *url.URL, n int) int
	// open opens one connection for later attempts; ok = false if that fails.
	open(ctx context.Context, target *url.URL) (cost bench.Setup, ok bool)
	// endSession closes the private connections of a session.
	endSession(session string)
	// close closes idle connections and stops what was started.
	close()
}

// starter is a roundTripper that can do without a goroutine while a response is awaited.
type starter interface {
	// start is like attempt. With pending, it calls later with what attempt would return,
	// once, in a goroutine of its own.
	start(
		ctx context.Context, a *attempt, later func(resp *bench.Response, again bool),
	) (resp *bench.Response, again, pending bool)
	// startIdle is like start, but does nothing and returns false where that would wait.
	startIdle(ctx context.Context, a *attempt, later func(resp *bench.Response, again bool)) (pending bool)
}

// attempt is one request to one address.
type attempt struct {
	*Request
	target *url.URL
	header http.Header
	fresh  bool      // on a new connection: the one before was stale
	x      *Exchange // to be filled in
}

// host returns the value of the Host header.
func (a *attempt) host() string { return cmp.Or(a.Host, a.target.Host) }

// method returns the method of the request.
func (a *attempt) method() string { return cmp.Or(a.Method, http.MethodPost) }

// unsent returns the failure of a request that was to be cancelled and was not written
// in time, as that; other failures as they are.
func (r *Request) unsent(f *bench.Failure) *bench.Failure {
	if !r.Cancel.On || f == nil || f.Class != bench.TimeoutTotal {
		return f
	}
	if f.Step != bench.StepConnect && f.Step != bench.StepSend {
		return f
	}
	clear := *f
	clear.Class = bench.TimeoutSend
	clear.Message = "not written within the request timeout, so that it could not be cancelled"
	return &clear
}

// cutOff returns the error of a body that ended with its connection, and that without the
// close_notify of TLS; nil = the body has an end of its own, or the status says enough.
func cutOff(f *frame.Framer, status int) error {
	if f.Done() || status >= http.StatusMultipleChoices {
		return nil
	}
	return errCutOff
}

// conclude ends the body of a framer whose head was h and returns the response.
// failure is why the body is not whole; nil = it is, or the framer gave up.
func conclude(
	f *frame.Framer, h http.Header, end bench.End, endAt time.Duration, failure *bench.Failure,
) *bench.Response {
	f.Finish(endAt, end)
	resp := f.Response()
	resp.Header, resp.End, resp.EndAt = h, end, endAt
	if f := f.Err(); f != nil {
		failure = f
	}
	if failure != nil {
		failure.Status = resp.Status
		resp.Failure = failure
	}
	return resp
}
