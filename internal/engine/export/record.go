package export

import (
	"io"
	"strconv"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/redact"
)

// RecordOptions are what the lines of a record file have in common.
type RecordOptions struct {
	Clock   bench.Clock // of the run
	Phases  []PhaseName // of the run
	Metrics measure.Options
	Worker  string      // worker_id
	Secrets *redact.Set // nil = none
}

// PhaseName says which phase an index in a record means.
type PhaseName struct {
	Index          int
	ProfilingIndex int // among the profiling phases; -1 for warm-up
	Name           string
	Kind           bench.PhaseKind
}

// processor stands in record_processor_id: we have one.
const processor = "record-processor-0"

// MaxListed is the most values of a list in the line of a request: one for each token of the
// longest answers of today's models. A list of a metric that has more is left out.
const MaxListed = 128 << 10

// recordBuffer is how much a RecordWriter collects, in bytes.
const recordBuffer = 64 << 10

// RecordWriter appends one JSON line for each request: AIPerf's keys, and under
// "aiperfd" everything else that is needed to compute the metrics again. Exact
// secrets are taken out of every text. It writes whole lines only and keeps some
// until Flush. It is not safe for concurrent use.
type RecordWriter struct {
	to     io.Writer
	opts   RecordOptions
	phases map[int]PhaseName
	metric *measure.RecordMetrics
	left   []leftOut // of the line that is being written
	buf    []byte
	err    error // of to; sticky
}

// NewRecordWriter returns a writer to w, which the caller closes.
func NewRecordWriter(w io.Writer, o RecordOptions) *RecordWriter {
	rw := &RecordWriter{
		to: w, opts: o, phases: make(map[int]PhaseName, len(o.Phases)), metric: measure.NewRecordMetrics(&o.Metrics),
	}
	for _, p := range o.Phases {
		rw.phases[p.Index] = p
	}
	return rw
}

// Write appends one record. It keeps nothing of r. After an error of the
// underlying writer every call returns that error.
func (w *RecordWriter) Write(r *bench.Record) error {
	w.buf = w.line(w.buf, r)
	if len(w.buf) >= recordBuffer {
		return w.Flush()
	}
	return w.err
}

// Flush hands all lines to the underlying writer.
func (w *RecordWriter) Flush() error {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.to.Write(w.buf)
	}
	w.buf = w.buf[:0]
	return w.err
}

// line appends the line of a record.
func (w *RecordWriter) line(b []byte, r *bench.Record) []byte {
	w.left = w.left[:0]
	b = append(b, `{"metadata":{`...)
	b = w.metadata(b, r)
	b = append(b, `},"metrics":{`...)
	b = w.metrics(b, r)
	b = append(b, '}')
	if r.Conn.Trace != nil {
		b = tracer{w}.append(b, r)
	}
	if f := r.Answer.Failure; f != nil {
		d := describeError(f.Class, f.Status, f.Message)
		b = append(b, `,"error":{`...)
		if d.Code != 0 {
			b = field(b, "code", int64(d.Code))
		}
		b = w.text(b, "type", d.Type)
		b = w.text(b, "message", d.Message)
		b = append(b, '}')
	}
	if s := r.Answer.Speculation; s != nil { // readers expect it here
		b = acceptance(append(b, `,"spec_decode_acceptance":{`...), s, r.Answer.Usage)
	}
	b = append(b, `,"aiperfd":{`...)
	b = w.leftOutMember(w.ownMembers(b, r))
	return append(b, "}}\n"...)
}

// metadata appends AIPerf's description of a request.
func (w *RecordWriter) metadata(b []byte, r *bench.Record) []byte {
	s := &r.Stamps
	b = field(b, "session_num", r.SessionNum)
	b = w.text(b, "x_request_id", r.RequestID)
	b = w.text(b, "x_correlation_id", r.CorrelationID)
	b = w.text(b, "conversation_id", r.ConversationID)
	b = field(b, "turn_index", int64(r.Turn))
	b = w.wall(b, "credit_issued_ns", s.Permit, s.Due, s.Start)
	b = w.wall(b, "request_start_ns", s.Start, s.Permit, s.Due)
	if r.Answer.Failure == nil && s.Headers != 0 {
		b = w.wall(b, "request_ack_ns", s.Headers)
	}
	b = w.wall(b, "request_end_ns", s.End, s.Start, s.Permit)
	b = w.text(b, "worker_id", w.opts.Worker)
	b = w.text(b, "record_processor_id", processor)
	p := w.phases[r.Phase]
	b = w.text(b, "benchmark_phase", string(p.Kind))
	b = field(b, "phase_index", int64(r.Phase))
	if p.Kind == bench.Profiling && p.ProfilingIndex >= 0 {
		b = field(b, "profiling_index", int64(p.ProfilingIndex))
	}
	b = w.text(b, "phase_name", p.Name)
	b = w.text(b, "phase_kind", string(p.Kind))
	b = boolean(b, "was_cancelled", r.Cancelled())
	if r.Cancelled() && s.End != 0 {
		b = w.wall(b, "cancellation_time_ns", s.End)
	}
	b = boolean(b, "context_overflow_skip", false) // no request is skipped for that
	line := bench.Lineage{Root: r.CorrelationID}
	if r.Lineage != nil {
		line = *r.Lineage
	}
	b = field(b, "agent_depth", int64(line.Depth))
	return w.text(b, "root_correlation_id", line.Root)
}

// metrics appends the values of a request in display units.
func (w *RecordWriter) metrics(b []byte, r *bench.Record) []byte {
	w.metric.Load(r)
	w.metric.Values(func(d *catalogue.Def, v float64) {
		if !finite(v) {
			return
		}
		b = append(key(b, d.Tag), `{"value":`...)
		b = appendValue(b, d, v)
		b = append(b, `,"unit":"`...)
		b = append(b, d.Unit...)
		b = append(b, `"}`...)
	})
	w.metric.Lists(func(d *catalogue.Def, values []float64) {
		if len(values) > MaxListed {
			w.leaveOut(d.Tag, len(values))
			return
		}
		b = append(key(b, d.Tag), `{"value":[`...)
		for i, v := range values {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, d, v)
		}
		b = append(b, `],"unit":"`...)
		b = append(b, d.Unit...)
		b = append(b, `"}`...)
	})
	return b
}

// appendValue writes whole numbers of things without a decimal point.
func appendValue(b []byte, d *catalogue.Def, v float64) []byte {
	switch d.Unit {
	case "tokens", "count", "requests", "ratio", "images":
		if n := int64(v); float64(n) == v {
			return strconv.AppendInt(b, n, 10)
		}
	}
	return appendFloat(b, v)
}

// key begins a member whose name needs no escaping.
func key(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, `":`...)
}

func field(b []byte, name string, v int64) []byte {
	return strconv.AppendInt(key(b, name), v, 10)
}

func boolean(b []byte, name string, v bool) []byte {
	return strconv.AppendBool(key(b, name), v)
}

// text appends a text without secrets.
func (w *RecordWriter) text(b []byte, name, s string) []byte {
	return appendText(key(b, name), w.opts.Secrets.Exact(s))
}

// wall appends the wall time of the first offset that is known.
func (w *RecordWriter) wall(b []byte, name string, offsets ...time.Duration) []byte {
	for _, o := range offsets {
		if o != 0 {
			return field(b, name, w.opts.Clock.UnixNano(o))
		}
	}
	return field(b, name, w.opts.Clock.UnixNano(0))
}
