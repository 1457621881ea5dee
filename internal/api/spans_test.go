package api

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"aiperfd/internal/engine/telemetry/otlp"
)

// Spans are taken in both encodings, plain and compressed; what is not an export request, or too large, is refused.
func TestReceiveSpans(t *testing.T) {
	data, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{
		Spans: []*tracepb.Span{{
			TraceId: bytes.Repeat([]byte("t"), 16), SpanId: bytes.Repeat([]byte("i"), 8),
			Attributes: []*commonpb.KeyValue{{Key: "gen_ai.latency.time_in_queue", Value: &commonpb.AnyValue{
				Value: &commonpb.AnyValue_DoubleValue{DoubleValue: 0.5},
			}}},
		}},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	var packed, bomb bytes.Buffer
	for to, text := range map[*bytes.Buffer][]byte{&packed: data, &bomb: make([]byte, 17<<20)} {
		z := gzip.NewWriter(to)
		_, _ = z.Write(text)
		_ = z.Close()
	}
	const protobuf, plainJSON = "Content-Type: application/x-protobuf", "Content-Type: application/json"
	const inJSON = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"74747474747474747474747474747474","spanId":"6969696969696969",
		"attributes":[{"key":"gen_ai.latency.time_in_queue","value":{"doubleValue":0.5}}]}]}]}]}`
	for _, tt := range []struct {
		name, body string
		headers    []string
		idle       bool // no run receives spans
		status     int
		want       string // of the answer
	}{
		{"protobuf", string(data), []string{protobuf}, false, 200, ""},
		{"gzip", packed.String(), []string{protobuf, "Content-Encoding: gzip"}, false, 200, ""},
		{"JSON", inJSON, []string{plainJSON}, false, 200, "{}"},
		{"protobuf without a run", string(data), []string{protobuf}, true, 200, "no active run receives spans (otel.receive, --otel-receive)"},
		{"JSON without a run", inJSON, []string{plainJSON}, true, 200, `"rejectedSpans":"1","errorMessage":"no active run receives`},
		{"no media type", inJSON, nil, false, 415, "send application/x-protobuf or application/json"},
		{"another compression", inJSON, []string{plainJSON, "Content-Encoding: br"}, false, 415, `Content-Encoding \"br\" is not supported`},
		{"no gzip", inJSON, []string{plainJSON, "Content-Encoding: gzip"}, false, 400, "The body cannot be read"},
		{"garbage", "\xff\xff", []string{protobuf}, false, 400, "not an ExportTraceServiceRequest"},
		{"no JSON", "{", []string{plainJSON}, false, 400, "not an ExportTraceServiceRequest"},
		{"too large", strings.Repeat(" ", 4<<20+1), []string{plainJSON}, false, 413, "larger than 4194304 bytes"},
		{"too large behind gzip", bomb.String(), []string{plainJSON, "Content-Encoding: gzip"}, false, 413, "larger than 16777216 bytes when it is decompressed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []otlp.ServerSpan
			ts := newTestServer(t, func(o *Options) {
				o.Spans = func(s []otlp.ServerSpan) bool { got = append(got, s...); return true }
				if tt.idle {
					o.Spans = nil
				}
			})
			w := ts.do("POST", "/v1/traces", tt.body, tt.headers...)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%d %s, want %d, %q", w.Code, w.Body, tt.status, tt.want)
			}
			if taken := tt.status == 200 && !tt.idle; taken != (len(got) == 1 && got[0].Times != nil && *got[0].Times.Queue == 0.5) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
