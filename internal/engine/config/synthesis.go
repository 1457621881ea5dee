package config

// Synthesis changes a trace: the options of AIPerf with these names. Absent factors are 1,
// absent limits none.
type Synthesis struct {
	SpeedupRatio         *float64 `json:"speedupRatio"`         // divides times and delays; 0 = 1
	PrefixLenMultiplier  *float64 `json:"prefixLenMultiplier"`  // of the blocks that prompts share
	PrefixRootMultiplier *int     `json:"prefixRootMultiplier"` // trees of prefixes, which share nothing
	PromptLenMultiplier  *float64 `json:"promptLenMultiplier"`  // of the rest of prompts
	OutputLenMultiplier  *float64 `json:"outputLenMultiplier"`
	MaxISL               *int     `json:"maxIsl"` // requests with longer prompts are left out
	MaxOSL               *int     `json:"maxOsl"` // longer answers are cut
}

// Speedup returns the factor that divides the times and delays of a dataset.
func (d *Dataset) Speedup() float64 {
	speedup := 1.0
	if d.ReplaySpeedup != nil {
		speedup = *d.ReplaySpeedup
	}
	if s := d.Synthesis; s != nil && s.SpeedupRatio != nil && *s.SpeedupRatio > 0 {
		speedup *= *s.SpeedupRatio
	}
	return speedup
}
