package paired

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/stat"
	"aiperfd/internal/view"
)

// Verdict is what the pairs say of B.
type Verdict string

// The verdicts.
const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	Equivalent   Verdict = "equivalent"   // surely within the margin
	Inconclusive Verdict = "inconclusive" // the blocks allow several of these
	Invalid      Verdict = "invalid"      // something other than the servers may have decided
)

// Metric is what the pairs say of one metric.
type Metric struct {
	Tag     string
	Verdict Verdict
	// Points is whether changes are differences of shares in percentage points, in place of changes in percent.
	Points bool
	Blocks int // with pairs that have the metric
	// Change is that of B in percent or in points; nil = there is none.
	Change *float64
	// Low and High are the interval that holds at every look; nil before [stat.FirstLook] blocks.
	Low, High *float64
	Margin    float64 // in percent or in points
	// Detectable is the change that would be found in 80 % of cases with as many blocks; nil like Low, and while all
	// blocks are alike.
	Detectable *float64
	Won        *float64    // share of the pairs in which B was better; nil for a share of errors
	Order      *float64    // of pairs that A got first less those that B got first, in percent or points
	OrderT     float64     // t of Order
	Drift      [2]*float64 // of each side from the first to the last block, in percent
	Needs      float64     // blocks that would decide it if the change stays as it is; 0 = it is decided, or unknown
}

// unlikePairs is the code of the doubt that A and B did not get the same prompts.
const unlikePairs = "unlike-pairs"

// Doubt is a reason to trust an answer less.
type Doubt struct{ Code, Message string }

// Answer is what the pairs say. It is meaningful at every time.
type Answer struct {
	Verdict Verdict
	Metrics []Metric // in the order of the rules
	Pairs   int64
	Failed  [2]int64         // of the pairs, by side
	Lag     [2]time.Duration // mean time between when a request was due and its first byte
	Blocks  []Block
	Doubts  []Doubt
}

// Answer returns what the blocks say so far. distorted is why the load generator may have decided; empty = it did
// not.
func (c *Course) Answer(distorted string) Answer {
	a := Answer{Pairs: c.pairs, Failed: c.failed, Blocks: c.blocks}
	for side := range a.Lag {
		if c.lag[side].n > 0 {
			a.Lag[side] = time.Duration(c.lag[side].mean())
		}
	}
	for i := range c.rules.Metrics {
		a.Metrics = append(a.Metrics, c.metric(i))
	}
	a.Doubts = c.doubts(&a)
	a.Verdict = overall(a.Metrics)
	if distorted != "" {
		a.Doubts = append(a.Doubts, Doubt{"client", "the load generator itself may have decided: " + distorted})
	}
	if distorted != "" || c.unlike > 0 {
		a.Verdict = Invalid
	}
	return a
}

// overall returns the worst verdict.
func overall(metrics []Metric) Verdict {
	for _, v := range []Verdict{Worse, Inconclusive, Better, Equivalent} {
		if slices.ContainsFunc(metrics, func(m Metric) bool { return m.Verdict == v }) {
			return v
		}
	}
	return Inconclusive
}

// judge returns the verdict on a metric of the rules.
func (c *Course) judge(i int) Verdict {
	low, high, ok := c.interval(i)
	if !ok {
		return Inconclusive
	}
	switch stat.Decide(low, high, c.margin(i)) {
	case stat.Above:
		return Worse
	case stat.Below:
		return Better
	case stat.Within:
		return Equivalent
	case stat.Undecided:
	}
	return Inconclusive
}

// margin returns the margin of a metric on the scale of its blocks.
func (c *Course) margin(i int) float64 {
	if c.rules.Metrics[i] == tags[errorShare] {
		return errorMargin
	}
	return math.Log1p(c.rules.Margin)
}

