package metric

import "fmt"

// Steadiness says how a phase changed with time, within its steady window.
type Steadiness struct {
	// Cut is the number of successes that were left out at the beginning, because they waited
	// longer or shorter for their first content (without streaming, for their end) than the rest.
	Cut        int     `json:"cut_requests"`
	CutSeconds float64 `json:"cut_seconds"`
	Drifting   bool    `json:"drifting"` // the waiting time changed by more than 5 %, and not by chance (p < 0.01)
	Drift      float64 `json:"drift"`    // its change over the window, as a share of its mean, by a straight line
	Growing    bool    `json:"growing"`  // requests in flight became more: by more than 5 and 30 %, and not by chance
	Growth     float64 `json:"growth"`   // their change over the window
}

// Doubt says in what the window was not steady; empty = in nothing that could be seen.
func (s *Steadiness) Doubt() string {
	switch {
	case s == nil:
		return ""
	case s.Growing:
		return fmt.Sprintf("not steady: requests in flight grew by %.0f", s.Growth)
	case s.Drifting && s.Drift > 0:
		return fmt.Sprintf("not steady: waiting times rose by %.0f %%", 100*s.Drift)
	case s.Drifting:
		return fmt.Sprintf("not steady: waiting times fell by %.0f %%", -100*s.Drift)
	}
	return ""
}
