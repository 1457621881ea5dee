package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/http1"
)

// classify returns the failure of an exchange that ended with err.
func classify(ctx context.Context, err error, step bench.Step) *bench.Failure {
	if f := byCause(context.Cause(ctx), step); f != nil {
		return f
	}
	var dial *dialError
	if errors.As(err, &dial) || step == bench.StepConnect {
		return connectFailure(err)
	}
	if local(err) {
		return &bench.Failure{Class: bench.ClientError, Step: step, Code: "limit", Message: plain(err)}
	}
	if errors.Is(err, errOverhead) {
		return &bench.Failure{Class: bench.EventTooLarge, Step: step, Code: "empty_frames", Message: errOverhead.Error()}
	}
	if tooLarge(err) {
		return &bench.Failure{Class: bench.EventTooLarge, Step: step, Code: "http_size", Message: plain(err)}
	}
	return &bench.Failure{Class: bench.ConnectionReset, Step: step, Message: plain(err)}
}

// byCause returns the failure for the cause of a context; nil if the context has not
// ended.
func byCause(cause error, step bench.Step) *bench.Failure {
	var ours *cancelCause
	switch {
	case cause == nil:
		return nil
	case errors.As(cause, &ours):
		f := *ours.failure
		f.Step = step
		return &f
	case errors.Is(cause, errHeadersTimeout):
		return &bench.Failure{Class: bench.TimeoutHeaders, Step: step, Message: cause.Error()}
	case errors.Is(cause, errIdleTimeout):
		return &bench.Failure{Class: bench.TimeoutIdle, Step: step, Message: cause.Error()}
	case errors.Is(cause, errTotalTimeout), errors.Is(cause, context.DeadlineExceeded):
		return &bench.Failure{Class: bench.TimeoutTotal, Step: step, Message: errTotalTimeout.Error()}
	}
	return &bench.Failure{Class: bench.Cancelled, Step: step, Code: "aborted", Message: "run aborted"}
}

// errPlainHTTP is the error of a server that responds to a TLS handshake in HTTP.
var errPlainHTTP = errors.New("the server answered in plain HTTP")

func connectFailure(err error) *bench.Failure {
	f := &bench.Failure{Class: bench.ConnectError, Step: bench.StepConnect, Message: plain(err)}
	var (
		dns    *net.DNSError
		record tls.RecordHeaderError
		alert  tls.AlertError
		cert   *tls.CertificateVerificationError
		host   x509.HostnameError
		netErr net.Error
		denied *allow.Denied
	)
	switch {
	case errors.Is(err, errConnectTimeout):
		f.Class = bench.TimeoutConnect
	case errors.As(err, &denied):
		f.Class, f.Message = bench.TargetNotAllowed, denied.Error()
	case local(err):
		f.Class, f.Code = bench.ClientError, "limit"
	case errors.As(err, &dns):
		f.Code = "dns"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Code = "refused"
	case errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		f.Code, f.Message = "tls", errPlainHTTP.Error()
	case errors.Is(err, errNoHTTP2), errors.As(err, &record), errors.As(err, &alert),
		errors.As(err, &cert), errors.As(err, &host):
		f.Code = "tls"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		f.Code = "unreachable"
	case errors.As(err, &netErr) && netErr.Timeout():
		f.Class = bench.TimeoutConnect
	}
	return f
}

// local reports whether a limit of this host was reached.
func local(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.ENOBUFS)
}

// tooLarge reports whether heads, trailers or the parts between chunks are over a
// limit. The errors of net/http for that are unexported.
func tooLarge(err error) bool {
	if errors.Is(err, http1.ErrTooLarge) {
		return true
	}
	text := err.Error()
	return slices.ContainsFunc([]string{
		"server response headers exceeded", "header list too large",
		"suspiciously long trailer", "chunked encoding contains too much non-data", "header line too long",
	}, func(part string) bool { return strings.Contains(text, part) })
}

// isReset reports whether the peer dropped the connection. After a failed write
// net/http closes the connection, and then its reader can be the first to report, with
// [net.ErrClosed].
func isReset(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		isServerClosedIdle(err)
}

// isServerClosedIdle recognises net/http's unexported error for a pooled
// connection that the server closed.
func isServerClosedIdle(err error) bool {
	return err != nil && err.Error() == "http: server closed idle connection"
}

// plain returns the innermost useful text of an error: no URL, no wrapping.
func plain(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if op.Op == "dial" || op.Op == "read" || op.Op == "write" {
			inner := op.Err
			if call, ok := inner.(*os.SyscallError); ok && call.Syscall == op.Op { //nolint:errorlint // the outermost alone repeats it
				inner = call.Err
			}
			return op.Op + ": " + inner.Error()
		}
	}
	return err.Error()
}
