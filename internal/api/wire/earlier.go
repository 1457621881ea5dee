package wire

import (
	"slices"

	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// Stored runs of earlier versions lack lists that are never null now. The functions
// below return copies that have them; nil of nil.

func summaryOf(s *run.Summary) *run.Summary {
	if s == nil {
		return nil
	}
	out := *s
	out.Unsupported = list(s.Unsupported)
	return &out
}

func verdictOf(c *run.ClientVerdict) *run.ClientVerdict {
	if c == nil {
		return nil
	}
	out := *c
	out.Reasons, out.Evidence, out.Bias = reasonsOf(c.Reasons), list(c.Evidence), list(c.Bias)
	return &out
}

func reportOf(r *verdict.Report) *verdict.Report {
	if r == nil {
		return nil
	}
	out := *r
	out.Reasons, out.Evidence, out.Bias = reasonsOf(r.Reasons), list(r.Evidence), list(r.Bias)
	out.Phases = slices.Clone(r.Phases)
	for i := range out.Phases {
		out.Phases[i] = *reportOf(&r.Phases[i])
	}
	return &out
}

func reasonsOf(reasons []verdict.Reason) []verdict.Reason {
	out := slices.Clone(list(reasons))
	for i := range out {
		out[i].Concerns = list(out[i].Concerns)
	}
	return out
}
