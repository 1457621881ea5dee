package series

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/regular"
)

// MaxPoints bounds the points of a result.
const MaxPoints = 2000

// Query selects a part of a series.
type Query struct {
	Metrics []Metric // of [Select]
	Step    int64    // seconds; 0 = the shortest of a few with which there are at most MaxPoints
	From    int64    // seconds since the start of the run; rounded down to a multiple of the step
	To      int64    // likewise, rounded up; 0 = the end

	points  int64 // at most; 0 = MaxPoints
	partial bool  // the last point may lack seconds
}

// Result is a part of a series. Point i covers the seconds from Times[i] to
// Times[i] + Step, the last one of a run that has ended to its end.
type Result struct {
	Start  time.Time // of the run; zero = it has no series
	Step   int64     // a multiple of that of the query if there would be too many points
	Next   int64     // where the part after this one begins
	Phases []Band
	Times  []int64
	// Values has for each metric of the query the values by their names, one for each
	// point; NaN = nothing was measured.
	Values []map[string][]float64
}

// extent is what is known of a series before it is read.
type extent struct {
	start  time.Time
	phases bands
	total  int64   // seconds whose windows are complete
	end    float64 // of the run in seconds; 0 = it has not ended
	late   int64   // an entry was made this many seconds after its window began, at most
}

// Read returns a part of the series of a run that has ended, from its folder. A run without
// a series has an empty one. Memory does not grow with the length of the run.
func Read(ctx context.Context, dir string, q Query) (*Result, error) {
	return readFile(ctx, dir, func(x *extent) *points { return newPoints(x, q) })
}

// readFile reads the points that a function plans from the folder of a run.
func readFile(ctx context.Context, dir string, plan func(*extent) *points) (*Result, error) {
	file, err := regular.Open(filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return plan(&extent{}).finish(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read time series: %w", err)
	}
	defer file.Close()
	x, err := survey(ctx, file)
	if err != nil {
		return nil, err
	}
	p := plan(x)
	if err := p.read(ctx, io.NewSectionReader(file, int64(len(magic)), math.MaxInt64-int64(len(magic)))); err != nil {
		return nil, err
	}
	return p.finish(), nil
}

// survey reads a whole series for its extent.
func survey(ctx context.Context, file *os.File) (*extent, error) {
	w, x := newWalker(file), new(extent)
	if !w.begin() {
		return x, nil // torn by a crash, or of another version
	}
	for ctx.Err() == nil {
		e, content, err := w.next(func(*entry) bool { return true })
		switch {
		case errors.Is(err, io.EOF):
			x.conclude()
			return x, nil
		case err != nil:
			return nil, fmt.Errorf("read time series: %w", err)
		case e.window == ofBand:
			x.phases.decode(content)
		case e.window == ofStart && len(content) == 8:
			x.start = time.Unix(0, int64(binary.LittleEndian.Uint64(content))).UTC()
		case e.isWindow():
			x.total = max(x.total, int64(e.window)+1)
			x.late = max(x.late, int64(e.written)-int64(e.window))
		}
	}
	return nil, ctx.Err()
}

// conclude ends a run that has ended, also one whose process died in a phase.
func (x *extent) conclude() {
	x.end = x.phases.end()
	for i := range x.phases {
		if x.phases[i].End == nil {
			x.end = max(x.end, float64(x.total))
			x.phases[i].End = &x.end
		}
	}
	x.total = max(x.total, int64(math.Ceil(x.end)))
}

// Read returns a part of the series so far: the windows that will not change any more,
// unless a request is processed more than a second after its end. A part is whole points,
// so that parts which begin with the Next of the one before make up the series.
func (r *Recorder) Read(ctx context.Context, q Query) (*Result, error) {
	return r.read(ctx, func(x *extent) *points { return newPoints(x, q) })
}

// read reads the points that a function plans.
func (r *Recorder) read(ctx context.Context, plan func(*extent) *points) (*Result, error) {
	r.mu.Lock()
	s := &r.state
	if s.size == 0 { // not even the begin of the file is written
		r.mu.Unlock()
		return plan(&extent{}).finish(), nil
	}
	x := &extent{start: s.start, phases: slices.Clone(s.phases), total: s.closed, late: s.late}
	size := s.size
	var tail []byte // what is not in the file
	for i := range r.waiting {
		tail = append(tail, r.waiting[i].data...)
	}
	p := plan(x)
	offset := int64(len(magic))
	for i := range s.marks {
		if s.marks[i].written >= p.from {
			break
		}
		offset = max(offset, s.marks[i].offset)
	}
	r.mu.Unlock()
	file, err := regular.Open(r.opts.Path)
	if err != nil {
		return nil, fmt.Errorf("read time series: %w", err)
	}
	defer file.Close()
	if err := p.read(ctx, io.MultiReader(io.NewSectionReader(file, offset, size-offset), bytes.NewReader(tail))); err != nil {
		return nil, err
	}
	return p.finish(), nil
}

// points are the points of a result while it is made. Those that no later entry can change
// are computed at once, so that few are in memory.
type points struct {
	*extent
	result   Result
	metrics  []Metric
	wanted   []*Metric // by position; nil = not
	from, to int64
	open     map[int64]*window // by number
	done     int64             // points that are computed
	free     []*window
	// keep reports whether an entry is wanted; nil = all are.
	keep func(second int64, content []byte) bool
	// emit takes the window of the next point, which has a length in seconds. It must not
	// retain the window.
	emit func(w *window, length float64)
}

// newPoints plans the points of a query.
func newPoints(x *extent, q Query) *points {
	p := &points{extent: x, metrics: q.Metrics, open: map[int64]*window{}}
	p.to = x.total
	if q.To > 0 {
		p.to = min(p.to, q.To)
	}
	p.emit = p.appendPoint
	step := stepFor(q.Step, p.to-q.From, cmp.Or(q.points, MaxPoints))
	p.from = q.From / step * step
	if x.end > 0 || q.partial {
		p.to = min((p.to+step-1)/step*step, (x.total+step-1)/step*step)
	} else {
		p.to = p.to / step * step
	}
	p.to = max(p.to, p.from)
	p.result = Result{Start: x.start, Step: step, Next: p.to, Phases: append([]Band{}, x.phases...), Times: []int64{}}
	all := Metrics()
	p.wanted = make([]*Metric, len(all))
	for i := range p.metrics {
		m := &p.metrics[i]
		p.wanted[slices.IndexFunc(all, func(a Metric) bool { return a.Name == m.Name })] = m
		p.result.Values = append(p.result.Values, map[string][]float64{})
		for _, x := range p.values(m, new(window), 0) {
			p.result.Values[i][x.name] = []float64{}
		}
	}
	return p
}

// stepFor returns the step of a span of seconds with which it has so many points at most.
func stepFor(asked, span, most int64) int64 {
	if asked > 0 {
		return asked * max(1, (span+asked*most-1)/(asked*most))
	}
	for _, step := range [...]int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800} {
		if span <= step*most {
			return step
		}
	}
	const hour = 3600
	return hour * max(1, (span+hour*most-1)/(hour*most))
}