// metric returns what the blocks say of a metric of the rules.
func (c *Course) metric(i int) Metric {
	at := slices.Index(tags[:], c.rules.Metrics[i])
	series := c.series[i]
	m := Metric{
		Tag: tags[at], Verdict: c.judge(i), Points: at == errorShare, Blocks: series.Count(), Margin: 100 * c.rules.Margin,
	}
	if m.Points {
		m.Margin = 100 * errorMargin
	}
	if series.Count() == 0 {
		return m
	}
	m.Change = new(shown(at, series.Mean()))
	if low, high, ok := c.interval(i); ok {
		m.Low, m.High = new(shown(at, low)), new(shown(at, high))
		half := (high - low) / 2
		if spread := series.StandardError(); spread > 0 {
			m.Detectable = new(shown(at, half+stat.Student(0.8, float64(series.Count()-1))*spread))
		}
		if m.Verdict == Inconclusive {
			m.Needs = needed(series.Count(), series.Mean(), half, c.margin(i))
		}
	}
	if at < errorShare && c.both[at] > 0 {
		m.Won = new(c.won[at] / c.both[at])
		for side := range m.Drift {
			m.Drift[side] = c.drift(Side(side), Latency(at))
		}
	}
	left, right := &c.order[A][at], &c.order[B][at]
	if spread := math.Sqrt(left.errorOfMean() + right.errorOfMean()); spread > 0 {
		m.Order = new(shown(at, left.mean()-right.mean()))
		m.OrderT = (left.mean() - right.mean()) / spread
	}
	return m
}

// needed returns how many blocks would decide a metric if its mean stays: the width of the interval shrinks with the
// root of their number.
func needed(blocks int, mean, half, margin float64) float64 {
	widest := max(math.Abs(mean), margin-math.Abs(mean)) // below it the interval excludes 0, or lies within the margin
	return math.Ceil(float64(blocks) * (half / widest) * (half / widest))
}

// drift returns the change of a side from the first to the last block in percent, by the line of least squares; nil
// with fewer than three blocks.
func (c *Course) drift(side Side, of Latency) *float64 {
	var n, x, y, xx, xy float64
	for i := range c.blocks {
		v := c.blocks[i].Level[side][of]
		if math.IsNaN(v) {
			continue
		}
		at := float64(i)
		n, x, y, xx, xy = n+1, x+at, y+v, xx+at*at, xy+at*v
	}
	spread := n*xx - x*x
	if n < 3 || spread <= 0 {
		return nil
	}
	slope := (n*xy - x*y) / spread
	return new(100 * math.Expm1(slope*float64(len(c.blocks)-1)))
}

// doubts returns the reasons to trust the answer less.
func (c *Course) doubts(a *Answer) (out []Doubt) {
	add := func(code, format string, args ...any) { out = append(out, Doubt{code, fmt.Sprintf(format, args...)}) }
	if c.unlike > 0 {
		add(unlikePairs, "in %d of %d pairs A and B did not get the same prompt, so that they are no pairs", c.unlike, c.pairs)
	}
	for i := range a.Metrics {
		m := &a.Metrics[i]
		if m.Order != nil && math.Abs(m.OrderT) > orderLimit && math.Abs(*m.Order) > orderShare*m.Margin {
			code, text := "order", "%s depends on which side got a request first, by %s: the servers share something, or the "+
				"load generator is late for the second one"
			if c.rules.Turn != nil {
				if len(c.blocks) < stat.FirstLook {
					continue // their few turns differ by chance
				}
				code, text = "carry-over", "%s depends on which side had the first turn, by %s: the first turn leaves something "+
					"to the second one, such as prompts in a cache, or the server changes quickly"
			}
			add(code, text, m.Tag, m.amount(math.Abs(*m.Order)))
		}
	}
	if d := a.Lag[B] - a.Lag[A]; d > lagTolerance || d < -lagTolerance {
		late := A
		if d > 0 {
			late = B
		}
		add("send-lag", "requests to %s left the load generator %.2g ms later after they were due than those to %s",
			late, math.Abs(d.Seconds()*1000), late.Other())
	}
	for _, length := range []struct {
		code, text string
		of         *[2]moments
	}{
		{"input-differs", "prompts", &c.input},
		{"output-differs", "answers, so that the times of whole requests are not comparable", &c.output},
	} {
		x, y := length.of[A].mean(), length.of[B].mean()
		if x > 0 && math.Abs(y/x-1) > lengthLimit {
			add(length.code, "B counts %+.1f %% tokens in its %s", 100*(y/x-1), length.text)
		}
	}
	if long := c.longest(); long > c.rules.Block && len(c.blocks) > 0 && c.rules.Turn == nil {
		add("short-block", "a request takes %s on average and a block %s: neighbouring blocks share requests",
			long.Round(time.Millisecond), c.rules.Block)
	}
	return out
}

// longest returns the mean time of a request of the slower side.
func (c *Course) longest() time.Duration {
	var out time.Duration
	for side := range 2 {
		var level moments
		for i := range c.blocks {
			level.add(c.blocks[i].Level[side][Whole])
		}
		if level.n > 0 {
			out = max(out, time.Duration(math.Exp(level.mean())*float64(time.Millisecond)))
		}
	}
	return out
}

