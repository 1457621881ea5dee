package telemetry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/window"
)

// lineWriter writes a line for each scrape, as AIPerf does. After an error it writes nothing more.
type lineWriter struct {
	mu     sync.Mutex // guards what follows
	out    io.WriteCloser
	buffer *bufio.Writer
	failed error
}

// close writes what is left.
func (l *lineWriter) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buffer != nil && l.failed == nil {
		l.failed = l.buffer.Flush()
	}
	if err := l.out.Close(); l.failed == nil {
		l.failed = err
	}
	return l.failed
}

func (l *lineWriter) write(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const size = 256 << 10
	if l.buffer == nil {
		l.buffer = bufio.NewWriterSize(l.out, size)
	}
	if l.failed == nil {
		_, l.failed = l.buffer.Write(line)
	}
}

// writeLine writes the newest scrape of a target, which is locked.
func (r *Recorder) writeLine(t *target, during *phase) {
	if r.lines == nil {
		return
	}
	h := t.history
	last := len(h.Scrapes) - 1
	at := &h.Scrapes[last]
	clock := r.o.Clock
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"endpoint_url":%s,"timestamp_ns":%d,"endpoint_latency_ns":%d,"metrics":{`,
		quote(t.shown), clock.UnixNano(at.FirstByte), int64(at.FirstByte-at.Sent))
	appendMetrics(&b, h, last)
	fmt.Fprintf(&b, `},"request_sent_ns":%d,"first_byte_ns":%d`, clock.UnixNano(at.Sent), clock.UnixNano(at.FirstByte))
	if p := during; p != nil {
		fmt.Fprintf(&b, `,"benchmark_phase":%s,"phase_index":%d,"phase_name":%s,"phase_kind":%s`,
			quote(string(p.Kind)), p.Index, quote(p.Name), quote(string(p.Kind)))
		if p.Kind == bench.Profiling {
			fmt.Fprintf(&b, `,"profiling_index":%d`, p.earlier)
		}
	}
	b.WriteString("}\n")
	r.lines.write(b.Bytes())
}

// appendMetrics writes the values of a scrape by family.
func appendMetrics(b *bytes.Buffer, h *window.History, scrape int) {
	w := metricsWriter{b: b}
	h.Values(scrape, w.write)
	w.endGroup()
	if w.family != nil {
		b.WriteByte(']')
	}
}

// metricsWriter writes values, which come in the order of their families and series.
type metricsWriter struct {
	b         *bytes.Buffer
	family    *window.Family
	group     *window.Group
	inBuckets bool
}

// write appends a value: of a histogram its sum, its count or a bucket.
func (w *metricsWriter) write(f *window.Family, g *window.Group, part string, v float64) {
	if f != w.family {
		w.endGroup()
		if w.family != nil {
			w.b.WriteString("],")
		}
		fmt.Fprintf(w.b, "%s:[", quote(f.Name))
		w.family = f
	}
	fresh := g != w.group
	if fresh {
		if w.group != nil {
			w.endGroup()
			w.b.WriteByte(',')
		}
		w.beginGroup(g)
	}
	isBucket := f.Kind == window.Histogram && part != "sum" && part != "count"
	switch {
	case isBucket && !w.inBuckets:
		w.b.WriteString(`"buckets":{`)
	case isBucket:
		w.b.WriteByte(',')
	case !fresh:
		w.endBuckets()
		w.b.WriteByte(',')
	}
	w.inBuckets = isBucket
	if f.Kind != window.Histogram {
		part = "value"
	}
	fmt.Fprintf(w.b, "%s:%s", quote(part), strconv.FormatFloat(v, 'g', -1, 64))
}

// beginGroup begins a series.
func (w *metricsWriter) beginGroup(g *window.Group) {
	w.group = g
	w.b.WriteByte('{')
	if len(g.Labels) == 0 {
		return
	}
	if labels, err := json.Marshal(window.Labels(g.Labels)); err == nil {
		fmt.Fprintf(w.b, `"labels":%s,`, labels)
	}
}

// endGroup ends a series, if one has begun.
func (w *metricsWriter) endGroup() {
	if w.group != nil {
		w.endBuckets()
		w.b.WriteByte('}')
	}
	w.group = nil
}

func (w *metricsWriter) endBuckets() {
	if w.inBuckets {
		w.b.WriteByte('}')
	}
	w.inBuckets = false
}

// quote returns a text as JSON.
func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return `""` // a text always encodes
	}
	return string(data)
}
