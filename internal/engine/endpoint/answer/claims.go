package answer

import "aiperfd/internal/engine/bench"

// The bounds of what a server may claim about its response. They are far above what
// models and servers can do, so that only wrong counts exceed them: memory, time and
// files depend on what a server sends, not on what it claims.
const (
	// MaxTokens bounds a count of tokens of one request: ten times the longest context
	// that any model has been announced with. Sums over a run of a billion requests fit
	// an int64.
	MaxTokens = 1_000_000_000
	// tokensPerEvent and tokensPerByte bound the tokens of the content events of a stream
	// after the first one, all together: of each, so many, and so many for each byte of
	// its content, and never more than [bench.MaxEventTokens]. An event can bring several
	// tokens, and tokens that are not visible. The first one can bring a whole chain of
	// thought that the server hides.
	tokensPerEvent = 1024
	tokensPerByte  = 16
)

// boundClaims drops the counts of tokens that no response of this kind can have, with one
// warning each, so that the response is treated as one whose server did not count.
func (b *Builder) boundClaims() {
	impossible := false
	for _, c := range b.Usage.counts() {
		if c.N > MaxTokens {
			*c = Count{}
			b.Warn(WarnImpossibleCount)
			impossible = impossible || c == &b.Usage.Output
		}
	}
	if s := b.speculation.found; max(s.Steps, s.Drafted) > MaxTokens {
		b.speculation = speculation{}
		b.Warn(WarnImpossibleCount)
	}
	a := &b.Answer
	if impossible || !plausibleEvents(a.Chunks, a.TailTokens) {
		for i := range a.Chunks {
			a.Chunks[i].Tokens = 0
		}
		a.TailTokens = 0
		if !impossible { // else the warning is there
			b.Warn(WarnImpossibleCount)
		}
	}
}

// plausibleEvents reports whether content events, and what followed them, can have brought
// the tokens that the server claims.
func plausibleEvents(chunks []bench.Chunk, tail bench.Tokens) bool {
	if len(chunks) == 0 {
		return tail <= MaxTokens
	}
	claimed, possible := int64(0), int64(0)
	for i := range chunks[1:] {
		c := &chunks[1+i]
		claimed += int64(c.Tokens)
		possible += tokensPerEvent + tokensPerByte*int64(c.Bytes)
	}
	return claimed <= min(possible, bench.MaxEventTokens) && int64(chunks[0].Tokens) <= MaxTokens && tail <= MaxTokens
}
