package timeline

import (
	"math"
	"time"
)

// Step is a change of the level at an instant. It is small because a run can have
// millions.
type Step struct {
	At    time.Duration
	Delta float64 // of the rate or of the tokens
	What  Change
}

// Change is the change of a step.
type Change uint8

// The changes.
const (
	RequestBegins Change = iota // delta is the share of the request per second, of a success
	RequestEnds
	PrefillBegins
	PrefillEnds
	DecodeBegins // delta is the even rate
	DecodeEnds
	GapBegins // delta is the rate by gaps
	GapEnds
	TokensChange
)

// quantity is a part of a level.
type quantity uint8

const (
	runningLevel     quantity = iota // requests
	prefillingLevel                  // requests
	decodingLevel                    // requests
	prefillRateLevel                 // tokens per second
	evenRateLevel                    // tokens per second, by the time from the first event to the end
	decodeRateLevel                  // tokens per second, by the gaps between content events
	tokensLevel
	servedLevel // shares of the successes in flight per second
	numLevels   // of a bin
	// gapsLevel are the gaps in which tokens are made. Bins do not count them.
	gapsLevel quantity = numLevels
)

// level is the state between two instants. Numbers of requests and of gaps are whole in an
// instant; in a bin they are means.
type level [numLevels + 1]float64

// changes are the quantities that a change counts up or down, and to which it adds its delta.
var changes = [...]struct {
	count quantity
	by    float64
	delta quantity
}{
	RequestBegins: {runningLevel, 1, servedLevel}, RequestEnds: {runningLevel, -1, servedLevel},
	PrefillBegins: {prefillingLevel, 1, prefillRateLevel}, PrefillEnds: {prefillingLevel, -1, prefillRateLevel},
	DecodeBegins: {decodingLevel, 1, evenRateLevel}, DecodeEnds: {decodingLevel, -1, evenRateLevel},
	GapBegins: {gapsLevel, 1, decodeRateLevel}, GapEnds: {gapsLevel, -1, decodeRateLevel},
	TokensChange: {gapsLevel, 0, tokensLevel},
}

// apply takes a step.
func (l *level) apply(s *Step) {
	c := &changes[s.What]
	l[c.count] += c.by
	l[c.delta] += s.Delta
}

// settle sets sums of which every term was taken back to exactly zero, since
// adding and subtracting fractions leaves a remainder. It is called when all
// steps of an instant are taken.
func (l *level) settle() {
	for _, c := range [...]struct{ sum, of quantity }{
		{servedLevel, runningLevel}, {decodeRateLevel, gapsLevel},
		{evenRateLevel, decodingLevel}, {prefillRateLevel, prefillingLevel},
	} {
		if l[c.of] == 0 {
			l[c.sum] = 0
		}
	}
	if l[prefillingLevel]+l[decodingLevel] == 0 {
		l[tokensLevel] = 0
	}
}

// maxSteps bounds the number of steps that a request makes.
func (r *Request) maxSteps() int64 { return 11 + 3*int64(r.Gaps) }

// Steps appends the changes that a request makes, in no particular order. gaps
// are its own; none = its tokens are taken to come evenly.
func (r *Request) Steps(dst []Step, gaps []float64) []Step {
	return r.inside(r.outline(dst), gaps)
}

// outline appends the changes at the start, the first content and the end.
func (r *Request) outline(dst []Step) []Step {
	share := 0.0
	if long := (r.End - r.Start).Seconds(); r.OK && long > 0 {
		share = 1 / long
	}
	dst = append(dst, Step{r.Start, share, RequestBegins}, Step{r.End, -share, RequestEnds})
	if r.First == 0 {
		return dst
	}
	isl, osl := orZero(r.ISL), orZero(r.OSL)
	var prefill float64
	if ttft := (r.First - r.Start).Seconds(); ttft > 0 {
		prefill = isl / ttft
	}
	even := r.even()
	return append(dst,
		Step{r.Start, isl, TokensChange}, Step{r.Start, prefill, PrefillBegins}, Step{r.First, -prefill, PrefillEnds},
		Step{r.First, even, DecodeBegins}, Step{r.End, -even, DecodeEnds}, Step{r.End, -isl - osl, TokensChange})
}

// even is the rate at which the tokens after the first would come evenly.
func (r *Request) even() float64 {
	if length := (r.End - r.First).Seconds(); length > 0 && r.OSL > 1 {
		return (r.OSL - 1) / length
	}
	return 0
}

// inside appends the changes between the first content and the end.
func (r *Request) inside(dst []Step, gaps []float64) []Step {
	switch osl := orZero(r.OSL); {
	case r.First == 0:
		return dst
	case len(gaps) > 0 && osl >= 1:
		return r.byGaps(dst, osl, gaps)
	default:
		even := r.even()
		return append(dst, Step{r.First, osl, TokensChange}, Step{r.First, even, GapBegins}, Step{r.End, -even, GapEnds})
	}
}

// byGaps gives each gap that took time the same share of the output, and each
// content event the same share of the tokens.
func (r *Request) byGaps(dst []Step, osl float64, gaps []float64) []Step {
	long := timed(gaps)
	dst = append(dst, Step{r.First, 1, TokensChange})
	each := (osl - 1) / float64(len(gaps))
	at := r.First
	for _, g := range gaps {
		if g > 0 {
			rate := (osl - 1) / float64(long) / (g / 1e9)
			dst = append(dst, Step{at, rate, GapBegins})
			at += time.Duration(g)
			dst = append(dst, Step{at, -rate, GapEnds})
		}
		dst = append(dst, Step{at, each, TokensChange})
	}
	return dst
}

// timed returns the number of gaps that took time.
func timed(gaps []float64) int {
	n := 0
	for _, g := range gaps {
		if g > 0 {
			n++
		}
	}
	return n
}

// orZero returns x, 0 if it is NaN.
func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}
