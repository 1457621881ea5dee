package otlp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Spans in protobuf and JSON say the same, and what is not valid is left out.
func TestReadSpans(t *testing.T) {
	trace, id, parent := []byte(strings.Repeat("t", 16)), []byte(strings.Repeat("i", 8)), []byte(strings.Repeat("p", 8))
	attribute := func(name string, v *commonpb.AnyValue) *commonpb.KeyValue {
		return &commonpb.KeyValue{Key: name, Value: v}
	}
	double := func(v float64) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v}}
	}
	whole := &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: 2}}
	text := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "3"}}
	data, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{
		{TraceId: trace, SpanId: id, ParentSpanId: parent, Attributes: []*commonpb.KeyValue{
			attribute("gen_ai.latency.time_in_queue", double(0.25)), attribute("gen_ai.latency.e2e", whole),
			attribute("gen_ai.latency.time_in_model_prefill", double(-1)), attribute("gen_ai.latency.time_in_model_decode", text),
			attribute("other", double(1)),
		}},
		{TraceId: trace, SpanId: id},
		{TraceId: trace[:8], SpanId: id},
		{TraceId: make([]byte, 16), SpanId: id},
	}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	with := ServerSpan{Times: &ServerTimes{Queue: new(0.25), Total: new(2.0)}}
	copy(with.Trace[:], trace)
	copy(with.ID[:], id)
	copy(with.Parent[:], parent)
	without := ServerSpan{Trace: with.Trace, ID: with.ID}
	want := []ServerSpan{with, without}
	got, err := ReadSpans(data)
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("protobuf: %v\n%s", err, cmp.Diff(want, got))
	}
	const of = `"traceId":"74747474747474747474747474747474","spanId":"6969696969696969"`
	got, err = ReadJSONSpans([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[
		{` + of + `,"parentSpanId":"7070707070707070","startTimeUnixNano":"1","attributes":[
			{"key":"gen_ai.latency.time_in_queue","value":{"doubleValue":0.25}},
			{"key":"gen_ai.latency.e2e","value":{"intValue":"2"}},
			{"key":"gen_ai.latency.time_in_model_prefill","value":{"doubleValue":-1}},
			{"key":"gen_ai.latency.time_in_model_decode","value":{"stringValue":"3"}}]},
		{` + of + `},
		{"traceId":"zz","spanId":"6969696969696969"}]}]}]}`))
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("JSON: %v\n%s", err, cmp.Diff(want, got))
	}
	for name, read := range map[string]func([]byte) ([]ServerSpan, error){"protobuf": ReadSpans, "JSON": ReadJSONSpans} {
		if _, err := read([]byte("\xff\xff")); err == nil {
			t.Errorf("%s: garbage was read", name)
		}
	}
}

func FuzzReadJSONSpans(f *testing.F) {
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"74747474747474747474747474747474","spanId":"6969696969696969"}]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		spans, err := ReadJSONSpans(data)
		if err != nil && len(spans) > 0 {
			t.Errorf("%d spans of a body with the error %v", len(spans), err)
		}
	})
}
