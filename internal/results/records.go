package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"aiperfd/internal/engine/bench"
)

// Record is one request, as the record file describes it to everybody: the members of AIPerf's
// lines. [Results.Measured] has what they do not hold.
type Record struct {
	Metadata Metadata         `json:"metadata"`
	Metrics  map[string]Value `json:"metrics"` // by tag
	Error    json.RawMessage  `json:"error"`
}

// Metadata identifies a request. Times are of the wall clock, in nanoseconds since 1970.
type Metadata struct {
	SessionNum     int64           `json:"session_num"`
	RequestID      string          `json:"x_request_id"`
	CorrelationID  string          `json:"x_correlation_id"`
	ConversationID string          `json:"conversation_id"`
	Turn           int             `json:"turn_index"`
	Issued         int64           `json:"credit_issued_ns"` // when it was permitted, or else due
	Start          int64           `json:"request_start_ns"`
	End            int64           `json:"request_end_ns"`
	Kind           bench.PhaseKind `json:"benchmark_phase"` // of the phase
	Phase          int             `json:"phase_index"`
	PhaseName      string          `json:"phase_name"`
	Cancelled      bool            `json:"was_cancelled"`
	Depth          int             `json:"agent_depth"`
	Root           string          `json:"root_correlation_id"`
}

// Value is a metric of a request: a number or a list of numbers, in the unit of the metric.
type Value struct {
	Value json.RawMessage `json:"value"`
	Unit  string          `json:"unit"`
}

// Value returns a metric that is a single number; false = the request has none.
func (r *Record) Value(tag string) (v float64, ok bool) {
	raw := r.Metrics[tag].Value
	return v, len(raw) > 0 && string(raw) != "null" && json.Unmarshal(raw, &v) == nil
}

// Succeeded reports whether the request got its answer.
func (r *Record) Succeeded() bool {
	failed := len(r.Error) > 0 && string(r.Error) != "null"
	return !failed && !r.Metadata.Cancelled
}

// LineError means that a line of a record file is no record. Others may follow.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error implements error.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns why the line cannot be read.
func (e *LineError) Unwrap() error { return e.Err }

// errStopped ends the reading of a file whose consumer has enough.
var errStopped = errors.New("no more records are needed")

// Records yields the requests in the order of the record file, which is read meanwhile. After a
// [LineError] it goes on; any other error is the last, and is fs.ErrNotExist without a record
// file. A last line without an end, as a crash leaves it, is left out.
func (r *Results) Records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		line := 0
		err := r.eachLine(func(text []byte) error {
			line++
			record, more := new(Record), false
			if err := json.Unmarshal(partsOf(text).public(), record); err != nil {
				more = yield(nil, &LineError{line, err})
			} else {
				more = yield(record, nil)
			}
			if !more {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// lineParts says where the members of a line are, so that nobody decodes those that they do not
// need: metrics and content events are most of a line.
type lineParts struct {
	text         []byte
	metrics, own int // where the commas before the members stand; own = 0 if the line is written otherwise
}

// partsOf finds the members as the writer places them: metadata, metrics, others, our own ones.
// A text cannot contain the marks, because its quotation marks are escaped. What servers say of
// speculative decoding is the last of the others.
func partsOf(text []byte) lineParts {
	p := lineParts{text: text}
	from := bytes.Index(text, []byte(`},"metrics":{`))
	to := bytes.LastIndex(text, []byte(`},"aiperfd":{`))
	if to < 0 {
		to = bytes.LastIndex(text, []byte(`},"ours":{`))
	}
	if from >= 0 && to > from {
		p.metrics, p.own = from+1, to+1
	}
	return p
}

// public returns an object without our own members.
func (p lineParts) public() []byte {
	if p.own == 0 {
		return p.text
	}
	return append(p.text[:p.own:p.own], '}')
}

// measured returns objects that together have everything but the metrics, which are computed again.
func (p lineParts) measured() [][]byte {
	if p.own == 0 {
		return [][]byte{p.text}
	}
	own := p.own
	if i := bytes.LastIndex(p.text[p.metrics:own], []byte(`,"spec_decode_acceptance":{`)); i >= 0 {
		own = p.metrics + i
	}
	return [][]byte{append(p.text[:p.metrics:p.metrics], '}'), append([]byte("{"), p.text[own+1:]...)}
}
