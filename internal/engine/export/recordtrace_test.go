package export

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/redact"
)

// traceOf returns the trace_data of a record's line, indented.
func traceOf(t *testing.T, o RecordOptions, r *bench.Record) string {
	t.Helper()
	var out bytes.Buffer
	w := NewRecordWriter(&out, o)
	if err := w.Write(r); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	var line struct {
		Trace json.RawMessage `json:"trace_data"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if line.Trace != nil {
		if err := json.Indent(&text, line.Trace, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	return strings.ReplaceAll(text.String(), "1767323045", "T") // the second of the epoch
}

func TestTrace(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(r *bench.Record)
		want   string
	}{
		{"no trace", func(r *bench.Record) { r.Conn.Trace = nil }, ""},
		{"a reused connection", func(r *bench.Record) {
			r.Conn.Blocked, r.Conn.Writes = 0, 2
		}, `{
"trace_type": "go",
"request_send_start_ns": T012000007,
"request_headers": {
"Authorization": "<redacted>",
"X-A": "1, <redacted>"
},
"request_headers_sent_ns": T013000006,
"request_chunks": [],
"request_send_end_ns": T013000006,
"request_chunks_count": 2,
"request_bytes_total": 512,
"response_status_code": 200,
"response_reason": "OK",
"response_receive_start_ns": T021000007,
"response_headers": {
"Set-Cookie": "<redacted>",
"X-Request-Id": "q\"1"
},
"response_headers_received_ns": T021000006,
"response_chunks": [],
"response_chunks_count": 3,
"response_bytes_total": 1024,
"response_receive_end_ns": T050000006,
"connection_reused_ns": T012000007,
"local_ip": "127.0.0.1",
"local_port": 4711,
"remote_ip": "::1",
"remote_port": 80,
"sending_ns": 999999,
"waiting_ns": 8000001,
"receiving_ns": 28999999,
"duration_ns": 37999999
}`},
		{"a new connection, and cancelled", func(r *bench.Record) {
			r.Stamps.Connected, r.Stamps.Start = 20*ms, 10*ms
			r.Stamps.Wrote, r.Stamps.FirstBody, r.Stamps.Headers = 21*ms, 25*ms, 0
			c := &r.Conn
			c.Reused, c.Blocked, c.DNS, c.Connect, c.TLS = false, ms, 2*ms, 3*ms, 4*ms
			c.Trace = new(bench.Trace)
			r.Answer.Failure = &bench.Failure{Class: bench.CancelledByTest}
		}, `{
"trace_type": "go",
"request_send_start_ns": T020000006,
"request_headers_sent_ns": T021000006,
"request_chunks": [],
"request_send_end_ns": T021000006,
"request_chunks_count": 0,
"request_bytes_total": 512,
"response_status_code": 200,
"response_reason": "OK",
"response_receive_start_ns": T025000006,
"response_chunks": [],
"response_chunks_count": 3,
"response_bytes_total": 1024,
"response_receive_end_ns": T040000006,
"error_timestamp_ns": T050000006,
"tcp_connect_start_ns": T013000006,
"tcp_connect_end_ns": T020000006,
"dns_lookup_start_ns": T011000006,
"dns_lookup_end_ns": T013000006,
"connection_pool_wait_start_ns": T010000006,
"connection_pool_wait_end_ns": T011000006,
"blocked_ns": 1000000,
"dns_lookup_ns": 2000000,
"connecting_ns": 7000000,
"sending_ns": 1000000,
"waiting_ns": 4000000,
"receiving_ns": 15000000,
"duration_ns": 20000000
}`},
		{"no connection", func(r *bench.Record) {
			r.Stamps, r.Status = bench.Stamps{Start: ms, End: 3 * ms}, 0
			r.Conn = bench.Connection{Trace: new(bench.Trace)}
			r.Answer = bench.Answer{Failure: &bench.Failure{Class: bench.ConnectError}}
		}, `{
"trace_type": "go",
"request_chunks": [],
"request_chunks_count": 0,
"request_bytes_total": 0,
"response_chunks": [],
"response_chunks_count": 0,
"response_bytes_total": 0,
"error_timestamp_ns": T003000006
}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testRecord()
			r.Conn.Trace = &bench.Trace{
				Local: netip.MustParseAddrPort("127.0.0.1:4711"), Remote: netip.MustParseAddrPort("[::1]:80"),
				Request:  http.Header{"X-A": {"1", "canary-1234"}, "Authorization": {"Bearer x"}},
				Response: http.Header{"Set-Cookie": {"a=b"}, "X-Request-Id": {`q"1`}},
			}
			tt.change(r)
			o := testOptions()
			o.Secrets = redact.NewSet("canary-1234")
			if diff := cmp.Diff(tt.want, traceOf(t, o, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
