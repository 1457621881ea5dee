package mock

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	spanRoom  = 2048 // spans that wait; further ones are dropped
	spanBatch = 512  // spans that are sent at once
)

// spanExporter sends a span for each answer to a request of a sampled trace, with vLLM's name and attributes. As the
// batch processor of OpenTelemetry does, it keeps spans for a while.
type spanExporter struct {
	send  func([]byte)
	queue chan *tracepb.Span
	ended chan struct{} // closed by the goroutine
}

// startSpans starts the goroutine that sends, which ends when the server stops.
func startSpans(s *Server) *spanExporter {
	e := &spanExporter{send: s.opt.Spans.Send, queue: make(chan *tracepb.Span, spanRoom), ended: make(chan struct{})}
	go e.run(s.opt.Spans.Delay, s.stopping)
	return e
}

func (e *spanExporter) run(delay time.Duration, stopping <-chan struct{}) {
	defer close(e.ended)
	tick := time.NewTicker(delay)
	defer tick.Stop()
	var batch []*tracepb.Span
	flush := func() {
		if len(batch) > 0 {
			e.export(batch)
		}
		batch = nil
	}
	for {
		select {
		case span := <-e.queue:
			if batch = append(batch, span); len(batch) == spanBatch {
				flush()
			}
		case <-tick.C:
			flush()
		case <-stopping:
			flush()
			return
		}
	}
}

// export sends spans.
func (e *spanExporter) export(batch []*tracepb.Span) {
	payload, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: []*commonpb.KeyValue{attribute("service.name", "aiperfd-mock")}},
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "vllm.llm_engine"}, Spans: batch}},
	}}})
	if err == nil { // else a text is no UTF-8, and the spans are lost
		e.send(payload)
	}
}

// answered sends the span of an exchange that was answered completely.
func (e *spanExporter) answered(x *exchange) {
	if x.HTTP == nil {
		return
	}
	trace, parent, ok := sampledParent(x.HTTP.Header.Get("Traceparent"))
	if !ok {
		return
	}
	t := &x.Truth
	queued, scheduled, first, last := t.BodyReadNs, t.BodyReadNs, t.FirstWriteNs, t.LastWriteNs
	if x.ticket != nil {
		queued, scheduled, first, last = x.ticket.times()
	}
	if first == 0 {
		return // there was nothing to generate
	}
	id := make([]byte, 8)
	for i := range id {
		id[i] = byte(rand.Uint32())
	}
	span := &tracepb.Span{
		TraceId: trace, SpanId: id, ParentSpanId: parent, Name: "llm_request", Kind: tracepb.Span_SPAN_KIND_SERVER,
		StartTimeUnixNano: uint64(t.AcceptNs), EndTimeUnixNano: uint64(t.EndNs),
		Attributes: []*commonpb.KeyValue{
			attribute("gen_ai.request.id", t.RequestID), attribute("gen_ai.response.model", t.Model),
			seconds("gen_ai.latency.time_in_queue", queued, scheduled),
			seconds("gen_ai.latency.time_in_model_prefill", scheduled, first),
			seconds("gen_ai.latency.time_in_model_decode", first, last),
			seconds("gen_ai.latency.time_to_first_token", t.AcceptNs, first),
			seconds("gen_ai.latency.e2e", t.AcceptNs, t.EndNs),
		},
	}
	select {
	case e.queue <- span:
	default: // the queue is full
	}
}

// sampledParent reads a header traceparent; ok = false if it has no sampled trace.
func sampledParent(header string) (trace, parent []byte, ok bool) {
	parts := strings.Split(header, "-")
	if len(parts) != 4 || parts[0] != "00" || len(parts[1]) != 32 || len(parts[2]) != 16 {
		return nil, nil, false
	}
	trace, err := hex.DecodeString(parts[1])
	if err != nil {
		return nil, nil, false
	}
	parent, err = hex.DecodeString(parts[2])
	return trace, parent, err == nil && parts[3] == "01"
}

func attribute(name, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: name, Value: &commonpb.AnyValue{
		Value: &commonpb.AnyValue_StringValue{StringValue: strings.ToValidUTF8(value, "\uFFFD")},
	}}
}

// seconds returns an attribute with the time between two stamps.
func seconds(name string, from, to int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: name, Value: &commonpb.AnyValue{
		Value: &commonpb.AnyValue_DoubleValue{DoubleValue: float64(to-from) / float64(time.Second)},
	}}
}
