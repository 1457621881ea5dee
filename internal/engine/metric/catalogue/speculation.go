package catalogue

import "math"

// speculationRows are about speculative decoding, if the server reports it.
func speculationRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "spec_decode_acceptance_length", Better: Higher, Header: "Acceptance Length", Short: "Acceptance Length",
				Group: GroupSpeculation, Order: 5000, Flags: LargerIsBetter,
				Doc: "1 + accepted draft tokens / steps of a request: tokens per step, with the one that the model itself adds.",
			},
			unit: inRatio, Each: func(v *View) float64 { s := speculation(v); return 1 + s.accepted/s.steps },
		},
		{
			Def: Def{
				Tag: "spec_decode_token_weighted_acceptance_length", Better: Higher, Header: "Token-Weighted Acceptance Length", Short: "Token-Wtd Accept Len",
				Group: GroupSpeculation, Order: 5010, Flags: LargerIsBetter,
				Doc: "1 + accepted draft tokens / steps, both summed over all requests.",
			},
			unit: inRatio, Total: func(t *Totals) float64 { return 1 + t.Sum(acceptedDrafts)/positive(t.Sum(speculationSteps)) },
		},
		{
			Def: Def{
				Tag: "spec_decode_draft_acceptance_rate", Better: Higher, Header: "Draft Acceptance Rate", Short: "Draft Accept Rate",
				Group: GroupSpeculation, Order: 5020, Flags: LargerIsBetter,
				Doc: "100 \u00b7 accepted / draft tokens of a request.",
			},
			unit: inPercent, Each: func(v *View) float64 { s := speculation(v); return 100 * s.accepted / positive(s.drafted) },
		},
		{
			Def: Def{
				Tag: "spec_decode_overall_draft_acceptance_rate", Better: Higher, Header: "Overall Draft Acceptance Rate", Short: "Overall Draft Accept Rate",
				Group: GroupSpeculation, Order: 5025, Flags: LargerIsBetter,
				Doc: "100 \u00b7 accepted / draft tokens, both summed over all requests.",
			},
			unit: inPercent, Total: func(t *Totals) float64 { return 100 * t.Sum(acceptedDrafts) / positive(t.Sum(drafts)) },
		},
		{
			Def: Def{
				Tag: "spec_decode_accepted_per_verified", Better: Higher, Header: "Accepted per Verified", Short: "Accepted / Verified",
				Group: GroupSpeculation, Order: 5030, Flags: LargerIsBetter,
				Doc: "(accepted + steps) / (draft tokens + steps) of a request: the share of the verified tokens that were kept.",
			},
			unit: inRatio, Each: func(v *View) float64 { s := speculation(v); return (s.accepted + s.steps) / (s.drafted + s.steps) },
		},
		{
			Def: Def{
				Tag: speculationSteps, Better: Neither, Header: "Spec Decode Steps", Short: "Spec Decode Steps",
				Group: GroupSpeculation, Order: 5040,
				Doc: "Verification steps of a request.",
			},
			unit: inCount, Each: func(v *View) float64 { return speculation(v).steps },
		},
		{
			Def: Def{
				Tag: acceptedDrafts, Better: Neither, Header: "Accepted Draft Tokens", Short: "Accepted Draft", Order: 5050,
				Doc: "Accepted draft tokens of a request.",
			},
			unit: inTokens, Each: func(v *View) float64 { return speculation(v).accepted },
		},
		{
			Def: Def{
				Tag: drafts, Better: Neither, Header: "Draft Tokens", Short: "Draft Tokens", Order: 5060,
				Doc: "Draft tokens of a request.",
			},
			unit: inTokens, Each: func(v *View) float64 { return speculation(v).drafted },
		},
		{
			Def: Def{
				Tag: "total_spec_decode_steps", Better: Neither, Header: "Total Spec Decode Steps", Short: "Total Spec Decode Steps", Order: 5140,
				Doc: "Sum of spec_decode_steps.",
			},
			unit: inCount, Total: sumOf(speculationSteps),
		},
		{
			Def: Def{
				Tag: "total_accepted_draft_tokens", Better: Neither, Header: "Total Accepted Draft Tokens", Short: "Total Accepted Draft", Order: 5150,
				Doc: "Sum of spec_decode_accepted_draft_tokens.",
			},
			unit: inTokens, Total: sumOf(acceptedDrafts),
		},
		{
			Def: Def{
				Tag: "total_draft_tokens", Better: Neither, Header: "Total Draft Tokens", Short: "Total Draft", Order: 5160,
				Doc: "Sum of spec_decode_draft_tokens.",
			},
			unit: inTokens, Total: sumOf(drafts),
		},
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
