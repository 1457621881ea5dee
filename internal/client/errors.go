package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"aiperfd/internal/api/wire"
)

// errNoAnswer is the cause of a request that took too long.
var errNoAnswer = fmt.Errorf("no answer within %v", requestLimit)

// Unreachable is the error of a request without an answer.
type Unreachable struct {
	Server string
	Err    error
}

// Error implements error.
func (e *Unreachable) Error() string { return fmt.Sprintf("cannot reach %s: %v", e.Server, e.Err) }

// Unwrap returns the cause.
func (e *Unreachable) Unwrap() error { return e.Err }

// unreachable returns the error of a request without an answer. If the caller has ended
// the context, it is the caller's cause.
func unreachable(ctx context.Context, server string, err error) error {
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
	case errors.Is(cause, errNoAnswer):
		err = errNoAnswer
	default:
		return cause
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok { // it repeats the method and the URL
		err = wrapped.Err
	}
	return &Unreachable{server, err}
}

// Problem is an answer of the daemon that is no success.
type Problem struct {
	wire.Problem
	Name       string        // of the type, such as not-found; empty = the answer is not the daemon's
	RetryAfter time.Duration // 0 = not stated
}

// Error lists what is wrong, one problem of a document per line.
func (p *Problem) Error() string {
	var out strings.Builder
	out.WriteString(cmp.Or(p.Detail, p.Title))
	if strings.EqualFold(p.Detail, p.Title) && p.Instance != "" { // the detail says no more than the type
		out.WriteString(": " + p.Instance)
	}
	if p.Line > 0 {
		fmt.Fprintf(&out, " (line %d, column %d)", p.Line, p.Column)
	}
	for _, e := range p.Errors {
		out.WriteString("\n  " + faultText(&e))
	}
	return out.String()
}

// faultText returns the place of a fault, then the detail. The detail may begin with the
// name of the field, which the place has already named.
func faultText(f *wire.Fault) string {
	if f.Flag != "" || f.Pointer == "#" {
		return f.Detail
	}
	text := strings.TrimPrefix(f.Pointer, "#/") + ": " +
		strings.TrimPrefix(f.Detail, f.Pointer[strings.LastIndexByte(f.Pointer, '/')+1:]+": ")
	if f.Line > 0 {
		text = fmt.Sprintf("line %d: %s", f.Line, text)
	}
	return text
}

const (
	problemPrefix = "urn:aiperfd:problem:"
	maxProblem    = 4 << 20 // bytes
	maxRetryAfter = time.Hour
)

// problemOf reads an answer that is no success.
func problemOf(server string, resp *http.Response) error {
	p := &Problem{}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") {
		err = json.Unmarshal(data, &p.Problem)
	}
	name, ours := strings.CutPrefix(p.Type, problemPrefix)
	if err != nil || !ours {
		p.Problem = wire.Problem{Detail: fmt.Sprintf("%s answered %q without a problem of aiperfd; is it an aiperfd daemon?", server, resp.Status)}
	} else {
		p.Name = name
	}
	p.Status = resp.StatusCode
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		p.RetryAfter = min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	return p
}

// The pauses between attempts.
const (
	firstPause  = 250 * time.Millisecond
	maxPause    = 4 * time.Second
	longestWait = 15 * time.Second // a daemon that asks for more is not waited for
	maxAttempts = 4
)

// Transient reports whether the same request may succeed in a moment: no answer, or one
// that says so.
func Transient(err error) bool {
	var p *Problem
	if !errors.As(err, &p) {
		var lost *Unreachable
		return errors.As(err, &lost)
	}
	switch p.Name {
	case "starting", "shutting-down", "busy", "too-many-connections", "rate-limited", "idempotency-in-progress":
		return true
	case "": // of a proxy in between
		return p.Status == http.StatusBadGateway || p.Status == http.StatusServiceUnavailable || p.Status == http.StatusGatewayTimeout
	}
	return false
}

// pauseAfter returns how long to wait after an error, and whether another attempt can
// help. Nobody listens soon where nobody listens now, so that a refused connection is
// reported at once.
func pauseAfter(err error, attempt int) (time.Duration, bool) {
	if err == nil || attempt+1 >= maxAttempts || !Transient(err) || Refused(err) || untrusted(err) {
		return 0, false
	}
	pause := min(firstPause<<attempt, maxPause)
	var p *Problem
	if errors.As(err, &p) && p.RetryAfter > 0 {
		pause = p.RetryAfter
	}
	// A random part keeps clients apart that failed together.
	return pause + rand.N(pause/4), pause <= longestWait
}

// Refused reports whether nobody listens at the address of the server.
func Refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// UnknownHost reports whether the name of the server does not exist.
func UnknownHost(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// UnknownAuthority reports whether no known authority has signed the certificate of the
// server.
func UnknownAuthority(err error) bool {
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown)
}

// PlainServer reports whether the server does not use TLS, although its URL says https.
func PlainServer(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, &record) || err != nil && strings.Contains(err.Error(), http.ErrSchemeMismatch.Error())
}

// TLSServer reports whether the server needs https.
func TLSServer(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Name == "" && p.Status == http.StatusBadRequest
}

// untrusted reports whether the certificate of the server is not accepted.
func untrusted(err error) bool {
	var invalid *tls.CertificateVerificationError
	return errors.As(err, &invalid) || PlainServer(err)
}
