package otlp

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"aiperfd/internal/engine/bench"
)

// SpanSource is what all spans of a run have in common. Its texts have no secrets.
type SpanSource struct {
	Source
	Traces    *Traces
	Clock     bench.Clock
	Servers   []*url.URL // by target; nil = it is reached through a socket of this machine
	Streaming bool       // requests ask for streams
	// Clean removes secrets from the model and the ids of a record, which datasets may have named.
	Clean func(text string) string
}

// Encode returns spans as bytes. TracesData has the wire form of the request that exports traces.
func (s *SpanSource) Encode(spans []*tracepb.Span) ([]byte, error) {
	return proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:  s.resource(),
		SchemaUrl: SchemaURL,
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope: &commonpb.InstrumentationScope{Name: "aiperfd", Version: s.Version},
			Spans: spans, SchemaUrl: SchemaURL,
		}},
	}}})
}

// request returns the span of a request of a phase, made of its record: no text of prompts or answers gets into
// it. parent is the id of the span of its session, nil without one.
func (s *SpanSource) request(rec *bench.Record, phase string, parent []byte) *tracepb.Span {
	trace, id := s.Traces.Trace(rec.SessionNum), s.Traces.Span(rec.SessionNum, rec.RequestID)
	span := &tracepb.Span{
		TraceId: trace[:], SpanId: id[:], ParentSpanId: parent, Kind: tracepb.Span_SPAN_KIND_CLIENT,
		Name:              spanName(Operation(s.Endpoint), s.Clean(rec.Model)),
		StartTimeUnixNano: s.at(rec.Stamps.Start), EndTimeUnixNano: s.at(rec.Stamps.End),
		Attributes: s.requested(rec, phase), Events: s.events(rec),
	}
	span.Attributes = append(span.Attributes, answered(rec)...)
	if f := rec.Answer.Failure; f != nil {
		span.Attributes = append(span.Attributes, text("error.type", ErrorType(f.Class)))
		if !rec.Cancelled() {
			// The message of a server may repeat what it was asked.
			span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: string(f.Class)}
		}
	}
	return span
}

// session returns the span of a session of several turns, which is the parent of those of its requests.
func (s *SpanSource) session(o *openSession) *tracepb.Span {
	trace := s.Traces.Trace(o.number)
	return &tracepb.Span{
		TraceId: trace[:], SpanId: o.span, Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		Name:              "session",
		StartTimeUnixNano: s.at(o.start), EndTimeUnixNano: s.at(o.end),
		Attributes: []*commonpb.KeyValue{
			text("gen_ai.conversation.id", s.Clean(o.id)), text("aiperf.run.id", s.RunID), text("aiperf.phase", o.phase),
			integer("aiperf.session", o.number), integer("aiperf.turns", int64(o.turns)),
		},
	}
}

func spanName(operation, model string) string {
	if model == "" {
		return operation
	}
	return operation + " " + model
}

// at returns an offset as Unix time in ns.
func (s *SpanSource) at(offset time.Duration) uint64 { return uint64(s.Clock.UnixNano(offset)) }

// requested returns the attributes that were known when the request was sent.
func (s *SpanSource) requested(rec *bench.Record, phase string) []*commonpb.KeyValue {
	out := []*commonpb.KeyValue{
		text("gen_ai.operation.name", Operation(s.Endpoint)), text("gen_ai.provider.name", s.Provider),
		text("gen_ai.conversation.id", s.Clean(rec.CorrelationID)), boolean("gen_ai.request.stream", s.Streaming),
		text("aiperf.run.id", s.RunID), text("aiperf.phase", phase), text("aiperf.request.id", rec.RequestID),
		integer("aiperf.session", rec.SessionNum), integer("aiperf.turn", int64(rec.Turn)),
		seconds("aiperf.schedule_lag", rec.Stamps.Start-rec.Stamps.Due),
	}
	if rec.Model != "" {
		out = append(out, text("gen_ai.request.model", s.Clean(rec.Model)))
	}
	if n := rec.Content.RequestedTokens; n > 0 {
		out = append(out, integer("gen_ai.request.max_tokens", int64(n)))
	}
	if u := s.Servers[rec.Target]; u != nil {
		out = append(out, text("server.address", u.Hostname()))
		if port := serverPort(u); port > 0 {
			out = append(out, integer("server.port", port))
		}
	}
	return out
}

