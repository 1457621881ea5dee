package metric

import (
	"math"
	"time"

	"aiperfd/internal/engine/bench"
)

// outcome is how a record is counted.
type outcome uint8

const (
	success   outcome = iota
	failure           // ended by the server, the network or our own fault
	cancelled         // ended by us on purpose
)

// outcomeOf classifies a record.
func outcomeOf(r *bench.Record) outcome {
	switch {
	case r.OK():
		return success
	case r.Cancelled():
		return cancelled
	}
	return failure
}

// view is a record with everything that several metrics need, computed once.
// Times are nanoseconds since the start of the request.
type view struct {
	r       *bench.Record
	outcome outcome
	usage   *bench.Usage // never nil
	streams bool         // first content and gaps mean something

	first, last, end     float64 // first and last content, end; NaN = did not happen
	isl, osl, out, think float64 // token counts; NaN = unknown

	gaps     int     // between content events; 0 if any of them is negative
	maxGap   float64 // longest of them
	sameRead int     // gaps whose two events came in one read
}

// noUsage stands for a response without a usage block. It is never changed.
var noUsage bench.Usage

// load fills v from r.
func (v *view) load(r *bench.Record) {
	*v = view{r: r, outcome: outcomeOf(r), usage: r.Answer.Usage, first: math.NaN(), last: math.NaN()}
	if v.usage == nil {
		v.usage = &noUsage
	}
	v.end = since(r.Stamps.End, r.Stamps.Start)
	v.isl, v.out, v.think = count(r.InputTokens), count(r.OutputTokens), count(r.ReasoningTokens)
	v.osl = math.NaN()
	if n, ok := r.OSL(); ok {
		v.osl = float64(n)
	}
	chunks := r.Answer.Chunks
	if len(chunks) == 0 || v.outcome != success {
		return
	}
	v.last = float64(chunks[len(chunks)-1].At - r.Stamps.Start)
	v.streams = r.Answer.Streamed
	if v.streams {
		v.first = float64(chunks[0].At - r.Stamps.Start)
		if r.Conn.Polls == 0 { // else gaps are those of polls
			v.loadGaps(chunks)
		}
	}
}

// loadGaps looks at the gaps between content events.
func (v *view) loadGaps(chunks []bench.Chunk) {
	var longest time.Duration
	same := 0
	last := &chunks[0]
	for i := 1; i < len(chunks); i++ {
		c := &chunks[i]
		gap := c.At - last.At
		if gap < 0 {
			return
		}
		longest = max(longest, gap)
		if c.Read == last.Read {
			same++
		}
		last = c
	}
	v.gaps, v.maxGap, v.sameRead = len(chunks)-1, float64(longest), same
}

// since returns to - from in nanoseconds; NaN if one of them did not happen.
func since(to, from time.Duration) float64 {
	if to == 0 || from == 0 {
		return math.NaN()
	}
	return float64(to - from)
}

// afterStart returns the time from the start to an instant; NaN if it did not
// happen.
func (v *view) afterStart(at time.Duration) float64 { return since(at, v.r.Stamps.Start) }

// itl is the mean time between tokens after the first event. When the server
// said how many tokens the first event had brought, these are not counted as
// having been waited for.
func (v *view) itl() float64 {
	if !v.streams || !(v.osl >= 2) || v.r.Conn.Polls > 0 {
		return math.NaN()
	}
	divisor := v.osl - 1
	if v.r.TokenSource == bench.TokensServer {
		if k := v.firstTokens(); k > 0 && k < v.osl {
			divisor = v.osl - k
		}
	}
	return (v.last - v.first) / divisor
}

// firstTokens returns the tokens that had come with the first event that reports
// so; NaN if none does.
func (v *view) firstTokens() float64 {
	for i := range v.r.Answer.Chunks {
		if t := v.r.Answer.Chunks[i].Tokens; t > 0 {
			return float64(t)
		}
	}
	return math.NaN()
}

// clientCount returns the run's own count of something, regardless of who counted the
// record: own if both exist, otherwise the record's if the run counted it.
func (v *view) clientCount(own *bench.Tokens, recorded float64) float64 {
	switch {
	case own != nil:
		return float64(*own)
	case v.r.TokenSource == bench.TokensClient:
		return recorded
	}
	return math.NaN()
}

// clientOSL is the run's own count of the output, reasoning included.
func (v *view) clientOSL() float64 {
	if v.r.ClientOutput == nil && v.r.ClientReasoning == nil {
		return v.clientCount(nil, v.osl)
	}
	var n float64
	for _, t := range []*bench.Tokens{v.r.ClientOutput, v.r.ClientReasoning} {
		if t != nil {
			n += float64(*t)
		}
	}
	return n
}

// wasted returns the tokens that came for a request that did not succeed: the
// counted ones if they were counted, else the server's, else one for each
// content event of unknown size.
func (v *view) wasted() float64 {
	if !math.IsNaN(v.osl) {
		return v.osl
	}
	if n := count(v.usage.Output); !math.IsNaN(n) {
		return n
	}
	var n float64
	for i := range v.r.Answer.Chunks {
		n += float64(max(1, v.r.Answer.Chunks[i].Tokens))
	}
	return n
}

// positive returns x, or NaN unless it is greater than zero.
func positive(x float64) float64 {
	if x > 0 {
		return x
	}
	return math.NaN()
}

// present returns x if the condition holds, else NaN.
func present(ok bool, x float64) float64 {
	if ok {
		return x
	}
	return math.NaN()
}
