package catalogue

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// tokenRows count tokens, not content events, which can bring several.
func tokenRows() []Row {
	return []Row{
		record("inter_token_latency_delivered", streamedTokens, inMS, deliveredITL),
		list("inter_token_gap", streamedTokens, inMS, tokenGaps),
		record("token_deadline_lateness", streamedTokens|DeadlineOnly, inMS, lateness),
		record("time_to_token_2", streamedTokens, inMS, func(v *View) float64 { return v.timeToToken(2) }),
		record("time_to_token_10", streamedTokens, inMS, func(v *View) float64 { return v.timeToToken(10) }),
		record("time_to_token_50", streamedTokens, inMS, func(v *View) float64 { return v.timeToToken(50) }),
	}
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
