package transport

import (
	"net/url"
	"strings"
	"syscall"

	"aiperfd/internal/engine/bench"
)

// explain adds the address and the most likely reason to a failure to connect. Class
// and code do not change. The address is that of the URL, so that all failures of a
// server have the same message.
func (o *Options) explain(f *bench.Failure, target *url.URL) *bench.Failure {
	if f == nil || f.Status != 0 {
		return f
	}
	at, hint := hostPort(target), ""
	switch f.Class {
	case bench.ConnectError, bench.TimeoutConnect:
		hint = o.mistake(f, target)
	case bench.ClientError:
		if f.Code != "limit" {
			return f
		}
		hint = limitHint(f.Message)
	case bench.ConnectionReset:
		if target.Scheme != "http" || !strings.Contains(f.Message, `\x15\x03`) { // a TLS alert in place of a status line
			return f
		}
		hint = "the port speaks TLS: use https://" + target.Host
	default:
		return f
	}
	clear := *f // it may be shared
	clear.Message = "connect to " + at + ": " + strings.TrimPrefix(strings.TrimPrefix(f.Message, "dial: "), "connect: ")
	if hint != "" {
		clear.Message += "; " + hint
	}
	return &clear
}

// mistake returns a hint on the most likely reason of a failure to connect; may be empty.
func (o *Options) mistake(f *bench.Failure, target *url.URL) string {
	if o.Proxy != nil || o.EnvProxy {
		return "requests go through a proxy: is its address right?"
	}
	switch {
	case f.Message == errPlainHTTP.Error():
		return "use http://" + target.Host
	case f.Code == "refused":
		return "is the server running, and is the port right?"
	case f.Code == "dns":
		return "is the host name right?"
	case f.Code == "unreachable":
		return "is the host reachable from this machine?"
	case strings.Contains(f.Message, "certificate is valid for"):
		return "--tls-server-name names the host that the certificate is for"
	case strings.Contains(f.Message, "certificate"):
		return "--tls-ca-file names an authority to trust, --insecure skips the check"
	case f.Class == bench.TimeoutConnect && target.Scheme == "https" && strings.Contains(f.Message, "handshake"):
		return "the port accepts connections but no TLS: use http:// if the server speaks plain HTTP"
	case f.Class == bench.TimeoutConnect:
		return "is the host up, and does a firewall drop connections?"
	}
	return ""
}

// limitHint returns how to raise the limit of this machine that was reached.
func limitHint(message string) string {
	switch {
	case strings.Contains(message, syscall.EMFILE.Error()), strings.Contains(message, syscall.ENFILE.Error()):
		return "raise the limit of open files (ulimit -n) or lower the concurrency"
	case strings.Contains(message, "bind: "+syscall.EADDRNOTAVAIL.Error()):
		return "is the source address one of this machine?"
	case strings.Contains(message, syscall.EADDRNOTAVAIL.Error()):
		return "all local ports for connections to this server are in use: reuse connections, lower the rate or add source addresses (--source-address)"
	}
	return ""
}
