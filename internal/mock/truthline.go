package mock

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"aiperfd/internal/mock/api"
)

// appendTruth appends t as one line of JSON, as package json would. It does not use that
// package because it is part of the cost of every request.
func appendTruth(dst []byte, t *api.Truth) []byte {
	l := truthLine{dst}
	l.integer(`{"seq":`, t.Seq)
	l.text(`,"path":`, t.Path)
	l.text(`,"request_id":`, t.RequestID)
	l.text(`,"correlation_id":`, t.CorrelationID)
	l.text(`,"model":`, t.Model)
	l.b = append(l.b, `,"stream":`...)
	l.b = strconv.AppendBool(l.b, t.Stream)
	l.integer(`,"status":`, int64(t.Status))
	l.integer(`,"n":`, int64(t.N))
	l.integer(`,"max_tokens":`, int64(t.MaxTokens))
	l.integer(`,"prompt_tokens":`, int64(t.PromptTokens))
	l.integer(`,"output_tokens":`, int64(t.OutputTokens))
	l.integer(`,"reasoning_tokens":`, int64(t.ReasoningTokens))
	l.text(`,"finish_reason":`, t.FinishReason)
	l.integer(`,"accept_ns":`, t.AcceptNs)
	l.integer(`,"body_read_ns":`, t.BodyReadNs)
	l.integer(`,"headers_ns":`, t.HeadersNs)
	l.integer(`,"first_write_ns":`, t.FirstWriteNs)
	l.integer(`,"first_write_end_ns":`, t.FirstWriteEndNs)
	l.integer(`,"last_write_ns":`, t.LastWriteNs)
	l.integer(`,"last_write_end_ns":`, t.LastWriteEndNs)
	l.integer(`,"end_ns":`, t.EndNs)
	for i, ns := range t.ChunkNs {
		if i == 0 {
			l.integer(`,"chunk_ns":[`, ns)
		} else {
			l.integer(`,`, ns)
		}
	}
	if len(t.ChunkNs) > 0 {
		l.b = append(l.b, ']')
	}
	for i, n := range t.ChunkTokens {
		if i == 0 {
			l.integer(`,"chunk_tokens":[`, int64(n))
		} else {
			l.integer(`,`, int64(n))
		}
	}
	if len(t.ChunkTokens) > 0 {
		l.b = append(l.b, ']')
	}
	l.millis(`,"ttft_ms":`, t.TTFTMs)
	l.millis(`,"itl_ms":`, t.ITLMs)
	l.millis(`,"latency_ms":`, &t.LatencyMs)
	if b := t.Batch; b != nil {
		l.integer(`,"batch":{"queued_ns":`, b.QueuedNs)
		l.integer(`,"admitted_ns":`, b.AdmittedNs)
		l.millis(`,"queue_ms":`, &b.QueueMs)
		l.integer(`,"cached_tokens":`, int64(b.CachedTokens))
		l.integer(`,"preemptions":`, int64(b.Preemptions))
		l.millis(`,"mean_batch":`, &b.MeanBatch)
		l.b = append(l.b, '}')
	}
	l.text(`,"outcome":`, t.Outcome)
	return append(l.b, "}\n"...)
}

// truthLine is a line that is being built. Names include their punctuation.
type truthLine struct{ b []byte }

func (l *truthLine) integer(name string, v int64) {
	l.b = append(l.b, name...)
	l.b = strconv.AppendInt(l.b, v, 10)
}

func (l *truthLine) millis(name string, v *float64) {
	l.b = append(l.b, name...)
	if v == nil {
		l.b = append(l.b, "null"...)
		return
	}
	// Stamps are whole nanoseconds: no value is so small or so large that package
	// json would write it with an exponent.
	l.b = strconv.AppendFloat(l.b, *v, 'f', -1, 64)
}

func (l *truthLine) text(name, v string) {
	l.b = append(l.b, name...)
	for i := range len(v) {
		if c := v[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			l.b = appendAsJSON(l.b, v)
			return
		}
	}
	l.b = append(l.b, '"')
	l.b = append(l.b, v...)
	l.b = append(l.b, '"')
}

// appendAsJSON appends a string that needs escapes, with those of package json.
func appendAsJSON(dst []byte, v string) []byte {
	quoted, err := json.Marshal(v)
	if err != nil {
		return append(dst, `""`...) // marshalling a string cannot fail
	}
	return append(dst, quoted...)
}
