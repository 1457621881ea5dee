package series

import (
	"encoding/binary"
	"errors"
	"math"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sketch"
)

// part is the requests that a window is of.
type part struct {
	phase int  // index
	left  bool // the results of the phase leave them out
}

// ofPart is the position of the section that says of which part a window is. It is the
// first one. Files of earlier versions have none.
const ofPart = 255

// append encodes the part as a section.
func (p part) append(b []byte) []byte {
	v := uint64(p.phase) << 1
	if p.left {
		v |= 1
	}
	content := binary.AppendUvarint(nil, v)
	return append(append(b, ofPart, byte(len(content))), content...)
}

// partOf returns the part of an encoded window; false = it is not known.
func partOf(b []byte) (part, bool) {
	if len(b) < 3 || b[0] != ofPart {
		return part{}, false
	}
	v, n := binary.Uvarint(b[2:])
	return part{int(v >> 1), v&1 == 1}, n == int(b[1])
}

// window is what happened in an interval. Windows merge exactly, in any order.
type window struct {
	values [distributions]sketch.Sketch
	counts [rates]int64
	seen   [rates]bool // the count was measured; otherwise it is unknown, not 0
	levels [levels]level
	errors map[bench.Class]int64 // nil = none
}

// level are samples of a state.
type level struct {
	n        int64
	sum, max float64
}

func (l *level) add(v float64) { l.join(level{1, v, v}) }

func (l *level) join(o level) {
	if l.n == 0 {
		l.max = o.max
	}
	l.n, l.sum, l.max = l.n+o.n, l.sum+o.sum, max(l.max, o.max)
}

// maxCount is the largest count: a server may claim any number of tokens. Two of them do
// not overflow.
const maxCount = math.MaxInt64 / 2

// count adds to a count, up to maxCount.
func (w *window) count(rate int, n int64) {
	w.counts[rate] = min(maxCount, w.counts[rate]+min(maxCount, n))
	w.seen[rate] = true
}

// fail counts a failed request.
func (w *window) fail(class bench.Class, n int64) {
	if w.errors == nil {
		w.errors = map[bench.Class]int64{}
	}
	w.errors[class] += n
}

// reset makes the window empty. It keeps the memory of its sketches.
func (w *window) reset() {
	values := w.values
	*w = window{values: values}
	for i := range w.values {
		w.values[i].Reset()
	}
}

// append encodes the window as sections: one byte, the position of a metric, the length of
// what follows, and the content. Metrics without a value have no section.
func (w *window) append(b []byte, metrics []Metric) []byte {
	var scratch []byte
	for i := range metrics {
		scratch = w.section(scratch[:0], &metrics[i])
		if len(scratch) == 0 {
			continue
		}
		b = append(b, byte(i))
		b = binary.AppendUvarint(b, uint64(len(scratch)))
		b = append(b, scratch...)
	}
	return b
}

// section encodes one metric.
func (w *window) section(b []byte, m *Metric) []byte {
	switch m.Kind {
	case Distribution:
		if s := &w.values[m.at]; s.Count() > 0 {
			b, _ = s.AppendBinary(b) // never fails
		}
	case Rate:
		if w.seen[m.at] {
			b = binary.AppendUvarint(b, uint64(w.counts[m.at]))
		}
	case Level:
		if l := &w.levels[m.at]; l.n > 0 {
			b = binary.AppendUvarint(b, uint64(l.n))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(l.sum))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(l.max))
		}
	case Classes:
		for _, class := range bench.Classes() {
			if n := w.errors[class]; n > 0 {
				b = binary.AppendUvarint(b, uint64(len(class)))
				b = append(b, class...)
				b = binary.AppendUvarint(b, uint64(n))
			}
		}
	}
	return b
}

// errDamaged is the error of an entry that cannot be decoded.
var errDamaged = errors.New("read time series: damaged entry")

// merge adds an encoded window: the metrics that are wanted, by position.
func (w *window) merge(b []byte, wanted []*Metric) error {
	for len(b) > 0 {
		id := int(b[0])
		size, n := binary.Uvarint(b[1:])
		if n <= 0 || size > uint64(len(b)-1-n) {
			return errDamaged
		}
		content := b[1+n : 1+n+int(size)]
		b = b[1+n+int(size):]
		if id >= len(wanted) || wanted[id] == nil {
			continue // not wanted, or of a later version
		}
		if err := w.mergeSection(content, wanted[id]); err != nil {
			return err
		}
	}
	return nil
}

func (w *window) mergeSection(b []byte, m *Metric) error {
	switch m.Kind {
	case Distribution:
		return w.values[m.at].MergeBinary(b)
	case Rate:
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return errDamaged
		}
		w.count(m.at, int64(min(v, maxCount))) // earlier versions wrote larger ones
	case Level:
		v, n := binary.Uvarint(b)
		if n <= 0 || v > maxCount || len(b) != n+16 {
			return errDamaged
		}
		float := func(at int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[at:])) }
		w.levels[m.at].join(level{int64(v), float(n), float(n + 8)})
	case Classes:
		for len(b) > 0 {
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return errDamaged
			}
			class := bench.Class(b[n : n+int(size)])
			count, m := binary.Uvarint(b[n+int(size):])
			if m <= 0 || count > maxCount {
				return errDamaged
			}
			w.fail(class, int64(count))
			b = b[n+int(size)+m:]
		}
	}
	return nil
}
