package catalogue

import (
	"math"
	"time"

	"aiperfd/internal/engine/bench"
)

// Outcome is how a record is counted.
type Outcome uint8

// The outcomes.
const (
	Success   Outcome = iota
	Failed            // ended by the server, the network or our own fault
	Cancelled         // ended by us on purpose
)

// outcomeOf classifies a record.
func outcomeOf(r *bench.Record) Outcome {
	switch {
	case r.OK():
		return Success
	case r.Cancelled():
		return Cancelled
	}
	return Failed
}

// Deadline is when each token of a response is due, from the start of the request on.
type Deadline struct {
	First time.Duration // of the first token; 0 = tokens have no deadlines
	Each  time.Duration // by which that of every further token is later
}

// View is a record with everything that several metrics need, computed once.
// Times are nanoseconds since the start of the request.
type View struct {
	Record  *bench.Record
	Outcome Outcome
	Usage   *bench.Usage // never nil
	Streams bool         // first content and gaps mean something
	// Deadline is that of the tokens, which the caller sets once.
	Deadline Deadline
	// SessionStart is the start of the first turn, if this is the last of several and all of
	// them succeeded; otherwise 0. The caller sets it after Load.
	SessionStart time.Duration

	First, Last, End     float64 // first and last content, end; NaN = did not happen
	ISL, OSL, Out, Think float64 // token counts; NaN = unknown

	Gaps     int     // between content events; 0 if any of them is negative
	MaxGap   float64 // longest of them
	SameRead int     // gaps whose two events came in one read
}

// noUsage stands for a response without a usage block. It is never changed.
var noUsage bench.Usage

// Load fills v from r, which must not change while v is used.
func (v *View) Load(r *bench.Record) {
	*v = View{Deadline: v.Deadline, Record: r, Outcome: outcomeOf(r), Usage: r.Answer.Usage, First: math.NaN(), Last: math.NaN()}
	if v.Usage == nil {
		v.Usage = &noUsage
	}
	v.End = since(r.Stamps.End, r.Stamps.Start)
	v.ISL, v.Out, v.Think = count(r.InputTokens), count(r.OutputTokens), count(r.ReasoningTokens)
	v.OSL = math.NaN()
	if n, ok := r.OSL(); ok {
		v.OSL = float64(n)
	}
	chunks := r.Answer.Chunks
	if len(chunks) == 0 || v.Outcome != Success {
		return
	}
	v.Last = float64(chunks[len(chunks)-1].At - r.Stamps.Start)
	v.Streams = r.Answer.Streamed
	if v.Streams {
		v.First = float64(chunks[0].At - r.Stamps.Start)
		if r.Paced() {
			v.loadGaps(chunks)
		}
	}
}

// loadGaps looks at the gaps between content events.
func (v *View) loadGaps(chunks []bench.Chunk) {
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
	v.Gaps, v.MaxGap, v.SameRead = len(chunks)-1, float64(longest), same
}

// Unfinished reports whether the end of the grace period cut the request.
func (v *View) Unfinished() bool {
	f := v.Record.Answer.Failure
	return f != nil && f.Class == bench.Cancelled && f.Code == bench.CutByGrace && v.Record.Stamps.Start != 0
}

// leastFirst returns when the first content of an unfinished request came, or its age if
// there was none.
func (v *View) leastFirst() float64 {
	if chunks := v.Record.Answer.Chunks; len(chunks) > 0 {
		return v.afterStart(chunks[0].At)
	}
	return v.End
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
func (v *View) afterStart(at time.Duration) float64 { return since(at, v.Record.Stamps.Start) }

// itl is the mean time between tokens after the first event. When the server
// said how many tokens the first event had brought, these are not counted as
// having been waited for.
func (v *View) itl() float64 {
	if !v.Streams || !(v.OSL >= 2) || !v.Record.Paced() {
		return math.NaN()
	}
	divisor := v.OSL - 1
	if v.Record.TokenSource == bench.TokensServer {
		if k := v.firstTokens(); k > 0 && k < v.OSL {
			divisor = v.OSL - k
		}
	}
	return (v.Last - v.First) / divisor
}

// firstTokens returns the tokens that had come with the first event that reports
// so; NaN if none does.
func (v *View) firstTokens() float64 {
	for i := range v.Record.Answer.Chunks {
		if t := v.Record.Answer.Chunks[i].Tokens; t > 0 {
			return float64(t)
		}
	}
	return math.NaN()
}

// clientCount returns the run's own count of something, regardless of who counted the
// record: own if both exist, otherwise the record's if the run counted it.
func (v *View) clientCount(own *bench.Tokens, recorded float64) float64 {
	switch {
	case own != nil:
		return float64(*own)
	case v.Record.TokenSource == bench.TokensClient:
		return recorded
	}
	return math.NaN()
}

// clientOSL is the run's own count of the output, reasoning included.
func (v *View) clientOSL() float64 {
	if v.Record.ClientOutput == nil && v.Record.ClientReasoning == nil {
		return v.clientCount(nil, v.OSL)
	}
	var n float64
	for _, t := range []*bench.Tokens{v.Record.ClientOutput, v.Record.ClientReasoning} {
		if t != nil {
			n += float64(*t)
		}
	}
	return n
}

// Wasted returns the tokens that came for a request that did not succeed: the
// counted ones if they were counted, else the server's, else one for each
// content event of unknown size.
func (v *View) Wasted() float64 {
	if !math.IsNaN(v.OSL) {
		return v.OSL
	}
	if n := count(v.Usage.Output); !math.IsNaN(n) {
		return n
	}
	n := float64(v.Record.Answer.LeftOut)
	for i := range v.Record.Answer.Chunks {
		n += float64(max(1, v.Record.Answer.Chunks[i].Tokens))
	}
	return n
}

// Failure returns why a record is an error. A record can be one without a
// failure attached, when it has no content or its content came in no time.
func (v *View) Failure() *bench.Failure {
	r := v.Record
	switch {
	case r.Answer.Failure != nil:
		return r.Answer.Failure
	case len(r.Answer.Chunks) == 0:
		return &bench.Failure{Class: bench.EmptyOutput, Step: bench.StepBody, Status: r.Status, Message: "no content"}
	}
	return &bench.Failure{
		Class: bench.ClientError, Step: bench.StepBody, Status: r.Status,
		Message: "last content is not after the start of the request",
	}
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

// count turns an optional token count into a value.
func count(t *bench.Tokens) float64 {
	if t == nil {
		return math.NaN()
	}
	return float64(*t)
}
