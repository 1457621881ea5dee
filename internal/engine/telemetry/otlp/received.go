package otlp

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// ServerSpan is a span that a server has sent, with what it says of the time that a request took there.
type ServerSpan struct {
	Trace  [16]byte
	ID     [8]byte
	Parent [8]byte      // zero = it has none
	Times  *ServerTimes // nil = it says nothing of times
}

// ServerTimes are the times of a request in a server, in seconds; nil = the span does not say it.
type ServerTimes struct {
	Queue, Prefill, Decode *float64 // one after the other
	FirstToken, Total      *float64 // from the arrival of the request
}

// timeOf returns where the value of an attribute belongs: vLLM's span llm_request has them, in seconds.
func (t *ServerTimes) timeOf(attribute string) **float64 {
	switch attribute {
	case "gen_ai.latency.time_in_queue":
		return &t.Queue
	case "gen_ai.latency.time_in_model_prefill":
		return &t.Prefill
	case "gen_ai.latency.time_in_model_decode":
		return &t.Decode
	case "gen_ai.latency.time_to_first_token":
		return &t.FirstToken
	case "gen_ai.latency.e2e":
		return &t.Total
	}
	return nil
}

// ReadSpans reads the spans of an export request of OTLP/HTTP in protobuf. Spans without valid ids are left out.
func ReadSpans(data []byte) ([]ServerSpan, error) {
	var request tracepb.TracesData // it has the wire form of the request
	if err := proto.Unmarshal(data, &request); err != nil {
		return nil, fmt.Errorf("read spans: %w", err)
	}
	var out []ServerSpan
	for _, r := range request.ResourceSpans {
		for _, scope := range r.ScopeSpans {
			for _, s := range scope.Spans {
				one, ok := newServerSpan(s.TraceId, s.SpanId, s.ParentSpanId)
				if !ok {
					continue
				}
				for _, a := range s.Attributes {
					one.set(a.Key, number(a.Value))
				}
				out = append(out, one)
			}
		}
	}
	return out, nil
}

// newServerSpan returns a span without times; ok = false if its ids are not valid.
func newServerSpan(trace, id, parent []byte) (s ServerSpan, ok bool) {
	ok = len(trace) == len(s.Trace) && len(id) == len(s.ID) && (len(parent) == 0 || len(parent) == len(s.Parent))
	copy(s.Trace[:], trace)
	copy(s.ID[:], id)
	copy(s.Parent[:], parent)
	return s, ok && s.Trace != [16]byte{} && s.ID != [8]byte{}
}

// set takes the value of an attribute, if it is a time.
func (s *ServerSpan) set(attribute string, seconds float64) {
	var none ServerTimes
	if none.timeOf(attribute) == nil || !(seconds >= 0) || math.IsInf(seconds, 0) {
		return
	}
	if s.Times == nil {
		s.Times = &ServerTimes{}
	}
	*s.Times.timeOf(attribute) = &seconds
}

// number returns the number in a value; NaN = there is none.
func number(v *commonpb.AnyValue) float64 {
	switch x := v.GetValue().(type) {
	case *commonpb.AnyValue_DoubleValue:
		return x.DoubleValue
	case *commonpb.AnyValue_IntValue:
		return float64(x.IntValue)
	}
	return math.NaN()
}

// jsonRequest is an export request of OTLP/HTTP in JSON: ids are hexadecimal, and 64-bit integers may be texts.
type jsonRequest struct {
	ResourceSpans []struct {
		ScopeSpans []struct {
			Spans []struct {
				Trace      string `json:"traceId"`
				ID         string `json:"spanId"`
				Parent     string `json:"parentSpanId"`
				Attributes []struct {
					Key   string
					Value struct {
						Double *jsonNumber `json:"doubleValue"`
						Int    *jsonNumber `json:"intValue"`
					}
				}
			}
		}
	} `json:"resourceSpans"`
}

// jsonNumber is a number, or a text that has one.
type jsonNumber float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *jsonNumber) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%q is no number", text)
	}
	*n = jsonNumber(v)
	return nil
}

// ReadJSONSpans does what [ReadSpans] does for JSON.
func ReadJSONSpans(data []byte) ([]ServerSpan, error) {
	var request jsonRequest
	if err := json.Unmarshal(data, &request); err != nil {
		return nil, fmt.Errorf("read spans: %w", err)
	}
	var out []ServerSpan
	for _, r := range request.ResourceSpans {
		for _, scope := range r.ScopeSpans {
			for _, s := range scope.Spans {
				trace, err := hex.DecodeString(s.Trace)
				id, err2 := hex.DecodeString(s.ID)
				parent, err3 := hex.DecodeString(s.Parent)
				one, ok := newServerSpan(trace, id, parent)
				if errors.Join(err, err2, err3) != nil || !ok {
					continue
				}
				for _, a := range s.Attributes {
					for _, v := range []*jsonNumber{a.Value.Double, a.Value.Int} {
						if v != nil {
							one.set(a.Key, float64(*v))
						}
					}
				}
				out = append(out, one)
			}
		}
	}
	return out, nil
}