// amount writes a change that is not negative, in the unit of the metric.
func (m *Metric) amount(v float64) string {
	if m.Points {
		return fmt.Sprintf("%s points", figure(v))
	}
	return fmt.Sprintf("%s %%", figure(v))
}

// figure writes a number with two digits, or all before the point.
func figure(v float64) string { return strconv.FormatFloat(v, 'f', decimals(v), 64) }

// decimals returns how many decimals a number has in a sentence.
func decimals(v float64) int {
	switch {
	case math.Abs(v) >= 10:
		return 0
	case math.Abs(v) >= 0.095:
		return 1
	}
	return 2
}

// names are the metrics in words, in the order of [Tags].
var names = [...]string{"time to first token", "inter-token latency", "request latency", "error rate"}

// Name returns the metric in words.
func (m *Metric) Name() string { return names[slices.Index(tags[:], m.Tag)] }

// Interval writes the change with its interval: -4.1 % (-5.0 to -3.2 %). A narrow interval has one decimal more.
func (m *Metric) Interval() string {
	unit := " %"
	if m.Points {
		unit = " points"
	}
	switch {
	case m.Change == nil:
		return "not measured"
	case m.Low == nil:
		return signed(*m.Change) + unit
	}
	write := signed
	if figure(*m.Low) == figure(*m.High) {
		write = func(v float64) string { return signedText(v, strconv.FormatFloat(v, 'f', decimals(v)+1, 64)) }
	}
	return fmt.Sprintf("%s%s (%s to %s%s)", write(*m.Change), unit, write(*m.Low), write(*m.High), unit)
}

// signed writes a number with its sign.
func signed(v float64) string { return signedText(v, figure(v)) }

func signedText(v float64, text string) string {
	if v > 0 {
		return "+" + text
	}
	return text
}

// Headline returns the answer in one sentence.
func (a *Answer) Headline() string {
	of := func(v Verdict) string {
		var list []string
		for i := range a.Metrics {
			if m := &a.Metrics[i]; m.Verdict == v {
				list = append(list, m.Name()+" "+m.Interval())
			}
		}
		return strings.Join(list, ", ")
	}
	switch a.Verdict {
	case Better:
		return "B is better than A: " + of(Better)
	case Worse:
		return "B is worse than A: " + of(Worse)
	case Equivalent:
		return "B is as good as A: every change is surely within its margin"
	case Invalid:
		if slices.ContainsFunc(a.Doubts, func(d Doubt) bool { return d.Code == unlikePairs }) {
			return "No answer: A and B did not get the same prompts"
		}
		return "No answer: the load generator itself may have made the differences, not the servers"
	case Inconclusive:
	}
	if better := of(Better); better != "" {
		return "Not decided as a whole; B is better in " + better
	}
	return "Not decided: A and B may be equal, or one of them better"
}

// Decide says what would decide the open metrics; empty = all are decided. span is how long the measured blocks took.
func (c *Course) Decide(a *Answer) string {
	if a.Verdict == Invalid {
		if c.unlike > 0 {
			return "give both sides the same dataset and the same tokenizer"
		}
		return "give the load generator a machine or cores of its own"
	}
	if a.Verdict != Inconclusive {
		return ""
	}
	var most float64
	var open string
	for i := range a.Metrics {
		m := &a.Metrics[i]
		switch {
		case m.Verdict != Inconclusive:
		case m.Blocks == 0 && len(a.Blocks) > 0:
			return "requests that succeed on both sides: no pair has a " + m.Name()
		case m.Blocks < stat.FirstLook:
			most, open = max(most, stat.FirstLook), m.Name()
		case m.Needs > most:
			most, open = m.Needs, m.Name()
		}
	}
	if most == 0 {
		return ""
	}
	text := fmt.Sprintf("about %s in all, if the change of %s stays as it is", view.Plural(int64(most), "block"), open)
	if len(a.Blocks) < stat.FirstLook {
		text = fmt.Sprintf("%d blocks, before which there is no interval", stat.FirstLook)
	}
	if n := len(a.Blocks); n > 0 {
		each := a.Blocks[n-1].To / time.Duration(n)
		minutes := max(1, int64((time.Duration(most)*each).Round(time.Minute)/time.Minute))
		text += fmt.Sprintf("; at this load they take about %s (--budget)", view.Plural(minutes, "minute"))
	}
	return text
}
