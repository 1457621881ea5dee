package catalogue

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// requested is the requested output length.
func requested(v *View) float64 { return positive(float64(v.Record.Content.RequestedTokens)) }

// oslMismatched reports whether the output length is off the requested one by
// more than 5 % or 50 tokens, whichever is less.
func oslMismatched(v *View) bool {
	want := requested(v)
	return math.Abs(v.OSL-want) > min(0.05*want, 50)
}

// relativeDiff is the distance of a count from the own one in percent.
func relativeDiff(server *bench.Tokens, own float64) float64 {
	return 100 * math.Abs(count(server)-own) / positive(own)
}

// promptDiff compares the two counts of the prompt.
func promptDiff(v *View) float64 {
	return relativeDiff(v.Usage.Input, v.clientCount(v.Record.ClientInput, v.ISL))
}

// completionDiff compares the two counts of the output.
func completionDiff(v *View) float64 { return relativeDiff(v.Usage.Output, v.clientOSL()) }

// reasoningDiff compares the two counts of the reasoning.
func reasoningDiff(v *View) float64 {
	return relativeDiff(v.Usage.Reasoning, v.clientCount(v.Record.ClientReasoning, v.Think))
}

// compare reports whether there are two counts of anything, and whether one pair
// is more than 10 % apart.
func compare(v *View) (compared, discrepant bool) {
	for _, d := range [3]float64{promptDiff(v), completionDiff(v), reasoningDiff(v)} {
		compared = compared || !math.IsNaN(d)
		discrepant = discrepant || d > 10
	}
	return compared, discrepant
}
