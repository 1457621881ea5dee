package catalogue

import "math"

// speculationRows are about speculative decoding, if the server reports it.
func speculationRows() []Row {
	return []Row{
		record("spec_decode_acceptance_length", LargerIsBetter, inRatio,
			func(v *View) float64 { s := speculation(v); return 1 + s.accepted/s.steps }),
		total("spec_decode_token_weighted_acceptance_length", LargerIsBetter, inRatio, func(t *Totals) float64 {
			return 1 + t.Sum(acceptedDrafts)/positive(t.Sum(speculationSteps))
		}),
		record("spec_decode_draft_acceptance_rate", LargerIsBetter, inPercent,
			func(v *View) float64 { s := speculation(v); return 100 * s.accepted / positive(s.drafted) }),
		total("spec_decode_overall_draft_acceptance_rate", LargerIsBetter, inPercent, func(t *Totals) float64 {
			return 100 * t.Sum(acceptedDrafts) / positive(t.Sum(drafts))
		}),
		record("spec_decode_accepted_per_verified", LargerIsBetter, inRatio,
			func(v *View) float64 { s := speculation(v); return (s.accepted + s.steps) / (s.drafted + s.steps) }),
		record(speculationSteps, 0, inCount, func(v *View) float64 { return speculation(v).steps }),
		record(acceptedDrafts, 0, inTokens, func(v *View) float64 { return speculation(v).accepted }),
		record(drafts, 0, inTokens, func(v *View) float64 { return speculation(v).drafted }),
		total("total_spec_decode_steps", 0, inCount, sumOf(speculationSteps)),
		total("total_accepted_draft_tokens", 0, inTokens, sumOf(acceptedDrafts)),
		total("total_draft_tokens", 0, inTokens, sumOf(drafts)),
	}
}

// The metrics that the others are computed from.
const (
	speculationSteps = "spec_decode_steps"
	acceptedDrafts   = "spec_decode_accepted_draft_tokens"
	drafts           = "spec_decode_draft_tokens"
)

// speculated is what speculative decoding did for one request; NaN = not reported.
type speculated struct{ steps, accepted, drafted float64 }

func speculation(v *View) speculated {
	s := v.Record.Answer.Speculation
	if s == nil {
		return speculated{math.NaN(), math.NaN(), math.NaN()}
	}
	return speculated{float64(s.Steps), float64(s.Accepted), float64(s.Drafted)}
}