// answered returns the attributes of the answer.
func answered(rec *bench.Record) (out []*commonpb.KeyValue) {
	a := &rec.Answer
	if rec.Status > 0 {
		out = append(out, integer("http.response.status_code", int64(rec.Status)))
	}
	if a.ResponseID != "" {
		out = append(out, text("gen_ai.response.id", a.ResponseID))
	}
	if a.Model != "" {
		out = append(out, text("gen_ai.response.model", a.Model))
	}
	var reasons []*commonpb.AnyValue
	for i := range a.Choices {
		if why := a.Choices[i].Finish; why != "" {
			of := &commonpb.AnyValue_StringValue{StringValue: string(why)}
			reasons = append(reasons, &commonpb.AnyValue{Value: of})
		}
	}
	if reasons != nil {
		of := &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: reasons}}
		out = append(out, &commonpb.KeyValue{Key: "gen_ai.response.finish_reasons", Value: &commonpb.AnyValue{Value: of}})
	}
	if a.Streamed && len(a.Chunks) > 0 {
		out = append(out, seconds("gen_ai.response.time_to_first_chunk", a.Chunks[0].At-rec.Stamps.Start))
	}
	counted := func(name string, n *bench.Tokens) {
		if n != nil {
			out = append(out, integer(name, int64(*n)))
		}
	}
	counted("gen_ai.usage.input_tokens", rec.InputTokens)
	if n, known := rec.OSL(); known {
		out = append(out, integer("gen_ai.usage.output_tokens", int64(n)))
	}
	counted("gen_ai.usage.reasoning.output_tokens", rec.ReasoningTokens)
	if a.Usage != nil {
		counted("gen_ai.usage.cache_read.input_tokens", a.Usage.Cached)
	}
	return out
}

// events returns the moments of a request, in order.
func (s *SpanSource) events(rec *bench.Record) (out []*tracepb.Span_Event) {
	add := func(name string, at time.Duration, attributes ...*commonpb.KeyValue) {
		if at > 0 {
			out = append(out, &tracepb.Span_Event{Name: name, TimeUnixNano: s.at(at), Attributes: attributes})
		}
	}
	add("aiperf.request_written", rec.Stamps.Wrote)
	add("aiperf.response_head", rec.Stamps.FirstByte)
	chunks := rec.Answer.Chunks
	if len(chunks) == 0 || !rec.Answer.Streamed {
		return out
	}
	add("aiperf.first_token", chunks[0].At)
	if i := slices.IndexFunc(chunks, func(c bench.Chunk) bool { return c.Kind != bench.Reasoning }); i >= 0 {
		add("aiperf.first_output_token", chunks[i].At)
	}
	for _, i := range stalls(rec) {
		add("aiperf.stall", chunks[i-1].At, seconds("aiperf.stall.duration", chunks[i].At-chunks[i-1].At))
	}
	add("aiperf.last_token", chunks[len(chunks)-1].At)
	slices.SortStableFunc(out, func(a, b *tracepb.Span_Event) int { return cmp.Compare(a.TimeUnixNano, b.TimeUnixNano) })
	return out
}

// A gap between two content events is a stall if it has this length, and this many times the mean of the others.
const (
	shortestStall = 50 * time.Millisecond
	stallRatio    = 4
	mostStalls    = 3 // of a span
)

// stalls returns the content events that ended the longest stalls of a stream.
func stalls(rec *bench.Record) (ends []int) {
	chunks := rec.Answer.Chunks
	if !rec.Paced() || len(chunks) < 3 {
		return nil
	}
	gap := func(i int) time.Duration { return chunks[i].At - chunks[i-1].At }
	all, others := chunks[len(chunks)-1].At-chunks[0].At, time.Duration(len(chunks)-2)
	for i := 1; i < len(chunks); i++ {
		if g := gap(i); g < shortestStall || g*others < stallRatio*(all-g) {
			continue
		}
		ends = append(ends, i)
		if len(ends) > mostStalls {
			shortest := slices.MinFunc(ends, func(a, b int) int { return cmp.Compare(gap(a), gap(b)) })
			ends = slices.DeleteFunc(ends, func(i int) bool { return i == shortest })
		}
	}
	return ends
}

// boolean returns an attribute.
func boolean(name string, value bool) *commonpb.KeyValue {
	of := &commonpb.AnyValue_BoolValue{BoolValue: value}
	return &commonpb.KeyValue{Key: name, Value: &commonpb.AnyValue{Value: of}}
}

// seconds returns an attribute.
func seconds(name string, d time.Duration) *commonpb.KeyValue {
	of := &commonpb.AnyValue_DoubleValue{DoubleValue: d.Seconds()}
	return &commonpb.KeyValue{Key: name, Value: &commonpb.AnyValue{Value: of}}
}
