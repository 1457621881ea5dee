package export

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/redact"
)

// tracer writes the traces of requests.
type tracer struct{ *RecordWriter }

// append appends AIPerf's trace_data. Its times are wall-clock times. The request is sent
// from the moment when it has a connection, so that the durations do not overlap.
func (w tracer) append(b []byte, r *bench.Record) []byte {
	s, c := &r.Stamps, &r.Conn
	b = append(b, `,"trace_data":{"trace_type":"go"`...)
	b = w.instant(b, "request_send_start_ns", s.Connected)
	b = w.headers(b, "request_headers", c.Trace.Request)
	b = w.instant(b, "request_headers_sent_ns", s.Wrote)
	b = append(b, `,"request_chunks":[]`...)
	b = w.instant(b, "request_send_end_ns", s.Wrote)
	b = field(b, "request_chunks_count", int64(c.Writes))
	b = field(b, "request_bytes_total", int64(c.Sent))
	if r.Status != 0 {
		b = field(b, "response_status_code", int64(r.Status))
		b = w.text(b, "response_reason", http.StatusText(r.Status))
	}
	b = w.instant(b, "response_receive_start_ns", s.FirstBody)
	b = w.headers(b, "response_headers", c.Trace.Response)
	b = w.instant(b, "response_headers_received_ns", s.Headers)
	b = append(b, `,"response_chunks":[]`...)
	b = field(b, "response_chunks_count", int64(c.Reads))
	b = field(b, "response_bytes_total", int64(c.Received))
	last := lastByte(r)
	b = w.instant(b, "response_receive_end_ns", last)
	if r.Answer.Failure != nil {
		b = w.instant(b, "error_timestamp_ns", s.End)
	}
	b = w.opening(b, r)
	b = address(b, "local", c.Trace.Local)
	b = address(b, "remote", c.Trace.Remote)
	b = between(b, "sending_ns", s.Connected, s.Wrote)
	b = between(b, "waiting_ns", s.Wrote, s.FirstBody)
	b = between(b, "receiving_ns", s.FirstBody, last)
	b = between(b, "duration_ns", s.Connected, last)
	return append(b, '}')
}

// lastByte returns when the last byte of a response was received, as far as it is known
// of one that failed; 0 = none was.
func lastByte(r *bench.Record) time.Duration {
	chunks := r.Answer.Chunks
	switch {
	case r.Stamps.FirstBody == 0:
		return 0
	case r.Answer.Failure == nil:
		return r.Stamps.End
	case len(chunks) > 0:
		return max(chunks[len(chunks)-1].At, r.Stamps.FirstBody)
	}
	return r.Stamps.FirstBody
}

// opening appends how the request got its connection.
func (w tracer) opening(b []byte, r *bench.Record) []byte {
	s, c := &r.Stamps, &r.Conn
	connect := c.Connect + c.TLS
	switch {
	case s.Connected == 0:
		return b
	case c.Reused:
		b = w.instant(b, "connection_reused_ns", s.Connected)
	case connect > 0:
		b = w.instant(b, "tcp_connect_start_ns", s.Connected-connect)
		b = w.instant(b, "tcp_connect_end_ns", s.Connected)
	}
	if c.DNS > 0 {
		b = w.instant(b, "dns_lookup_start_ns", s.Connected-connect-c.DNS)
		b = w.instant(b, "dns_lookup_end_ns", s.Connected-connect)
	}
	if c.Blocked > 0 {
		b = w.instant(b, "connection_pool_wait_start_ns", s.Start)
		b = w.instant(b, "connection_pool_wait_end_ns", s.Start+c.Blocked)
	}
	b = some(b, "blocked_ns", int64(c.Blocked))
	b = some(b, "dns_lookup_ns", int64(c.DNS))
	return some(b, "connecting_ns", int64(connect))
}

// instant appends the wall time of an offset, if it is known.
func (w tracer) instant(b []byte, name string, at time.Duration) []byte {
	if at == 0 {
		return b
	}
	return field(b, name, w.opts.Clock.UnixNano(at))
}

// between appends the time between two offsets if both are known; a server may respond
// before it has read the request.
func between(b []byte, name string, from, to time.Duration) []byte {
	if from == 0 || to == 0 {
		return b
	}
	return field(b, name, int64(max(0, to-from)))
}

// headers appends headers without secret values, in the order of their names.
func (w tracer) headers(b []byte, name string, h http.Header) []byte {
	if h == nil {
		return b
	}
	b = append(key(b, name), '{')
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := strings.Join(h[name], ", ")
		if redact.SensitiveHeader(name) {
			value = redact.Placeholder
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(appendText(b, w.opts.Secrets.String(name)), ':')
		b = appendText(b, w.opts.Secrets.String(value))
	}
	return append(b, '}')
}

// address appends an address, if it is known.
func address(b []byte, side string, at netip.AddrPort) []byte {
	if !at.IsValid() {
		return b
	}
	b = strconv.AppendQuote(key(b, side+"_ip"), at.Addr().String())
	return field(b, side+"_port", int64(at.Port()))
}
