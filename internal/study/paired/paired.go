// Package paired decides which of two servers is faster from requests that both got: each pair is one request to A
// and the same one to B, at the same time or soon after. The unit of replication is a block of time, and the answer may
// be looked at after each block, see [stat.Anytime]. Its functions perform no I/O and start no goroutine; package study
// performs the runs.
package paired

import (
	"maps"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/stat"
)

// Side is one of the two servers.
type Side int

// The sides. A is the reference.
const (
	A Side = iota
	B
)

// String returns the name of the side.
func (s Side) String() string { return [...]string{"A", "B"}[s] }

// Other returns the other side.
func (s Side) Other() Side { return 1 - s }

// Latency is a latency that pairs are compared by.
type Latency int

// The latencies, in the order of [Sample.Values].
const (
	FirstToken Latency = iota
	InterToken
	Whole
	latencies
)

// errorShare is the place of the share of failed requests among the metrics, behind the latencies.
const errorShare = int(latencies)

// tags are the metrics by their names in the catalogue.
var tags = [...]string{"time_to_first_token", "inter_token_latency", "request_latency", "request_error_rate"}

// Tags returns the metrics that pairs are compared by, those of streams last if there are none.
func Tags(streaming bool) []string {
	if !streaming {
		return slices.Clone(tags[Whole:])
	}
	return slices.Clone(tags[:])
}

// Sample is what one side made of a request.
type Sample struct {
	Session int64         // both sides number the same request alike
	Name    string        // of the conversation; both sides draw the same one
	Due     time.Duration // since the start of the phase; not negative
	Lag     time.Duration // between when it was due and its first byte
	Failed  bool
	Values  [latencies]float64 // ms; NaN = not measured
	Input   float64            // tokens; NaN = unknown
	Output  float64            // likewise
}

// Rules define an experiment.
type Rules struct {
	Block   time.Duration // least length of a block; > 0
	Margin  float64       // share by which a latency may change and still be called equal; > 0
	Metrics []string      // that are judged together, of [Tags]; not empty
	// First returns the side that a pair was sent to first.
	First func(session int64) Side
	// Turn returns the number of the turn of a pair, if the sides take turns: a block has whole turns of both. Turns do
	// not decrease with the session. nil = the sides do not take turns, and blocks are cut by the time of A.
	Turn func(session int64) int64
}

// The limits of the method.
const (
	level        = 0.95
	leastPairs   = 20   // in a block
	errorMargin  = 0.01 // share of requests by which errors may differ and still be called equal
	orderLimit   = 3    // of t of the effect of the order
	orderShare   = 0.3  // of the margin: a smaller effect of the order, half of which is in either side, changes no verdict
	lagTolerance = time.Millisecond
	lengthLimit  = 0.01 // share by which the mean lengths of both sides may differ
)

// Course follows the pairs of an experiment. Make one with [New]. It is not safe for concurrent use.
type Course struct {
	rules Rules
	// waiting has, by session, what has come of pairs whose blocks are open.
	waiting map[int64]*pair
	next    int64 // the first session that belongs to no block that is closed
	started bool  // next is known

	open           blockSums     // of the block that is being filled, by whole basic blocks
	offset         time.Duration // load of earlier processes, after which the times of pairs count
	rows           []Pair        // of the pairs of closed blocks that were not fetched yet
	blocks         []Block
	series         []*stat.Anytime // by Rules.Metrics
	order          [2][len(tags)]moments
	won            [latencies]float64 // pairs in which B was faster; half of those in which both were as fast
	both           [latencies]float64 // pairs with a value of both sides
	lag            [2]moments
	input          [2]moments
	output         [2]moments
	failed         [2]int64
	pairs          int64
	closed         int64 // pairs of closed blocks
	alone, settled bool  // a pair failed on one side alone; likewise, of closed blocks
	unlike         int64 // pairs whose sides were not the same conversation
}

// pair is what is known of the two sides of a request.
type pair struct {
	sides [2]Sample
	has   [2]bool
}

// Pair is a request that both sides have answered.
type Pair struct {
	Block int // from 0; -1 = it belongs to none that is complete
	First Side
	Sides [2]Sample // due since the start of the experiment, without the time between processes
}

// Block is a block of time that is complete.
type Block struct {
	From, To time.Duration // since the start
	Pairs    int
	// Difference is by metric of [Tags]: the mean of ln(B/A) of a latency, the difference of the shares of failed
	// requests; NaN = there is none.
	Difference [len(tags)]float64
	// SoFar is what this block and those before it say of each metric of the rules.
	SoFar []Running
	// Level is by side the mean of the logarithm of each latency in ms.
	Level [2][latencies]float64
}

