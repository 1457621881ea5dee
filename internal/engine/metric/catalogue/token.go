package catalogue

import (
	"fmt"
	"math"
	"time"

	"aiperfd/internal/engine/bench"
)

// Deadline is when each token of a response is due, from the start of the request on.
type Deadline struct {
	First time.Duration // of the first token; 0 = tokens have no deadlines
	Each  time.Duration // by which that of every further token is later
}

// nthTokens are the tokens that have a latency of their own.
var nthTokens = [...]int{2, 10, 50}

// tokenRows count tokens, not content events, which can bring several.
func tokenRows() []Row {
	rows := []Row{
		{
			Def: Def{
				Tag: "inter_token_latency_delivered", Better: Lower, Header: "Inter Token Latency as Delivered", Short: "Delivered ITL",
				Doc: "decode_duration / (OSL - tokens of the first content event): the time per token that was waited for.",
			},
			unit: inMS, Each: deliveredITL,
		},
		{
			Def: Def{
				Tag: "inter_token_gap", Better: Lower, Header: "Inter Token Gap", Short: "Token Gap",
				Doc: "Gap between two content events / tokens of the second one, once for each of these tokens. Only if the server reports the tokens of every event.",
			},
			unit: inMS, List: tokenGaps,
		},
		{
			Def: Def{
				Tag: "token_deadline_lateness", Better: Lower, Header: "Token Deadline Lateness", Short: "Lateness",
				Flags: DeadlineOnly,
				Doc:   "The largest difference between the time of a token and its deadline, over all tokens of a request; negative if all were early.",
			},
			unit: inMS, Each: lateness,
		},
	}
	for _, n := range nthTokens {
		rows = append(rows, Row{
			Def: Def{
				Tag: fmt.Sprintf("time_to_token_%d", n), Better: Lower, Header: fmt.Sprintf("Time to Token %d", n), Short: fmt.Sprintf("TT%dT", n),
				Doc: fmt.Sprintf("From the start of the request to the content event that brings token %d.", n),
			},
			unit: inMS, Each: func(v *View) float64 { return v.timeToToken(float64(n)) },
		})
	}
	for i := range rows {
		r := &rows[i]
		r.Origin, r.Flags = Ours, r.Flags|StreamingOnly|ProducesTokensOnly
		if r.Tag != "inter_token_gap" {
			r.Doc += " If the server does not report the tokens of every event, all events of a response count as equally large."
		}
	}
	return rows
}

// counted reports whether the server has reported the tokens of content events.
func (v *View) counted() bool {
	return v.Record.TokenSource == bench.TokensServer && !math.IsNaN(v.firstTokens())
}

// perEvent is the mean number of tokens of the content events; NaN if it is unknown.
func (v *View) perEvent() float64 {
	if !v.Streams || !v.Record.Paced() {
		return math.NaN()
	}
	return positive(v.OSL) / float64(len(v.Record.Answer.Chunks))
}

func deliveredITL(v *View) float64 {
	first := v.perEvent()
	if !math.IsNaN(first) && v.counted() {
		first = float64(v.Record.Answer.Chunks[0].Tokens)
	}
	return (v.Last - v.First) / positive(v.OSL-first)
}

// tokenGaps appends the gaps between tokens; none if there are more than a response can
// have, as in a record that was not decoded here.
func tokenGaps(v *View, dst []float64) []float64 {
	if v.Gaps == 0 || !v.counted() {
		return dst
	}
	chunks := v.Record.Answer.Chunks
	var all int64
	for i := range chunks[1:] {
		all += int64(chunks[1+i].Tokens)
	}
	if all > bench.MaxEventTokens {
		return dst
	}
	for i := 1; i < len(chunks); i++ {
		k := chunks[i].Tokens
		gap := float64(chunks[i].At-chunks[i-1].At) / float64(k)
		for range k {
			dst = append(dst, gap)
		}
	}
	return dst
}

// timeToToken is the time to the n-th token, from 1.
func (v *View) timeToToken(n float64) float64 {
	each, chunks := v.perEvent(), v.Record.Answer.Chunks
	if math.IsNaN(each) || n > v.OSL {
		return math.NaN()
	}
	if !v.counted() {
		i := max(1, int(min(math.Ceil(n/each-1e-9), float64(len(chunks)))))
		return v.afterStart(chunks[i-1].At)
	}
	var seen float64
	for i := range chunks {
		if seen += float64(chunks[i].Tokens); seen >= n {
			return v.afterStart(chunks[i].At)
		}
	}
	return math.NaN()
}

// lateness is how much later than its deadline the latest token arrived. Of the tokens
// of one event the first has the earliest deadline.
func lateness(v *View) float64 {
	each := v.perEvent()
	if math.IsNaN(each) {
		return math.NaN()
	}
	counted := v.counted()
	worst, seen := math.Inf(-1), 0.0
	for i := range v.Record.Answer.Chunks {
		c := &v.Record.Answer.Chunks[i]
		due := float64(v.Deadline.First) + seen*float64(v.Deadline.Each)
		worst = max(worst, v.afterStart(c.At)-due)
		if counted {
			seen += float64(c.Tokens)
		} else {
			seen += each
		}
	}
	return worst
}