// read adds the entries of a file, without its head.
func (p *points) read(ctx context.Context, r io.Reader) error {
	w := newWalker(r)
	for {
		e, content, err := w.next(func(e *entry) bool {
			return e.isWindow() && int64(e.window) >= p.from && int64(e.window) < p.to
		})
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read time series: %w", err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if p.keep == nil || p.keep(int64(e.window), content) {
			// What cannot be decoded is left out, as entries with a wrong checksum are.
			_ = p.at((int64(e.window)-p.from)/p.result.Step).merge(content, p.wanted)
		}
		for final := int64(e.written) - p.late; p.from+(p.done+1)*p.result.Step <= final; { // no later entry is of a window before it
			p.compute()
		}
	}
}

// at returns the window of a point.
func (p *points) at(i int64) *window {
	w := p.open[i]
	if w != nil {
		return w
	}
	if n := len(p.free); n > 0 {
		w, p.free = p.free[n-1], p.free[:n-1]
	} else {
		w = new(window)
	}
	p.open[i] = w
	return w
}

// finish computes the points that are left.
func (p *points) finish() *Result {
	for p.from+p.done*p.result.Step < p.to {
		p.compute()
	}
	return &p.result
}

// compute computes the next point.
func (p *points) compute() {
	w := p.at(p.done)
	at := p.from + p.done*p.result.Step
	length := float64(p.result.Step)
	if p.end > 0 {
		length = min(length, p.end-float64(at))
	}
	p.emit(w, length)
	p.result.Times = append(p.result.Times, at)
	delete(p.open, p.done)
	w.reset()
	p.free = append(p.free, w)
	p.done++
}

// appendPoint appends the values of a point to the result.
func (p *points) appendPoint(w *window, length float64) {
	for i := range p.metrics {
		m, to := &p.metrics[i], p.result.Values[i]
		for _, x := range p.values(m, w, length) {
			to[x.name] = append(to[x.name], x.v)
		}
		if m.Kind == Classes {
			p.appendClasses(to, w)
		}
	}
}

// value is one of the values that a metric has for each point.
type value struct {
	name string
	v    float64
}

// values returns the values of a metric in a point of a length in seconds; those of classes depend
// on the run. A rate over less than half a step would be a matter of chance, and is left out.
func (p *points) values(m *Metric, w *window, length float64) []value {
	nan := math.NaN()
	switch m.Kind {
	case Distribution:
		s := &w.values[m.at]
		var q [4]float64
		s.Quantiles([]float64{0.5, 0.9, 0.95, 0.99}, q[:])
		return []value{
			{"count", float64(s.Count())}, {"avg", s.Mean() * m.scale},
			{"min", s.Min() * m.scale}, {"max", s.Max() * m.scale},
			{"p50", q[0] * m.scale}, {"p90", q[1] * m.scale}, {"p95", q[2] * m.scale}, {"p99", q[3] * m.scale},
		}
	case Rate:
		count, rate := nan, nan
		if w.seen[m.at] {
			count = float64(w.counts[m.at])
			if length >= float64(p.result.Step)/2 {
				rate = count / length
			}
		}
		return []value{{"count", count}, {"rate", rate}}
	case Level:
		l := &w.levels[m.at]
		if l.n == 0 {
			return []value{{"avg", nan}, {"max", nan}}
		}
		return []value{{"avg", l.sum / float64(l.n)}, {"max", l.max}}
	case Classes:
	}
	return nil
}

// appendClasses appends the errors of a point. A class begins with zeros when it first
// occurs.
func (p *points) appendClasses(to map[string][]float64, w *window) {
	for _, class := range bench.Classes() {
		n, name := w.errors[class], string(class)
		if n == 0 && to[name] == nil {
			continue
		}
		if to[name] == nil {
			to[name] = make([]float64, p.done)
		}
		to[name] = append(to[name], float64(n))
	}
}