// Running is the change of a metric after a block, with the interval that held then, in percent or in points.
type Running struct {
	Tag       string
	Change    float64
	Low, High *float64 // nil before [stat.FirstLook] blocks
}

// Change returns the change of a metric in percent, or in points; ok is false without pairs that have it.
func (b *Block) Change(tag string) (v float64, ok bool) {
	at := slices.Index(tags[:], tag)
	v = shown(at, b.Difference[at])
	return v, !math.IsNaN(v)
}

// shown returns a difference of a metric of [tags] in percent, or in points.
func shown(at int, difference float64) float64 {
	if at < errorShare {
		return 100 * math.Expm1(difference)
	}
	return 100 * difference
}

// moments are the sums of values.
type moments struct{ n, sum, square float64 }

func (m *moments) add(x float64) {
	if math.IsNaN(x) {
		return
	}
	m.n++
	m.sum += x
	m.square += x * x
}

// mean returns the mean; NaN without values.
func (m *moments) mean() float64 { return m.sum / m.n }

// errorOfMean returns the variance of the mean; NaN with fewer than two values.
func (m *moments) errorOfMean() float64 {
	mean := m.mean()
	return max(0, m.square-m.n*mean*mean) / (m.n - 1) / m.n
}

// blockSums are the sums of a block that is being filled.
type blockSums struct {
	pairs      []Pair
	difference [len(tags)]moments
	level      [2][latencies]moments
	from       time.Duration
	last       int64 // the basic block, or turn, of the last pair
	begun      bool
}

// New returns an experiment without pairs.
func New(r Rules) *Course {
	c := &Course{rules: r, waiting: make(map[int64]*pair)}
	for _, tag := range r.Metrics {
		alpha := (1 - level) / float64(len(r.Metrics))
		if tag == tags[errorShare] {
			alpha /= 2 // the other half is for its bound, see [stat.Anytime.RareInterval]
		}
		c.series = append(c.series, stat.NewAnytime(alpha))
	}
	return c
}

// interval returns the interval of a metric of the rules; ok is false if there is none yet.
func (c *Course) interval(i int) (low, high float64, ok bool) {
	if c.rules.Metrics[i] == tags[errorShare] {
		return c.series[i].RareInterval(c.closed, c.settled)
	}
	return c.series[i].Interval()
}

// Begin says which session is the first one of the phase that is compared; earlier ones are not pairs.
func (c *Course) Begin(session int64) { c.next, c.started = session, true }

// Add adds what a side made of a request. A request is added once.
func (c *Course) Add(side Side, s Sample) {
	if c.started && s.Session < c.next {
		return
	}
	p := c.waiting[s.Session]
	if p == nil {
		p = new(pair)
		c.waiting[s.Session] = p
	}
	p.sides[side], p.has[side] = s, true
}

// Restore adds the blocks that an earlier process has closed, with their pairs in order, and says for how long it
// loaded the servers in all. What comes after it is due from then on.
func (c *Course) Restore(spans []Span, pairs []Pair, load time.Duration) {
	for k, span := range spans {
		c.open = blockSums{begun: true, from: span.From}
		for len(pairs) > 0 && pairs[0].Block == k {
			c.take(&pairs[0])
			pairs = pairs[1:]
		}
		c.finishBlock(span.To)
	}
	c.rows, c.open = nil, blockSums{}
	c.offset = load
}

// Span is when a block began and ended.
type Span struct{ From, To time.Duration }

// Rows returns the pairs of the blocks that were closed since the last call, in order.
func (c *Course) Rows() []Pair {
	out := c.rows
	c.rows = nil
	return out
}

// Rest returns the pairs that belong to no block, in order: those of the block that is open, and those behind it.
func (c *Course) Rest() []Pair {
	out := slices.Clone(c.open.pairs)
	for _, session := range slices.Sorted(maps.Keys(c.waiting)) {
		if p := c.waiting[session]; p.has[A] && p.has[B] {
			out = append(out, c.paired(p))
		}
	}
	for i := range out {
		out[i].Block = -1
	}
	return out
}

// paired returns a pair that is complete, with its times since the start of the experiment.
func (c *Course) paired(p *pair) Pair {
	out := Pair{Block: len(c.blocks), First: c.rules.First(p.sides[A].Session), Sides: p.sides}
	for side := range out.Sides {
		out.Sides[side].Due += c.offset
	}
	return out
}

// Advance closes the blocks of which everything is known, in their order, and reports whether there was one. A block
// is known once every request of it, and one of a later block, has ended on both sides: which pairs are in a block
// does not depend on how long they took.
func (c *Course) Advance() (closed bool) {
	for {
		p := c.waiting[c.next]
		if p == nil || !p.has[A] || !p.has[B] {
			return closed
		}
		at, start := c.place(p)
		if c.open.begun && at > c.open.last && c.finishBlock(start) {
			closed = true
		}
		if !c.open.begun {
			c.open = blockSums{begun: true, from: start}
		}
		c.open.last = at
		c.take(new(c.paired(p)))
		delete(c.waiting, c.next)
		c.next++
	}
}

// place returns the basic block of a pair, or its turn, and when that began if the pair is the first one of it.
func (c *Course) place(p *pair) (at int64, start time.Duration) {
	if c.rules.Turn != nil {
		return c.rules.Turn(p.sides[A].Session), c.offset + min(p.sides[A].Due, p.sides[B].Due)
	}
	at = int64(p.sides[A].Due / c.rules.Block)
	return at, c.offset + time.Duration(at)*c.rules.Block
}

// finishBlock closes the open block at the start of another one, unless it has too few pairs: then that one is a part
// of it.
func (c *Course) finishBlock(to time.Duration) bool {
	if len(c.open.pairs) < leastPairs {
		return false
	}
	b := Block{From: c.open.from, To: to, Pairs: len(c.open.pairs)}
	c.rows = append(c.rows, c.open.pairs...)
	for i := range b.Difference {
		b.Difference[i] = c.open.difference[i].mean()
		if c.rules.Turn != nil { // pairs of a turn were all sent to the same side first, and are alike
			c.order[c.open.pairs[0].First][i].add(b.Difference[i])
		}
	}
	for side := range b.Level {
		for i := range b.Level[side] {
			b.Level[side][i] = c.open.level[side][i].mean()
		}
	}
	c.closed += int64(b.Pairs)
	c.settled = c.alone
	for i, tag := range c.rules.Metrics {
		at, series := slices.Index(tags[:], tag), c.series[i]
		if x := b.Difference[at]; !math.IsNaN(x) {
			series.Add(x)
		}
		if series.Count() == 0 {
			continue
		}
		soFar := Running{Tag: tag, Change: shown(at, series.Mean())}
		if low, high, ok := c.interval(i); ok {
			soFar.Low, soFar.High = new(shown(at, low)), new(shown(at, high))
		}
		b.SoFar = append(b.SoFar, soFar)
	}
	c.blocks = append(c.blocks, b)
	c.open = blockSums{}
	return true
}

// take adds a pair to the open block.
func (c *Course) take(p *Pair) {
	a, b, first := &p.Sides[A], &p.Sides[B], p.First
	c.pairs++
	c.open.pairs = append(c.open.pairs, *p)
	if a.Name != b.Name {
		c.unlike++
	}
	for side := range p.Sides {
		s := &p.Sides[side]
		c.lag[side].add(float64(s.Lag))
		c.input[side].add(s.Input)
		if s.Failed {
			c.failed[side]++
		}
	}
	errors := truth(b.Failed) - truth(a.Failed)
	c.alone = c.alone || errors != 0
	c.open.difference[errorShare].add(errors)
	if c.rules.Turn == nil {
		c.order[first][errorShare].add(errors)
	}
	if a.Failed || b.Failed {
		return
	}
	c.output[A].add(a.Output)
	c.output[B].add(b.Output)
	for i := range latencies {
		x, y := a.Values[i], b.Values[i]
		if !(x > 0 && y > 0) {
			continue
		}
		ratio := math.Log(y / x)
		c.open.difference[i].add(ratio)
		if c.rules.Turn == nil {
			c.order[first][i].add(ratio)
		}
		c.open.level[A][i].add(math.Log(x))
		c.open.level[B][i].add(math.Log(y))
		c.both[i]++
		switch {
		case y < x:
			c.won[i]++
		case y == x:
			c.won[i] += 0.5
		}
	}
}

// truth returns 1 if something is so, and 0 otherwise.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Blocks returns the blocks that are complete.
func (c *Course) Blocks() []Block { return c.blocks }

// Pairs returns how many pairs are in blocks, or in the one that is being filled.
func (c *Course) Pairs() int64 { return c.pairs }

// Silent returns a side of which not one request of many succeeded; ok is false if there is none.
func (c *Course) Silent() (side Side, ok bool) {
	for _, side := range []Side{A, B} {
		if c.pairs >= 2*leastPairs && c.failed[side] == c.pairs {
			return side, true
		}
	}
	return 0, false
}

// Decided reports whether more blocks are not needed: a metric is worse, or all are decided.
func (c *Course) Decided() bool {
	all := true
	for i := range c.rules.Metrics {
		switch c.judge(i) {
		case Worse:
			return true
		case Inconclusive:
			all = false
		case Better, Equivalent, Invalid:
		}
	}
	return all
}
